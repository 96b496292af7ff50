// A block of CUDA threads as fibres of one host thread: the part of the CUDA C++ language that the kernels use.
//
// Every thread of a block has a stack of its own; it runs until it meets a barrier or a warp exchange, then yields. Who
// goes on is drawn (shuffle.hpp): the order of the warps, how far a warp gets ahead of the others, the order of its lanes.
// Blocks run one after the other, so __shared__ is a static variable; it is poisoned before each block. A thread that
// waits for others which never come is a fault of the kernel: the launch is reported as a deadlock instead of hanging.
#pragma once

#include "shuffle.hpp"

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
constexpr int POISON = 0xA5;  // as in fresh buffers (driver.py)

struct Warp {
    unsigned lanes = 0, arrived = 0, generation = 0;
    uint32_t slot[2][WARP_SIZE][SLOT_WORDS];  // two in turn: a fast lane may be one exchange ahead
};

struct Fibre {
    ucontext_t start;
    jmp_buf here;
    bool started = false, done = false;
    const unsigned* gate = nullptr;  // what it waits for: this generation to be another than `seen`
    unsigned seen = 0;
    Dim3 thread{0, 0, 0};
    char* stack = nullptr;
};

struct Block {
    Fibre fibres[MAX_THREADS];
    Warp warps[MAX_THREADS / WARP_SIZE];
    unsigned threads = 0, arrived = 0, generation = 0, finished = 0;
    bool votes = false, verdict = false;  // of the barrier that fills, and of the last one that was full
    jmp_buf scheduler;
    Fibre* current = nullptr;
    void (*body)(void*) = nullptr;
    void* argument = nullptr;
};

inline Block block;
inline Dim3 grid_dim{1, 1, 1}, block_dim{1, 1, 1}, block_index{0, 0, 0};
alignas(16) inline uint32_t dynamic_shared[64 * 1024];
inline size_t dynamic_bytes = 0;  // what the launch asked for

// The section of all __shared__ variables (language.hpp); weak, for a library may have none.
extern "C" {
extern char __start_shim_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_shim_shared[] __attribute__((weak, visibility("hidden")));
}

inline void poison_shared() {
    if (__start_shim_shared) std::memset(__start_shim_shared, POISON, size_t(__stop_shim_shared - __start_shim_shared));
    std::memset(dynamic_shared, POISON, dynamic_bytes);
}

inline void yield() {
    if (_setjmp(block.current->here) == 0) _longjmp(block.scheduler, 1);
}

// A fibre outlives its block: the next one finds it where it ended, which is cheaper than a context made anew.
inline void fibre_main() {
    for (;;) {
        block.body(block.argument);
        block.current->done = true;
        block.finished++;
        yield();
    }
}

inline void resume(Fibre& fibre) {
    block.current = &fibre;
    if (_setjmp(block.scheduler) != 0) return;
    if (fibre.started) _longjmp(fibre.here, 1);
    fibre.started = true;
    setcontext(&fibre.start);
}

inline void prepare(Fibre& fibre, unsigned thread) {
    fibre.done = false, fibre.gate = nullptr;
    if (fibre.started) return;
    if (fibre.stack == nullptr)
        fibre.stack = static_cast<char*>(mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    fibre.thread = {thread, 0, 0};
    getcontext(&fibre.start);
    fibre.start.uc_stack.ss_sp = fibre.stack, fibre.start.uc_stack.ss_size = STACK_BYTES;
    fibre.start.uc_link = nullptr;
    makecontext(&fibre.start, fibre_main, 0);
}

// Every lane of a warp that can go on does so once; false when none can.
inline bool step_warp(unsigned warp, Chance& chance) {
    unsigned first = warp * WARP_SIZE, lanes = block.threads - first < WARP_SIZE ? block.threads - first : WARP_SIZE;
    unsigned order[WARP_SIZE];
    bool moved = false;
    shuffle(order, lanes, chance);
    for (unsigned k = 0; k < lanes; k++) {
        Fibre& fibre = block.fibres[first + order[k]];
        if (fibre.done || (fibre.gate != nullptr && *fibre.gate == fibre.seen)) continue;
        resume(fibre);
        moved = true;
    }
    return moved;
}

// Runs one block; false when no thread can go on.
inline bool run_block(unsigned threads, void (*body)(void*), void* argument, Chance& chance) {
    unsigned warps = (threads + WARP_SIZE - 1) / WARP_SIZE, order[MAX_THREADS / WARP_SIZE];
    block.threads = threads, block.arrived = 0, block.finished = 0, block.votes = false;
    block.body = body, block.argument = argument;
    poison_shared();
    for (unsigned w = 0; w < warps; w++) block.warps[w].lanes = WARP_SIZE, block.warps[w].arrived = 0;
    for (unsigned t = 0; t < threads; t++) prepare(block.fibres[t], t);
    while (block.finished < threads) {
        bool moved = false;
        shuffle(order, warps, chance);
        for (unsigned k = 0; k < warps; k++)
            while (step_warp(order[k], chance)) {
                moved = true;
                if (!chance.again()) break;
            }
        if (moved) continue;
        for (unsigned t = 0; t < threads; t++)
            if (!block.fibres[t].done) block.fibres[t].started = false;  // it never comes back from where it waits
        return false;
    }
    return true;
}

inline void wait_for(const unsigned& generation, unsigned seen) {
    block.current->gate = &generation, block.current->seen = seen;
    yield();
    block.current->gate = nullptr;
}

// Returns whether any thread voted; the next barrier is not full before everybody has read what this one says.
inline bool arrive_block(bool vote = false) {
    unsigned mine = block.generation;
    block.votes |= vote;
    if (++block.arrived == block.threads) {
        block.verdict = block.votes, block.votes = false;
        block.arrived = 0, block.generation++;
    } else {
        wait_for(block.generation, mine);
    }
    return block.verdict;
}

inline Warp& warp_of_current() { return block.warps[block.current->thread.x / WARP_SIZE]; }

inline void arrive_warp(Warp& warp) {
    unsigned mine = warp.generation;
    if (++warp.arrived == warp.lanes)
        warp.arrived = 0, warp.generation++;
    else
        wait_for(warp.generation, mine);
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
