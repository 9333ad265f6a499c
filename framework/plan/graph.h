#pragma once

#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sluice/framework/hints/pass_hints.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/op_order.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/prepared_op.h"

namespace sluice::framework {

class KnownValues;

// Hints about ops, by the op's index and the text of the hint, with the reason
// why the op by itself does not obey, where that is known.
using HintsOfOps = std::map<std::pair<int, std::string>, std::string>;

// Thrown by Graph: a block of op `id` has ops that are known late.
struct BlockIsNotStatic : std::exception {
  explicit BlockIsNotStatic(int op) : id(op) {}
  int id;
};

// What a program will compute for one set of feeds and fetches: the ops that
// are needed, in order, with every shape known. Passes rewrite it before
// kernels are chosen; the program itself never changes. An op is named by its
// id: its index in the program, or a number behind those for ops that passes
// put in. Lives for one preparation; used by one thread.
class SLUICE_API Graph {
 public:
  // Raises what shape functions raise, with the op's index and line, NotFound
  // for unknown feeds and fetches, InvalidArgument for a feed of another dtype
  // or shape than the program says. `op_hints` are ops' own, by index.
  // Where the condition of an `if` is known, the ops of the block that it takes
  // stand in its place, unless `with_blocks` has its index: BlockIsNotStatic
  // says that this must be tried.
  // A hint that wants a library, a variant or a layout which the op of a pass
  // has not keeps the pass from making it where the hint is one of `vetoes`,
  // or that is null. Others wait for the op that later passes make.
  Graph(const Program& program,
        const std::vector<FeedSpec>& feeds,
        const std::vector<std::string>& fetches,
        PlaceKey place,
        std::vector<KernelHint> hints,
        std::map<int, std::vector<KernelHint>> op_hints = {},
        std::set<int> with_blocks = {},
        const HintsOfOps* vetoes = nullptr);

  // The ids of the ops, in the order in which they run.
  const std::vector<int>& order() const { return order_.ids(); }
  // Whether op `a` runs before op `b`.
  bool Precedes(int a, int b) const { return order_.Precedes(a, b); }
  const PreparedOp& op(int id) const { return ops_[id]; }
  // The same as the program has it; for ops that it does not have, as it is.
  const OpDesc& Written(int id) const {
    const auto& ops = program_.block().ops;
    return id < static_cast<int>(ops.size()) ? ops[id] : ops_[id].desc;
  }
  // Its kernel chosen, made and prepared, unless that was done. Raises as
  // ChooseKernel.
  PreparedOp& Choose(int id);
  // Program ops that nothing fetched or persistable needs.
  const std::vector<int>& not_needed() const { return not_needed_; }
  // Those of which only values were needed, which operands gave attributes
  // while the graph was made.
  const std::vector<int>& computed() const { return computed_; }
  // What Explain says about attributes that operands gave.
  const std::vector<std::string>& operand_remarks() const {
    return operand_remarks_;
  }
  // What this graph leaves for later, because it is not known yet; and the
  // values that it computes for that and for fetches, which count as fetched.
  const PlanRest& rest() const { return rest_; }
  const std::vector<std::string>& results() const { return results_; }
  // The feeds whose values attributes depend on.
  const std::set<std::string>& used_feeds() const { return used_feeds_; }
  PlaceKey place() const { return place_; }

  bool IsFetched(const std::string& var) const;
  bool IsPersistable(const std::string& var) const;
  // Persistable, and no op of the graph writes it.
  bool IsConstant(const std::string& var) const;
  // A value that only this graph's ops see: written once, by an op, and neither
  // fetched nor persistable. Passes may do away with it.
  bool IsInternal(const std::string& var) const;
  // The op that writes `var`; -1 for none or several.
  int Writer(const std::string& var) const;
  // The last op that writes `var`; -1 for none.
  int LastWriter(const std::string& var) const;
  // The ops that read the contents of `var`. One that uses nothing but its
  // shape does not count: that stays known when the value is gone.
  std::vector<int> Readers(const std::string& var) const;
  // The one op that reads `var` where that is internal; none otherwise.
  std::optional<int> OnlyReader(const std::string& var) const;
  // Raise NotFound for a variable that no op of the graph touches.
  const DDim& dims(const std::string& var) const;
  DType dtype(const std::string& var) const;

  // The pass that changes the graph from now on; false where it is off.
  bool BeginPass(std::string_view pass) {
    pass_ = pass;
    return pass_hints_.Begin(pass);
  }
  // Whether hints let the pass that runs change op `id`. Replace asks by
  // itself; a pass that calls Rewrite asks first.
  bool MayChange(int id);
  // From now on all hints count. Returns those that no kernel of the op obeys
  // that passes made, though one of the op in the program might: they have to
  // be vetoes; and preferences that are vetoes for nothing, with the reason.
  HintsOfOps EndPasses();
  // What Explain says about passes that left ops as they are.
  std::vector<std::string> PassRemarks() const { return pass_hints_.Remarks(); }

  // The kernel that the resolver would take for an op of these facts, at this
  // graph's place; nullptr where there is none. It is not prepared, so it may
  // still refuse. Valid as long as the graph.
  const Candidate* Predict(const OpFacts& op);
  // What is known of an op that is not in the graph, but that a pass might add
  // to it, with the hints that speak about it; its inputs are. Raises as
  // the constructor.
  OpFacts FactsOf(OpDesc op) const;

  // Puts `op` in the place of the last of `ids`, which leave the graph. It must
  // read only what is there by then and write only what they wrote. False, and
  // nothing changes, where no kernel takes it: none is there, each refuses its
  // shapes, or a hint about one of the ops wants another kernel; where the ops
  // are predicted to take less time as they are; where a hint forbids the pass
  // to change one of them; and where another op would have changed by then what
  // one of them reads. A value of theirs that somebody still reads must be
  // among its outputs.
  bool Replace(const std::vector<int>& ids, OpDesc op);
  // Puts `op` in front of op `before`, and returns its id. Its outputs may be
  // new variables; NewName makes names for them.
  int InsertBefore(int before, OpDesc op);
  // The same behind op `id`.
  int InsertBehind(int id, OpDesc op);
  // Lets op `id` run right after op `behind`, after which all it reads is
  // there and nobody has used what it writes.
  void MoveBehind(int behind, int id);
  // Sets what an op reads, writes and is told; shapes are inferred again. Its
  // outputs keep their names and may change their shapes.
  void Rewrite(int id, OpDesc op);
  std::string NewName(const std::string& stem);

  // The ops by id, those that do not run as the program has them; the graph is
  // used up.
  std::vector<OpDesc> TakeDescs();

 private:
  // A variable: the newest shape, the ops that write it, and those that read
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
  void AddBlock(int id,
                const OpDesc& desc,
                Names names,
                KnownValues* known,
                KnownValues* of_shapes);
  std::string WhyLater(const OpDesc& desc, KnownValues* known) const;
  void AddOp(int id, OpDesc desc, const std::vector<KernelHint>& own);
  void FindResults(const std::vector<std::string>& fetches,
                   const std::vector<int>& later);
  void CheckLater(const std::vector<int>& later);
  void DropComputed();
  // Whether a variable of the graph or of its program has this name.
  bool HasVar(const std::string& name) const;
  std::string InnerName(const std::string& wanted);
  Value& ValueOf(const std::string& var);
  const Value* FindValue(const std::string& var) const;
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
  std::set<int> with_blocks_;
  const HintsOfOps* vetoes_;
  PlaceKey place_;
  std::vector<KernelHint> hints_;  // about the whole program
  PassHints pass_hints_;
  std::string pass_;                 // that runs
  std::deque<KernelHint> op_hints_;  // of single ops; addresses stay
  CandidateLister lister_;
  std::deque<PreparedOp> ops_;
  OpOrder order_;
  std::vector<int> not_needed_;
  std::vector<int> computed_;
  std::vector<std::string> operand_remarks_;
  std::set<std::string> used_feeds_;
  std::set<std::string> later_vars_;  // that this graph cannot compute
  // Persistable ones, to which ops that are left give new values.
  std::set<std::string> updated_later_;
  PlanRest rest_;
  std::vector<std::string> results_;
  std::unordered_map<std::string, Value> values_;
  std::set<std::string> inner_names_;  // of variables of blocks
  int names_ = 0;
};

}  // namespace sluice::framework
