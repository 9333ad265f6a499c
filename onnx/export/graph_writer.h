#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

using Names = std::vector<std::string>;
// Attributes of a node that are graphs; AddNode takes their content.
using Subgraphs = std::vector<std::pair<std::string, ::onnx::GraphProto*>>;

class GraphWriter;
// Adds the ops of the block that the graph is of, as nodes.
using WriteOps = std::function<void(GraphWriter* graph)>;

// A graph of a model while a block of a program is written into it: which value
// of ONNX each variable is, nodes and constants. In ONNX a value is made once:
// where ops write a variable several times, the last value has its name. Names
// are unique in the whole model: a variable of a block has another one where
// its own is taken. Borrows program, graph and the graph around it; used by one
// thread.
class GraphWriter {
 public:
  // For block 0. `outputs` are variables of the program; Write calls
  // `write_ops`, here and for the graphs inside.
  GraphWriter(const framework::Program& program,
              const Names& outputs,
              int64_t opset,
              WriteOps write_ops,
              ::onnx::GraphProto* graph);
  // For a block inside of the one that `around` is of.
  GraphWriter(GraphWriter* around,
              int block,
              const Names& outputs,
              ::onnx::GraphProto* graph);
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  int64_t opset() const { return opset_; }
  const framework::Program& program() const { return program_; }
  const framework::BlockDesc& block() const { return block_; }
  void Write() { write_ops_(this); }

  // A variable of this block or one around it.
  const framework::VarDesc& Var(const std::string& name) const;
  // Whether an op reads the variable, or it is an output.
  bool IsRead(const std::string& variable) const;

  // Nodes that are added from now on are part of this op, and named after it.
  void BeginOp(const framework::OpDesc& op);
  // The same for nodes that no op of the block asks for.
  void BeginNodes(const std::string& name);
  // What all nodes of the op say of it (metadata_props).
  void DescribeOp(const std::string& key, const std::string& value);

  // The value that the variable has now.
  const std::string& ValueOf(const std::string& variable) const;
  // The name of the value that it gets from the op.
  std::string Define(const std::string& variable);
  // A name that no value has: `base`, or that with a number.
  std::string NewName(const std::string& base);

  // Raises Unimplemented for a number that no float32 is near to.
  void AddNode(const std::string& type,
               const Names& inputs,
               const Names& outputs,
               const framework::AttributeMap& attributes,
               const Subgraphs& subgraphs = {});
  // What a graph inside gets and gives: the value has this name.
  void AddInput(const framework::VarDesc& var, const std::string& name);
  void AddOutput(const framework::VarDesc& var, const std::string& name);
  // Says what is known of the values of the block's variables that are neither.
  void AddValueInfo();
  // Its name; small constants that are alike share one.
  std::string AddConstant(const framework::Tensor& value);

 private:
  void CountVariables(const Names& outputs);
  // The name of the last value of a variable of this block.
  const std::string& LastName(const std::string& variable) const;

  const framework::Program& program_;
  const framework::BlockDesc& block_;
  const int64_t opset_;
  const WriteOps write_ops_;
  GraphWriter* const around_ = nullptr;  // none for block 0
  ::onnx::GraphProto* const graph_;
  std::set<std::string> taken_;               // of block 0: in the whole model
  std::map<std::string, int64_t> numbers_;    // of names, behind their base
  std::map<std::string, std::string> names_;  // of variables, where they differ
  std::set<std::string> shown_;               // inputs and outputs
  std::set<std::string> read_;
  std::map<std::string, int> writes_left_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> constants_;  // name by content
  std::string op_name_;
  std::string op_location_;
  int op_nodes_ = 0;
  std::vector<std::pair<std::string, std::string>> op_properties_;
};

// The number of TensorProto::DataType.
int OnnxDataType(platform::DType dtype);

}  // namespace sluice::onnx
