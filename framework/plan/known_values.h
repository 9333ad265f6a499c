#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/choice/prepared_op.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/plan/plan.h"

namespace sluice {

// An attribute that the value of an operand sets.
struct KnownOperand {
  const ArgDef* def = nullptr;
  const AttrDef* attr = nullptr;
  std::string var;
};
// "shape = [4, 2], from v", a remark for Explain.
std::string OperandRemark(const KnownOperand& operand, const Attribute& value);

// Values that are known while a plan is prepared, because they follow from
// shapes, constants and small feeds alone. Operands (OpSchema::Operand) set
// attributes to them. They are computed on demand by plain kernels on the CPU.
// Lives for one preparation; used by one thread.
class KnownValues {
 public:
  // Larger values are treated as data.
  static constexpr int64_t kMaxElements = 4096;
  static bool IsSmall(const DDim& dims) {
    return dims.known() && dims.numel() <= kMaxElements;
  }

  // Returns the op that wrote a variable last, of those before `reader` if that
  // is not nullptr; or nullptr.
  using WriterOf = std::function<const PreparedOp*(const std::string& var,
                                                   const PreparedOp* reader)>;
  KnownValues(WriterOf writer, const std::vector<FeedSpec>& feeds);

  // Returns the value on the host, valid as long as this object. If it depends
  // on data, returns nullptr and sets `reason`. Raises what kernels raise.
  const Tensor* Find(const std::string& var, std::string* reason);

  // The feeds whose values were read, not only their shapes.
  const std::set<std::string>& used_feeds() const { return used_feeds_; }
  // Whether a value was computed from shapes: any, or the latest one of `var`,
  // which was found.
  bool used_shapes() const { return used_shapes_; }
  bool IsFromShapes(const std::string& var) const;

 private:
  struct Value {
    Tensor tensor;
    std::string reason;  // why it is not known; "" if it is
    bool from_shapes = false;
  };
  // A variable, and the op that wrote it; nullptr for what no op has written.
  using Version = std::pair<std::string, const PreparedOp*>;
  Value OfLeaf(const std::string& var);
  void Compute(const PreparedOp& op);

  WriterOf writer_;
  const std::vector<FeedSpec>& feeds_;
  std::map<Version, Value> values_;
  std::set<std::string> used_feeds_;
  bool used_shapes_ = false;
};

// Sets the attributes of `op` from its operands' values, and removes the
// operands. For each of them it calls `note` with a remark for Explain. Adds
// those whose values follow from shapes to `from_shapes`. Raises Unimplemented
// for an operand whose value depends on data, and InvalidArgument for one with
// too many dimensions or elements.
OpDesc WithKnownOperands(OpDesc op,
                         KnownValues* known,
                         const std::function<void(std::string)>& note,
                         std::vector<KnownOperand>* from_shapes);

}  // namespace sluice
