// A block of CUDA threads as fibres of one host thread: the part of the CUDA C++ language that the kernels use.
//
// Every thread of a block has a stack of its own; it runs until it meets a barrier or a warp exchange, then yields to
// the next. Blocks run one after the other, so __shared__ is a static variable. A thread that waits for others which
// never come is a fault of the kernel: the launch is reported as a deadlock instead of hanging.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

namespace shim {

struct Dim3 {
    unsigned x, y, z;
};

constexpr unsigned WARP_SIZE = 32, MAX_THREADS = 1024, SLOT_WORDS = 12;
constexpr size_t STACK_BYTES = 256 * 1024;

struct Warp {
    unsigned lanes = 0, arrived = 0, generation = 0;
    uint32_t slot[2][WARP_SIZE][SLOT_WORDS];  // two in turn: a fast lane may be one exchange ahead
};

struct Fibre {
    ucontext_t start;
    jmp_buf here;
    bool started = false, done = false;
    Dim3 thread{0, 0, 0};
    char* stack = nullptr;
};

struct Block {
    Fibre fibres[MAX_THREADS];
    Warp warps[MAX_THREADS / WARP_SIZE];
    unsigned threads = 0, arrived = 0, generation = 0, finished = 0;
    unsigned any[2] = {0, 0};  // votes of __syncthreads_or, in turn
    uint64_t progress = 0;
    jmp_buf scheduler;
    Fibre* current = nullptr;
    void (*body)(void*) = nullptr;
    void* argument = nullptr;
};

inline Block block;
inline Dim3 grid_dim{1, 1, 1}, block_dim{1, 1, 1}, block_index{0, 0, 0};
alignas(16) inline uint32_t dynamic_shared[64 * 1024];

inline void yield() {
    if (_setjmp(block.current->here) == 0) _longjmp(block.scheduler, 1);
}

inline void fibre_main() {
    block.body(block.argument);
    block.current->done = true;
    block.finished++;
    block.progress++;
    _longjmp(block.scheduler, 1);
}

inline void resume(Fibre& fibre) {
    block.current = &fibre;
    if (_setjmp(block.scheduler) != 0) return;
    if (fibre.started) _longjmp(fibre.here, 1);
    fibre.started = true;
    setcontext(&fibre.start);
}

// Runs one block; false when no thread can go on.
inline bool run_block(unsigned threads, void (*body)(void*), void* argument) {
    block.threads = threads, block.arrived = 0, block.finished = 0;
    block.body = body, block.argument = argument;
    for (unsigned w = 0; w < threads / WARP_SIZE; w++) block.warps[w].lanes = WARP_SIZE, block.warps[w].arrived = 0;
    for (unsigned t = 0; t < threads; t++) {
        Fibre& fibre = block.fibres[t];
        if (fibre.stack == nullptr)
            fibre.stack = static_cast<char*>(mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        fibre.started = fibre.done = false;
        fibre.thread = {t, 0, 0};
        getcontext(&fibre.start);
        fibre.start.uc_stack.ss_sp = fibre.stack, fibre.start.uc_stack.ss_size = STACK_BYTES;
        fibre.start.uc_link = nullptr;
        makecontext(&fibre.start, fibre_main, 0);
    }
    while (block.finished < threads) {
        uint64_t before = block.progress;
        for (unsigned t = 0; t < threads; t++)
            if (!block.fibres[t].done) resume(block.fibres[t]);
        if (block.progress == before) return false;
    }
    return true;
}

inline void arrive_block() {
    unsigned mine = block.generation;
    block.progress++;
    if (++block.arrived == block.threads) {
        block.arrived = 0, block.generation++;
        return;
    }
    while (block.generation == mine) yield();
}

inline Warp& warp_of_current() { return block.warps[block.current->thread.x / WARP_SIZE]; }

inline void arrive_warp(Warp& warp) {
    unsigned mine = warp.generation;
    block.progress++;
    if (++warp.arrived == warp.lanes) {
        warp.arrived = 0, warp.generation++;
        return;
    }
    while (warp.generation == mine) yield();
}

// All lanes of the warp publish `words` words; afterwards each may read any lane's.
inline const uint32_t (*exchange(const uint32_t* values, unsigned words))[SLOT_WORDS] {
    Warp& warp = warp_of_current();
    auto& slot = warp.slot[warp.generation % 2];
    std::memcpy(slot[block.current->thread.x % WARP_SIZE], values, 4 * words);
    arrive_warp(warp);
    return slot;
}

}  // namespace shim
