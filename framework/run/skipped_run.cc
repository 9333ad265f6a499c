#include "sluice/framework/run/skipped_run.h"

#include <algorithm>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::framework {

namespace {

bool IsCollective(const OpDesc& op) {
  const auto kernels = Registry::Global().Kernels(op.type);
  return std::any_of(
      kernels.begin(), kernels.end(),
      [](const KernelDef* kernel) { return kernel->collective(); });
}

}  // namespace

void NoteSkippedRun(const Program& program, std::string_view why) noexcept try {
  platform::World& world = platform::World::Get();
  if (world.size() == 1) return;
  for (const BlockDesc& block : program.blocks()) {
    if (std::any_of(block.ops.begin(), block.ops.end(), IsCollective)) {
      return world.SkipPart(why);
    }
  }
} catch (...) {
  // The error that matters is on its way already.
}

}  // namespace sluice::framework
