#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/values/scope.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Attributes of a node that are graphs. AddNode moves their content.
using Subgraphs = std::vector<std::pair<std::string, GraphProto*>>;

class GraphWriter;
// Adds the ops of the graph's block as nodes.
using WriteOps = std::function<void(GraphWriter* graph)>;

// A graph of a model that a block of a program is written into. It knows the
// ONNX value of each variable, and adds nodes and constants. An ONNX value is
// assigned once, so if ops write a variable several times, the last value has
// its name. Names are unique in the whole model: a variable of a block is
// renamed if its name is taken. Borrows the program, the graph and the
// enclosing writer; used by one thread.
class GraphWriter {
 public:
  // For block 0. `outputs` are variables of the program. Write calls
  // `write_ops` for this graph, and for inner graphs.
  GraphWriter(const Program& program,
              const Names& outputs,
              int64_t opset,
              WriteOps write_ops,
              GraphProto* graph);
  // For a block inside the block that `around` writes.
  GraphWriter(GraphWriter* around,
              int block,
              const Names& outputs,
              GraphProto* graph);
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  int64_t opset() const { return opset_; }
  const Program& program() const { return program_; }
  const BlockDesc& block() const { return block_; }
  void Write() { write_ops_(this); }

  // A variable of this block or an enclosing one.
  const VarDesc& Var(const std::string& name) const;
  // Whether an op reads the variable, or it is an output.
  bool IsRead(const std::string& variable) const;

  // Later nodes belong to the op and are named after it.
  void BeginOp(const OpDesc& op);
  // Begins nodes that belong to no op of the block.
  void BeginNodes(const std::string& name);
  // Adds metadata_props to all nodes of the op.
  void DescribeOp(const std::string& key, const std::string& value);

  // The current ONNX value of the variable.
  const std::string& ValueOf(const std::string& variable) const;
  // Returns the name of the value that the op assigns to the variable.
  std::string Define(const std::string& variable);
  // Returns an unused name: `base`, or `base` with a number.
  std::string NewName(const std::string& base);

  // Raises Unimplemented for a number outside the range of float32.
  void AddNode(const std::string& type,
               const Names& inputs,
               const Names& outputs,
               const AttributeMap& attributes,
               const Subgraphs& subgraphs = {});
  // Adds an input or output of an inner graph: the value with this name.
  void AddInput(const VarDesc& var, const std::string& name);
  void AddOutput(const VarDesc& var, const std::string& name);
  // Adds the known dtypes and shapes of the block's variables that are neither.
  void AddValueInfo();
  // Returns the constant's name. Equal small constants share one.
  std::string AddConstant(const Tensor& value);

 private:
  void CountVariables(const Names& outputs);
  // The name of the last value of a variable of this block.
  const std::string& LastName(const std::string& variable) const;

  const Program& program_;
  const BlockDesc& block_;
  const int64_t opset_;
  const WriteOps write_ops_;
  GraphWriter* const around_ = nullptr;  // null for block 0
  GraphProto* const graph_;
  std::set<std::string> taken_;  // in block 0: names of the whole model
  std::map<std::string, int64_t> numbers_;    // last number, by base name
  std::map<std::string, std::string> names_;  // of variables with another name
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

// Sets the dtype and shape of a variable as a value of the model.
void SetType(const VarDesc& var,
             const std::string& name,
             ::onnx::ValueInfoProto* to);

// Names unknown sizes of inputs: by `given`, for input and dim; else "batch" if
// only one input has an unknown first size; else by input and dim, because no
// two are known to be equal. Raises InvalidArgument if a name is not an input,
// or the number of names differs from the number of dims.
void NameSizes(const std::map<std::string, std::vector<std::string>>& given,
               GraphProto* graph);

using Parameters = std::vector<std::pair<std::string, Tensor>>;

// The values of the program's persistable variables, on the host. Takes the
// scope's lock. Raises FailedPrecondition, naming those without a value, and
// InvalidArgument for one of another dtype or shape.
Parameters ParametersOf(const Program& program, const Scope& scope);
uint64_t BytesOf(const Parameters& parameters);

// Adds the parameters to the graph as initialisers. If `file` names a file
// beside the model, large ones refer to it; the result is its content, in
// memory that the parameters own.
std::vector<std::string_view> AddParameters(const Parameters& parameters,
                                            const std::string& file,
                                            GraphProto* graph);

}  // namespace sluice::onnx
