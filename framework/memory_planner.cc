#include "sluice/framework/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sluice::framework {

namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment *
         kAlignment;
}

// The smallest gap between `placed` (sorted by offset) that holds `bytes`, or
// the end of the last one.
size_t BestOffset(const std::vector<const MemoryRequest*>& placed,
                  const MemoryRequest& request) {
  const size_t bytes = Aligned(request.bytes);
  size_t best_offset = 0;
  size_t best_gap = std::numeric_limits<size_t>::max();
  size_t end = 0;
  bool found = false;
  for (const MemoryRequest* other : placed) {
    if (other->last < request.first || request.last < other->first) continue;
    if (other->offset >= end + bytes && other->offset - end < best_gap) {
      best_gap = other->offset - end;
      best_offset = end;
      found = true;
    }
    end = std::max(end, other->offset + Aligned(other->bytes));
  }
  return found ? best_offset : end;
}

}  // namespace

size_t PlanMemory(std::vector<MemoryRequest>* requests) {
  std::vector<size_t> order(requests->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (*requests)[a].bytes > (*requests)[b].bytes;
  });
  std::vector<const MemoryRequest*> placed;
  size_t total = 0;
  for (const size_t index : order) {
    MemoryRequest& request = (*requests)[index];
    request.offset = BestOffset(placed, request);
    total = std::max(total, request.offset + Aligned(request.bytes));
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), &request,
        [](auto* a, auto* b) { return a->offset < b->offset; });
    placed.insert(after, &request);
  }
  return total;
}

}  // namespace sluice::framework
