#include "sluice/framework/run/executor.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/run_trace.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/arena_pool.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/framework/plan/feed_check.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/framework/plan/plan_builder.h"
#include "sluice/framework/plan/plan_resize.h"
#include "sluice/framework/plan/run_hooks.h"
#include "sluice/framework/program/ragged_rows.h"
#include "sluice/framework/program/variable_owners.h"
#include "sluice/framework/run/other_kernels.h"
#include "sluice/framework/run/ragged_feeds.h"
#include "sluice/framework/run/runner.h"
#include "sluice/platform/device.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// Plans that are always kept, and the limits for the others: programs with
// feeds of many lengths have a plan for each.
constexpr size_t kKeptPlans = 16;
constexpr size_t kMaxPlans = 1024;
constexpr size_t kMaxBytes = size_t{64} << 20;  // without shared memory

// Rises when costs have changed, or a kernel was replaced. Both numbers only
// rise, so that their sum does.
uint64_t ChoiceGeneration() {
  return CostGeneration() + Registry::Global().replacements();
}

bool Matches(const Feeds::value_type& feed, const FeedSpec& spec) {
  return spec.Matches(feed.first, feed.second);
}

bool SameFeeds(const Feeds& feeds, const std::vector<FeedSpec>& specs) {
  if (feeds.size() != specs.size()) return false;
  size_t same = 0;
  while (same < feeds.size() && Matches(feeds[same], specs[same])) {
    ++same;
  }
  // In another order: each feed matches one spec, and so exactly one.
  const auto first = static_cast<ptrdiff_t>(same);
  return std::all_of(feeds.begin() + first, feeds.end(),
                     [&](const auto& feed) {
                       return std::any_of(specs.begin() + first, specs.end(),
                                          [&](const FeedSpec& spec) {
                                            return Matches(feed, spec);
                                          });
                     }) &&
         std::all_of(
             specs.begin() + first, specs.end(), [&](const FeedSpec& spec) {
               return std::any_of(
                   feeds.begin() + first, feeds.end(),
                   [&](const auto& feed) { return Matches(feed, spec); });
             });
}

struct CacheEntry {
  uint64_t uid = 0;
  uint64_t version = 0;
  uint64_t hints = 0;
  size_t hash = 0;
  uint64_t choice = 0;   // ChoiceGeneration()
  bool has_run = false;  // this plan, or one that it replaced
  bool asked = true;     // for its own sizes, not only for others
  std::shared_ptr<const Plan> plan;
  size_t bytes = 0;  // Plan::KeptBytes(), as they were last looked up

  bool Matches(const Program& program,
               const Feeds& feeds,
               const Fetches& fetches,
               uint64_t hint_state,
               int num_threads) const {
    return SameButFeeds(program, fetches, hint_state, num_threads) &&
           SameFeeds(feeds, plan->feed_specs());
  }

  bool SameButFeeds(const Program& program,
                    const Fetches& fetches,
                    uint64_t hint_state,
                    int num_threads) const {
    return uid == program.uid() && version == program.version() &&
           hints == hint_state && plan->num_threads() == num_threads &&
           std::equal(fetches.begin(), fetches.end(),
                      plan->fetch_names().begin(), plan->fetch_names().end(),
                      [](const FetchTarget& fetch, const std::string& name) {
                        return fetch.name() == name;
                      });
  }
};

size_t HashOf(const std::string& feed, const DDim& dims) {
  size_t hash = std::hash<std::string>()(feed);
  for (const int64_t size : dims) {
    hash = hash * 1099511628211u + static_cast<size_t>(size);
  }
  return hash * (hash | 1);
}

// The hash does not depend on the order of the feeds.
size_t HashOf(const Program& program, const Feeds& feeds) {
  size_t hash = program.uid() * 31 + program.version();
  for (const auto& [name, tensor] : feeds) {
    hash += HashOf(name, tensor.dims());
  }
  return hash;
}

size_t HashOf(const Program& program, const std::vector<FeedSpec>& feeds) {
  size_t hash = program.uid() * 31 + program.version();
  for (const FeedSpec& feed : feeds) {
    hash += HashOf(feed.name, feed.dims);
  }
  return hash;
}

std::vector<FeedSpec> SpecsOf(const Feeds& feeds, bool handed_on) {
  std::vector<FeedSpec> specs;
  for (const auto& [name, tensor] : feeds) {
    SLUICE_ENFORCE(tensor.allocated(), ErrorCode::kFailedPrecondition,
                   "feed.unallocated", "feed {} has no data", name);
    FeedSpec& spec = specs.emplace_back();
    spec.name = name;
    spec.dtype = tensor.dtype();
    spec.dims = tensor.dims();
    spec.place = tensor.place();
    spec.handed_on = handed_on;
    // Plans serve all offsets: shapes that depend on them are found in runs.
    if (spec.place == PlaceKey(CPUPlace()) && !name.ends_with(kOffsetsSuffix) &&
        KnownValues::IsSmall(spec.dims)) {
      spec.value = tensor;
    }
  }
  return specs;
}

// Names of variables are unique in one program only.
void CheckPrograms(const Fetches& fetches, const Program& program) {
  for (const FetchTarget& fetch : fetches) {
    const uint64_t uid = fetch.program_uid();
    const std::string& name = fetch.name();
    if (uid == 0 || uid == program.uid()) continue;
    SLUICE_ENFORCE(OwnerOf(uid, name) == OwnerOf(program.uid(), name),
                   ErrorCode::kNotFound, "fetch.other_program",
                   "fetch {} is a variable of another program than the one "
                   "that runs; run its own program, or fetch by name",
                   name);
  }
}

}  // namespace

// The plan used last is the first entry.
struct Executor::Cache {
  using Entries = std::list<CacheEntry>;

  mutable std::mutex mutex;
  Entries entries;
  std::unordered_multimap<size_t, Entries::iterator> by_hash;
  // Typical sizes from which no plan for other sizes can be made: hashes of the
  // program, the sizes, hints, threads and costs; whether the program does not
  // go with them.
  std::unordered_map<size_t, bool> no_bases;
  // For the last run in several stretches: the program's uid, its plans.
  std::pair<uint64_t, std::vector<NamedPlan>> stretches;
  // What plans share, and how much is kept.
  std::shared_ptr<ArenaPool> pool;
  size_t most_bytes = 0;  // of plans and the pool; 0: kMaxBytes of plans
  size_t always_kept = kKeptPlans;
  size_t bytes = 0;  // the sum of CacheEntry::bytes
  size_t asked = 0;  // how many entries have CacheEntry::asked

  explicit Cache(size_t plan_memory)
      : pool(std::make_shared<ArenaPool>(plan_memory)) {
    if (plan_memory == 0) return;
    most_bytes = plan_memory;
    always_kept = 1;
  }

  void Add(CacheEntry entry) {
    if (!entries.empty()) Weigh(&entries.front());  // it may have run
    entries.push_front(std::move(entry));
    by_hash.emplace(entries.front().hash, entries.begin());
    asked += entries.front().asked ? 1 : 0;
    Weigh(&entries.front());
    while (!KeepsLast()) {
      Remove(std::prev(entries.end()));
    }
  }

  bool KeepsLast() const {
    const size_t before = asked - (entries.back().asked ? 1 : 0);
    const bool fits = most_bytes == 0 ? bytes <= kMaxBytes
                                      : pool->bytes() + bytes <= most_bytes;
    return before < always_kept || (before < kMaxPlans && fits);
  }

  void Weigh(CacheEntry* entry) {
    const size_t now = entry->plan->KeptBytes();
    bytes += now - entry->bytes;
    entry->bytes = now;
  }

  void Remove(Entries::iterator entry) {
    const auto [begin, end] = by_hash.equal_range(entry->hash);
    by_hash.erase(std::find_if(begin, end, [&](const auto& position) {
      return position.second == entry;
    }));
    bytes -= entry->bytes;
    asked -= entry->asked ? 1 : 0;
    entries.erase(entry);
  }
};

Executor::Executor(PlaceKey place, PlanOptions options) try
    : place_(place),
      options_(options),
      cache_(std::make_unique<Cache>(options.plan_memory)) {
  SLUICE_ENFORCE(
      options.queues >= 1 && options.queues <= PlanOptions::kMaxQueues,
      ErrorCode::kInvalidArgument, "executor.queues",
      "queues = {}; expected 1 to {}", options.queues, PlanOptions::kMaxQueues);
  DeviceManager::Instance().Get(place);
  TraceRunsOfProcess();
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

Executor::~Executor() = default;

// Drops a plan that was prepared before ChoiceGeneration() rose; has_run is
// then its flag.
std::shared_ptr<const Plan> Executor::Lookup(const Program& program,
                                             const Feeds& feeds,
                                             const Fetches& fetches,
                                             uint64_t choice,
                                             bool* has_run) {
  const uint64_t hints = KernelHintState();
  const int threads = NumThreads();
  const std::lock_guard lock(cache_->mutex);
  auto& entries = cache_->entries;
  if (entries.empty()) return nullptr;
  const auto matches = [&](const CacheEntry& entry) {
    return entry.Matches(program, feeds, fetches, hints, threads);
  };
  // Most runs are like the last one, and need no hash.
  auto found = entries.begin();
  if (!matches(*found)) {
    const auto [begin, end] =
        cache_->by_hash.equal_range(HashOf(program, feeds));
    const auto position = std::find_if(
        begin, end, [&](const auto& each) { return matches(*each.second); });
    if (position == end) return nullptr;
    found = position->second;
    cache_->Weigh(&entries.front());  // it may have run
    entries.splice(entries.begin(), entries, found);
  }
  if (!std::exchange(found->asked, true)) ++cache_->asked;
  if (found->choice == choice) return found->plan;
  *has_run = found->has_run;
  cache_->Remove(found);
  return nullptr;
}

std::shared_ptr<const Plan> Executor::Build(const Program& program,
                                            std::vector<FeedSpec> feeds,
                                            const Fetches& fetches) const {
  std::vector<std::string> names;
  for (const FetchTarget& fetch : fetches) {
    names.push_back(fetch.name());
  }
  return PlanBuilder(program, std::move(feeds), std::move(names), place_,
                     options_, cache_->pool)
      .Build();
}

// Returns the plan for `feeds`, which choices of generation `choice` made, if
// plans for other sizes can be made from it, and null otherwise. Sets `refused`
// to whether the program does not go with such sizes.
std::shared_ptr<const Plan> Executor::Base(const Program& program,
                                           const std::vector<FeedSpec>& feeds,
                                           const Fetches& fetches,
                                           uint64_t choice,
                                           bool* refused) {
  const uint64_t hints = KernelHintState();
  const int threads = NumThreads();
  const size_t hash = HashOf(program, feeds);
  size_t key = hash;
  for (const uint64_t part : {hints, choice, static_cast<uint64_t>(threads)}) {
    key = key * 1099511628211u + part;
  }
  {
    const std::lock_guard lock(cache_->mutex);
    const auto failed = cache_->no_bases.find(key);
    *refused = failed != cache_->no_bases.end() && failed->second;
    if (failed != cache_->no_bases.end()) return nullptr;
    const auto [begin, end] = cache_->by_hash.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& each) {
      const CacheEntry& entry = *each.second;
      return entry.choice == choice && entry.plan->resizable() &&
             entry.SameButFeeds(program, fetches, hints, threads) &&
             PlanResizer::IsFor(*entry.plan, feeds);
    });
    if (found != end) {
      auto& entries = cache_->entries;
      entries.splice(entries.begin(), entries, found->second);
      return found->second->plan;
    }
  }
  std::shared_ptr<const Plan> plan;
  try {
    plan = Build(program, feeds, fetches);
  } catch (const Error&) {
    *refused = true;  // the plan for the real sizes may be made
  }
  const bool serves = plan != nullptr && plan->resizable();
  const std::lock_guard lock(cache_->mutex);
  if (serves) {
    cache_->Add({program.uid(), program.version(), hints, hash, choice,
                 /*has_run=*/false, /*asked=*/false, plan});
    return plan;
  }
  if (cache_->no_bases.size() >= kMaxPlans) cache_->no_bases.clear();
  cache_->no_bases.emplace(key, *refused);
  return nullptr;
}

// Whether a hint of a guard or of the program prefers or requires a kernel.
static bool AnyKernelWanted(const Program& program) {
  if (KernelHintState() == 0 && program.hints().empty()) return false;
  const auto hints = ActiveKernelHints(program.hints());
  return std::any_of(hints.begin(), hints.end(),
                     [](const KernelHint& hint) { return hint.Wants(); });
}

// Returns a plan made from that for typical sizes of the feeds, whatever came
// before; null if `feeds` are typical, or no such plan can serve.
std::shared_ptr<const Plan> Executor::Resized(
    const Program& program,
    const std::vector<FeedSpec>& feeds,
    const Fetches& fetches,
    uint64_t choice) {
  // No other plan can be made from one with such hints, or at another place.
  if (place_.kind != PlaceKind::kCPU || AnyKernelWanted(program)) {
    return nullptr;
  }
  const auto typical = PlanResizer::Typical(program, feeds);
  bool all_refused = true;
  const auto made_of = [&](const std::vector<FeedSpec>& sizes) {
    bool refused = false;
    const auto base = Base(program, sizes, fetches, choice, &refused);
    all_refused &= refused;
    return base == nullptr ? nullptr
                           : PlanResizer::Resize(*base, program, feeds);
  };
  for (const auto& sizes : typical) {
    if (auto plan = made_of(sizes)) return plan;
  }
  if (!all_refused) return nullptr;
  for (const auto& sizes : PlanResizer::TypicalButOne(typical, feeds)) {
    if (auto plan = made_of(sizes)) return plan;
  }
  return nullptr;
}

std::shared_ptr<const Plan> Executor::Prepare(const Program& program,
                                              const Feeds& feeds,
                                              const Fetches& fetches) {
  return PrepareWith(program, feeds, fetches, false);
}

std::shared_ptr<const Plan> Executor::PrepareWith(const Program& program,
                                                  const Feeds& feeds,
                                                  const Fetches& fetches,
                                                  bool handed_on) try {
  CheckPrograms(fetches, program);
  if (program.ragged() && !handed_on) CheckRaggedFeeds(program, feeds);
  const uint64_t choice = ChoiceGeneration();
  bool has_run = false;
  if (auto plan = Lookup(program, feeds, fetches, choice, &has_run)) {
    return plan;
  }
  std::vector<FeedSpec> specs = SpecsOf(feeds, handed_on);
  auto plan = Resized(program, specs, fetches, choice);
  if (plan == nullptr) plan = Build(program, std::move(specs), fetches);
  CacheEntry entry{program.uid(),
                   program.version(),
                   KernelHintState(),
                   HashOf(program, feeds),
                   choice,
                   has_run,
                   /*asked=*/true,
                   plan};
  const std::lock_guard lock(cache_->mutex);
  cache_->Add(std::move(entry));
  return plan;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

// Returns whether it is the plan's first run, and marks it as run.
bool Executor::NoteRun(const Plan* plan) {
  const std::lock_guard lock(cache_->mutex);
  for (CacheEntry& entry : cache_->entries) {
    if (entry.plan.get() == plan) return !std::exchange(entry.has_run, true);
  }
  return false;
}

std::shared_ptr<const Plan> Executor::PrepareToRun(const Program& program,
                                                   const Feeds& feeds,
                                                   const Fetches& fetches,
                                                   Scope* scope) {
  auto plan = Prepare(program, feeds, fetches);
  const auto active = ActiveRunHooks();
  const bool any = std::any_of(active.begin(), active.end(), [](auto* hooks) {
    return hooks->has_first_run();
  });
  if (!any || !NoteRun(plan.get())) return plan;
  for (RunHooks* hooks : active) {
    if (!hooks->has_first_run()) continue;
    CallHooks(hooks->name(), [&] {
      hooks->BeforeFirstRun(*this, program, *plan, feeds, fetches, scope);
    });
  }
  return Prepare(program, feeds, fetches);
}

std::vector<Tensor> Executor::Run(const Program& program,
                                  const Feeds& feeds,
                                  const Fetches& fetches,
                                  Scope* scope,
                                  const RunPlan& run_plan) try {
  return RunWithHooks(program, [&] {
    Runner runner(*this, scope == nullptr ? &scope_ : scope, run_plan);
    auto results = runner.Run(program, feeds, fetches, "program");
    auto plans = runner.TakePlans();
    if (!plans.empty()) {
      const std::lock_guard lock(cache_->mutex);
      cache_->stretches = {program.uid(), std::move(plans)};
    }
    return results;
  });
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::shared_ptr<const Plan> Executor::LastPlan(const Program& program) const {
  const std::lock_guard lock(cache_->mutex);
  for (const CacheEntry& entry : cache_->entries) {
    if (entry.uid == program.uid()) return entry.plan;
  }
  Raise(ErrorCode::kFailedPrecondition, "executor.no_plan",
        "this executor has not prepared the program yet: run or prepare it "
        "first");
}

std::vector<Executor::NamedPlan> Executor::LastPlans(
    const Program& program) const {
  const auto last = LastPlan(program);
  std::vector<NamedPlan> plans;
  {
    const std::lock_guard lock(cache_->mutex);
    if (cache_->stretches.first == program.uid()) {
      plans = cache_->stretches.second;
    }
  }
  // Otherwise the last plan was prepared later, for other feeds.
  const bool of_last_run =
      std::any_of(plans.begin(), plans.end(),
                  [&](const NamedPlan& plan) { return plan.second == last; });
  if (!of_last_run) plans = {{"program", last}};
  // Blocks that run inside of a plan come after it.
  for (size_t i = 0; i < plans.size(); ++i) {
    auto at = static_cast<ptrdiff_t>(i);
    for (const auto& [op, blocks] : NamedPlan(plans[i]).second->blocks()) {
      for (const BlockPlan& block : blocks->blocks) {
        if (block.plan == nullptr) continue;
        plans.insert(plans.begin() + ++at,
                     {Format("block {}", block.block), block.plan});
      }
    }
  }
  return plans;
}

// Whether the plan was prepared with the hints and threads that now hold.
bool Executor::WouldPrepare(const Plan& plan) const {
  const std::lock_guard lock(cache_->mutex);
  return plan.num_threads() == NumThreads() &&
         std::any_of(cache_->entries.begin(), cache_->entries.end(),
                     [&](const CacheEntry& entry) {
                       return entry.plan.get() == &plan &&
                              entry.hints == KernelHintState();
                     });
}

std::vector<Executor::Section> Executor::SectionsOf(
    const Program& program, const ExplainOptions& options) const {
  std::vector<NamedPlan> plans = LastPlans(program);
  if (options.op >= 0) {
    // Ops are counted in the program; blocks have numbers of their own.
    const auto found =
        std::find_if(plans.begin(), plans.end(), [&](const NamedPlan& plan) {
          return plan.first.starts_with("program") &&
                 ComputesOp(*plan.second, options.op);
        });
    plans = {found == plans.end() ? plans.front() : *found};
  }
  const auto is_older = [&](const Plan& plan) {
    const std::lock_guard lock(cache_->mutex);
    return std::any_of(cache_->entries.begin(), cache_->entries.end(),
                       [&](const CacheEntry& entry) {
                         return entry.plan.get() == &plan &&
                                entry.choice != ChoiceGeneration();
                       });
  };
  std::vector<Section> sections;
  const bool one = plans.size() == 1;
  for (const auto& [name, plan] : plans) {
    ExplainOptions own = options;
    if (!one) own.title = name;
    own.pointers = options.pointers && (one || name.starts_with("program"));
    if (plans[0].first == name && options.op < 0 && is_older(*plan)) {
      own.advice = {
          "kernels were measured or replaced after this plan was prepared: "
          "the next run may choose others"};
    } else if (one && options.op < 0 && !options.all && WouldPrepare(*plan)) {
      own.advice = OtherKernels(program, *plan, options.hint_form);
    }
    sections.emplace_back(plan, std::move(own));
  }
  return sections;
}

std::string Executor::Explain(const Program& program,
                              const ExplainOptions& options) const {
  const std::vector<Section> sections = SectionsOf(program, options);
  std::string text;
  for (const auto& [plan, own] : sections) {
    if (!text.empty()) text += '\n';
    if (options.all && sections.size() > 1) {
      text += Format("== {} ==\n", own.title);
    }
    text += sluice::Explain(*plan, own);
  }
  return text;
}

std::string Executor::ExplainTables(const Program& program,
                                    const ExplainOptions& options) const {
  std::string tables;
  for (const auto& [plan, own] : SectionsOf(program, options)) {
    tables += Format("{}{}", tables.empty() ? "" : ", ",
                     ExplainTableJson(*plan, own));
  }
  return Format("[{}]", tables);
}

size_t Executor::cached_plans() const {
  const std::lock_guard lock(cache_->mutex);
  return static_cast<size_t>(
      std::count_if(cache_->entries.begin(), cache_->entries.end(),
                    [](const CacheEntry& entry) { return entry.asked; }));
}

}  // namespace sluice
