// Where an entry of a list finds its point, and how one lane reads it.
//
// Records of a table: x, y and, with the endomorphism, beta x, y once more, so that either form of a base is one stretch of
// 64 (or 96) bytes and a gather touches no more lines than it must.
struct Table {
    const u32* records;
    u32 coordinates;  // 2 or 4

    __device__ __forceinline__ const u32* at(u32 entry) const {
        return records + u64(entry & INDEX) * (coordinates * curve::N) + (entry & PHI ? 2 * curve::N : 0);
    }
};

static __device__ __forceinline__ Affine load_entry(const Table& table, u32 entry) {
    if (entry == NONE) return affine_infinity();
    const u32* record = table.at(entry);
    Affine p = {load_fe_line(record), load_fe_line(record + curve::N)};
    if (entry & SIGN) p.y = neg(p.y);
    return p;
}
