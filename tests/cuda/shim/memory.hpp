// Portable twin of kernels/ptx/memory.cuh.

struct alignas(16) Quad {
    u32 v[4];
};

static inline Quad load_line(const Quad* address) { return *address; }
static inline Quad load_scratch(const Quad* address) { return *address; }
static inline void store_scratch(Quad* address, const Quad& q) { *address = q; }

constexpr bool SUMS_FIT_REGISTERS = curve::N == 8;  // both forms are run: one on each width

constexpr bool COPIES_AHEAD = curve::N == 8;  // here too; copies are done at once
template <typename T>
static inline void copy_ahead(T* shared, const T* global) { *shared = *global; }
static inline void copy_scratch(Quad* shared, const Quad* global) { *shared = *global; }
static inline void copies_arrived() {}

static inline u32 funnel(u32 low, u32 high, u32 shift) {
    return u32((u64(high) << 32 | low) >> shift);
}
