#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

// The ids of a graph's ops, each once, in the order in which they run. Changing
// and comparing cost O(log n), listing O(n) after a change: passes ask about
// neighbours in programs of thousands of ops. Used by one thread.
class SLUICE_API OpOrder {
 public:
  // `id` is 0 or more, and not there yet.
  void Append(int id);
  // `before` is there, `id` is not.
  void InsertBefore(int before, int id);
  void InsertBehind(int behind, int id);
  // The same for an id that is there.
  void Remove(int id);
  // Whether `a` runs before `b`; both are there.
  bool Precedes(int a, int b) const { return labels_[a] < labels_[b]; }

  // All of them; as they were when it was called last.
  const std::vector<int>& ids() const;

 private:
  void Put(int id, int64_t label);
  void SpreadLabels();

  // Ids by label: numbers with room between them for those that come later.
  std::map<int64_t, int> by_label_;
  std::vector<int64_t> labels_;  // by id
  mutable std::vector<int> ids_;
  mutable bool stale_ = false;
};

}  // namespace sluice::framework
