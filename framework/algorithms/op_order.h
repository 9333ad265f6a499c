#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// The ids of a graph's ops, each once, in execution order. Changing and
// comparing cost O(log n), listing O(n) after a change: passes query neighbours
// in programs of thousands of ops. Used by one thread.
class SLUICE_API OpOrder {
 public:
  // `id` must be 0 or more, and not in the order yet.
  void Append(int id);
  // `before` (`after`) must be in the order, `id` not.
  void InsertBefore(int before, int id);
  void InsertAfter(int after, int id);
  // `id` must be in the order.
  void Remove(int id);
  // Whether `a` runs before `b`; both must be in the order.
  bool Precedes(int a, int b) const { return labels_[a] < labels_[b]; }

  // Returns all ids; the reference is updated only by this function.
  const std::vector<int>& ids() const;

 private:
  void Put(int id, int64_t label);
  void SpreadLabels();

  // Ids by label. Labels have gaps for later insertions.
  std::map<int64_t, int> by_label_;
  std::vector<int64_t> labels_;  // by id
  mutable std::vector<int> ids_;
  mutable bool stale_ = false;
};

}  // namespace sluice
