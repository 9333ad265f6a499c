#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "sluice/onnx/import/attributes.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"

namespace sluice::onnx {

using Inputs = Program::ArgList;

// Adds the ops of a subgraph's nodes. Raises LostSubgraph if one of its outputs
// could not be computed, after listing the refused nodes.
using ImportGraph = std::function<void(const GraphProto& graph)>;
struct LostSubgraph : std::exception {};

// One node during its import by a handler: its inputs, outputs and attributes,
// and the ops that compute it. Lives for one call of a handler; used by one
// thread. Inputs and outputs are counted from 0. Raises InvalidArgument, naming
// the input, for a missing one, and what Program::AppendOp raises.
class Node {
 public:
  Node(const NodeProto& proto,
       std::string location,
       ValueMap* values,
       const ImportGraph& import_graph);

  // The name of the ONNX operator.
  const std::string& type() const;
  Attributes& attributes() { return attributes_; }

  int input_count() const;
  // Whether the input has a value: not if it is omitted, or absent.
  bool HasInput(int index) const;
  // The name of an input of any kind: a tensor, a sequence, or absent.
  const std::string& InputName(int index) const;
  // The name of the input's variable, for an op to read.
  const std::string& In(int index) const;
  DDim Dims(int index) const;
  DType TypeOf(int index) const;
  // nullptr for a value that is known only at run time.
  const Tensor* Constant(int index) const;
  // The constant of a variable of the program, or nullptr.
  const Tensor* ConstantOf(const std::string& variable) const;
  // The op that computes the input, if only this node reads it and it is not an
  // output of the model; else nullptr. Valid until the next op is added.
  const OpDesc* OnlyReadHere(int index) const;
  // The op that computes a value that is read once; else nullptr.
  const OpDesc* OnlyReadOnce(const std::string& value) const;
  // The elements of an input that must be constant: int32 or int64 of rank 0 or
  // 1. Raises Unimplemented if it is not constant.
  Ints ConstantInts(int index, const char* what) const;

  int output_count() const;
  // Whether the model names the output. Any output may be omitted.
  bool HasOutput(int index) const;
  // Whether it is named, and a node reads it or it is an output of the model.
  bool ReadsOutput(int index) const;
  // The name of the output's variable, valid once FinishOutput has added it.
  const std::string& Out(int index) const;
  // Raises Unimplemented if outputs from `index` on are read.
  void AllowOutputs(int index) const;

  // Adds an op whose result is another op's input, and returns its name. Here
  // and below, an op of constants is computed instead. Outputs that the model
  // omits get unused names.
  std::string Append(const std::string& type,
                     Inputs inputs,
                     AttributeMap attributes = {},
                     const std::string& argument = "Out");
  // Append and Finish of an op with input X, and of one with X and Y.
  std::string Unary(const std::string& type,
                    std::string x,
                    AttributeMap attributes = {}) {
    return Append(type, {{"X", {std::move(x)}}}, std::move(attributes));
  }
  struct Operands {
    std::string x, y;
    Inputs AsInputs() const { return {{"X", {x}}, {"Y", {y}}}; }
  };
  std::string Binary(const std::string& type,
                     const Operands& operands,
                     AttributeMap attributes = {}) {
    return Append(type, operands.AsInputs(), std::move(attributes));
  }
  void FinishUnary(const std::string& type,
                   std::string x,
                   AttributeMap attributes = {}) {
    Finish(type, {{"X", {std::move(x)}}}, std::move(attributes));
  }
  void FinishBinary(const std::string& type,
                    const Operands& operands,
                    AttributeMap attributes = {}) {
    Finish(type, operands.AsInputs(), std::move(attributes));
  }
  // The inputs of an op in the order of its schema: input `first` of the node
  // and those after it. Omitted ones must be optional.
  Inputs InputsOf(const std::string& op, int first = 0) const;
  ArgVars AllInputs() const;
  // Finish with these inputs.
  void FinishAs(const std::string& op,
                AttributeMap attributes,
                const std::string& argument = "Out",
                const Names& more = {}) {
    Finish(op, InputsOf(op), std::move(attributes), argument, more);
  }
  // Append of ops that many operators need.
  std::string Reshape(std::string x, Ints shape) {
    return Unary("reshape", std::move(x), {{"shape", std::move(shape)}});
  }
  std::string Transpose(std::string x, Ints order) {
    return Unary("transpose", std::move(x), {{"axis", std::move(order)}});
  }
  std::string Unsqueeze(std::string x, Ints axes) {
    return Unary("unsqueeze", std::move(x), {{"axes", std::move(axes)}});
  }
  // Elements [begin, end) along each of `axes`; along the first dim without.
  std::string Slice(std::string x, int64_t begin, int64_t end, Ints axes = {});
  std::string Concat(ArgVars parts, int64_t axis = 0) {
    return Append("concat", {{"X", std::move(parts)}}, {{"axis", axis}});
  }
  // Rows of operands.x, whose indices are operands.y.
  std::string Gather(const Operands& operands, int64_t axis = 0);
  struct Choice {
    std::string condition, x, y;
  };
  std::string Where(const Choice& choice);
  // The numbers from 0 to `end` - 1, an operand of int64.
  std::string Count(const std::string& end);
  // The result of an operator of an opset with this node's attributes.
  std::string AppendOperator(const std::string& type,
                             const ArgVars& inputs,
                             int64_t opset = 13);
  // Casts x to another dtype; returns x itself if it has that dtype.
  std::string Cast(const std::string& x, DType dtype);
  // Adds the op that computes output 0. `more` are other outputs by argument,
  // which get new names.
  void Finish(const std::string& type,
              Inputs inputs,
              AttributeMap attributes = {},
              const std::string& argument = "Out",
              const Names& more = {});
  // Like Finish, but returns the names of `more`, in their order.
  Names FinishWith(const std::string& type,
                   Inputs inputs,
                   AttributeMap attributes,
                   const std::string& argument,
                   const Names& more);
  // Adds an op with several outputs. In FinishAll they are the node's, in this
  // order; in Append they have new names, which are returned.
  void FinishAll(const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const Names& arguments);
  Names AppendAll(const std::string& type,
                  Inputs inputs,
                  AttributeMap attributes,
                  const Names& arguments);
  // Finish for an output other than the first.
  void FinishOutput(int index,
                    const std::string& type,
                    Inputs inputs,
                    AttributeMap attributes = {});
  // Adds the ops of a subgraph without inputs, and returns the names of its
  // outputs, which may be of any kind (FinishValue).
  Names AddSubgraph(const GraphProto& graph);
  // Adds the ops of a copy of a subgraph, numbered `copy`, for these values of
  // any kind as its inputs, and returns the names of its outputs. Raises
  // InvalidArgument for another number of inputs and for inputs of other kinds
  // or dtypes than the subgraph states, ResourceExhausted, and what AddSubgraph
  // raises.
  Names AddCopy(const GraphProto& graph, int64_t copy, const Names& inputs);
  // Raises ResourceExhausted if this number of copies needs too much memory.
  void CheckCopies(const GraphProto& graph, int64_t copies) const;
  // Notes that only the next copy reads an output of a copy, so that a sequence
  // that grows is moved.
  void HandOn(const std::string& value) { values_.ForgetRead(value); }
  // Adds a subgraph as a block of its own, whose data are the subgraph's
  // inputs. `inputs` has their types, used where the model specifies less.
  // Outputs that are no tensors raise Unimplemented, unless `lengths` gets
  // their kinds: the number of tensors of a sequence, or one of the constants.
  // `outputs` then has the tensors of sequences, one after the other.
  struct Block {
    int64_t index;
    Names inputs;
    Names outputs;
  };
  static constexpr int64_t kTensor = -1, kAbsent = -2;
  Block AddBlock(const GraphProto& graph,
                 const std::vector<ValueType>& inputs,
                 Ints* lengths = nullptr);
  // New variables for outputs of the node from the first on, which are of these
  // kinds, and strings where `results` of a block are. A sequence has as many
  // variables as tensors.
  Names NewOutputs(const Ints& lengths, const Names& results);
  // Adds an op that runs blocks.
  void FinishBlocks(const std::string& type,
                    Inputs inputs,
                    AttributeMap attributes,
                    Inputs outputs);

  bool IsSequence(const std::string& value) const {
    return values_.FindSequence(value) != nullptr;
  }
  // Makes an output the value of this name: a tensor, a sequence, or an
  // optional value without a value.
  void FinishValue(int index, const std::string& value);
  void FinishAbsent() { values_.AddAbsent(OutputName(0)); }
  // The names of the tensors of an input that is a sequence; nullptr for a
  // tensor. Raises NotFound for an unknown value.
  const Names* Sequence(int index) const;
  // Makes an output this sequence.
  void FinishSequence(Names tensors, int index = 0);
  // Makes output 0 the sequence that an input is, and returns it, to change.
  Names& FinishSequenceOf(int index);
  // Makes output 0 a list of maps: one with these keys for each row of x.
  void FinishMaps(const std::string& x, Ints keys);
  // Strings of the model as numbers (Texts).
  Texts& texts() { return values_.texts(); }
  bool ReadsTexts(int index) const {
    return HasInput(index) && values_.IsOfTexts(In(index));
  }
  // The variable of OnnxModel::texts_input.
  const std::string& texts_input() const { return values_.texts_input(); }
  // Notes that output 0 is texts, or maps whose keys are.
  void MarkTexts() {
    if (HasOutput(0)) values_.MarkTexts(OutputName(0));
  }
  // Adds the ops that compute the gradient of `y`, one number, by each of `xs`.
  // Returns their names, "" for none.
  Names AppendGradients(const std::string& y, const Names& xs);

  // Makes output 0 a constant.
  void FinishConstant(Tensor value);
  // Adds a constant that is not in the model, and returns its name.
  std::string NewConstant(Tensor value);
  // Constants: a number of rank 0, an int64 of rank 0, and a list of int64.
  std::string Number(double value, DType dtype);
  std::string Whole(int64_t value);
  std::string Vector(const Ints& values);
  DDim DimsOf(const std::string& variable) const;
  DType DTypeOf(const std::string& variable) const;
  // The size of dim `axis`, counted from 0; kUnknownDim if it or the rank is
  // unknown. Raises OutOfRange for a dim that the variable does not have.
  int64_t SizeOf(const std::string& variable, int axis) const;

  // The memory budget of this import (import_cost.h); errors name the node.
  ImportCost& cost() const { return values_.cost(); }
  // Memory for a table of int64, for NewConstant. Raises ResourceExhausted.
  Tensor NewTable(const DDim& dims) const;

  // Raises Unimplemented with the reason, which is listed for the node.
  template <typename... Args>
  [[noreturn]] static void Unsupported(fmt::string_view format,
                                       const Args&... args) {
    // Becomes a line of onnx.unsupported.
    Raise(ErrorCode::kUnimplemented, kFormId, format, args...);
  }
  // Like Unsupported, for what depends on the value of an input: the length of
  // a sequence, or whether an optional value is there. The caller can give that
  // value (OnnxOptions::initialisers).
  template <typename... Args>
  [[noreturn]] static void Late(fmt::string_view format, const Args&... args) {
    Raise(ErrorCode::kUnimplemented, kLateId, format, args...);
  }
  static constexpr const char* kLateId = "onnx.late_sequence";

 private:
  static constexpr const char* kFormId = "onnx.node_form";

  // The output's name in the program. An omitted output gets a new name with
  // this suffix.
  std::string OutputName(int index, const std::string& end = "omitted");
  // The name of the first output that has one, and a new name that begins so.
  const std::string& FirstOutput() const;
  std::string InnerName(const std::string& end);
  // Takes memory for an op.
  void NeedOp(const Inputs& inputs, const Inputs& outputs) const;
  // The cost of a copy of a subgraph with names of at most this length, without
  // its ops.
  static uint64_t BytesOfCopy(const GraphProto& graph, size_t longest);
  void CheckInputs(const GraphProto& graph, size_t inputs) const;
  // Computes an op whose inputs are constants; otherwise returns false.
  bool Fold(const std::string& type,
            const Inputs& inputs,
            const AttributeMap& attributes,
            const Inputs& outputs);
  // Turns constant operands of an op into its attributes.
  void SetKnownAttributes(const std::string& type,
                          Inputs* inputs,
                          AttributeMap* attributes);
  // Adds an op of 16-bit floats that the CPU computes only in float32, between
  // casts. Returns false for other ops.
  bool AddWidened(const std::string& type,
                  Inputs* inputs,
                  const AttributeMap& attributes,
                  const Inputs& outputs);
  // Adds an op with `more` outputs by argument, whose new names are returned.
  Names AddMore(const std::string& type,
                Inputs inputs,
                AttributeMap attributes,
                Inputs outputs,
                const Names& more);
  void Add(const std::string& type,
           Inputs inputs,
           AttributeMap attributes,
           Inputs outputs);

  const NodeProto& proto_;
  std::string location_;
  ValueMap& values_;
  const ImportGraph& import_graph_;
  Attributes attributes_;
};

// The tensors of an input. Raises Unimplemented if it is no sequence.
const Names& SequenceOf(const Node& node, int index);
// The only element of an input on which a sequence depends. Raises
// InvalidArgument for several, and Unimplemented (Node::Late) if it is not
// constant.
int64_t KnownNumber(const Node& node, int index, const char* what);

// Returns axis + rank for a negative axis. Raises InvalidArgument if there is
// no such dim.
int64_t AxisOf(int64_t axis, int64_t rank);
// The rank of the input. Raises Unimplemented if it is unknown.
int RankOf(const Node& node, int index);
// AxisOf for an input. A non-negative axis needs no rank.
int64_t AxisOfInput(const Node& node, int index, int64_t axis);

}  // namespace sluice::onnx
