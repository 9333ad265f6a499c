#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/plan/resolver.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"
#include "sluice/platform/ranks/world.h"

namespace sluice::framework {

class Frame;
class RunObserver;

using Feeds = std::vector<std::pair<std::string, Tensor>>;

// What is known of a feed before it comes.
struct FeedSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  DDim dims;
  PlaceKey place;
  // What the plan was prepared for, on the CPU, where shapes or attributes
  // depend on it; unallocated where any value will do. Before a plan is
  // prepared: the value of a small feed.
  Tensor value = {};
  // Computed by a plan before this one (PlanRest), or by a block.
  bool handed_on = false;

  bool Matches(const std::string& fed_name, const Tensor& tensor) const {
    return tensor.allocated() && dtype == tensor.dtype() &&
           dims == tensor.dims() && place == tensor.place() &&
           name == fed_name && (!value.allocated() || HasValue(tensor));
  }
  // Whether a tensor of this dtype and shape, on the CPU, has these bytes.
  SLUICE_API bool HasValue(const Tensor& tensor) const;
};

// What a plan leaves to those after it, where shapes or attributes depend on
// what it computes, or ops run blocks: the ops of its program that it could not
// prepare. See framework/run/stretches.h.
struct PlanRest {
  // What the next plan is to be fed: values that this one gives, and feeds.
  std::vector<std::string> feeds;
  // The fetches that this plan does not know.
  std::vector<std::string> fetches;
  // The ops that run blocks, by index, whose inputs are there after this plan:
  // to be run next, before the next plan.
  std::vector<int> block_ops;
  // Whether ops that are left write persistable variables.
  bool updates = false;
  // Why the first op that is left was left.
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
  kWait,       // the host, until a queue is empty
  kQueueWait,  // a queue, for what another one has been given so far
};

// One queue of a device, which is a DeviceContext of the frame. Where copies
// run beside kernels, they have queues of their own.
enum class QueueRole : uint8_t {
  kAll,
  kKernels,
  kCopyFromHost,
  kCopyToHost,
  kCollective,  // of one collective op (platform::CollectiveContext)
};
struct QueueSpec {
  PlaceKey place;
  QueueRole role = QueueRole::kAll;
  int lane = 0;  // which of several for kernels: PlanOptions::queues

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
  int32_t op_index = -1;  // in block 0; -1 for a step that no op asked for
  int32_t context = -1;   // compute: its OpKernelContext
  int32_t device = -1;    // its queue; -1 is the CPU
  int32_t from = -1;      // copies: slots; kQueueWait: the other queue
  int32_t to = -1;
  const OpKernel* kernel = nullptr;
};

enum class SlotKind : uint8_t {
  kFeed,
  kPersistable,  // the scope's tensor, read only
  kShadow,       // what a persistable becomes when the run has succeeded
  kArena,        // an intermediate
  kFetch,        // storage of its own, handed to the caller
  kLate,         // the same, of a shape that the kernel finds out
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
  int alias_of = -1;        // looks into that slot, in another shape
  size_t alias_offset = 0;  // so many bytes behind its beginning
  int first = -1;           // instructions between which the memory is in use
  int last = -1;
  size_t offset = 0;  // kArena and kScratch: in the arena of the place
};

// A value that moves between places, once in each run.
struct Transfer {
  std::string var;
  PlaceKey from;
  PlaceKey to;
  size_t bytes = 0;
  int op_index = -1;  // that needs it; -1 for a fetch
  int instruction = -1;
};

struct PlanOptions {
  // Every value gets memory of its own: finds reads and writes out of bounds.
  bool isolate = false;
  // False: every op runs as it was written, nothing is fused or rearranged.
  bool passes = true;
  // On how many queues of one device the kernels of a place may run, 1 to
  // kMaxQueues. With more than one, branches that do not need each other run
  // side by side. Results are the same.
  int queues = 1;
  static constexpr int kMaxQueues = 16;
  // For tests: the n-th wait is left out. -1: none.
  int drop_wait_for_testing = -1;
};

// How each kernel of the plan is called.
struct PlannedOp {
  std::unique_ptr<OpKernel> kernel;
  ArgTable arguments;
  std::vector<uint8_t> input_constant;  // as KernelQuery's
  std::vector<int> inputs;              // slots
  std::vector<int> outputs;             // slots
  PlaceKey place;
  int device = -1;
  size_t scratch_bytes = 0;
  int scratch = -1;  // slot
  int op_index = -1;
};

// A program prepared for one signature of feeds: kernels chosen, shapes
// inferred, transfers placed, memory laid out. Immutable; many threads run it
// at once, each in a frame of its own. Made by an Executor. Independent of the
// program it came from.
class SLUICE_API Plan {
 public:
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Runs it, and no more than it: see rest(). `feeds` match feed_specs(), in
  // any order, fastest in theirs; `scope` may be null when the program has no
  // persistables. The results, those of result_names(), have storage of their
  // own. Raises InvalidArgument for other feeds, FailedPrecondition inside the
  // caller's own OpenMP region or in a forked child, and what kernels raise,
  // with the op's index and the user's line; persistables are as they were.
  std::vector<Tensor> Run(const Feeds& feeds, Scope* scope = nullptr) const;

  // The same, telling `observer` about each instruction.
  std::vector<Tensor> RunObserved(const Feeds& feeds,
                                  Scope* scope,
                                  RunObserver& observer) const;

  const std::vector<FeedSpec>& feed_specs() const { return feeds_; }
  const std::vector<std::string>& fetch_names() const { return fetch_names_; }
  // What Run gives: fetch_names(), unless there is a rest.
  const std::vector<std::string>& result_names() const { return result_names_; }
  // Whether Run gives the fetches, as it does for most programs; for the others
  // see framework/run/stretches.h.
  bool whole() const { return whole_; }
  // Raises Unimplemented where it is not: for what looks at one plan alone.
  void RequireWhole(std::string_view what) const;
  // Raises Unimplemented for a plan with collectives: for what runs it as often
  // as this rank sees fit.
  void RequireAlone(std::string_view what) const;
  const PlanRest& rest() const { return rest_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<PlannedOp>& ops() const { return ops_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  const std::vector<Transfer>& transfers() const { return transfers_; }
  // The ops by index: those of the program, also those that no fetch needs, as
  // passes left them, and then those that passes put in.
  const std::vector<OpDesc>& op_descs() const { return op_descs_; }
  // Remarks: ops left out, hints that matched nothing.
  const std::vector<std::string>& notes() const { return notes_; }
  // Bytes of each arena.
  const std::vector<std::pair<PlaceKey, size_t>>& arenas() const {
    return arenas_;
  }
  // About what the plan keeps between runs, in bytes: the arenas of its frames,
  // of one before the first run, and its own tables. Not what kernels keep.
  size_t KeptBytes() const;
  // Whether a run takes part in collectives: all ranks have to run it.
  bool collective() const { return part_ != nullptr; }
  // By Instruction::device.
  const std::vector<QueueSpec>& queues() const { return queues_; }
  PlaceKey place() const { return place_; }
  int num_threads() const { return num_threads_; }
  const PlanOptions& options() const { return options_; }

 private:
  friend class PlanBuilder;
  friend class Frame;
  Plan();

  template <typename Execute>
  std::vector<Tensor> RunWith(const Feeds& feeds,
                              Scope* scope,
                              Execute execute) const;
  // Takes a frame that nobody uses, or makes one.
  std::unique_ptr<Frame> AcquireFrame() const;
  void ReleaseFrame(std::unique_ptr<Frame> frame) const;

  PlaceKey place_;
  int num_threads_ = 1;
  bool random_ = false;  // some op draws random numbers
  // What all ranks must agree on where a run starts collectives; nullptr for a
  // plan without them.
  std::shared_ptr<const platform::Part> part_;
  std::vector<std::string> compared_vars_;  // VarDesc::same_on_ranks
  uint64_t compared_digest_ = 0;
  std::map<int, std::string> collective_ops_;  // by index: for messages
  PlanOptions options_;
  std::vector<FeedSpec> feeds_;
  std::vector<std::string> fetch_names_;
  std::vector<std::string> result_names_;
  PlanRest rest_;
  bool whole_ = true;
  std::vector<int> feed_slots_;  // -1: fed, but not needed
  std::vector<int> fetch_slots_;
  std::vector<int> feed_aliases_;  // slots that look into a feed
  std::vector<int> persistable_slots_;
  std::vector<int> shadow_slots_;
  std::vector<int> late_slots_;
  std::vector<Slot> slots_;
  std::vector<QueueSpec> queues_;  // by Instruction::device
  std::vector<PlannedOp> ops_;
  std::vector<Instruction> instructions_;
  std::vector<std::pair<PlaceKey, size_t>> arenas_;
  std::vector<Decision> decisions_;
  std::vector<Transfer> transfers_;
  std::vector<OpDesc> op_descs_;
  std::vector<std::string> notes_;

  mutable std::mutex frames_mutex_;
  mutable std::vector<std::unique_ptr<Frame>> free_frames_;
};

// Stops every run of this process at its next instruction with a
// FailedPrecondition error, until it is called with false. For Ctrl-C handlers.
SLUICE_API void SetCancelRequested(bool requested);

}  // namespace sluice::framework
