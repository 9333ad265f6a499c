#include "sluice/framework/plan/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/platform/error.h"

namespace sluice::framework {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaxBytes = size_t{1} << 60;

size_t Aligned(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment *
         kAlignment;
}

// A request that has its offset. By value and side by side: thousands of them
// are walked for each further one.
struct Placed {
  size_t offset;
  size_t end;
  int first;
  int last;
};

// The smallest gap between `placed` (sorted by offset) that holds `bytes`, or
// the end of the last one.
size_t BestOffset(const std::vector<Placed>& placed,
                  const MemoryRequest& request) {
  const size_t bytes = Aligned(request.bytes);
  size_t best_offset = 0;
  size_t best_gap = std::numeric_limits<size_t>::max();
  size_t end = 0;
  bool found = false;
  for (const Placed& other : placed) {
    if (other.last < request.first || request.last < other.first) continue;
    if (other.offset >= end + bytes && other.offset - end < best_gap) {
      best_gap = other.offset - end;
      best_offset = end;
      found = true;
    }
    end = std::max(end, other.end);
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
  std::vector<Placed> placed;
  placed.reserve(requests->size());
  size_t total = 0;
  for (const size_t index : order) {
    MemoryRequest& request = (*requests)[index];
    request.offset = BestOffset(placed, request);
    // Far above any machine, far below an overflow of the sums here.
    SLUICE_ENFORCE(request.bytes <= kMaxBytes && request.offset <= kMaxBytes,
                   ErrorCode::kResourceExhausted, "memory_planner.too_large",
                   "the values of a plan need more than {} bytes at once: {} "
                   "more after {}",
                   kMaxBytes, request.bytes, request.offset);
    const size_t end = request.offset + Aligned(request.bytes);
    total = std::max(total, end);
    const auto after =
        std::upper_bound(placed.begin(), placed.end(), request.offset,
                         [](size_t offset, const Placed& other) {
                           return offset < other.offset;
                         });
    placed.insert(after, {request.offset, end, request.first, request.last});
  }
  return total;
}

}  // namespace sluice::framework
