#include "sluice/platform/cuda/eigen_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <eigen_gpu.cuh>
#include <kernel_launch.h>

#include "sluice/platform/cuda/cuda_check.h"
#include "sluice/platform/device.h"

namespace sluice {

// Eigen frees memory while work that uses it is still enqueued. So the memory
// is kept until the stream is done.
class EigenDevice::Stream final : public Eigen::StreamInterface {
 public:
  Stream(CUDAPlace place, cudaStream_t stream)
      : device_(DeviceManager::Instance().Get(place)), stream_(stream) {
    CheckCUDA(cudaGetDeviceProperties(&properties_, place.device),
              "asking for the properties of the device");
    // This disables kernels of Eigen that only nvcc compiles.
    if (kCUDAIsEmulated) properties_.major = 2;
  }

  ~Stream() override {
    for (void* block : blocks_) {
      device_.Free(block, 0);
    }
  }

  const cudaStream_t& stream() const override { return stream_; }
  const cudaDeviceProp& deviceProperties() const override {
    return properties_;
  }

  void* allocate(size_t bytes) const override {
    if (bytes == 0) return nullptr;
    blocks_.reserve(blocks_.size() + 1);
    returned_.reserve(blocks_.size() + 1);
    void* block = device_.Allocate(bytes);
    SLUICE_ENFORCE(block != nullptr, ErrorCode::kResourceExhausted,
                   "cuda.eigen_memory",
                   "{}: no {} bytes left for a temporary of Eigen",
                   device_.place(), bytes);
    blocks_.push_back(block);
    return block;
  }

  void deallocate(void* block) const override {
    if (block != nullptr) returned_.push_back(block);
  }

  void* scratchpad() const override {
    if (scratchpad_ == nullptr) {
      scratchpad_ = allocate(Eigen::kGpuScratchSize);
    }
    return scratchpad_;
  }

  unsigned* semaphore() const override {
    if (semaphore_ == nullptr) {
      void* memory = allocate(sizeof(unsigned));
      CheckCUDA(cudaMemsetAsync(memory, 0, sizeof(unsigned), stream_),
                "setting Eigen's semaphore");
      semaphore_ = static_cast<unsigned*>(memory);
    }
    return semaphore_;
  }

  void FreeReturned() {
    for (void* block : std::exchange(returned_, {})) {
      blocks_.erase(std::find(blocks_.begin(), blocks_.end(), block));
      device_.Free(block, 0);
    }
  }

 private:
  Device& device_;
  const cudaStream_t stream_;
  cudaDeviceProp properties_{};
  // Eigen's interface is const throughout.
  mutable std::vector<void*> blocks_;    // all allocated blocks
  mutable std::vector<void*> returned_;  // blocks that Eigen has freed
  mutable void* scratchpad_ = nullptr;
  mutable unsigned* semaphore_ = nullptr;
};

EigenDevice::EigenDevice(CUDAPlace place, CUstream_st* stream)
    : stream_(std::make_unique<Stream>(place, stream)),
      device_(std::make_unique<Eigen::GpuDevice>(stream_.get())) {}

EigenDevice::~EigenDevice() = default;

void EigenDevice::StreamIsDone() {
  stream_->FreeReturned();
}

}  // namespace sluice
