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

namespace sluice {

struct DataFault;  // platform/cuda/data_check.h

// The interface of a CUDADeviceContext to libsluice_cuda.so, the only module
// that includes CUDA's headers.
class SLUICE_API CUDAContextBackend {
 public:
  virtual ~CUDAContextBackend();

  virtual void CopyFromHost(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
  virtual void CopyOnDevice(void* to, const void* from, size_t bytes) = 0;
  virtual void Wait() = 0;
  // Work enqueued here from now on begins after all work that is enqueued so
  // far on `other`, a context of the same device.
  virtual void WaitFor(CUDAContextBackend& other) = 0;
  // Makes the device current for the calling thread.
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

// The context of a CUDA device: a stream and the handles of libraries. Copies
// go through pinned memory and are done when Wait returns. Kernels include this
// header, also in a build with emulated CUDA.
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
  // Uses an event when `other` is a context of the same device.
  void WaitFor(DeviceContext& other) override;
  void Compute(FunctionRef<void()> kernel) override;
  void SetOpIndex(int op_index) override { op_index_ = op_index; }
  int FailedOp() const override;

  // The stream that kernels run on (a cudaStream_t).
  CUstream_st* stream() const { return stream_; }
  // Returns a cublasHandle_t bound to the stream, made on first use.
  cublasContext* cublas() const { return backend_->cublas(); }
  // For Eigen's device expressions: `out.device(context.eigen_device()) = ...`.
  // Include <eigen_gpu.cuh> in a .cu file to use it. Made on first use.
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

}  // namespace sluice
