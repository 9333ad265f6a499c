#pragma once

#include <memory>

#include "sluice/platform/device_context.h"

// CUDA's own types, whose headers stay out of this one.
struct CUstream_st;
struct CUevent_st;
struct cublasContext;

namespace Eigen {
struct GpuDevice;
}  // namespace Eigen

namespace sluice::platform {

struct DataFault;  // platform/cuda/data_check.h

// What a CUDADeviceContext needs from libsluice_cuda.so, the module that CUDA's
// headers stay in.
class SLUICE_API CUDAContextBackend {
 public:
  virtual ~CUDAContextBackend();

  virtual void CopyFromHost(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
  virtual void CopyOnDevice(void* to, const void* from, size_t bytes) = 0;
  virtual void Wait() = 0;
  // What is enqueued from now on begins after what `other`, of the same
  // device, has been given so far.
  virtual void WaitFor(CUDAContextBackend& other) = 0;
  // Makes the device that of the calling thread.
  virtual void Enter() = 0;

  virtual CUstream_st* stream() const = 0;
  virtual cublasContext* cublas() = 0;
  virtual const Eigen::GpuDevice& eigen_device() = 0;
  virtual DataFault* data_fault() const = 0;
  // See DeviceContext.
  virtual int FailedOp() const = 0;

 protected:
  CUDAContextBackend() = default;
  CUDAContextBackend(const CUDAContextBackend&) = delete;
  CUDAContextBackend& operator=(const CUDAContextBackend&) = delete;
};

// The context of a CUDA device: a stream, and what libraries need to work on
// it. Copies go through pinned memory and are done when Wait returns. Kernels
// see this header, also those of a build whose CUDA is emulated.
class SLUICE_API CUDADeviceContext final : public DeviceContext {
 public:
  // A new context of the device, with a stream of its own. Raises what
  // DeviceManager::Get raises: Unimplemented when this build has no CUDA,
  // NotFound when the machine has no such device.
  explicit CUDADeviceContext(CUDAPlace place);
  CUDADeviceContext(CUDAPlace place,
                    std::unique_ptr<CUDAContextBackend> backend);
  ~CUDADeviceContext() override;

  Place GetPlace() const override;
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;
  void Wait() override;
  // By an event when `other` is a context of the same device.
  void WaitFor(DeviceContext& other) override;
  void Compute(FunctionRef<void()> kernel) override;
  void SetOpIndex(int op_index) override { op_index_ = op_index; }
  int FailedOp() const override;

  // The stream that kernels run on (a cudaStream_t).
  CUstream_st* stream() const { return stream_; }
  // A cublasHandle_t bound to the stream, made when first asked for.
  cublasContext* cublas() const { return backend_->cublas(); }
  // For Eigen's device expressions: `out.device(context.eigen_device()) = ...`.
  // Include <eigen_gpu.cuh> in a .cu file to use it. Made when first asked for.
  const Eigen::GpuDevice& eigen_device() const {
    return backend_->eigen_device();
  }
  // For platform/cuda/data_check.h.
  DataFault* data_fault() const { return backend_->data_fault(); }
  int op_index() const { return op_index_; }

 private:
  CUDAPlace place_;
  std::unique_ptr<CUDAContextBackend> backend_;
  CUstream_st* stream_;
  int op_index_ = -1;
};

template <>
struct ContextOfEigen<Eigen::GpuDevice> {
  using Type = CUDADeviceContext;
};

}  // namespace sluice::platform
