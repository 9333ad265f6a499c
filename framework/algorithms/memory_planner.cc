#include "sluice/framework/algorithms/memory_planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sluice/memory/allocator.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

constexpr size_t kMaxBytes = size_t{1} << 60;
// The limit for best fit by size, which compares all pairs of requests that are
// in use together: 0.1 s of work.
constexpr size_t kMaxPairs = size_t{1} << 25;
// Up to this number looking at each one is faster than a tree.
constexpr size_t kFewRequests = 256;

size_t Aligned(size_t bytes) {
  return AlignUp(std::max<size_t>(bytes, 1));
}

void CheckSize(size_t bytes, size_t offset) {
  // Larger than any machine, and too small for the sums here to overflow.
  SLUICE_ENFORCE(bytes <= kMaxBytes && offset <= kMaxBytes,
                 ErrorCode::kResourceExhausted, "memory_planner.too_large",
                 "the values of a plan need more than {} at once: {} more "
                 "after {}",
                 ShortBytes(static_cast<double>(kMaxBytes)),
                 ShortBytes(static_cast<double>(bytes)),
                 ShortBytes(static_cast<double>(offset)));
}

// Returns the indices of requests, in the order of their first instruction.
std::vector<size_t> ByFirst(const std::vector<MemoryRequest>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return requests[a].first < requests[b].first;
  });
  return order;
}

// Returns the number of pairs of requests that are in use at the same time.
size_t CountPairs(const std::vector<MemoryRequest>& requests) {
  std::vector<int> ends;
  ends.reserve(requests.size());
  for (const MemoryRequest& request : requests) {
    ends.push_back(request.last);
  }
  std::sort(ends.begin(), ends.end());
  size_t pairs = 0;
  size_t begun = 0;
  size_t ended = 0;
  for (const size_t index : ByFirst(requests)) {
    while (ended < ends.size() && ends[ended] < requests[index].first) {
      ++ended;
    }
    pairs += begun++ - ended;
  }
  return pairs;
}

// The requests with offsets, indexed by their time of use: a tree over all
// requests in the order of their first instruction. Each node stores the latest
// last instruction among the placed ones. Few requests are a list.
class PlacedRequests {
 public:
  explicit PlacedRequests(const std::vector<MemoryRequest>& requests)
      : requests_(requests), is_list_(requests.size() <= kFewRequests) {
    if (is_list_) return;
    order_ = ByFirst(requests);
    while (leaves_ < order_.size()) {
      leaves_ *= 2;
    }
    latest_.assign(2 * leaves_, kNever);
    leaf_of_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      leaf_of_[order_[i]] = leaves_ + i;
    }
  }

  void Add(size_t index) {
    if (is_list_) {
      const auto offset = [&](size_t each) { return requests_[each].offset; };
      order_.insert(std::ranges::upper_bound(order_, offset(index), {}, offset),
                    index);
      return;
    }
    for (size_t node = leaf_of_[index]; node > 0; node /= 2) {
      latest_[node] = std::max(latest_[node], requests_[index].last);
    }
  }

  // Returns those in use together with `request`, as [offset, end), sorted.
  const std::vector<std::pair<size_t, size_t>>& Beside(
      const MemoryRequest& request) {
    found_.clear();
    if (!is_list_) {
      Visit(1, 0, leaves_, request);
      std::sort(found_.begin(), found_.end());
      return found_;
    }
    for (const size_t index : order_) {
      const MemoryRequest& other = requests_[index];
      if (other.first <= request.last && other.last >= request.first) {
        Find(other);
      }
    }
    return found_;
  }

 private:
  static constexpr int kNever = std::numeric_limits<int>::min();

  void Find(const MemoryRequest& other) {
    found_.emplace_back(other.offset, other.offset + Aligned(other.bytes));
  }

  // Visits the leaves [begin, end) below `node`.
  void Visit(size_t node,
             size_t begin,
             size_t end,
             const MemoryRequest& request) {
    if (latest_[node] < request.first || begin >= order_.size() ||
        requests_[order_[begin]].first > request.last) {
      return;
    }
    if (node >= leaves_) {
      Find(requests_[order_[begin]]);
      return;
    }
    const size_t middle = begin + (end - begin) / 2;
    Visit(2 * node, begin, middle, request);
    Visit(2 * node + 1, middle, end, request);
  }

  const std::vector<MemoryRequest>& requests_;
  bool is_list_;
  std::vector<size_t> order_;  // of a list: the placed ones, by offset
  size_t leaves_ = 1;
  std::vector<int> latest_;      // by node
  std::vector<size_t> leaf_of_;  // by request
  std::vector<std::pair<size_t, size_t>> found_;
};

// Returns the offset of the smallest gap between `placed` (sorted by offset)
// that holds `bytes`, or the end of the last one.
size_t BestOffset(const std::vector<std::pair<size_t, size_t>>& placed,
                  size_t bytes) {
  size_t best_offset = 0;
  size_t best_gap = std::numeric_limits<size_t>::max();
  size_t end = 0;
  bool found = false;
  for (const auto& [other_offset, other_end] : placed) {
    if (other_offset >= end + bytes && other_offset - end < best_gap) {
      best_gap = other_offset - end;
      best_offset = end;
      found = true;
    }
    end = std::max(end, other_end);
  }
  return found ? best_offset : end;
}

size_t PlanBySize(std::vector<MemoryRequest>* requests) {
  std::vector<size_t> order(requests->size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (*requests)[a].bytes > (*requests)[b].bytes;
  });
  PlacedRequests placed(*requests);
  size_t total = 0;
  for (const size_t index : order) {
    MemoryRequest& request = (*requests)[index];
    const size_t bytes = Aligned(request.bytes);
    request.offset = BestOffset(placed.Beside(request), bytes);
    CheckSize(request.bytes, request.offset);
    total = std::max(total, request.offset + bytes);
    placed.Add(index);
  }
  return total;
}

// The gaps in an arena that grows at its end.
class FreeList {
 public:
  // Returns the first of the smallest gaps that hold `bytes`, else the end.
  size_t Take(size_t bytes) {
    const auto gap = by_size_.lower_bound({bytes, 0});
    if (gap == by_size_.end()) {
      const size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [size, offset] = *gap;
    Remove(by_offset_.find(offset));
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  void Give(size_t offset, size_t bytes) {
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + bytes) {
      bytes += after->second;
      Remove(after);
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        Remove(before);
      }
    }
    Insert(offset, bytes);
  }

  size_t end() const { return end_; }

 private:
  void Insert(size_t offset, size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void Remove(std::map<size_t, size_t>::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    by_offset_.erase(gap);
  }

  std::map<size_t, size_t> by_offset_;           // to bytes
  std::set<std::pair<size_t, size_t>> by_size_;  // bytes and offset
  size_t end_ = 0;
};

size_t PlanByTime(std::vector<MemoryRequest>* requests) {
  FreeList free;
  std::multimap<int, size_t> in_use;  // by last instruction
  for (const size_t index : ByFirst(*requests)) {
    MemoryRequest& request = (*requests)[index];
    while (!in_use.empty() && in_use.begin()->first < request.first) {
      const MemoryRequest& over = (*requests)[in_use.begin()->second];
      free.Give(over.offset, Aligned(over.bytes));
      in_use.erase(in_use.begin());
    }
    CheckSize(request.bytes, free.end());
    request.offset = free.Take(Aligned(request.bytes));
    in_use.emplace(request.last, index);
  }
  CheckSize(0, free.end());
  return free.end();
}

}  // namespace

size_t PlanMemory(std::vector<MemoryRequest>* requests) {
  const bool few = requests->size() <= kFewRequests;
  return few || CountPairs(*requests) <= kMaxPairs ? PlanBySize(requests)
                                                   : PlanByTime(requests);
}

}  // namespace sluice
