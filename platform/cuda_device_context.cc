#include "sluice/platform/cuda_device_context.h"

#include <utility>

#include "sluice/platform/device.h"

namespace sluice {
namespace {

std::unique_ptr<DeviceContext> MakeContext(CUDAPlace place) {
  return DeviceManager::Instance().Get(place).CreateContext();
}

}  // namespace

CUDAContextBackend::~CUDAContextBackend() = default;

CUDADeviceContext::CUDADeviceContext(CUDAPlace place)
    : place_(place),
      backend_(std::move(
          static_cast<CUDADeviceContext&>(*MakeContext(place)).backend_)),
      stream_(backend_->stream()) {}

CUDADeviceContext::CUDADeviceContext(
    CUDAPlace place, std::unique_ptr<CUDAContextBackend> backend)
    : place_(place),
      backend_(std::move(backend)),
      stream_(backend_->stream()) {}

CUDADeviceContext::~CUDADeviceContext() = default;

Place CUDADeviceContext::GetPlace() const {
  return place_;
}

void CUDADeviceContext::CopyFromHost(void* device,
                                     const void* host,
                                     size_t bytes) {
  backend_->CopyFromHost(device, host, bytes);
}

void CUDADeviceContext::CopyToHost(void* host,
                                   const void* device,
                                   size_t bytes) {
  backend_->CopyToHost(host, device, bytes);
}

void CUDADeviceContext::CopyOnDevice(void* to, const void* from, size_t bytes) {
  backend_->CopyOnDevice(to, from, bytes);
}

void CUDADeviceContext::Wait() {
  backend_->Wait();
}

void CUDADeviceContext::WaitFor(DeviceContext& other) {
  auto* context = dynamic_cast<CUDADeviceContext*>(&other);
  if (context == nullptr || context->place_.device != place_.device) {
    other.Wait();
    return;
  }
  backend_->WaitFor(*context->backend_);
}

int CUDADeviceContext::FailedOp() const {
  return backend_->FailedOp();
}

void CUDADeviceContext::Compute(FunctionRef<void()> kernel) {
  backend_->Enter();
  kernel();
}

}  // namespace sluice
