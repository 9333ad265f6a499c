#include "sluice/framework/plan/plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "sluice/framework/plan/arena_pool.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/framework/plan/frame.h"
#include "sluice/framework/plan/plan_resize.h"
#include "sluice/framework/plan/run_hooks.h"
#include "sluice/framework/plan/run_observer.h"
#include "sluice/framework/values/scope_lock.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

std::string ToString(const QueueSpec& queue) {
  constexpr const char* kRoles[] = {"", " kernels", " copies from the host",
                                    " copies to the host", " exchanges"};
  std::string text =
      Format("{}{}", queue.place, kRoles[static_cast<int>(queue.role)]);
  if (queue.lane > 0) text += Format(", queue {}", queue.lane + 1);
  return text;
}

static uint64_t NextUid() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

Plan::Plan() : uid_(NextUid()) {}
Plan::~Plan() {
  if (pool_ != nullptr) pool_->Forget(*this);
}

bool FeedSpec::HasValue(const Tensor& tensor) const {
  return value.bytes() == 0 ||
         std::memcmp(value.raw_data(), tensor.raw_data(), value.bytes()) == 0;
}

namespace {

void CheckCaller() {
  SLUICE_ENFORCE(!InCallersParallelRegion(), ErrorCode::kFailedPrecondition,
                 "run.parallel_region",
                 "a program cannot run inside an OpenMP parallel region of the "
                 "caller: its kernels would get no threads; run it outside, or "
                 "from threads of your own");
  SLUICE_ENFORCE(!ForkedAfterParallelRun(), ErrorCode::kFailedPrecondition,
                 "run.forked",
                 "a program cannot run in a process that was forked after a "
                 "first run: the threads stayed behind; fork before, or use "
                 "spawn");
}

bool SameButValue(const FeedSpec& spec, const Feeds::value_type& feed) {
  FeedSpec any = spec;
  any.value = Tensor();
  return any.Matches(feed.first, feed.second);
}

void CheckFeedsMatch(const std::vector<FeedSpec>& specs, const Feeds& feeds) {
  SLUICE_ENFORCE(specs.size() == feeds.size(), ErrorCode::kInvalidArgument,
                 "run.feed_count", "the plan takes {} feeds, got {}",
                 specs.size(), feeds.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const FeedSpec& spec = specs[i];
    if (spec.Matches(feeds[i].first, feeds[i].second)) continue;
    SLUICE_ENFORCE(!SameButValue(spec, feeds[i]), ErrorCode::kInvalidArgument,
                   "run.feed_value",
                   "the plan was prepared for the values of feed {}, which "
                   "shapes depend on; got others: prepare one for them",
                   spec.name);
    SLUICE_ENFORCE(spec.Matches(feeds[i].first, feeds[i].second),
                   ErrorCode::kInvalidArgument, "run.feed",
                   "feed {} of the plan is {} ({} {} at {}), got {} ({})", i,
                   spec.name, spec.dtype, spec.dims, spec.place, feeds[i].first,
                   feeds[i].second);
  }
}

// Returns `feeds` in the plan's order; a new order is made in `storage`.
const Feeds& InOrder(const std::vector<FeedSpec>& specs,
                     const Feeds& feeds,
                     Feeds* storage) {
  const auto same_name = [](const FeedSpec& spec, const auto& feed) {
    return spec.name == feed.first;
  };
  if (specs.size() != feeds.size() ||
      std::equal(specs.begin(), specs.end(), feeds.begin(), same_name)) {
    return feeds;
  }
  for (const FeedSpec& spec : specs) {
    const auto feed =
        std::find_if(feeds.begin(), feeds.end(),
                     [&](const auto& each) { return same_name(spec, each); });
    // CheckFeedsMatch raises for the missing feed.
    if (feed == feeds.end()) return feeds;
    storage->push_back(*feed);
  }
  return *storage;
}

}  // namespace

void Plan::RequireWhole(std::string_view what) const {
  SLUICE_ENFORCE(whole_, ErrorCode::kUnimplemented, "plan.not_whole",
                 "{} needs a program that is one plan, but this one runs in "
                 "several stretches: {}",
                 what, rest_.reason);
}

void Plan::RequireNoBlocks(std::string_view what) const {
  RequireWhole(what);
  SLUICE_ENFORCE(blocks_.empty(), ErrorCode::kUnimplemented, "plan.has_blocks",
                 "{} needs a program without blocks, but op {} has some", what,
                 blocks_.front().first);
}

void Plan::RequireAlone(std::string_view what) const {
  for (const auto& [name, hooks] : hooks_) {
    hooks->RequireAlone(what);
  }
}

size_t Plan::SharedBytes() const {
  size_t bytes = 0;
  for (const auto& [place, arena] : arenas_) {
    if (place == PlaceKey(CPUPlace()) && !options_.isolate) bytes += arena;
  }
  return bytes;
}

size_t Plan::PoolBytes() const {
  return pool_->bytes();
}

size_t Plan::KeptBytes() const {
  // A kernel, with what its library made for it, and a decision: the mean over
  // plans for training a transformer. Alone, code of oneDNN's is 20 kB.
  constexpr size_t kOpBytes = 12288;
  size_t bytes = sizeof(Plan) + slots_.size() * sizeof(Slot) +
                 instructions_.size() * sizeof(Instruction) +
                 (ops_.size() - shared_ops_) * kOpBytes;
  size_t of_frame = 0;
  for (const auto& [place, arena] : arenas_) {
    of_frame += arena;
  }
  of_frame -= SharedBytes();
  for (const int slot : shadow_slots_) {
    if (slots_[slot].bytes <= kKeptShadow) of_frame += slots_[slot].bytes;
  }
  bytes += of_frame * std::max<size_t>(pool_->FramesOf(*this), 1);
  for (const auto& [op, plans] : blocks_) {
    for (const BlockPlan& block : plans->blocks) {
      if (block.plan != nullptr) bytes += block.plan->KeptBytes();
    }
  }
  return bytes;
}

const PlanChoice& Plan::Choice() const {
  std::call_once(decided_, [this] {
    if (choice_ != nullptr) return;
    choice_ = std::make_shared<const PlanChoice>(
        PlanResizer::Choose(*this, *base_choice_, base_feeds_));
  });
  return *choice_;
}

std::unique_ptr<Frame> Plan::AcquireFrame() const {
  return pool_->Take(*this);
}

void Plan::ReleaseFrame(std::unique_ptr<Frame> frame) const {
  pool_->GiveBack(*this, std::move(frame));
}

std::vector<Tensor> Plan::Run(const Feeds& feeds, Scope* scope) const {
  for (RunHooks* hooks : ActiveRunHooks()) {
    const auto observer =
        CallHooks(hooks->name(), [&] { return hooks->Observe(*this); });
    if (observer != nullptr) return RunObserved(feeds, scope, *observer);
  }
  return RunWith(feeds, scope, [](Frame& frame) { frame.Execute(); });
}

std::vector<Tensor> Plan::RunObserved(const Feeds& feeds,
                                      Scope* scope,
                                      RunObserver& observer) const {
  return RunWith(feeds, scope,
                 [&](Frame& frame) { frame.ExecuteObserved(observer); });
}

template <typename Execute>
std::vector<Tensor> Plan::RunWith(const Feeds& feeds,
                                  Scope* scope,
                                  Execute execute) const try {
  CheckCaller();
  Feeds in_order;
  const Feeds& ordered = InOrder(feeds_, feeds, &in_order);
  CheckFeedsMatch(feeds_, ordered);
  const ThreadCountGuard threads(num_threads_);
  const bool writes = !shadow_slots_.empty();
  const bool reads = !persistable_slots_.empty() || !hooks_.empty();
  const ScopeLock lock(reads || writes ? scope : nullptr,
                       writes ? ScopeAccess::kWrite : ScopeAccess::kRead);
  std::unique_ptr<Frame> frame = AcquireFrame();
  std::vector<Tensor> results;
  try {
    frame->Begin(ordered, scope);
    execute(*frame);
    results = frame->Finish(scope);
  } catch (...) {
    frame->NoteFailure();
    frame->Reset();
    ReleaseFrame(std::move(frame));
    throw;
  }
  frame->Reset();
  ReleaseFrame(std::move(frame));
  return results;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
