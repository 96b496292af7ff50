// The C interface between a GPU library and its peer program: one set of functions for each curve, named by PEER_CURVE.
//
// Points and sums are little-endian 64-bit limbs, affine, (0, 0) for infinity; scalars are canonical, four limbs. Every
// function returns 0, or 1 with a message in `why` (PEER_WHY bytes), or 2 when no device is there.
#pragma once

#include <cstddef>
#include <cstdint>

#define PEER_WHY 256

enum peer_scope { PEER_END_TO_END = 0, PEER_RESIDENT_BASES = 1, PEER_RESIDENT = 2 };

struct peer_call {
  uint64_t n;
  int32_t scope;  // peer_scope
  int32_t path;   // index into the paths that the program's hello names
  int32_t c;      // window width; 0 leaves it to the library
};

// Nanoseconds on the device's clock; 0 where not measured. `copy_ns`: host-device copies done by the call.
struct peer_times {
  uint64_t copy_ns;
  uint64_t device_ns;
};

struct peer_device {
  char name[128];
  char uuid[37];
  int32_t compute_major, compute_minor, multiprocessors;
  int32_t driver, runtime;  // CUDA versions, 1000 * major + 10 * minor
  uint64_t memory_total, memory_free;
};

extern "C" int peer_describe(peer_device* device, char* why);

#define PEER_CONCAT2(a, b) a##_##b
#define PEER_CONCAT(a, b) PEER_CONCAT2(a, b)
#define PEER_NAME(what) PEER_CONCAT(PEER_CURVE, what)

// Host bases in the library's form.
#define PEER_OPEN PEER_NAME(open)
// Gives back all memory of a handle.
#define PEER_CLOSE PEER_NAME(close)
// What the scope leaves out of the clock: bases, and for PEER_RESIDENT scalars, in device memory.
#define PEER_PREPARE PEER_NAME(prepare)
// The timed call; `xy` receives the canonical coordinates of the sum, 2 * limbs words.
#define PEER_MSM PEER_NAME(msm)
