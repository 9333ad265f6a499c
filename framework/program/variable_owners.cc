#include "sluice/framework/program/variable_owners.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace sluice {

namespace {

// Those of the variables that a program inherited.
using Owners = std::map<std::string, uint64_t, std::less<>>;

struct AllOwners {
  std::mutex mutex;
  std::map<uint64_t, Owners> by_uid;
};

// Never destroyed: programs may be static.
AllOwners& All() {
  static auto& all = *new AllOwners;
  return all;
}

uint64_t Find(const AllOwners& all, uint64_t uid, const std::string& name) {
  const auto owners = all.by_uid.find(uid);
  if (owners == all.by_uid.end()) return uid;
  const auto owner = owners->second.find(name);
  return owner == owners->second.end() ? uid : owner->second;
}

}  // namespace

uint64_t OwnerOf(uint64_t uid, const std::string& name) {
  const std::lock_guard lock(All().mutex);
  return Find(All(), uid, name);
}

SourceLocation MadeAt(const Program& program, const std::string& name) {
  SourceLocation found = program.LocationOfData(name);
  const auto has = [&](const auto& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [&](const auto& a) {
      return std::count(a.second.begin(), a.second.end(), name) > 0;
    });
  };
  for (const BlockDesc& block : program.blocks()) {
    for (const OpDesc& op : block.ops) {
      if (!found.file.empty()) return found;
      if (has(op.outputs) || has(op.inputs)) found = op.location;
    }
  }
  return found;
}

void InheritVariables(const Program& from, const Program& to) {
  const std::lock_guard lock(All().mutex);
  Owners owners;
  for (const VarDesc& var : to.block().vars()) {
    owners.emplace(var.name, Find(All(), from.uid(), var.name));
  }
  All().by_uid.insert_or_assign(to.uid(), std::move(owners));
}

void ForgetOwners(uint64_t uid) noexcept {
  const std::lock_guard lock(All().mutex);
  All().by_uid.erase(uid);
}

}  // namespace sluice
