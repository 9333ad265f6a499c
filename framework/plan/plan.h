#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/choice/resolver.h"
#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/plan/plan_commit.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

class ArenaPool;
class Frame;
class PlanHooks;
struct BlockPlans;
class RunObserver;
struct SizeRules;

using Feeds = std::vector<std::pair<std::string, Tensor>>;

// The properties of a feed before its value is known.
struct FeedSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  DDim dims;
  PlaceKey place;
  // If shapes or attributes depend on the feed: the value that the plan was
  // prepared for, on the CPU; else unallocated. Before the preparation: the
  // value of a small feed.
  Tensor value = {};
  // Computed by an earlier plan (PlanRest), or by a block.
  bool handed_on = false;

  bool Matches(const std::string& fed_name, const Tensor& tensor) const {
    return tensor.allocated() && dtype == tensor.dtype() &&
           dims == tensor.dims() && place == tensor.place() &&
           name == fed_name && (!value.allocated() || HasValue(tensor));
  }
  // Whether a tensor of this dtype and shape, on the CPU, has these bytes.
  SLUICE_API bool HasValue(const Tensor& tensor) const;
};

// The work that a plan leaves to later plans, because shapes or attributes
// depend on its results, or ops run blocks: the ops of its program that could
// not be prepared. See Executor::Run.
struct PlanRest {
  // The feeds of the next plan: results of this one, and feeds.
  std::vector<std::string> feeds;
  // The fetches that this plan does not compute.
  std::vector<std::string> fetches;
  // The indices of ops that run blocks and whose inputs this plan completes:
  // they run next, before the next plan.
  std::vector<int> block_ops;
  // Whether the remaining ops write persistable variables.
  bool updates = false;
  // Why the first remaining op could not be prepared.
  std::string reason;

  bool empty() const { return fetches.empty() && !updates; }
};

enum class InstructionKind : uint8_t {
  kCompute,        // a kernel on the CPU
  kDeviceCompute,  // a kernel that its device wraps and enqueues
  kCopyFromHost,
  kCopyToHost,
  kCopyOnDevice,
  kCopyOnHost,
  kWait,       // the host waits until a queue is empty
  kQueueWait,  // a queue waits for all work so far of another one
};

// One queue of a device, which is a DeviceContext of the frame. If copies can
// overlap kernels, they have queues of their own.
enum class QueueRole : uint8_t {
  kAll,
  kKernels,
  kCopyFromHost,
  kCopyToHost,
  kOwn,  // for one op: see KernelTraits::Exchange
};
struct QueueSpec {
  PlaceKey place;
  QueueRole role = QueueRole::kAll;
  int lane = 0;              // index of a kernel queue: PlanOptions::queues
  MakeQueue make = nullptr;  // makes the context; null: the device

  bool operator==(const QueueSpec&) const = default;
  bool runs_kernels() const {
    return role == QueueRole::kAll || role == QueueRole::kKernels;
  }
};
// "cuda:0 kernels", "cuda:0 kernels, queue 2".
SLUICE_API std::string ToString(const QueueSpec& queue);

// One step of a plan. Slots, contexts and queues are indices into the frame.
struct Instruction {
  InstructionKind kind = InstructionKind::kCompute;
  int32_t op_index = -1;  // in block 0; -1 for a step of no op
  int32_t context = -1;   // compute: its OpKernelContext
  int32_t device = -1;    // its queue; -1 is the CPU
  int32_t from = -1;      // copies: slots; kQueueWait: the other queue
  int32_t to = -1;
  const OpKernel* kernel = nullptr;
};

enum class SlotKind : uint8_t {
  kFeed,
  kPersistable,  // the scope's tensor, read only
  kShadow,       // the new value of a persistable, stored after success
  kArena,        // an intermediate
  kFetch,        // storage of its own, returned to the caller
  kLate,         // like kFetch, with a shape that the kernel determines
  kShape,        // a shape without data
  kScratch,
};

// One tensor of a frame.
struct Slot {
  SlotKind kind = SlotKind::kArena;
  std::string var;
  PlaceKey place;
  DType dtype = DType::kFloat32;
  DDim dims;
  size_t bytes = 0;
  int alias_of = -1;        // aliases that slot, in another shape
  size_t alias_offset = 0;  // offset in that slot, in bytes
  int updates = -1;         // kShadow: the slot that it may change in place
  int first = -1;           // first and last instruction that use the memory
  int last = -1;
  size_t offset = 0;  // kArena and kScratch: in the arena of the place
};

// A value that is copied between places once in each run.
struct Transfer {
  std::string var;
  PlaceKey from;
  PlaceKey to;
  size_t bytes = 0;
  int op_index = -1;  // op that needs it; -1 for a fetch
  int instruction = -1;
};

// The largest update of a persistable, in bytes, whose memory a frame keeps for
// the next run. To get small memory anew takes longer than to fill it.
inline constexpr size_t kKeptShadow = 1 << 16;

struct PlanOptions {
  // Gives every value its own memory, to detect out-of-bounds accesses.
  bool isolate = false;
  // False: every op runs as written; no pass fuses or rearranges ops.
  bool passes = true;
  // The number of queues of one device for the kernels of a place, 1 to
  // kMaxQueues. With more than one, independent branches run concurrently.
  // Results are the same.
  int queues = 1;
  static constexpr int kMaxQueues = 16;
  // The most bytes that the plans of an executor keep between runs, with the
  // memory that they share; those used last are kept. A plan whose values need
  // more is refused. 0: 64 MiB for all but the last 16 plans, without that
  // memory; none is refused.
  size_t plan_memory = 0;
  // For tests: omits the n-th wait. -1: none.
  int drop_wait_for_testing = -1;
};

// A hint that no op obeys, or that some op does not obey because records call
// its kernel wrong.
struct HintNote {
  int op_index = -1;  // the first such op; -1: it names none
  std::string text;
};

// A kernel of the plan and its arguments.
struct PlannedOp {
  // Plans for other sizes share kernels that do not depend on these.
  std::shared_ptr<const OpKernel> kernel;
  ArgTable arguments;
  std::vector<uint8_t> input_constant;  // see KernelQuery
  std::vector<int> inputs;              // slots
  std::vector<int> outputs;             // slots
  PlaceKey place;
  int device = -1;
  size_t scratch_bytes = 0;
  int scratch = -1;  // slot
  int op_index = -1;
  bool sizes_change = false;  // see OpFacts
};

// A list whose elements plans for other sizes share.
template <typename T>
class SharedList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    explicit Iterator(const std::shared_ptr<const T>* at) : at_(at) {}
    const T& operator*() const { return **at_; }
    const T* operator->() const { return at_->get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const = default;

   private:
    const std::shared_ptr<const T>* at_;
  };

  SharedList() = default;
  explicit SharedList(std::vector<T> items) {
    const auto all = std::make_shared<std::vector<T>>(std::move(items));
    for (const T& item : *all) {
      items_.emplace_back(all, &item);
    }
  }

  size_t size() const { return items_.size(); }
  const T& operator[](size_t index) const { return *items_[index]; }
  Iterator begin() const { return Iterator(items_.data()); }
  Iterator end() const { return Iterator(items_.data() + items_.size()); }
  void Add(T item) {
    items_.push_back(std::make_shared<const T>(std::move(item)));
  }
  void Set(size_t index, T item) {
    items_[index] = std::make_shared<const T>(std::move(item));
  }

 private:
  std::vector<std::shared_ptr<const T>> items_;
};
using OpDescs = SharedList<OpDesc>;
using PlannedOps = SharedList<PlannedOp>;

// Which kernels a plan has, and remarks about it.
struct PlanChoice {
  std::vector<Decision> decisions;
  std::vector<std::string> notes;
};

// A program prepared for one signature of feeds: kernels are chosen, shapes
// inferred, transfers inserted, memory planned. Immutable; many threads may run
// it at once, each in its own frame. Made by an Executor. Independent of its
// program.
class SLUICE_API Plan {
 public:
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Runs this plan only: see rest(). `feeds` match feed_specs(), in any order,
  // but fastest in that order; `scope` may be null when the program has no
  // persistables. Returns the values of result_names(), in storage of their
  // own. Raises InvalidArgument for other feeds, FailedPrecondition inside the
  // caller's own OpenMP region or in a forked child, and what kernels raise,
  // with the op's index and the user's line; persistables are then unchanged.
  std::vector<Tensor> Run(const Feeds& feeds, Scope* scope = nullptr) const;

  // Like Run, but calls `observer` for each instruction.
  std::vector<Tensor> RunObserved(const Feeds& feeds,
                                  Scope* scope,
                                  RunObserver& observer) const;

  const std::vector<FeedSpec>& feed_specs() const { return feeds_; }
  const std::vector<std::string>& fetch_names() const { return fetch_names_; }
  // The names of Run's results: fetch_names(), unless there is a rest.
  const std::vector<std::string>& result_names() const { return result_names_; }
  // Whether Run returns the fetches, as for most programs; for the others see
  // Executor::Run.
  bool whole() const { return whole_; }
  // Raises Unimplemented unless whole(): for callers that handle one plan only.
  void RequireWhole(std::string_view what) const;
  // Raises Unimplemented if ops run in blocks, too, or unless whole().
  void RequireNoBlocks(std::string_view what) const;
  // Raises Unimplemented if its hooks do: for functions that run it any number
  // of times (PlanHooks::RequireAlone).
  void RequireAlone(std::string_view what) const;
  const PlanRest& rest() const { return rest_; }
  // The planned slot of a result, by its position.
  const Slot& result_slot(size_t result) const {
    return slots_[fetch_slots_[result]];
  }
  // Whether a run changes persistable variables.
  bool updates() const { return !shadow_slots_.empty(); }
  const PlanCommit& commit() const { return commit_; }
  // The plans of blocks that run inside of this one, with the index of the op.
  using Blocks = std::vector<std::pair<int, std::shared_ptr<const BlockPlans>>>;
  const Blocks& blocks() const { return blocks_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const PlannedOps& ops() const { return ops_; }
  const std::vector<Decision>& decisions() const { return Choice().decisions; }
  const std::vector<Transfer>& transfers() const { return transfers_; }
  // The ops by index: first those of the program, as changed by passes and
  // including unneeded ones, then those that passes added.
  const OpDescs& op_descs() const { return op_descs_; }
  // Remarks: omitted ops, hints without effect.
  const std::vector<std::string>& notes() const { return Choice().notes; }
  // Those of the remarks that are about hints without effect.
  const std::vector<HintNote>& hint_notes() const { return hint_notes_; }
  // Ops of the program that do not run, by index: not needed, or computed while
  // the plan was prepared.
  const std::vector<int>& idle_ops() const { return idle_ops_; }
  // Bytes of each arena.
  const std::vector<std::pair<PlaceKey, size_t>>& arenas() const {
    return arenas_;
  }
  // The bytes on the host that it shares with other plans of its executor, and
  // those that they keep for that.
  size_t SharedBytes() const;
  size_t PoolBytes() const;
  // Approximate bytes that it keeps for itself between runs: its tables, and
  // for each of its frames (at least one) arenas of devices and small shadows.
  // Memory of kernels is not included.
  size_t KeptBytes() const;
  // The hooks in its runs, each with the name of its RunHooks.
  using Hooks =
      std::vector<std::pair<std::string, std::shared_ptr<const PlanHooks>>>;
  const Hooks& hooks() const { return hooks_; }
  // Indexed by Instruction::device.
  const std::vector<QueueSpec>& queues() const { return queues_; }
  PlaceKey place() const { return place_; }
  int num_threads() const { return num_threads_; }
  const PlanOptions& options() const { return options_; }
  // Whether plans for other sizes of its feeds can be made from it.
  bool resizable() const { return size_rules_ != nullptr; }
  // No two plans of a process share it.
  uint64_t uid() const { return uid_; }

 private:
  friend class ArenaPool;
  friend class PlanBuilder;
  friend class PlanResizer;
  friend class Resizing;
  friend class Frame;
  friend class BlockRun;
  Plan();

  const PlanChoice& Choice() const;
  template <typename Execute>
  std::vector<Tensor> RunWith(const Feeds& feeds,
                              Scope* scope,
                              Execute execute) const;
  // Returns an unused frame, or a new one.
  std::unique_ptr<Frame> AcquireFrame() const;
  void ReleaseFrame(std::unique_ptr<Frame> frame) const;

  PlaceKey place_;
  int num_threads_ = 1;
  bool random_ = false;  // some op draws random numbers
  Hooks hooks_;
  Blocks blocks_;
  PlanOptions options_;
  std::vector<FeedSpec> feeds_;
  std::vector<std::string> fetch_names_;
  std::vector<std::string> result_names_;
  PlanRest rest_;
  bool whole_ = true;
  std::vector<int> feed_slots_;
  std::vector<int> fetch_slots_;
  std::vector<int> feed_aliases_;  // slots that alias a feed
  std::vector<int> persistable_slots_;
  std::vector<int> shadow_slots_;
  std::vector<int> late_slots_;
  std::vector<Slot> slots_;
  std::vector<QueueSpec> queues_;  // by Instruction::device
  PlannedOps ops_;
  int shared_ops_ = 0;  // those that the plan which it was made from has, too
  std::vector<Instruction> instructions_;
  PlanCommit commit_;
  std::vector<std::pair<PlaceKey, size_t>> arenas_;
  std::vector<Transfer> transfers_;
  OpDescs op_descs_;
  std::vector<HintNote> hint_notes_;
  std::vector<int> idle_ops_;

  // A plan for other sizes has none until it is asked for. It keeps that of the
  // plan that it was made from, and the sizes which that is for.
  mutable std::once_flag decided_;
  mutable std::shared_ptr<const PlanChoice> choice_;
  std::shared_ptr<const PlanChoice> base_choice_;
  std::vector<FeedSpec> base_feeds_;
  std::shared_ptr<const SizeRules> size_rules_of_base_;
  std::shared_ptr<const SizeRules> size_rules_;

  std::shared_ptr<ArenaPool> pool_;
  // Those that no run uses, and the number of all. The pool guards both.
  mutable std::vector<std::unique_ptr<Frame>> idle_frames_;
  mutable size_t frames_ = 0;
  const uint64_t uid_;
};

}  // namespace sluice
