// Runs a kernel by name over its grid: `arguments` are 64-bit words, addresses or 32-bit numbers, in order.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>

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
bool run(void (*kernel)(A...), const uint64_t* words, std::index_sequence<I...>) {
    Call<A...> call{kernel, {argument<A>(words[I])...}};
    for (block_index.y = 0; block_index.y < grid_dim.y; block_index.y++)
        for (block_index.x = 0; block_index.x < grid_dim.x; block_index.x++)
            if (!run_block(block_dim.x, Call<A...>::body, &call)) return false;
    return true;
}

template <typename... A>
bool run(void (*kernel)(A...), const uint64_t* words) {
    return run(kernel, words, std::index_sequence_for<A...>{});
}

}  // namespace shim

#define SHIM_KERNEL(kernel) \
    if (wanted == #kernel) return shim::run(kernel, arguments) ? 0 : 2;

// 0: done, 1: no such kernel, 2: deadlock.
#define SHIM_ENTRY(KERNELS)                                                                                            \
    extern "C" int shim_launch(const char* name, unsigned grid_x, unsigned grid_y, unsigned threads,                   \
                               const uint64_t* arguments) {                                                            \
        std::string_view wanted = name;                                                                                \
        shim::grid_dim = {grid_x, grid_y, 1}, shim::block_dim = {threads, 1, 1};                                       \
        KERNELS return 1;                                                                                              \
    }
