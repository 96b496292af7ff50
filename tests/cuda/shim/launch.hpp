// Runs a kernel by name over its grid: `arguments` are 64-bit words, addresses or 32-bit numbers, in order.
//
// Blocks run one after the other, each to its end, in an order that the seed of the launch draws: a kernel whose blocks
// wait for each other would hang here (none does: they meet in atomics only).
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace shim {

template <typename T>
T argument(uint64_t word) {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<T>(word);
    else
        return static_cast<T>(word);
}

template <typename... A>
struct Call {
    void (*kernel)(A...);
    std::tuple<A...> arguments;

    static void body(void* self) {
        auto* call = static_cast<Call*>(self);
        std::apply(call->kernel, call->arguments);
    }
};

template <typename... A, size_t... I>
bool run(void (*kernel)(A...), const uint64_t* words, Chance& chance, std::index_sequence<I...>) {
    Call<A...> call{kernel, {argument<A>(words[I])...}};
    std::vector<unsigned> order(size_t(grid_dim.x) * grid_dim.y);
    shuffle(order.data(), unsigned(order.size()), chance);
    for (unsigned number : order) {
        block_index.x = number % grid_dim.x, block_index.y = number / grid_dim.x;
        if (!run_block(block_dim.x, Call<A...>::body, &call, chance)) return false;
    }
    return true;
}

template <typename... A>
bool run(void (*kernel)(A...), const uint64_t* words, Chance& chance) {
    return run(kernel, words, chance, std::index_sequence_for<A...>{});
}

}  // namespace shim

#define SHIM_KERNEL(kernel) \
    if (wanted == #kernel) return shim::run(kernel, arguments, chance) ? 0 : 2;

// 0: done, 1: no such kernel, 2: deadlock.
#define SHIM_ENTRY(KERNELS)                                                                                            \
    extern "C" int shim_launch(const char* name, unsigned grid_x, unsigned grid_y, unsigned threads, unsigned shared,  \
                               unsigned seed, const uint64_t* arguments) {                                             \
        std::string_view wanted = name;                                                                                \
        shim::Chance chance(seed);                                                                                     \
        shim::grid_dim = {grid_x, grid_y, 1}, shim::block_dim = {threads, 1, 1}, shim::dynamic_bytes = shared;         \
        KERNELS return 1;                                                                                              \
    }
