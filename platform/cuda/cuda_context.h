#pragma once

#include <memory>
#include <vector>

#include "sluice/platform/cuda/eigen_device.h"
#include "sluice/platform/cuda/pinned_staging.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice {

// One stream of a CUDA device with its staging memory and library handles.
class CUDAContext final : public CUDAContextBackend {
 public:
  explicit CUDAContext(CUDAPlace place);
  ~CUDAContext() override;

  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;
  void Wait() override;
  void WaitFor(CUDAContextBackend& other) override;
  void Enter() override;

  CUstream_st* stream() const override { return stream_.get(); }
  cublasContext* cublas() override;
  const Eigen::GpuDevice& eigen_device() override;
  DataFault* data_fault() const override { return fault_.get(); }
  int FailedOp() const override { return failed_op_; }

 private:
  // A copy to the host whose data is still in pinned memory.
  struct Arrival {
    void* host;
    const void* staged;
    size_t bytes;
  };

  struct Destroy {
    void operator()(CUstream_st* stream) const;
    void operator()(CUevent_st* event) const;
    void operator()(cublasContext* handle) const;
  };

  // Raises the data fault that a kernel recorded.
  void RaiseDataFault(DataFault* fault);
  bool IsAwaited(const void* host, size_t bytes) const;
  void Check(int error, const char* what) const;

  CUDAPlace place_;
  std::unique_ptr<CUstream_st, Destroy> stream_;
  // Other contexts wait for this event.
  std::unique_ptr<CUevent_st, Destroy> reached_;
  std::unique_ptr<cublasContext, Destroy> cublas_;
  std::unique_ptr<EigenDevice> eigen_;
  PinnedStaging staging_;
  std::vector<Arrival> arrivals_;
  int failed_op_ = -1;
  std::shared_ptr<DataFault> fault_;
  // Faults of the contexts that this one has waited for; it raises them, too.
  std::vector<std::shared_ptr<DataFault>> faults_before_;
};

}  // namespace sluice
