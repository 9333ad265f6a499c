#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/attributes.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

using framework::AttributeMap;
using framework::DDim;
using framework::kUnknownDim;
using framework::Tensor;
using platform::DType;
using Ints = std::vector<int64_t>;
using Inputs = framework::Program::ArgList;

// Adds the ops of a subgraph's nodes. Raises LostSubgraph where one of its
// outputs could not be made; the nodes are listed by then.
using ImportGraph = std::function<void(const ::onnx::GraphProto& graph)>;
struct LostSubgraph : std::exception {};

// One node while a handler imports it: what it has, and the ops that compute
// it. Lives for one call of a handler; used by one thread. Inputs and outputs
// are counted from 0. Raises InvalidArgument, naming the input, for one that is
// not there, and what Program::AppendOp raises.
class Node {
 public:
  Node(const ::onnx::NodeProto& proto,
       std::string location,
       ValueMap* values,
       const ImportGraph& import_graph);

  // The operator of ONNX.
  const std::string& type() const;
  Attributes& attributes() { return attributes_; }

  int input_count() const;
  bool HasInput(int index) const;
  // Its name, for an op to read.
  const std::string& In(int index) const;
  DDim Dims(int index) const;
  DType TypeOf(int index) const;
  // nullptr for one that is known only when the program runs.
  const Tensor* Constant(int index) const;
  // The same for a variable of the program.
  const Tensor* ConstantOf(const std::string& variable) const;
  // The op that makes the input, where nothing but this node reads it, and it
  // is no output of the model; else nullptr. Valid until the next op is added.
  const framework::OpDesc* OnlyReadHere(int index) const;
  // The op that makes a value of the model which is read once; else nullptr.
  const framework::OpDesc* OnlyReadOnce(const std::string& value) const;
  // The elements of an input that must be known while importing, int32 or int64
  // of rank 0 or 1. Raises Unimplemented where they are not.
  Ints ConstantInts(int index, const char* what) const;

  int output_count() const;
  // Whether the model names it; other outputs may be omitted, the first one,
  // too.
  bool HasOutput(int index) const;
  // Its name, for an op to read once FinishOutput has added it.
  const std::string& Out(int index) const;
  // Raises Unimplemented where outputs from `index` on are read.
  void AllowOutputs(int index) const;

  // Adds an op whose result is another op's input; its name. An op of constants
  // is computed instead, here and below. Outputs that the model omits get names
  // that nothing reads.
  std::string Append(const std::string& type,
                     Inputs inputs,
                     AttributeMap attributes = {},
                     const std::string& argument = "Out");
  // x in another dtype, for an op to read; x itself where it has that dtype.
  std::string Cast(const std::string& x, DType dtype);
  // Adds the op that makes output 0. `more`: other outputs by argument, which
  // get names of their own.
  void Finish(const std::string& type,
              Inputs inputs,
              AttributeMap attributes = {},
              const std::string& argument = "Out",
              const std::vector<std::string>& more = {});
  // The same; gives the names of `more`, in their order.
  std::vector<std::string> FinishWith(const std::string& type,
                                      Inputs inputs,
                                      AttributeMap attributes,
                                      const std::string& argument,
                                      const std::vector<std::string>& more);
  // Adds an op of several outputs, which are those of the node in this order;
  // with Append their names are new, and returned.
  void FinishAll(const std::string& type,
                 Inputs inputs,
                 AttributeMap attributes,
                 const std::vector<std::string>& arguments);
  std::vector<std::string> AppendAll(const std::string& type,
                                     Inputs inputs,
                                     AttributeMap attributes,
                                     const std::vector<std::string>& arguments);
  // Finish for another output than the first.
  void FinishOutput(int index,
                    const std::string& type,
                    Inputs inputs,
                    AttributeMap attributes = {});
  // Adds the ops of a subgraph without inputs; the names of its outputs, for an
  // op to read.
  std::vector<std::string> AddSubgraph(const ::onnx::GraphProto& graph);
  // The same in a block of its own, whose data are the subgraph's inputs:
  // `inputs` says what is known of them where the model says less.
  struct Block {
    int64_t index;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
  };
  Block AddBlock(const ::onnx::GraphProto& graph,
                 const std::vector<ValueType>& inputs);
  // Adds an op that runs blocks; its outputs are those of the node, in order.
  void FinishBlocks(const std::string& type,
                    Inputs inputs,
                    AttributeMap attributes,
                    const std::vector<std::pair<std::string, int>>& outputs);

  // The tensors of an input that is a sequence, by name, for an op to read;
  // nullptr for a tensor. Raises NotFound where there is no such value.
  const std::vector<std::string>* Sequence(int index) const;
  // Output 0 is this sequence.
  void FinishSequence(std::vector<std::string> tensors);
  // The tensors of an input that is a sequence, to be changed.
  std::vector<std::string> TakeSequence(int index);
  // Adds the ops that compute the gradient of `y`, one number, by each of `xs`;
  // their names, "" for none.
  std::vector<std::string> AppendGradients(const std::string& y,
                                           const std::vector<std::string>& xs);

  // Output 0 is known while importing.
  void FinishConstant(Tensor value);
  // A constant that the model does not have by itself; its name.
  std::string NewConstant(Tensor value);
  DDim DimsOf(const std::string& variable) const;
  DType DTypeOf(const std::string& variable) const;
  // The size of dim `axis`, from 0 on; kUnknownDim while it, or the rank, is
  // unknown. Raises OutOfRange for a dim that the variable does not have.
  int64_t SizeOf(const std::string& variable, int axis) const;

  // What import_cost.h says of this import's memory; errors name the node.
  ImportCost& cost() const { return values_.cost(); }
  // Room for a table of int64, for NewConstant. Raises ResourceExhausted.
  Tensor NewTable(const DDim& dims) const;

  // Raises Unimplemented: the node is listed with this reason.
  template <typename... Args>
  [[noreturn]] static void Unsupported(fmt::string_view format,
                                       const Args&... args) {
    // Becomes a line of onnx.unsupported.
    platform::Raise(platform::ErrorCode::kUnimplemented, kFormId, format,
                    args...);
  }

 private:
  static constexpr const char* kFormId = "onnx.node_form";

  const std::string& InputName(int index) const;
  // What the output is called in the program; one that the model omits gets a
  // new name with this end.
  std::string OutputName(int index, const std::string& end = "omitted");
  // A new name that begins with that of an output.
  std::string InnerName(const std::string& end);
  // Computes an op of constants; false where it is none.
  bool Fold(const std::string& type,
            const Inputs& inputs,
            const AttributeMap& attributes,
            const Inputs& outputs);
  // Operands of an op that are constants become the attributes that they give.
  void SetKnownAttributes(const std::string& type,
                          Inputs* inputs,
                          AttributeMap* attributes);
  void Add(const std::string& type,
           Inputs inputs,
           AttributeMap attributes,
           Inputs outputs);

  const ::onnx::NodeProto& proto_;
  std::string location_;
  ValueMap& values_;
  const ImportGraph& import_graph_;
  Attributes attributes_;
};

// axis + rank for a negative axis. Raises InvalidArgument for one that is no
// dim.
int64_t AxisOf(int64_t axis, int64_t rank);
// The rank of the input; raises Unimplemented while it is unknown.
int RankOf(const Node& node, int index);
// AxisOf for an input. An axis of 0 or more needs no rank.
int64_t AxisOfInput(const Node& node, int index, int64_t axis);

}  // namespace sluice::onnx
