// ICICLE v2's multi-scalar multiplication on one curve behind the peers' C interface: its defaults, unless option c is given.
//
// End to end: allocation of device memory, copies of both arrays, the sum, the copy back, and the frees, as ICICLE's own Go
// example does them; copy_ns and device_ns are spans of events on ICICLE's stream. Resident bases: points on the device,
// scalars from host memory, copied by the library. Resident: both on the device. Values are canonical, as ICICLE's are.
#include "extern.cu"

#include <memory>
#include <vector>

#include "peer_device.cuh"

namespace {

constexpr size_t LIMBS = sizeof(affine_t) / 2 / sizeof(uint64_t);

struct bases {
  std::vector<affine_t> points;
  affine_t* d_points = nullptr;
  scalar_t* d_scalars = nullptr;

  void drop() {
    if (d_points) cudaFree(d_points);
    if (d_scalars) cudaFree(d_scalars);
    d_points = nullptr;
    d_scalars = nullptr;
  }
  ~bases() { drop(); }
};

template <typename T>
cudaError_t upload(T** device, const T* host, size_t n) {
  cudaError_t error = cudaMalloc(device, n * sizeof(T));
  return error != cudaSuccess ? error : cudaMemcpy(*device, host, n * sizeof(T), cudaMemcpyHostToDevice);
}

cudaError_t sum_of(const scalar_t* scalars, const affine_t* points, const peer_call& call, bool scalars_on_device,
                   projective_t* sum) {
  msm::MSMConfig config = msm::default_msm_config();
  config.c = call.c;
  config.are_points_on_device = true;
  config.are_scalars_on_device = scalars_on_device;
  return msm::msm<scalar_t, affine_t, projective_t>(scalars, points, static_cast<int>(call.n), config, sum);
}

}  // namespace

extern "C" int PEER_OPEN(const uint64_t* points, uint64_t n, int montgomery, void** handle, char* why) {
  if (n > INT32_MAX) {
    snprintf(why, PEER_WHY, "n = %llu: ICICLE v2 counts terms in an int", static_cast<unsigned long long>(n));
    return 1;
  }
  auto b = std::make_unique<bases>();
  b->points.resize(n);
  memcpy(static_cast<void*>(b->points.data()), points, n * sizeof(affine_t));
  if (montgomery) {
    for (affine_t& point : b->points) point = affine_t::from_montgomery(point);
  }
  *handle = b.release();
  return 0;
}

extern "C" void PEER_CLOSE(void* handle) { delete static_cast<bases*>(handle); }

extern "C" int PEER_PREPARE(void* handle, const uint64_t* scalars, const peer_call* call, char* why) {
  bases& b = *static_cast<bases*>(handle);
  b.drop();
  if (call->scope == PEER_END_TO_END) return 0;
  PEER_TRY(upload(&b.d_points, b.points.data(), call->n));
  if (call->scope == PEER_RESIDENT) PEER_TRY(upload(&b.d_scalars, reinterpret_cast<const scalar_t*>(scalars), call->n));
  return 0;
}

extern "C" int PEER_MSM(void* handle, const uint64_t* scalars, const peer_call* call, uint64_t* xy, peer_times* times,
                        char* why) {
  bases& b = *static_cast<bases*>(handle);
  const scalar_t* host_scalars = reinterpret_cast<const scalar_t*>(scalars);
  projective_t sum;
  peer_event start, copied, done;
  const cudaStream_t stream = nullptr;  // ICICLE's default
  PEER_TRY(start.record(stream));
  bases call_only;
  if (call->scope == PEER_END_TO_END) {
    PEER_TRY(upload(&call_only.d_scalars, host_scalars, call->n));
    PEER_TRY(upload(&call_only.d_points, b.points.data(), call->n));
  }
  PEER_TRY(copied.record(stream));
  bool whole = call->scope == PEER_END_TO_END;
  const affine_t* points = whole ? call_only.d_points : b.d_points;
  const scalar_t* device_scalars = whole ? call_only.d_scalars : b.d_scalars;
  PEER_TRY(sum_of(device_scalars ? device_scalars : host_scalars, points, *call, device_scalars != nullptr, &sum));
  PEER_TRY(done.record(stream));
  PEER_TRY(peer_span(&times->device_ns, copied, done));
  if (whole) PEER_TRY(peer_span(&times->copy_ns, start, copied));
  call_only.drop();
  affine_t affine = projective_t::to_affine(sum);
  if (sum.z == point_field_t::zero()) affine = affine_t::zero();
  memcpy(xy, &affine, 2 * LIMBS * sizeof(uint64_t));
  return 0;
}
