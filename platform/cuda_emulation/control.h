#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <cuda_runtime.h>

#include "sluice/platform/export.h"

// Functions that only the emulation has: for launch code, and for tests.
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

// Enqueues the call. Returns InvalidConfiguration if no GPU accepts the launch.
SLUICE_API cudaError_t EnqueueKernel(KernelCall call, cudaStream_t stream);

// Enqueues work of a library, which may use device memory.
SLUICE_API cudaError_t EnqueueLibraryCall(const char* name,
                                          cudaStream_t stream,
                                          std::function<void()> work);

// Marks the first `bytes` of an allocation as in use: kernels must not touch
// the rest. 0 marks a cached block, which no kernel may touch.
SLUICE_API void SetUsableBytes(void* pointer, size_t bytes);

// Clears the fault that every call returns since it happened, and all enqueued
// work. CUDA cannot do this: there the process has to end.
SLUICE_API void ClearFault();

enum class ThreadOrder : uint8_t { kForward, kReverse, kShuffle };
enum class StreamMode : uint8_t {
  kLazy,    // a stream runs only as far as a wait needs it
  kOthers,  // like kLazy, but all other streams run first
  kEager,   // work runs when it is enqueued
};

struct Options {
  ThreadOrder order = ThreadOrder::kForward;
  uint64_t seed = 1;  // of kShuffle
  StreamMode streams = StreamMode::kLazy;
  int devices = 1;
  size_t memory_bytes = size_t{4} << 30;
};

// Initially set by the environment (SLUICE_CUDA_EMULATION_*). Tests may change
// them while nothing is enqueued. Throws std::invalid_argument if it is
// invalid.
SLUICE_API Options& GetOptions();

struct Statistics {
  uint64_t kernels;
  uint64_t copies_to_device;
  uint64_t copies_from_device;
};
SLUICE_API Statistics GetStatistics();

}  // namespace sluice::cuda_emulation
