#include "sluice/framework/algorithms/op_order.h"

#include <algorithm>
#include <iterator>

namespace sluice {

namespace {

// Leaves room to insert 32 ids one after the other before the same id.
constexpr int64_t kStep = int64_t{1} << 32;

}  // namespace

void OpOrder::Put(int id, int64_t label) {
  by_label_.emplace(label, id);
  labels_.resize(std::max(labels_.size(), static_cast<size_t>(id) + 1));
  labels_[id] = label;
  stale_ = true;
}

void OpOrder::Append(int id) {
  Put(id, by_label_.empty() ? 0 : by_label_.rbegin()->first + kStep);
}

void OpOrder::InsertBefore(int before, int id) {
  const auto label_in_front = [&] {
    const auto at = by_label_.find(labels_[before]);
    return at == by_label_.begin() ? at->first - 2 * kStep
                                   : std::prev(at)->first;
  };
  if (labels_[before] - label_in_front() < 2) SpreadLabels();
  const int64_t in_front = label_in_front();
  Put(id, in_front + (labels_[before] - in_front) / 2);
}

void OpOrder::InsertAfter(int after, int id) {
  const auto next = std::next(by_label_.find(labels_[after]));
  if (next == by_label_.end()) return Append(id);
  InsertBefore(next->second, id);
}

void OpOrder::Remove(int id) {
  by_label_.erase(labels_[id]);
  stale_ = true;
}

void OpOrder::SpreadLabels() {
  std::map<int64_t, int> spread;
  for (const auto& [label, id] : by_label_) {
    labels_[id] = static_cast<int64_t>(spread.size()) * kStep;
    spread.emplace_hint(spread.end(), labels_[id], id);
  }
  by_label_ = std::move(spread);
}

const std::vector<int>& OpOrder::ids() const {
  if (stale_) {
    ids_.clear();
    ids_.reserve(by_label_.size());
    for (const auto& [label, id] : by_label_) {
      ids_.push_back(id);
    }
    stale_ = false;
  }
  return ids_;
}

}  // namespace sluice
