#include "sluice/framework/hints/pass_hints.h"

#include <algorithm>
#include <iterator>

#include "sluice/platform/error.h"

namespace sluice {

namespace {

void MovePassHints(std::vector<KernelHint>* from, std::vector<KernelHint>* to) {
  const auto others = std::stable_partition(
      from->begin(), from->end(),
      [](const KernelHint& hint) { return hint.pass.empty(); });
  to->insert(to->end(), std::make_move_iterator(others),
             std::make_move_iterator(from->end()));
  from->erase(others, from->end());
}

}  // namespace

PassHints::PassHints(std::vector<KernelHint>* hints,
                     std::map<int, std::vector<KernelHint>>* op_hints) {
  MovePassHints(hints, &hints_);
  for (auto& [id, own] : *op_hints) {
    MovePassHints(&own, &op_hints_[id]);
  }
}

bool PassHints::Begin(std::string_view pass) {
  pass_ = pass;
  for (const auto& [id, own] : op_hints_) {
    for (const KernelHint& hint : own) {
      const bool excludes = hint.mode == HintMode::kExclude;
      if (hint.pass == pass && !excludes) return true;
    }
  }
  for (const KernelHint& hint : hints_) {
    if (hint.pass != pass) continue;
    if (hint.mode != HintMode::kExclude) return true;
    if (hint.selector != "*") continue;
    off_.push_back(Format("pass {} is off: {}", pass, hint));
    return false;
  }
  return true;
}

const KernelHint* PassHints::Strongest(const OpDesc& op, int id) const {
  const auto strongest = [&](const std::vector<KernelHint>& hints,
                             bool own) -> const KernelHint* {
    for (const KernelHint& hint : hints) {
      if (hint.pass == pass_ && (own || hint.Matches(op, id))) return &hint;
    }
    return nullptr;
  };
  const auto own = op_hints_.find(id);
  const KernelHint* hint =
      own == op_hints_.end() ? nullptr : strongest(own->second, true);
  return hint == nullptr ? strongest(hints_, false) : hint;
}

const KernelHint* PassHints::Forbids(const OpDesc& op, int id) const {
  const KernelHint* hint = Strongest(op, id);
  return hint != nullptr && hint->mode == HintMode::kExclude ? hint : nullptr;
}

bool PassHints::Requires(const OpDesc& op, int id) const {
  const KernelHint* hint = Strongest(op, id);
  return hint != nullptr && hint->mode == HintMode::kRequire;
}

void PassHints::Note(const std::vector<std::pair<int, std::string>>& ops,
                     const std::string& why) {
  Left& left = left_[{pass_, why}];
  if (left.times++ > 0) return;
  for (const auto& [id, type] : ops) {
    left.first += Format("{}#{} {}", left.first.empty() ? "" : ", ", id, type);
  }
}

std::vector<std::string> PassHints::Remarks() const {
  std::vector<std::string> remarks = off_;
  for (const auto& [key, left] : left_) {
    const std::string more =
        left.times == 1 ? "" : Format(" and {} more times", left.times - 1);
    remarks.push_back(Format("pass {} does not change {}{}: {}", key.first,
                             left.first, more, key.second));
  }
  return remarks;
}

}  // namespace sluice
