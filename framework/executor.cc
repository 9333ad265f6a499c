#include "sluice/framework/executor.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <new>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {

using platform::ErrorCode;

namespace {

constexpr size_t kMaxPlans = 16;

struct CacheEntry {
  uint64_t uid = 0;
  uint64_t version = 0;
  uint64_t hints = 0;
  std::shared_ptr<const Plan> plan;

  bool Matches(const Program& program,
               const Feeds& feeds,
               const Fetches& fetches,
               uint64_t hint_state,
               int num_threads) const {
    return uid == program.uid() && version == program.version() &&
           hints == hint_state && plan->num_threads() == num_threads &&
           std::equal(feeds.begin(), feeds.end(), plan->feed_specs().begin(),
                      plan->feed_specs().end(),
                      [](const auto& feed, const FeedSpec& spec) {
                        return spec.Matches(feed.first, feed.second);
                      }) &&
           std::equal(fetches.begin(), fetches.end(),
                      plan->fetch_names().begin(), plan->fetch_names().end(),
                      [](const FetchTarget& fetch, const std::string& name) {
                        return fetch.name() == name;
                      });
  }
};

std::vector<FeedSpec> SpecsOf(const Feeds& feeds) {
  std::vector<FeedSpec> specs;
  for (const auto& [name, tensor] : feeds) {
    SLUICE_ENFORCE(tensor.allocated(), ErrorCode::kFailedPrecondition,
                   "feed.unallocated", "feed {} has no data", name);
    specs.push_back({name, tensor.dtype(), tensor.dims(), tensor.place()});
  }
  return specs;
}

}  // namespace

// The plan used last stands first.
struct Executor::Cache {
  mutable std::mutex mutex;
  std::list<CacheEntry> entries;
};

Executor::Executor(PlaceKey place, PlanOptions options) try
    : place_(place), options_(options), cache_(std::make_unique<Cache>()) {
  platform::DeviceManager::Instance().Get(place);
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

Executor::~Executor() = default;

std::shared_ptr<const Plan> Executor::Lookup(const Program& program,
                                             const Feeds& feeds,
                                             const Fetches& fetches) {
  const uint64_t hints = KernelHintState();
  const int threads = platform::NumThreads();
  const std::lock_guard lock(cache_->mutex);
  auto& entries = cache_->entries;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (!entry->Matches(program, feeds, fetches, hints, threads)) continue;
    if (entry != entries.begin()) {
      entries.splice(entries.begin(), entries, entry);
    }
    return entry->plan;
  }
  return nullptr;
}

std::shared_ptr<const Plan> Executor::Prepare(const Program& program,
                                              const Feeds& feeds,
                                              const Fetches& fetches) try {
  if (auto plan = Lookup(program, feeds, fetches)) return plan;
  std::vector<std::string> names;
  for (const FetchTarget& fetch : fetches) {
    names.push_back(fetch.name());
  }
  CacheEntry entry{
      program.uid(), program.version(), KernelHintState(),
      PlanBuilder(program, SpecsOf(feeds), std::move(names), place_, options_)
          .Build()};
  auto plan = entry.plan;
  const std::lock_guard lock(cache_->mutex);
  cache_->entries.push_front(std::move(entry));
  if (cache_->entries.size() > kMaxPlans) cache_->entries.pop_back();
  return plan;
} catch (const std::bad_alloc&) {
  platform::RaiseOutOfMemory();
}

std::vector<Tensor> Executor::Run(const Program& program,
                                  const Feeds& feeds,
                                  const Fetches& fetches,
                                  Scope* scope) {
  return Prepare(program, feeds, fetches)
      ->Run(feeds, scope == nullptr ? &scope_ : scope);
}

std::shared_ptr<const Plan> Executor::LastPlan(const Program& program) const {
  const std::lock_guard lock(cache_->mutex);
  for (const CacheEntry& entry : cache_->entries) {
    if (entry.uid == program.uid()) return entry.plan;
  }
  platform::Raise(ErrorCode::kFailedPrecondition, "executor.no_plan",
                  "the program has not been prepared by this executor yet: "
                  "call Run or Prepare first");
}

void Executor::ForgetPlans(const Program& program) {
  const std::lock_guard lock(cache_->mutex);
  cache_->entries.remove_if(
      [&](const CacheEntry& entry) { return entry.uid == program.uid(); });
}

std::string Executor::Explain(const Program& program) const {
  return ExplainText(*LastPlan(program));
}

size_t Executor::cached_plans() const {
  const std::lock_guard lock(cache_->mutex);
  return cache_->entries.size();
}

}  // namespace sluice::framework
