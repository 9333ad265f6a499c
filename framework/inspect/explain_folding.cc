#include <algorithm>
#include <iterator>

#include "sluice/framework/inspect/explain_table.h"

namespace sluice {

namespace {

using Groups = std::vector<CallGroup>;

constexpr size_t kLongestPeriod = 64;

const KernelDef* NextKernel(const PlanCall& call) {
  return call.next == nullptr ? nullptr : call.next->kernel;
}

bool AlikeCalls(const PlanCall& a, const PlanCall& b) {
  return a.name == b.name && a.chosen->kernel == b.chosen->kernel &&
         a.why == b.why && NextKernel(a) == NextKernel(b) &&
         a.decision->place == b.decision->place && a.purpose == b.purpose &&
         (a.moved_bytes > 0) == (b.moved_bytes > 0);
}

bool AlikeGroups(const CallGroup& a, const CallGroup& b) {
  return a.layer == b.layer &&
         std::equal(
             a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(),
             [](const auto* x, const auto* y) { return AlikeCalls(*x, *y); });
}

void Append(const CallGroup& from, CallGroup* to) {
  to->calls.insert(to->calls.end(), from.calls.begin(), from.calls.end());
  to->seconds += from.seconds;
}

// Makes groups of single calls, but one of each layer of more than three.
Groups JoinLayers(const std::vector<PlanCall>& calls,
                  const ExplainOptions& options) {
  const auto layer_of = [&](const PlanCall& call) {
    const auto& outputs = call.desc->outputs;
    const auto known = outputs.empty() || outputs[0].second.empty()
                           ? options.layers.end()
                           : options.layers.find(outputs[0].second[0]);
    return known == options.layers.end() ? std::pair<std::string, int>()
                                         : known->second;
  };
  Groups groups;
  for (auto at = calls.begin(); at != calls.end();) {
    const auto layer = layer_of(*at);
    const auto end = std::find_if(at + 1, calls.end(), [&](const auto& call) {
      return layer_of(call) != layer;
    });
    const bool join =
        !layer.first.empty() && end - at > 3 && calls.size() >= kLongTable;
    if (join) groups.emplace_back().layer = layer.first;
    for (; at != end; ++at) {
      if (!join) groups.emplace_back();
      Append({.calls = {&*at}, .seconds = at->seconds()}, &groups.back());
    }
  }
  return groups;
}

// Joins neighbours of one kind that take less than a hundredth each.
Groups JoinNeighbours(const Groups& groups, double total) {
  Groups joined;
  const auto small = [&](const CallGroup& group) {
    const double seconds = group.calls.back()->seconds();
    return group.layer.empty() && (seconds <= total / 100 || seconds < 1e-6);
  };
  for (const CallGroup& group : groups) {
    const bool join =
        !joined.empty() && small(group) && small(joined.back()) &&
        AlikeCalls(*joined.back().calls.back(), *group.calls.back());
    if (join) {
      Append(group, &joined.back());
    } else {
      joined.push_back(group);
    }
  }
  return joined;
}

// Returns how often groups [at, at + period) come again right after.
size_t Repetitions(const Groups& groups, size_t at, size_t period) {
  size_t next = at + period;
  while (next < groups.size() &&
         AlikeGroups(groups[next], groups[next - period])) {
    ++next;
  }
  return (next - at) / period - 1;
}

Groups FoldRepetitions(const Groups& groups) {
  Groups folded;
  for (size_t at = 0; at < groups.size();) {
    size_t best_period = 0;
    size_t best_times = 0;
    for (size_t period = 1; period <= kLongestPeriod; ++period) {
      if (at + 2 * period > groups.size()) break;
      const size_t times = Repetitions(groups, at, period);
      if (times * period > 2 && times * period > best_times * best_period) {
        best_period = period;
        best_times = times;
      }
    }
    if (best_times == 0) {
      folded.push_back(groups[at++]);
      continue;
    }
    CallGroup again;
    for (size_t i = 0; i < best_period * (best_times + 1); ++i) {
      if (i < best_period) {
        again.period += groups[at + i].calls.size();
        folded.push_back(groups[at + i]);
      } else {
        Append(groups[at + i], &again);
      }
    }
    folded.push_back(std::move(again));
    at += best_period * (best_times + 1);
  }
  return folded;
}

// Joins three and more neighbours that take less than `limit` seconds each.
Groups JoinSmall(const Groups& groups, double limit) {
  Groups joined;
  for (size_t at = 0; at < groups.size();) {
    size_t end = at;
    while (end < groups.size() && groups[end].period == 0 &&
           groups[end].seconds < limit &&
           groups[end].calls[0]->purpose == groups[at].calls[0]->purpose) {
      ++end;
    }
    if (end - at < 3) {
      joined.push_back(groups[at++]);
      continue;
    }
    CallGroup small;
    small.mixed = true;
    for (; at < end; ++at) {
      Append(groups[at], &small);
    }
    joined.push_back(std::move(small));
  }
  return joined;
}

}  // namespace

std::vector<CallGroup> FoldCalls(const std::vector<PlanCall>& calls,
                                 double total_seconds,
                                 const ExplainOptions& options) {
  Groups groups = JoinNeighbours(JoinLayers(calls, options), total_seconds);
  if (options.all) return FoldRepetitions(groups);
  if (calls.size() <= kManyRows) return groups;
  groups = FoldRepetitions(groups);
  Groups folded = groups;
  double limit = std::max(0.005 * total_seconds, 1e-6);
  for (int i = 0; i < 4 && folded.size() > kManyRows; ++i) {
    folded = JoinSmall(groups, limit);
    limit *= 2;
  }
  return folded;
}

}  // namespace sluice
