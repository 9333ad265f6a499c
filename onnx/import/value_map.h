#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

struct ValueType {
  platform::DType dtype;
  framework::DDim dims;
};

// The values of a graph while it is imported: variables of the program, and
// constants, which become persistable variables once an op reads them. Owned by
// the import, used by one thread.
class ValueMap {
 public:
  // Knows the names of all values in `graph` and its subgraphs, so that others
  // get other names. `cost` outlives the map.
  ValueMap(const ::onnx::GraphProto& graph, ImportCost* cost);

  framework::Program& program() { return program_; }
  ImportCost& cost() { return cost_; }

  // Whether a node reads the value, or it is an output of the graph.
  bool IsRead(const std::string& name) const { return ReadCount(name) > 0; }
  // How many inputs of nodes and outputs of the graph it is.
  int ReadCount(const std::string& name) const;
  // The op that makes a variable, where it is one of those added last; nullptr
  // otherwise. Valid until the next op is added.
  const framework::OpDesc* FindWriter(const std::string& name) const;

  void AddConstant(const std::string& name, framework::Tensor value);
  // nullptr for values that are made when the program runs.
  const framework::Tensor* FindConstant(const std::string& name) const;
  framework::DDim DimsOf(const std::string& name) const;
  platform::DType DTypeOf(const std::string& name) const;

  // A sequence of tensors, which the import knows and the program does not:
  // the names of the tensors, in order. Raises ResourceExhausted.
  void AddSequence(const std::string& name, std::vector<std::string> tensors);
  // nullptr for what is none.
  const std::vector<std::string>* FindSequence(const std::string& name) const;
  // A copy to be changed of a sequence that is there; the sequence itself where
  // nothing else reads it.
  std::vector<std::string> TakeSequence(const std::string& name);

  // The name itself, of a tensor; raises NotFound where there is no such value,
  // and Unimplemented for a sequence, here, in DimsOf and in DTypeOf.
  const std::string& Name(const std::string& name) const;
  // Makes a variable of a value that was a constant only, for an op to read: a
  // persistable one; a few integers are part of the program.
  void MakeVariable(const std::string& name);
  // A name that is not taken: base, or base with a number.
  std::string NewName(const std::string& base);

  // Values that could not be made, because nodes before them were refused.
  void AddLost(const std::string& name) { lost_.insert(name); }
  bool IsLost(const std::string& name) const { return lost_.contains(name); }

  // What became of it; the map is of no use then.
  framework::Program TakeProgram() { return std::move(program_); }
  std::vector<std::pair<std::string, framework::Tensor>> TakeParameters() {
    return std::move(parameters_);
  }

 private:
  const framework::VarDesc& VarOf(const std::string& name) const;
  void NoteNames(const ::onnx::GraphProto& graph);
  void AddToProgram(const std::string& name, const framework::Tensor& value);

  framework::Program program_;
  std::vector<std::pair<std::string, framework::Tensor>> parameters_;
  std::map<std::string, framework::Tensor> constants_;
  std::map<std::string, std::vector<std::string>> sequences_;
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;  // given last, by the base of a name
  std::map<std::string, int> read_;
  std::set<std::string> lost_;
  ImportCost& cost_;
};

}  // namespace sluice::onnx
