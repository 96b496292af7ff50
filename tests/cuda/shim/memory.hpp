// Portable twin of kernels/ptx/memory.cuh.

struct alignas(16) Quad {
    u32 v[4];
};

static inline Quad load_line(const Quad* address) { return *address; }
static inline Quad load_scratch(const Quad* address) { return *address; }
static inline void store_scratch(Quad* address, const Quad& q) { *address = q; }

constexpr bool SUMS_FIT_REGISTERS = curve::N == 8;  // both forms are run: one on each width
static inline Quad load_shared(const Quad* address) { return *address; }

// Copies are done at once; two stages, as on the devices that gain most from them.
constexpr u32 COPY_STAGES = 2;
static inline void copy_async(Quad* shared, const Quad* global) { *shared = *global; }
static inline void copy_commit() {}
template <u32 PENDING>
static inline void copy_wait() {}

static inline u32 funnel(u32 low, u32 high, u32 shift) {
    return u32((u64(high) << 32 | low) >> shift);
}
