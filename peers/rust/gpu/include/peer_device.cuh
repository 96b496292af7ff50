// peer_describe: the current device, for hello and for the evidence of every run.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "peer_gpu.h"

inline int peer_failed(cudaError_t error, char* why) {
  snprintf(why, PEER_WHY, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
  bool absent = error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorInvalidDevice ||
                error == cudaErrorInitializationError;
  return absent ? 2 : 1;
}

#define PEER_TRY(call)                                              \
  do {                                                              \
    cudaError_t peer_error = (call);                                \
    if (peer_error != cudaSuccess) return peer_failed(peer_error, why); \
  } while (0)

inline int peer_describe_device(peer_device* device, char* why) {
  int id = 0;
  cudaDeviceProp prop;
  PEER_TRY(cudaGetDevice(&id));
  PEER_TRY(cudaGetDeviceProperties(&prop, id));
  size_t memory_free = 0, memory_total = 0;
  PEER_TRY(cudaMemGetInfo(&memory_free, &memory_total));
  memset(device, 0, sizeof(*device));
  snprintf(device->name, sizeof(device->name), "%s", prop.name);
  const unsigned char* u = reinterpret_cast<const unsigned char*>(prop.uuid.bytes);
  snprintf(device->uuid, sizeof(device->uuid), "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
           u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
  device->compute_major = prop.major;
  device->compute_minor = prop.minor;
  device->multiprocessors = prop.multiProcessorCount;
  PEER_TRY(cudaDriverGetVersion(&device->driver));
  PEER_TRY(cudaRuntimeGetVersion(&device->runtime));
  device->memory_total = memory_total;
  device->memory_free = memory_free;
  return 0;
}

// A span on the device's clock: from the first record to the last, in nanoseconds.
struct peer_event {
  cudaEvent_t event = nullptr;
  ~peer_event() {
    if (event) cudaEventDestroy(event);
  }
  cudaError_t record(cudaStream_t stream) {
    if (!event) {
      cudaError_t error = cudaEventCreate(&event);
      if (error != cudaSuccess) return error;
    }
    return cudaEventRecord(event, stream);
  }
};

inline cudaError_t peer_span(uint64_t* ns, const peer_event& from, const peer_event& to) {
  float ms = 0;
  cudaError_t error = cudaEventSynchronize(to.event);
  if (error == cudaSuccess) error = cudaEventElapsedTime(&ms, from.event, to.event);
  *ns = static_cast<uint64_t>(ms * 1e6f);
  return error;
}
