#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Reads the attributes of one node, each with the type that the operator
// specifies. Borrows the node; used by one thread. Raises InvalidArgument,
// naming the attribute, for one of another type.
class Attributes {
 public:
  // Raises InvalidArgument for a duplicate name, Unimplemented for a reference
  // to an attribute of a function.
  explicit Attributes(const NodeProto& node);

  bool Has(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise);
  // An int that is 0 or not.
  bool Flag(std::string_view name, bool otherwise = false) {
    return Int(name, otherwise ? 1 : 0) != 0;
  }
  double Float(std::string_view name, double otherwise);
  std::string String(std::string_view name, const std::string& otherwise);
  // Empty if omitted.
  std::vector<int64_t> Ints(std::string_view name);
  std::vector<double> Floats(std::string_view name);
  Names Strings(std::string_view name);
  // nullptr if omitted.
  const TensorProto* Tensor(std::string_view name);
  const ::onnx::SparseTensorProto* SparseTensor(std::string_view name);
  // Raises InvalidArgument if it is omitted.
  const GraphProto& NeededGraph(std::string_view name);
  int64_t NeededInt(std::string_view name);
  double NeededFloat(std::string_view name);
  // The dtype with this number in ONNX. Also raises Unimplemented for one that
  // Sluice lacks.
  DType NeededType(std::string_view name);
  // The names of the node's attributes.
  Names names() const;
  // The attribute of this name and type; a bool is an int in ONNX. Raises
  // InvalidArgument if it is omitted.
  Attribute As(AttrType type, std::string_view name);
  // Marks an attribute that has no effect here as read.
  void Ignore(std::string_view name) { asked_.emplace(name); }

  // Marks what another reader of this node has read.
  void AddAsked(const Attributes& other) {
    asked_.insert(other.asked_.begin(), other.asked_.end());
  }

  // Raises InvalidArgument for attributes that were not read.
  void CheckAllAsked() const;

 private:
  const AttributeProto* Find(std::string_view name, int type);
  void Need(std::string_view name) const;

  const NodeProto& node_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace sluice::onnx
