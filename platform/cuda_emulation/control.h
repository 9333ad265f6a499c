#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <cuda_runtime.h>

#include "sluice/platform/export.h"

// What only the emulation has: for the code that launches, and for tests.
namespace sluice::cuda_emulation {

// A kernel with its arguments, to be run once for each thread of the grid.
struct KernelCall {
  const char* name;    // lives as long as the process
  const void* kernel;  // its address, for cudaFuncSetAttribute
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  std::function<void()> run;
};

// Enqueues the call. InvalidConfiguration for a launch that no GPU takes.
SLUICE_API cudaError_t EnqueueKernel(KernelCall call, cudaStream_t stream);

// Enqueues `work` of a library, which may use device memory.
SLUICE_API cudaError_t EnqueueLibraryCall(const char* name,
                                          cudaStream_t stream,
                                          std::function<void()> work);

// The first `bytes` of an allocation are in use: kernels must leave the rest
// alone. 0 for a block that waits in a cache: no kernel may touch it.
SLUICE_API void SetUsableBytes(void* pointer, size_t bytes);

// Forgets the fault that every call returns since it happened, and all that
// was enqueued. CUDA has no such thing: there the process has to end.
SLUICE_API void ClearFault();

enum class ThreadOrder : uint8_t { kForward, kReverse, kShuffle };
enum class StreamMode : uint8_t {
  kLazy,    // a stream runs as far as somebody waits for it
  kOthers,  // the same, but all other streams run before it
  kEager,   // at once
};

struct Options {
  ThreadOrder order = ThreadOrder::kForward;
  uint64_t seed = 1;  // of kShuffle
  StreamMode streams = StreamMode::kLazy;
  int devices = 1;
  size_t memory_bytes = size_t{4} << 30;
};

// The environment's at first (SLUICE_CUDA_EMULATION_*); tests may change them
// while nothing is enqueued. std::invalid_argument for a wrong environment.
SLUICE_API Options& GetOptions();

struct Statistics {
  uint64_t kernels;
  uint64_t copies_to_device;
  uint64_t copies_from_device;
};
SLUICE_API Statistics GetStatistics();

}  // namespace sluice::cuda_emulation
