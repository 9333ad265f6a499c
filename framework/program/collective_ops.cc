#include "sluice/framework/program/collective_ops.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/framework/op/registry.h"

namespace sluice::framework {

namespace {

bool IsCollective(const OpDesc& op) {
  const auto kernels = Registry::Global().Kernels(op.type);
  return std::any_of(
      kernels.begin(), kernels.end(),
      [](const KernelDef* kernel) { return kernel->collective(); });
}

}  // namespace

bool HasCollectives(const Program& program) {
  constexpr size_t kMostPrograms = 64;
  using Key = std::pair<uint64_t, uint64_t>;
  thread_local std::map<Key, bool> known;
  const Key key(program.uid(), program.version());
  if (const auto found = known.find(key); found != known.end()) {
    return found->second;
  }
  const bool has = std::any_of(
      program.blocks().begin(), program.blocks().end(),
      [](const BlockDesc& block) {
        return std::any_of(block.ops.begin(), block.ops.end(), IsCollective);
      });
  if (known.size() >= kMostPrograms) known.clear();
  known[key] = has;
  return has;
}

}  // namespace sluice::framework
