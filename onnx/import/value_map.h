#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/onnx/import/element_source.h"
#include "sluice/onnx/import/graph_check.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/texts.h"
#include "sluice/onnx/load_onnx.h"

namespace sluice::onnx {

struct ValueType {
  DType dtype;
  DDim dims;
  // Whether it is that of a first value, which may be a mere placeholder.
  bool is_first = false;
};

// The values of a graph during import: variables of the program, and constants,
// which become persistable variables when an op reads them. Owned by the
// import, used by one thread.
class ValueMap {
 public:
  // Reserves the names of all values in `graph` and its subgraphs. `cost` must
  // outlive the map.
  ValueMap(const GraphProto& graph, ImportCost* cost);

  Program& program() { return program_; }
  ImportCost& cost() { return cost_; }

  // Whether a node reads the value, or it is an output of the graph.
  bool IsRead(const std::string& name) const { return ReadCount(name) > 0; }
  // The number of inputs of nodes and outputs of the graph that use it.
  int ReadCount(const std::string& name) const;
  // Counts the uses of values by a graph that is a copy of another one, as the
  // constructor does. ForgetRead takes back one.
  void NoteReads(const GraphProto& graph);
  void ForgetRead(const std::string& name) { --read_[name]; }
  // The op that computes a variable, if it is one of the last ones added; else
  // nullptr. Valid until the next op is added.
  const OpDesc* FindWriter(const std::string& name) const;

  void AddConstant(const std::string& name, Tensor value);
  // nullptr for values that are computed at run time.
  const Tensor* FindConstant(const std::string& name) const;
  DDim DimsOf(const std::string& name) const;
  DType DTypeOf(const std::string& name) const;
  // The rank of a value by the model's own statement, which may be wrong; 0 if
  // it states none.
  void StateRank(const std::string& name, int rank) {
    stated_ranks_.emplace(name, rank);
  }
  int StatedRank(const std::string& name) const {
    const auto stated = stated_ranks_.find(name);
    return stated == stated_ranks_.end() ? 0 : stated->second;
  }

  // A sequence of tensors, which exists only during import: the names of the
  // tensors, in order. Raises ResourceExhausted.
  void AddSequence(const std::string& name, Names tensors);
  // nullptr if it is not a sequence.
  const Names* FindSequence(const std::string& name) const;
  // Makes `to` an existing sequence, or a copy of it if something else reads
  // it, and returns it, to change.
  Names& MoveSequence(const std::string& from, const std::string& to);

  // An optional value without a value, which exists only during import.
  void AddAbsent(const std::string& name) { absent_.insert(name); }
  bool IsAbsent(const std::string& name) const {
    return absent_.contains(name);
  }

  // Notes that ONNX has a list of maps in place of a matrix: one for each row,
  // with these keys.
  void SetMapKeys(const std::string& name, std::vector<int64_t> keys) {
    map_keys_[name] = std::move(keys);
  }
  // Empty for other values.
  std::vector<int64_t> MapKeys(const std::string& name) const;

  // Values that are texts in ONNX (Texts), or maps whose keys are.
  Texts& texts() { return texts_; }
  // The input that gives ops the table of a run (OnnxModel::texts_input), added
  // here; "" if no node needs it.
  const std::string& AddTextsInput();
  const std::string& texts_input() const { return texts_input_; }
  void MarkTexts(const std::string& name) { of_texts_.insert(name); }
  bool IsOfTexts(const std::string& name) const {
    return of_texts_.contains(name);
  }

  // The name itself, if it is a tensor. Raises NotFound for an unknown value,
  // and Unimplemented for a sequence or an absent value; so do DimsOf and
  // DTypeOf.
  const std::string& Name(const std::string& name) const;
  // Makes a constant a variable for an op to read: a persistable one, or, for a
  // few integers, part of the program.
  void MakeVariable(const std::string& name);
  // The names of all values, and of the program's variables.
  UniqueNames& names() { return names_; }
  // Returns an unused name: base, or base with a number.
  std::string NewName(const std::string& base) { return names_.New(base); }

  // Values that could not be computed, because earlier nodes were refused.
  void AddLost(const std::string& name) { lost_.insert(name); }
  bool IsLost(const std::string& name) const { return lost_.contains(name); }

  // Moves the results out; the map must not be used afterwards.
  Program TakeProgram() { return std::move(program_); }
  std::vector<std::pair<std::string, Tensor>> TakeParameters() {
    return std::move(parameters_);
  }

 private:
  const VarDesc& VarOf(const std::string& name) const;
  void AddToProgram(const std::string& name, const Tensor& value);

  Program program_;
  std::vector<std::pair<std::string, Tensor>> parameters_;
  std::map<std::string, Tensor> constants_;
  std::map<std::string, int> stated_ranks_;
  std::map<std::string, std::vector<std::string>> sequences_;
  std::map<std::string, std::vector<int64_t>> map_keys_;
  Texts texts_;
  std::set<std::string> of_texts_;
  std::set<std::string> absent_;
  UniqueNames names_;
  bool needs_table_ = false;
  std::string texts_input_;
  std::map<std::string, int> read_;
  std::set<std::string> lost_;
  ImportCost& cost_;
};

// The type of an input of a subgraph by the model, else `otherwise`. Raises
// what AddInputs raises.
ValueType TypeOfInput(const ::onnx::ValueInfoProto& input,
                      const ValueType& otherwise);

// The type of a value, or of the values that it has if it is optional.
const ::onnx::TypeProto& TypeOfValue(const ::onnx::ValueInfoProto& value);

// Adds the initialisers, including those of subgraphs, as constants, and
// removes them from the graph; those that the options say are fed are inputs.
// Returns the names of OnnxOptions::initialisers that replaced one, or an
// input. Raises what LoadOnnx raises.
Names AddInitialisers(const ElementSource& source,
                      const OnnxOptions& options,
                      GraphProto* graph,
                      ValueMap* values);

// Adds the inputs that are not initialisers as variables to feed, with `model`
// in their locations. Inputs of other types than tensors, and of dtypes and
// ranks that Sluice lacks, are lost values, whose reasons become `refused`.
std::vector<OnnxValue> AddInputs(const GraphProto& graph,
                                 const std::string& model,
                                 ValueMap* values,
                                 Names* refused);

// The outputs, with the dtypes and shapes of their variables, and the model's
// names of unknown sizes. One that is a sequence is several ("y[0]").
std::vector<OnnxValue> FindOutputs(const GraphProto& graph, ValueMap* values);

}  // namespace sluice::onnx
