#include "sluice/platform/cuda/cuda_context.h"

#include <algorithm>
#include <cstring>

#include <kernel_launch.h>

#include "sluice/platform/cuda/cuda_check.h"
#include "sluice/platform/cuda/data_fault.h"

namespace sluice {
namespace {

// Reads as NaN in every floating type.
constexpr int kPoison = 0xFF;

}  // namespace

void CUDAContext::Destroy::operator()(CUstream_st* stream) const {
  static_cast<void>(cudaStreamDestroy(stream));
}
void CUDAContext::Destroy::operator()(CUevent_st* event) const {
  static_cast<void>(cudaEventDestroy(event));
}
void CUDAContext::Destroy::operator()(cublasContext* handle) const {
  static_cast<void>(cublasDestroy(handle));
}

CUDAContext::CUDAContext(CUDAPlace place) : place_(place) {
  Enter();
  // The stream and the default stream do not wait for each other.
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "making a stream");
  stream_.reset(stream);
  cudaEvent_t event = nullptr;
  Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "making an event");
  reached_.reset(event);
  void* fault = nullptr;
  Check(cudaHostAlloc(&fault, sizeof(DataFault), cudaHostAllocDefault),
        "allocating pinned memory");
  fault_.reset(new (fault) DataFault{}, [](DataFault* pinned) {
    static_cast<void>(cudaFreeHost(pinned));
  });
}

CUDAContext::~CUDAContext() {
  static_cast<void>(cudaSetDevice(place_.device));
  const bool works = cudaStreamSynchronize(stream_.get()) == cudaSuccess;
  if (works) return;
  static_cast<void>(cudaGetLastError());
  // The device is lost, or the process ends and CUDA was shut down. CUDA
  // returns errors now, but cuBLAS may crash: its handle is leaked.
  if (!kCUDAIsEmulated) static_cast<void>(cublas_.release());
}

void CUDAContext::Check(int error, const char* what) const {
  if (error == cudaSuccess) [[likely]] {
    return;
  }
  RaiseCUDAError(static_cast<cudaError_t>(error),
                 Format("{}: {}", PlaceKey(place_), what));
}

void CUDAContext::Enter() {
  Check(cudaSetDevice(place_.device), "choosing the device");
}

cublasContext* CUDAContext::cublas() {
  if (cublas_ == nullptr) {
    Enter();
    cublasHandle_t handle = nullptr;
    CheckCublas(cublasCreate(&handle), "making a handle of cuBLAS");
    std::unique_ptr<cublasContext, Destroy> owned(handle);
    CheckCublas(cublasSetStream(handle, stream_.get()),
                "giving cuBLAS a stream");
    cublas_ = std::move(owned);
  }
  return cublas_.get();
}

const Eigen::GpuDevice& CUDAContext::eigen_device() {
  if (eigen_ == nullptr) {
    Enter();
    eigen_ = std::make_unique<EigenDevice>(place_, stream_.get());
  }
  return eigen_->get();
}

bool CUDAContext::IsAwaited(const void* host, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(host);
  return std::any_of(
      arrivals_.begin(), arrivals_.end(), [&](const Arrival& arrival) {
        const auto other = reinterpret_cast<uintptr_t>(arrival.host);
        return begin < other + arrival.bytes && other < begin + bytes;
      });
}

void CUDAContext::CopyFromHost(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  Enter();
  if (IsAwaited(host, bytes)) Wait();
  void* staged = staging_.Take(bytes);
  if (staged != nullptr) {
    std::memcpy(staged, host, bytes);
    host = staged;
  }
  Check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice,
                        stream_.get()),
        "copy to the device");
  if (staged != nullptr) return;
  // The caller may now change `host`, and CUDA does not promise that it has
  // been read.
  Check(cudaStreamSynchronize(stream_.get()), "copy to the device");
}

void CUDAContext::CopyToHost(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  Enter();
  void* staged = staging_.Take(bytes);
  if (staged == nullptr) {
    // CUDA copies to memory that is not pinned synchronously.
    Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost,
                          stream_.get()),
          "copy to the host");
    return;
  }
  arrivals_.push_back({host, staged, bytes});
  const cudaError_t error = cudaMemcpyAsync(
      staged, device, bytes, cudaMemcpyDeviceToHost, stream_.get());
  // Nothing will arrive, and `host` may be freed before the next wait.
  if (error != cudaSuccess) arrivals_.pop_back();
  Check(error, "copy to the host");
  // Poison exposes a caller that reads the data before it waits.
  if constexpr (kCUDAIsEmulated) std::memset(host, kPoison, bytes);
}

void CUDAContext::CopyOnDevice(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  Enter();
  Check(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()),
      "copy on the device");
}

void CUDAContext::WaitFor(CUDAContextBackend& other) {
  Enter();
  auto& first = static_cast<CUDAContext&>(other);
  Check(cudaEventRecord(first.reached_.get(), first.stream_.get()),
        "recording an event");
  Check(cudaStreamWaitEvent(stream_.get(), first.reached_.get(), 0),
        "waiting for an event");
  const auto add = [this](const std::shared_ptr<DataFault>& fault) {
    const auto end = faults_before_.end();
    if (fault != fault_ &&
        std::find(faults_before_.begin(), end, fault) == end) {
      faults_before_.push_back(fault);
    }
  };
  add(first.fault_);
  std::for_each(first.faults_before_.begin(), first.faults_before_.end(), add);
}

void CUDAContext::RaiseDataFault(DataFault* fault) {
  if (*const_cast<RaiseOutside volatile*>(&fault->raise) == nullptr) {
    return;
  }
  const DataFault found = *fault;
  *fault = {};
  failed_op_ = found.op_index;
  found.raise(found.position, found.value, found.bound);
}

void CUDAContext::Wait() {
  const std::vector<Arrival> arrivals = std::move(arrivals_);
  arrivals_.clear();
  const cudaError_t error = cudaStreamSynchronize(stream_.get());
  if (error == cudaSuccess) {
    for (const Arrival& arrival : arrivals) {
      std::memcpy(arrival.host, arrival.staged, arrival.bytes);
    }
  }
  staging_.Reset();
  if (eigen_ != nullptr) eigen_->StreamIsDone();
  failed_op_ = -1;
  Check(error, "waiting for the stream");
  RaiseDataFault(fault_.get());
  for (const auto& fault : faults_before_) {
    RaiseDataFault(fault.get());
  }
}

}  // namespace sluice
