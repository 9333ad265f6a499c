#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/onnx/export/graph_writer.h"
#include "sluice/onnx/save_onnx.h"

namespace sluice::onnx {

// Which floats are computed in float32 and rounded at the end, like in Sluice's
// kernels.
enum class Widened : uint8_t {
  kNone,
  kBFloat16,  // ONNX's operator rejects it
  kHalves,    // and float16: several nodes must round once
};

// One op of a program while a function writes it as nodes of ONNX. Lives for
// one call of that function; used by one thread. Arguments and attributes are
// those of the op's schema.
class OpExport {
 public:
  OpExport(const OpDesc& op, Widened widened, GraphWriter* graph);

  const OpDesc& op() const { return op_; }
  const std::string& type() const { return op_.type; }
  const OpSchema& schema() const { return schema_; }
  int64_t opset() const { return graph_.opset(); }
  GraphWriter& graph() { return graph_; }

  bool Has(std::string_view input) const;
  // The value of an input, for nodes to read; "" for an omitted input.
  std::string In(std::string_view input);
  Names All(std::string_view input);
  // The values of all inputs in the order of the schema, one of each.
  Names AllInputs();
  DDim Dims(std::string_view input) const;
  DDim OutDims(std::string_view output = "Out") const;
  // Raises Unimplemented while it is unknown.
  int Rank(std::string_view input) const;
  // The dtype in which nodes read it.
  DType TypeOf(std::string_view input) const;
  // The dtype in which nodes compute an output.
  DType OutType(std::string_view output = "Out") const;

  bool Bool(std::string_view attribute) const;
  int64_t Int(std::string_view attribute) const;
  double Float(std::string_view attribute) const;
  const std::string& String(std::string_view attribute) const;
  const Ints& List(std::string_view attribute) const;
  const Attribute& Attr(std::string_view attribute) const;

  // Returns whether the output is read.
  bool IsRead(std::string_view output) const;
  // Raises Unimplemented if an output other than these is read.
  void AllowOnly(std::initializer_list<std::string_view> outputs) const;

  // Adds a node and returns the name of its output.
  std::string Append(const std::string& type,
                     const Names& inputs,
                     const AttributeMap& attributes = {});
  // Adds the node that computes this output of the op.
  void Finish(const std::string& type,
              const Names& inputs,
              const AttributeMap& attributes = {},
              std::string_view output = "Out");
  // Adds a node that computes several outputs, in this order; the op may lack
  // some of them.
  void FinishAll(const std::string& type,
                 const Names& inputs,
                 const AttributeMap& attributes,
                 std::initializer_list<std::string_view> outputs);

  // The first input, an image: whether its channels are the last dim, its value
  // with channels second as in ONNX, and Finish for an output in its layout.
  bool HasLastChannels() const;
  std::string Image();
  void FinishImage(const std::string& type,
                   const Names& inputs,
                   const AttributeMap& attributes,
                   std::string_view output);

  // Finishes with a reshape in which a size of 0 means 0.
  void FinishReshape(const std::string& x, const Ints& sizes);

  std::string Constant(const Tensor& value);
  // Constants of int64: a vector, and a number of rank 0.
  std::string Vector(const Ints& values);
  std::string Whole(int64_t value);
  // A constant of rank 0, converted like by op cast.
  std::string Number(double value, DType dtype);
  // An input of one element as a value of rank 0.
  std::string Scalar(std::string_view input);
  std::string Cast(const std::string& x, DType dtype);
  std::string Reshape(const std::string& x, const Ints& shape);
  std::string Transpose(const std::string& x, const Ints& order);

  // The int64 operand, of the rank (0 or 1) of its attribute, or the attribute
  // as a constant.
  std::string Operand(std::string_view operand);

  // Raises an error with the reason, which is listed for the op.
  template <typename... Args>
  [[noreturn]] static void Unsupported(fmt::string_view format,
                                       const Args&... args) {
    // Becomes a line of onnx.no_counterpart.
    Raise(ErrorCode::kUnimplemented, kFormId, format, args...);
  }
  static constexpr const char* kFormId = "onnx.op_form";

 private:
  const std::string& Variable(std::string_view input) const;
  DType Computed(DType dtype) const;
  // Adds the node whose outputs have the program's dtypes.
  void AddFinal(const std::string& type,
                const Names& inputs,
                const AttributeMap& attributes,
                const Names& variables);

  const OpDesc& op_;
  const OpSchema& schema_;
  const Widened widened_;
  GraphWriter& graph_;
  std::map<std::string, std::string> casts_;  // by value
};

// Writes the ops of all blocks of a pruned program, each into the graph of its
// block, and collects those that cannot be written. Borrows its arguments; used
// by one thread.
class OpsWriter {
 public:
  // `whole` is the program before pruning, which options.plan belongs to.
  OpsWriter(const Program& whole, const OnnxSaveOptions& options)
      : whole_(whole), options_(options) {}

  void Write(GraphWriter* graph);
  // Raises Unimplemented, or InvalidArgument if some ops train, and lists all
  // refused ops.
  void RaiseRefused() const;

 private:
  void Write(const OpDesc& op, GraphWriter* graph);
  void AddNotes(const OpDesc& op, GraphWriter* graph) const;
  void Refuse(const OpDesc& op, const std::string& reason);

  const Program& whole_;
  const OnnxSaveOptions& options_;
  Names refused_;
  size_t op_count_ = 0;
  bool is_training_ = false;
};

// Keys and values of metadata_props.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Notes of a plan, prepared from `program`, about the op that computes
// `variable`: its kernel, the ops fused with it, and the time of one call if it
// was measured. Empty if the plan lacks the op.
Properties NotesOfOp(const Plan& plan,
                     const Program& program,
                     const std::string& variable);

// Notes about the whole plan: place, threads, machine.
Properties NotesOfPlan(const Plan& plan);

}  // namespace sluice::onnx
