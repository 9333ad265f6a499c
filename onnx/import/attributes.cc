#include "sluice/onnx/import/attributes.h"

#include <utility>

#include "sluice/framework/op/near_names.h"
#include "sluice/onnx/import/tensor_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

const char* TypeName(int type) {
  constexpr std::pair<int, const char*> kNames[] = {
      {AttributeProto::FLOAT, "a float"},
      {AttributeProto::INT, "an int"},
      {AttributeProto::STRING, "a string"},
      {AttributeProto::TENSOR, "a tensor"},
      {AttributeProto::SPARSE_TENSOR, "a sparse tensor"},
      {AttributeProto::GRAPH, "a graph"},
      {AttributeProto::FLOATS, "floats"},
      {AttributeProto::INTS, "ints"},
      {AttributeProto::STRINGS, "strings"},
      {AttributeProto::UNDEFINED, "of no type"}};
  for (const auto& [known, name] : kNames) {
    if (known == type) return name;
  }
  return "of another type";
}

}  // namespace

Attributes::Attributes(const NodeProto& node) : node_(node) {
  std::set<std::string_view> names;
  for (const AttributeProto& attribute : node.attribute()) {
    SLUICE_ENFORCE(names.insert(attribute.name()).second,
                   ErrorCode::kInvalidArgument, "onnx.attribute_twice",
                   "attribute {} stands twice", Shown(attribute.name()));
    SLUICE_ENFORCE(attribute.ref_attr_name().empty(),
                   ErrorCode::kInvalidArgument, "onnx.attribute_reference",
                   "attribute {} refers to {}, an attribute of a function, "
                   "outside of one",
                   Shown(attribute.name()), Shown(attribute.ref_attr_name()));
  }
}

bool Attributes::Has(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return true;
  }
  return false;
}

const AttributeProto* Attributes::Find(std::string_view name, int type) {
  asked_.emplace(name);
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    SLUICE_ENFORCE(attribute.type() == type, ErrorCode::kInvalidArgument,
                   "onnx.attribute_type", "attribute {} is {}; expected {}",
                   name, TypeName(attribute.type()), TypeName(type));
    return &attribute;
  }
  return nullptr;
}

int64_t Attributes::Int(std::string_view name, int64_t otherwise) {
  const AttributeProto* found = Find(name, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}

double Attributes::Float(std::string_view name, double otherwise) {
  const AttributeProto* found = Find(name, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : static_cast<double>(found->f());
}

std::string Attributes::String(std::string_view name,
                               const std::string& otherwise) {
  const AttributeProto* found = Find(name, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}

std::vector<int64_t> Attributes::Ints(std::string_view name) {
  const AttributeProto* found = Find(name, AttributeProto::INTS);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<double> Attributes::Floats(std::string_view name) {
  const AttributeProto* found = Find(name, AttributeProto::FLOATS);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

Names Attributes::Strings(std::string_view name) {
  const AttributeProto* found = Find(name, AttributeProto::STRINGS);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

const TensorProto* Attributes::Tensor(std::string_view name) {
  const AttributeProto* found = Find(name, AttributeProto::TENSOR);
  return found == nullptr ? nullptr : &found->t();
}

const ::onnx::SparseTensorProto* Attributes::SparseTensor(
    std::string_view name) {
  const AttributeProto* found = Find(name, AttributeProto::SPARSE_TENSOR);
  return found == nullptr ? nullptr : &found->sparse_tensor();
}

const GraphProto& Attributes::NeededGraph(std::string_view name) {
  const AttributeProto* attribute = Find(name, AttributeProto::GRAPH);
  if (attribute == nullptr) {
    Raise(ErrorCode::kInvalidArgument, "onnx.graph_missing",
          "attribute {} is missing", name);
  }
  return attribute->g();
}

void Attributes::Need(std::string_view name) const {
  SLUICE_ENFORCE(Has(name), ErrorCode::kInvalidArgument,
                 "onnx.attribute_missing", "attribute {} is missing", name);
}

int64_t Attributes::NeededInt(std::string_view name) {
  Need(name);
  return Int(name, 0);
}

double Attributes::NeededFloat(std::string_view name) {
  Need(name);
  return Float(name, 0);
}

DType Attributes::NeededType(std::string_view name) {
  return ToDType(static_cast<int>(NeededInt(name)),
                 Format("attribute {}", name));
}

Names Attributes::names() const {
  Names names;
  for (const AttributeProto& attribute : node_.attribute()) {
    names.push_back(attribute.name());
  }
  return names;
}

Attribute Attributes::As(AttrType type, std::string_view name) {
  switch (type) {
    case AttrType::kBool:
      return Flag(name);
    case AttrType::kInt:
      return Int(name, 0);
    case AttrType::kFloat:
      return Float(name, 0);
    case AttrType::kString:
      return String(name, "");
    case AttrType::kInts:
      return Ints(name);
    case AttrType::kFloats:
      return Floats(name);
    default:
      Raise(ErrorCode::kUnimplemented, "onnx.attribute_kind",
            "attribute {} is {} of Sluice's", name, type);
  }
}

void Attributes::CheckAllAsked() const {
  for (const AttributeProto& attribute : node_.attribute()) {
    const std::string& name = attribute.name();
    SLUICE_ENFORCE(asked_.contains(name), ErrorCode::kInvalidArgument,
                   "onnx.attribute_unknown",
                   "attribute {} is none that {} has{}", Shown(name),
                   Shown(node_.op_type()),
                   SuggestNames(name, {asked_.begin(), asked_.end()}));
  }
}

}  // namespace sluice::onnx
