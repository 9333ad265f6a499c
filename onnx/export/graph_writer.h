#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

using Names = std::vector<std::string>;

// The graph of a model while a program is written into it: which value of ONNX
// each variable is, nodes and constants. In ONNX a value is made once: where
// ops write a variable several times, the last value has its name. Borrows
// program and graph; used by one thread.
class GraphWriter {
 public:
  // `outputs` are variables of the program.
  GraphWriter(const framework::Program& program,
              const Names& outputs,
              int64_t opset,
              ::onnx::GraphProto* graph);

  int64_t opset() const { return opset_; }
  const framework::VarDesc& Var(const std::string& name) const;
  // Whether an op reads the variable, or it is an output.
  bool IsRead(const std::string& variable) const;

  // Nodes that are added from now on are part of this op, and named after it.
  void BeginOp(const framework::OpDesc& op);
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
               const framework::AttributeMap& attributes);
  // Its name; small constants that are alike share one.
  std::string AddConstant(const framework::Tensor& value);

 private:
  const framework::Program& program_;
  const int64_t opset_;
  ::onnx::GraphProto* const graph_;
  std::set<std::string> taken_;
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
