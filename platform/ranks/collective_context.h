#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sluice/platform/device_context.h"
#include "sluice/platform/ranks/world.h"

namespace sluice {

// A queue of collectives. Kernels start them here, and later ops run
// concurrently until a caller waits. Every collective op of a plan has its own.
class SLUICE_API CollectiveContext final : public DeviceContext {
 public:
  Place GetPlace() const override;
  // These raise Internal: all memory is the host's, with nothing to copy.
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyOnDevice(void* to, const void* from, size_t bytes) override;

  // Sets the op of these collectives, which is named if waiting fails.
  void SetOpIndex(int op_index) override { op_index_ = op_index; }
  int FailedOp() const override { return op_index_; }

  // Raises what World::Start raises.
  void Start(Collective collective) {
    started_.push_back(World::Get().Start(std::move(collective)));
  }
  // Raises what World::Wait raises.
  void Wait() override;

 private:
  std::vector<int64_t> started_;  // numbers of those not waited for
  int op_index_ = -1;
};

// For KernelTraits::Exchange.
SLUICE_API std::unique_ptr<DeviceContext> NewCollectiveContext();

}  // namespace sluice
