// A libcuda that does nothing, at once: what a call takes on it is the host's own time (host_time.py). It has the functions
// that the package asks for with something to return; all others return 0, "success". Made with -DKERNELS, the names.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEGABYTE (1ull << 20)
#define PINNED 256  // page-locked blocks that are remembered
static const char *const kernels[] = {KERNELS};
static uintptr_t handle = 64;  // of streams, events and graphs: any number that is not null
static char *pinned[PINNED];
static size_t pinned_size[PINNED];
static int pinned_count;

static int make(void **made) {
    *made = (void *)(handle += 16);
    return 0;
}

static void *aligned(size_t size) { return aligned_alloc(4096, (size + 4095) / 4096 * 4096); }

int succeed(void) { return 0; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, (size_t)size, "idle driver"), 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { return *size = 131072 * MEGABYTE, 0; }
int cuMemGetInfo_v2(size_t *available, size_t *total) { return *available = *total = 131072 * MEGABYTE, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return make(context); }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    // Capability 9.0, 132 multiprocessors, 227 KiB of shared memory: an H200's.
    return *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 81 ? 233472 : 1, 0;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t size) { return *pointer = (uintptr_t)aligned(size), 0; }
int cuMemFree_v2(uint64_t pointer) { return free((void *)(uintptr_t)pointer), 0; }

int cuMemAllocHost_v2(void **pointer, size_t size) {
    *pointer = memset(aligned(size), 0, size);
    if (pinned_count < PINNED) {
        pinned[pinned_count] = *pointer;
        pinned_size[pinned_count++] = size;
    }
    return 0;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
    for (int i = 0; i < pinned_count; i++)
        if ((char *)(uintptr_t)pointer - pinned[i] >= 0 && (size_t)((char *)(uintptr_t)pointer - pinned[i]) < pinned_size[i])
            return *(int *)value = 1, 0;  // CU_MEMORYTYPE_HOST
    return 1;  // CUDA_ERROR_INVALID_VALUE: memory that it does not know
}

int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t size, void *stream) {
    return memset(target, 0xff, size), 0;  // status words that name no bad input
}

int cuLibraryGetKernelCount(unsigned *count, void *library) {
    return *count = sizeof kernels / sizeof *kernels, 0;
}

int cuLibraryEnumerateKernels(void **found, unsigned count, void *library) {
    for (unsigned i = 0; i < count; i++) found[i] = (void *)(uintptr_t)(i + 1);
    return 0;
}

int cuKernelGetName(const char **name, void *kernel) { return *name = kernels[(uintptr_t)kernel - 1], 0; }
int cuKernelGetFunction(void **function, void *kernel) { return *function = kernel, 0; }
int cuStreamCreate(void **stream, unsigned flags) { return make(stream); }
int cuEventCreate(void **event, unsigned flags) { return make(event); }
int cuEventElapsedTime(float *ms, void *start, void *end) { return *ms = 0.01f, 0; }
int cuEventElapsedTime_v2(float *ms, void *start, void *end) { return cuEventElapsedTime(ms, start, end); }
int cuStreamEndCapture(void *stream, void **graph) { return make(graph); }
int cuGraphInstantiateWithFlags(void **executable, void *graph, uint64_t flags) { return make(executable); }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    char newest[200];
    snprintf(newest, sizeof newest, "%s_v2", symbol);
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *found = dlsym(self, newest);
    if (!found) found = dlsym(self, symbol);
    *function = found ? found : (void *)succeed;
    if (status) *status = 0;
    return 0;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, 0);
}
