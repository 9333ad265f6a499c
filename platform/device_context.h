#pragma once

#include <cstddef>

#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"
#include "sluice/platform/place.h"

namespace sluice {

// A queue of work on one device, executed in order. A copy or kernel may return
// before it is done; the memory it reads or writes must stay alive and
// untouched until Wait() returns. A context is used by one thread at a time;
// every frame of a plan has its own.
class SLUICE_API DeviceContext {
 public:
  virtual ~DeviceContext();

  virtual Place GetPlace() const = 0;

  // Copies `bytes` between the host and this device, or within the device.
  virtual void CopyFromHost(void* device, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
  virtual void CopyOnDevice(void* to, const void* from, size_t bytes) = 0;

  // Blocks until everything enqueued so far is done. Raises the first error of
  // the queued work (DeviceLost or the kernel's own).
  virtual void Wait() = 0;

  // Work enqueued here from now on begins after all work that `other` has so
  // far. This default blocks the host; a device should use events between its
  // contexts.
  virtual void WaitFor(DeviceContext& other) { other.Wait(); }

  // Wraps the call of one kernel; a device may do work before and after it.
  virtual void Compute(FunctionRef<void()> kernel) { kernel(); }

  // Sets the index of the op that enqueues next, for error messages.
  virtual void SetOpIndex(int /*op_index*/) {}
  // The op whose queued work made the last Wait fail; -1 for none, and where
  // it is not known.
  virtual int FailedOp() const { return -1; }

 protected:
  DeviceContext() = default;
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
};

// ContextOfEigen<Device>::Type is the context whose eigen_device() is a Device
// of Eigen's; its header defines it.
template <typename EigenDevice>
struct ContextOfEigen;

}  // namespace sluice
