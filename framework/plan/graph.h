#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/plan/op_order.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/plan/resolver.h"
#include "sluice/framework/registry.h"

namespace sluice::framework {

// One op of a graph with everything that is known before its kernel is chosen.
struct GraphOp {
  OpDesc desc;
  const OpSchema* schema = nullptr;
  std::vector<DDim> inputs;  // flattened in schema order, as the others
  std::vector<DType> input_dtypes;
  std::vector<DDim> outputs;
  std::vector<DType> output_dtypes;
  DType dtype = DType::kFloat32;  // the kernel's
  std::vector<KernelHint> hints;  // that speak about it, the strongest first
  std::vector<int> covers;        // ops of the program whose work it does
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
  // or shape than the program says. `op_hints` are each op's own.
  Graph(const Program& program,
        const std::vector<FeedSpec>& feeds,
        const std::vector<std::string>& fetches,
        PlaceKey place,
        std::vector<KernelHint> hints,
        const std::vector<std::vector<KernelHint>>& op_hints);

  // The ids of the ops, in the order in which they run.
  const std::vector<int>& order() const { return order_.ids(); }
  const GraphOp& op(int id) const { return ops_[id]; }
  // Program ops that nothing fetched or persistable needs.
  const std::vector<int>& not_needed() const { return not_needed_; }
  PlaceKey place() const { return place_; }

  bool IsFetched(const std::string& var) const {
    return fetched_.count(var) > 0;
  }
  bool IsPersistable(const std::string& var) const;
  // Persistable, and no op of the graph writes it.
  bool IsConstant(const std::string& var) const;
  // A value that only this graph's ops see: written once, by an op, and neither
  // fetched nor persistable. Passes may do away with it.
  bool IsInternal(const std::string& var) const;
  // The op that writes `var`; -1 for none or several.
  int Writer(const std::string& var) const;
  // The ops that read the contents of `var`. One that uses nothing but its
  // shape does not count: that stays known when the value is gone.
  std::vector<int> Readers(const std::string& var) const;
  // Raise NotFound for a variable that no op of the graph touches.
  const DDim& dims(const std::string& var) const;
  DType dtype(const std::string& var) const;

  // The request that the resolver is asked with for an op; places of inputs are
  // left to the caller. It looks into the op.
  ResolveRequest RequestFor(const GraphOp& op, int id) const;
  // The library of the kernel that computes op `id` as it stands; "" when none
  // does.
  std::string LibraryOf(int id) const;
  // The variant of the kernel that the resolver would take for `op` in the
  // place of op `id`; "" where there is none. It is not prepared, so it may
  // still refuse.
  std::string VariantOf(const GraphOp& op, int id) const;

  // Puts `op` in the place of the last of `ids`, which leave the graph. It must
  // read only what is there by then and write only what they wrote. False, and
  // nothing changes, where no kernel takes it: none is there, each refuses its
  // shapes, or a hint about one of the ops wants another kernel; and where
  // another op would have changed by then what one of them reads. A value of
  // theirs that somebody still reads must be among its outputs.
  bool Replace(const std::vector<int>& ids, OpDesc op);
  // Puts `op` in front of op `before`, and returns its id. Its outputs may be
  // new variables; NewName makes names for them.
  int InsertBefore(int before, OpDesc op);
  // The same behind op `id`.
  int InsertBehind(int id, OpDesc op);
  // Sets what an op reads, writes and is told; shapes are inferred again. Its
  // outputs keep their names and may change their shapes.
  void Rewrite(int id, OpDesc op);
  std::string NewName(const std::string& stem);

 private:
  struct Value {
    DDim dims;
    DType dtype = DType::kFloat32;
  };
  // The ops that write a variable, and those that read its contents.
  struct Uses {
    std::set<int> writers;
    std::set<int> readers;
  };
  void CheckFeeds(const std::vector<FeedSpec>& feeds) const;
  std::vector<int> FindNeededOps();
  GraphOp Infer(OpDesc desc) const;
  void Define(const GraphOp& op);
  void NoteUses(int id);
  void ForgetUses(int id);
  const Uses& UsesOf(const std::string& var) const;
  std::vector<KernelHint> HintsFor(const std::vector<int>& ids) const;
  std::optional<Decision> Decide(const GraphOp& op, int id) const;
  bool HasKernel(const GraphOp& op, int id) const;
  bool ChangesBefore(const std::vector<int>& ids,
                     const OpDesc& op,
                     int kept) const;
  int Add(int neighbour, OpDesc desc);

  const Program& program_;
  PlaceKey place_;
  std::vector<GraphOp> ops_;
  OpOrder order_;
  std::vector<int> not_needed_;
  std::set<std::string> fetched_;
  std::map<std::string, Value> values_;
  std::map<std::string, Uses> uses_;  // by the ops in order_
  int names_ = 0;
};

}  // namespace sluice::framework
