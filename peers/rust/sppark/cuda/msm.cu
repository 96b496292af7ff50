// sppark's multi-scalar multiplication on one curve behind the peers' C interface.
//
// Path 0, `cuda`: as sppark's own example calls it. End to end: mult_pippenger on host arrays; resident bases: an msm_t that
// holds the points, scalars from host memory. Path 1, `snarkvm`: as snarkVM's wrapper
// calls it: a new msm_t without a point count in every call, points with an infinity flag, from host memory.
//
// The width of a window is sppark's choice; its constructor derives it from a number of points, so option c is met by
// naming a number that gives that width (widths 10 to 18).
#include <cuda.h>

#if defined(FEATURE_BLS12_381)
#include <ff/bls12-381.hpp>
#elif defined(FEATURE_BLS12_377)
#include <ff/bls12-377.hpp>
#elif defined(FEATURE_BN254)
#include <ff/alt_bn128.hpp>
#else
#error "no curve"
#endif

#include <ec/jacobian_t.hpp>
#include <ec/xyzz_t.hpp>

typedef jacobian_t<fp_t> point_t;
typedef xyzz_t<fp_t> bucket_t;
typedef bucket_t::affine_t affine_t;
typedef fr_t scalar_t;

#include <msm/pippenger.cuh>

// Points with an infinity flag, as snarkVM hands them over. sppark instantiates its kernels for affine_t only, and the
// compiler's device pass does not see the host code below that would call for these two.
typedef bucket_t::affine_inf_t flagged_t;

template __global__ void accumulate<bucket_t, flagged_t::mem_t>(bucket_t::mem_t buckets[], uint32_t nwins, uint32_t wbits,
                                                                flagged_t::mem_t points[],
                                                                const vec2d_t<uint32_t> digits,
                                                                const vec2d_t<uint32_t> histogram, uint32_t sid);
template __global__ void batch_addition<bucket_t>(bucket_t::mem_t buckets[], const flagged_t::mem_t points[],
                                                  size_t npoints, const uint32_t digits[], const uint32_t& ndigits);

#ifndef __CUDA_ARCH__

#include <memory>
#include <vector>

#include "peer_device.cuh"

namespace {

typedef msm_t<bucket_t, point_t, affine_t, scalar_t> plain_msm;
typedef msm_t<bucket_t, point_t, flagged_t, scalar_t> flagged_msm;

constexpr size_t LIMBS = sizeof(fp_t) / sizeof(uint64_t);

struct coordinates {
  fp_t x, y;
};

struct flagged_coordinates {  // X, Y, infinity: the layout of snarkVM's G1Affine
  fp_t x, y;
  bool infinity;
};

struct bases {
  std::vector<coordinates> points;
  std::vector<flagged_coordinates> flagged;
  std::unique_ptr<plain_msm> resident;

  const affine_t* affine() const { return reinterpret_cast<const affine_t*>(points.data()); }
};

// A number of points from which sppark's constructor derives width c: lg2(1.5 n) - 8.
size_t points_for_width(int c) { return (size_t{1} << (c + 8)) - (size_t{1} << (c + 6)); }

int failed(const RustError& error, char* why) {
  std::unique_ptr<char, decltype(&free)> message(error.message, free);
  if (!error.message) return peer_failed(static_cast<cudaError_t>(error.code), why);
  snprintf(why, PEER_WHY, "%s", error.message);
  return error.code == cudaErrorNoDevice ? 2 : 1;
}

void canonical(uint64_t* xy, const point_t& sum) {
  if (sum.is_inf()) {
    memset(xy, 0, 2 * LIMBS * sizeof(uint64_t));
    return;
  }
  affine_t affine = sum;
  coordinates c;
  static_assert(sizeof(affine) == sizeof(c), "an affine point is its two coordinates");
  memcpy(&c, &affine, sizeof(c));
  c.x.from();
  c.y.from();
  memcpy(xy, &c.x, sizeof(c.x));
  memcpy(xy + LIMBS, &c.y, sizeof(c.y));
}

RustError call_snarkvm(bases& b, point_t& out, size_t n, const scalar_t* scalars, const gpu_t& gpu) {
  flagged_msm msm(gpu.id());
  const flagged_t* points = reinterpret_cast<const flagged_t*>(b.flagged.data());
  return msm.invoke(out, slice_t<flagged_t>{points, n}, scalars, false, sizeof(flagged_coordinates));
}

RustError call_plain(bases& b, point_t& out, const peer_call& call, const scalar_t* scalars) {
  typedef const affine_t* host_points;
  if (call.scope == PEER_RESIDENT_BASES) return b.resident->invoke(out, host_points{nullptr}, call.n, scalars, false);
  if (call.c == 0) return mult_pippenger<bucket_t>(&out, b.affine(), call.n, scalars, false);
  plain_msm msm(nullptr, points_for_width(call.c));
  return msm.invoke(out, b.affine(), call.n, scalars, false);
}

}  // namespace

extern "C" int PEER_OPEN(const uint64_t* points, uint64_t n, int montgomery, void** handle, char* why) {
  auto b = std::make_unique<bases>();
  b->points.resize(n);
  b->flagged.resize(n);
  memcpy(b->points.data(), points, n * sizeof(coordinates));
  for (size_t i = 0; i < n; i++) {
    coordinates& p = b->points[i];
    bool infinity = p.x.is_zero() & p.y.is_zero();
    if (!montgomery) {
      p.x.to();
      p.y.to();
    }
    b->flagged[i].x = p.x;
    b->flagged[i].y = p.y;
    b->flagged[i].infinity = infinity;
  }
  *handle = b.release();
  return 0;
}

extern "C" void PEER_CLOSE(void* handle) { delete static_cast<bases*>(handle); }

extern "C" int PEER_PREPARE(void* handle, const uint64_t* scalars, const peer_call* call, char* why) {
  bases& b = *static_cast<bases*>(handle);
  if (call->c != 0 && (call->c < 10 || call->c > 18)) {
    snprintf(why, PEER_WHY, "sppark has widths 10 to 18, not %d", call->c);
    return 1;
  }
  if (call->path == 1 && (call->scope != PEER_END_TO_END || call->c != 0)) {
    snprintf(why, PEER_WHY, "snarkVM's call takes host arrays and chooses its width: scope end-to-end only");
    return 1;
  }
  try {
    select_gpu();
    b.resident.reset();
    if (call->scope == PEER_END_TO_END) return 0;
    if (call->c != 0) {
      snprintf(why, PEER_WHY, "option c needs scope end-to-end: resident points fix sppark's width");
      return 1;
    }
    b.resident = std::make_unique<plain_msm>(b.affine(), call->n);
  } catch (const cuda_error& error) {
    return failed(RustError{error.code(), error.what()}, why);
  }
  return 0;
}

extern "C" int PEER_MSM(void* handle, const uint64_t* scalars, const peer_call* call, uint64_t* xy, peer_times* times,
                        char* why) {
  bases& b = *static_cast<bases*>(handle);
  const scalar_t* host_scalars = reinterpret_cast<const scalar_t*>(scalars);
  point_t sum;
  peer_event from, to;
  try {
    const gpu_t& gpu = select_gpu();
    PEER_TRY(from.record(gpu[2]));
    RustError error = call->path == 1 ? call_snarkvm(b, sum, call->n, host_scalars, gpu)
                                      : call_plain(b, sum, *call, host_scalars);
    if (error.code != cudaSuccess) return failed(error, why);
    PEER_TRY(to.record(gpu[2]));
    PEER_TRY(peer_span(&times->device_ns, from, to));
  } catch (const cuda_error& error) {
    return failed(RustError{error.code(), error.what()}, why);
  }
  canonical(xy, sum);
  return 0;
}

#endif
