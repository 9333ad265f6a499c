#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sluice/framework/algorithms/op_order.h"
#include "sluice/framework/choice/prepared_op.h"
#include "sluice/framework/hints/pass_hints.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/block_plans.h"
#include "sluice/framework/plan/known_values.h"
#include "sluice/framework/plan/plan.h"

namespace sluice {

// Hints about ops, by the op's index and the text of the hint, with the reason
// why the op by itself does not obey, if known.
using HintsOfOps = std::map<std::pair<int, std::string>, WhyNot>;

// The computation of a program for one set of feeds and fetches: the needed ops
// in order, with every shape known. Passes rewrite it before kernels are
// chosen; the program never changes. The id of an op is its index in the
// program, or a larger number for an op that a pass added. Lives for one
// preparation; used by one thread.
class SLUICE_API Graph {
 public:
  // Raises what shape functions raise, with the op's index and line, NotFound
  // for unknown feeds and fetches, InvalidArgument for a feed of another dtype
  // or shape than the program's. `op_hints` are the ops' own, by index. If the
  // condition of an `if` is known, the ops of its chosen block replace it,
  // unless they depend on later values. Other block ops run their blocks, as
  // prepared by `prepare_block`, or are left for later. A hint for a library,
  // variant or layout that a pass's op lacks prevents this op if the hint is
  // one of `vetoes`, or if that is null. Other hints wait for the ops of later
  // passes.
  Graph(const Program& program,
        const std::vector<FeedSpec>& feeds,
        const std::vector<std::string>& fetches,
        PlaceKey place,
        std::vector<KernelHint> hints,
        std::map<int, std::vector<KernelHint>> op_hints = {},
        const HintsOfOps* vetoes = nullptr,
        PrepareBlock prepare_block = nullptr);

  // The ids of the ops in execution order.
  const std::vector<int>& order() const { return order_.ids(); }
  // Whether op `a` runs before op `b`.
  bool Precedes(int a, int b) const { return order_.Precedes(a, b); }
  const PreparedOp& op(int id) const { return ops_[id]; }
  // The op in the program's form; ops that a pass added have only their own.
  const OpDesc& Written(int id) const {
    const auto& ops = program_.block().ops;
    return id < static_cast<int>(ops.size()) ? ops[id] : ops_[id].desc;
  }
  // Chooses, makes and prepares the op's kernel, unless that was done. Raises
  // what ChooseKernel raises.
  PreparedOp& Choose(int id);
  // Program ops that no fetched or persistable value depends on.
  const std::vector<int>& not_needed() const { return not_needed_; }
  // Ops whose values nothing reads, because they were only needed for
  // attributes or for their shapes, while the graph was made.
  const std::vector<int>& unread() const { return unread_; }
  // Remarks for Explain about attributes that operands set.
  const std::vector<std::string>& operand_remarks() const {
    return operand_remarks_;
  }
  // The work that is left to later plans, because it is not known yet; and the
  // values computed for that and for fetches, which count as fetched.
  const PlanRest& rest() const { return rest_; }
  // The plans of blocks that run inside of this graph's.
  const Plan::Blocks& blocks() const { return blocks_; }
  const std::vector<std::string>& results() const { return results_; }
  // The feeds whose values determine attributes.
  const std::set<std::string>& used_feeds() const { return used_feeds_; }
  // The ops in the order of the program, with those of unread(), before passes.
  const std::vector<int>& written_order() const { return written_order_; }
  // The attributes that follow from sizes, by op.
  using SizedOperands = std::map<int, std::vector<KnownOperand>>;
  const SizedOperands& sized_operands() const { return sized_operands_; }
  // Whether chosen blocks, or attributes in them, follow from sizes.
  bool chosen_by_sizes() const { return chosen_by_sizes_; }
  PlaceKey place() const { return place_; }

  bool IsFetched(const std::string& var) const;
  bool IsPersistable(const std::string& var) const;
  // Whether the variable is persistable and no op of the graph writes it.
  bool IsConstant(const std::string& var) const;
  // Whether only this graph's ops use the value: it is written once, by an op,
  // and neither fetched nor persistable. Passes may remove it.
  bool IsInternal(const std::string& var) const;
  // Returns the op that writes `var`; -1 for none or several.
  int Writer(const std::string& var) const;
  // Returns the last op that writes `var`; -1 for none.
  int LastWriter(const std::string& var, int before = -1) const;
  // Returns the ops that read the contents of `var`. Ops that use only its
  // shape are not included: the shape stays known if the value is removed.
  std::vector<int> Readers(const std::string& var) const;
  // Returns the only op that reads `var`, if that is internal.
  std::optional<int> OnlyReader(const std::string& var) const;
  // These raise NotFound for a variable that no op of the graph uses.
  const DDim& dims(const std::string& var) const;
  DType dtype(const std::string& var) const;

  // Starts a pass; returns false if it is disabled.
  bool BeginPass(std::string_view pass) {
    pass_ = pass;
    return pass_hints_.Begin(pass);
  }
  // Whether hints let the current pass change op `id`. Replace checks this
  // itself; a pass must call it before Rewrite.
  bool MayChange(int id);
  // Activates all hints. Returns those that no kernel of a pass's op obeys,
  // though one of the program's op might: they must become vetoes. Also returns
  // preferences that are vetoes without effect, with the reason.
  HintsOfOps EndPasses();
  // Remarks for Explain about passes that left ops unchanged.
  std::vector<std::string> PassRemarks() const { return pass_hints_.Remarks(); }

  // Returns the kernel that the resolver would choose for such an op at this
  // graph's place, or nullptr. It is not prepared, so it may still refuse.
  // Valid as long as the graph.
  const Candidate* Predict(const OpFacts& op);
  // Returns the facts of an op that a pass might add, with the hints that match
  // it. Its inputs must be in the graph. Raises what the constructor raises.
  OpFacts FactsOf(OpDesc op) const;

  // Replaces `ids` by `op`, at the position of the last one. It must read only
  // values that exist there and write only what they wrote. Values that are
  // still read must be among its outputs. Returns false, without a change, if
  // no kernel accepts it (none exists, all refuse its shapes, or a hint about
  // one of the ops requires another kernel), if the ops are predicted to be
  // faster, if a hint forbids the pass to change one of them, or if another op
  // would change an input of theirs first.
  bool Replace(const std::vector<int>& ids, OpDesc op);
  // Inserts `op` before op `before`, and returns its id. Its outputs may be new
  // variables, with names from NewName.
  int InsertBefore(int before, OpDesc op);
  // Inserts `op` after op `id`, and returns its id.
  int InsertAfter(int id, OpDesc op);
  // Moves op `id` to right after op `after`, where all its inputs must exist
  // and no op may have used its outputs yet.
  void MoveAfter(int after, int id);
  // Replaces an op's inputs, outputs and attributes; shapes are inferred again.
  // The outputs must keep their names and may change their shapes.
  void Rewrite(int id, OpDesc op);
  std::string NewName(const std::string& stem);

  // Returns the ops by id, in the program's form if they do not run; the graph
  // cannot be used afterwards.
  std::vector<OpDesc> TakeDescs();

 private:
  // A variable: its latest shape, the ops that write it, and those that read
  // its contents.
  struct Value {
    DDim dims;
    DType dtype = DType::kFloat32;
    bool defined = false;  // fed, or written by an op so far
    bool fetched = false;
    bool persistable = false;
    std::set<int> writers;
    std::set<int> readers;
  };
  using Names = std::map<std::string, std::string>;

  std::vector<int> NeededOpsOf(
      const BlockDesc& block,
      std::unordered_set<std::string_view> wanted,
      const std::unordered_set<std::string_view>& known,
      std::vector<int>* not_needed) const;
  static int TakenBlock(const OpDesc& desc, KnownValues* known);
  bool AddBlock(const OpDesc& desc,
                Names names,
                KnownValues* known,
                KnownValues* of_shapes);
  bool TryBlock(const OpDesc& desc,
                Names names,
                KnownValues* known,
                KnownValues* of_shapes);
  void RemoveOpsFrom(size_t count);
  std::string WhyLater(const OpDesc& desc, KnownValues* known) const;
  std::unordered_set<std::string_view> DefineFeeds(
      const std::vector<FeedSpec>& feeds);
  void NoteLater(const OpDesc& desc);
  std::string AddNeeded(int id,
                        const std::vector<KernelHint>& hints,
                        KnownValues* known,
                        KnownValues* of_shapes);
  void AddOp(int id, OpDesc desc, const std::vector<KernelHint>& own);
  void AddPrepared(int id,
                   PreparedOp prepared,
                   const std::vector<KernelHint>& own);
  int64_t TripsByConstant(const OpDesc& desc, KnownValues* known) const;
  std::string AddBlockOp(int id,
                         const OpDesc& desc,
                         const std::vector<KernelHint>& own,
                         KnownValues* known);
  void FindResults(const std::vector<std::string>& fetches,
                   const std::vector<int>& later);
  void CheckLater(const std::vector<int>& later);
  void DropUnread();
  // Whether a variable of the graph or of its program has this name.
  bool HasVar(const std::string& name) const;
  std::string InnerName(const std::string& wanted);
  Value& ValueOf(const std::string& var);
  const Value* FindValue(const std::string& var) const;
  bool IsOpen(const std::string& name, const DDim& dims) const;
  PreparedOp Infer(OpDesc desc) const;
  void SetHints(int id, const std::vector<KernelHint>& own);
  bool LetHintsWait(PreparedOp* op);
  bool CanObey(const PreparedOp& op, const KernelHint& hint);
  void Define(const PreparedOp& op);
  void NoteUses(int id);
  void ForgetUses(int id);
  void NoteConstants(PreparedOp* op) const;
  std::vector<const KernelHint*> HintsFor(const std::vector<int>& ids) const;
  std::vector<const KernelHint*> HintsForReplacement(
      const OpDesc& op, int kept, const std::vector<int>& ids) const;
  std::vector<const KernelHint*> HintsForAdded(const OpDesc& op,
                                               DType type) const;
  bool Fits(const PreparedOp& op) const;
  void NoteLeft(const std::vector<int>& ids, const std::string& why);
  void NoteStoppingHint(const std::vector<int>& ids, const PreparedOp& op);
  bool Pays(const std::vector<int>& ids, const PreparedOp& op);
  bool HasKernel(const std::vector<int>& ids, PreparedOp* op);
  bool FitsHints(PreparedOp* op);
  bool ChangesBefore(const std::vector<int>& ids,
                     const OpDesc& op,
                     int kept) const;
  int Add(int neighbour, OpDesc desc);

  const Program& program_;
  const HintsOfOps* vetoes_;
  PrepareBlock prepare_block_;
  Plan::Blocks blocks_;
  PlaceKey place_;
  std::vector<KernelHint> hints_;  // about the whole program
  PassHints pass_hints_;
  std::string pass_;                 // the current one
  std::deque<KernelHint> op_hints_;  // of single ops; addresses are stable
  CandidateLister lister_;
  std::deque<PreparedOp> ops_;
  OpOrder order_;
  std::vector<int> not_needed_;
  std::vector<int> unread_;
  std::vector<std::string> operand_remarks_;
  std::set<std::string> used_feeds_;
  std::vector<int> written_order_;
  SizedOperands sized_operands_;
  bool chosen_by_sizes_ = false;
  std::set<std::string> later_vars_;  // that this graph cannot compute
  // Persistable variables that later ops update.
  std::set<std::string> updated_later_;
  PlanRest rest_;
  std::vector<std::string> results_;
  std::unordered_map<std::string, Value> values_;
  std::set<std::string> inner_names_;  // of variables of blocks
  int names_ = 0;
  // By op: how a fusion compares, or the ops apart, for Why::subject and
  // PreparedOp::reason.
  std::map<int, std::pair<std::string, std::string>> fusions_;
};

}  // namespace sluice
