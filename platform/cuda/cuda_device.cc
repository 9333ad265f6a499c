// The devices of libsluice_cuda.so, in a build with nvcc and in an emulated
// one. DeviceManager loads them when a CUDA place is first used.

#include <algorithm>
#include <memory>

#include <cuda_runtime.h>
#include <kernel_launch.h>

#include "sluice/platform/cuda/architecture.h"
#include "sluice/platform/cuda/cuda_check.h"
#include "sluice/platform/cuda/cuda_context.h"
#include "sluice/platform/device.h"

namespace sluice {
namespace {

class CUDADevice final : public Device {
 public:
  explicit CUDADevice(CUDAPlace place) : place_(place) {
    Check(cudaSetDevice(place.device), "opening the device");
    Check(cudaGetDeviceProperties(&properties_, place.device),
          "asking for its properties");
    CheckArchitecture(place, properties_);
    size_t free = 0;
    Check(cudaMemGetInfo(&free, &total_), "asking for its memory");
    // CUDA and its libraries also need memory.
    limit_ = kCUDAIsEmulated ? total_ : free - std::min(free / 16, kHeadroom);
  }

  PlaceKey place() const override { return place_; }

  std::string Description() const override {
    if (kCUDAIsEmulated) return properties_.name;
    return Format("{} (sm_{}{})", properties_.name, properties_.major,
                  properties_.minor);
  }
  bool is_emulated() const override { return kCUDAIsEmulated; }

  void* Allocate(size_t bytes) override {
    // CUDA need not report out of memory for a size that no GPU has.
    if (bytes > total_) return nullptr;
    Check(cudaSetDevice(place_.device), "allocating");
    void* pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, bytes);
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      return nullptr;
    }
    Check(error, "allocating");
    return pointer;
  }

  // Ignores errors: a lost device refuses the call, and so does CUDA while the
  // process ends. The memory is then gone anyway.
  void Free(void* pointer, size_t /*bytes*/) override {
    static_cast<void>(cudaSetDevice(place_.device));
    if (cudaFree(pointer) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
    }
  }

  void SetUsable(void* pointer, size_t bytes) override {
    SetUsableBytes(pointer, bytes);
  }

  size_t MemoryLimit() const override { return limit_; }
  bool host_accessible() const override { return false; }

  bool copies_beside_kernels() const override { return true; }

  std::unique_ptr<DeviceContext> CreateContext() override {
    return std::make_unique<CUDADeviceContext>(
        place_, std::make_unique<CUDAContext>(place_));
  }

 private:
  static constexpr size_t kHeadroom = size_t{512} << 20;

  void Check(cudaError_t error, const char* what) const {
    if (error != cudaSuccess) [[unlikely]] {
      RaiseCUDAError(error, Format("{}: {}", PlaceKey(place_), what));
    }
  }

  CUDAPlace place_;
  cudaDeviceProp properties_ = {};
  size_t total_ = 0;
  size_t limit_ = 0;
};

}  // namespace
}  // namespace sluice

extern "C" void SluiceStartModule();

// The loader calls this before the module's kernels are registered.
void SluiceStartModule() {
  using namespace sluice;  // NOLINT(google-build-using-namespace)
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    count = 0;
  }
  DeviceManager::Instance().AddKind(
      PlaceKind::kCUDA, count, [error](int index) -> std::unique_ptr<Device> {
        if (error != cudaSuccess) {
          RaiseCUDAError(error, Format("cuda:{}: looking for devices", index));
        }
        return std::make_unique<CUDADevice>(CUDAPlace{index});
      });
}
