// Window sums into the result: Horner from the top window, one octet an msm.
//
// Cost: bits - width doublings and groups - 1 additions, one after the other, 2M deep each: the serial floor of a call.
// The result (X : Y : Z) is left in Montgomery form; x = X / Z needs no conversion, and the host divides.
//
// What the host waits for goes straight into its memory: the results, and the status words, which start anew for the next
// call. A copy after the kernel and a memset after the copy would cost more than both take to write.

// grid (batch), block 32.
extern "C" __global__ void __launch_bounds__(32)
    msm_combine(const u32* sums, u32* result, u32* status, u32* report, u32 bits, u32 windows, u32 groups) {
    await_previous();
    const u32* mine = sums + u64(blockIdx.x) * groups * (3 * curve::N);
    Fe total = octet_load_projective(mine + (groups - 1) * (3 * curve::N));
    for (u32 w = groups - 1; w-- > 0;) {
        u32 width = window_width(bits, windows, w);
        for (u32 k = 0; k < width; k++) total = octet_double(total);
        total = octet_add(total, octet_load_projective(mine + w * (3 * curve::N)));
    }
    if (threadIdx.x < 8) octet_store_projective(result + u64(blockIdx.x) * (3 * curve::N), total);
    if (blockIdx.x == 0 && threadIdx.x < STATUS_WORDS) {
        report[threadIdx.x] = status[threadIdx.x];
        status[threadIdx.x] = NONE;
    }
}
