#include "sluice/framework/op/op_schema.h"

#include <algorithm>
#include <set>

#include "sluice/framework/op/status.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {
OpSchema::AnyShapeFn Raising(OpSchema::StatusShapeFn function) {
  return [function](InferShapeContext& context) {
    const Status status = function(&context);
    if (!status.ok()) throw status.error();
  };
}
}  // namespace

std::string_view ToString(OpRole role) {
  switch (role) {
    case OpRole::kNone:
      return "none";
    case OpRole::kFill:
      return "fill";
    case OpRole::kShape:
      return "shape";
    case OpRole::kSum:
      return "sum";
    case OpRole::kJoin:
      return "join";
    case OpRole::kDense:
      return "dense";
    case OpRole::kIf:
      return "if";
    case OpRole::kLoop:
      return "loop";
  }
  return "unknown";
}

AttrDef& AttrDef::Default(Attribute value) {
  SLUICE_ENFORCE(ConvertAttribute(type, &value), ErrorCode::kInternal,
                 "schema.default_type",
                 "the default {} of attribute {} is not of type {}",
                 ToString(value), name, type);
  default_value = std::move(value);
  return *this;
}

AttrDef& AttrDef::AtLeast(double limit) {
  minimum = limit;
  return *this;
}

AttrDef& AttrDef::AtMost(double limit) {
  maximum = limit;
  return *this;
}

AttrDef& AttrDef::OneOf(std::vector<std::string> names) {
  choices = std::move(names);
  return *this;
}

OpSchema& OpSchema::Doc(std::string text) {
  doc_ = std::move(text);
  return *this;
}

OpSchema& OpSchema::TypeVar(std::string name, std::vector<DType> allowed) {
  type_vars_.push_back({std::move(name), std::move(allowed), ""});
  return *this;
}

OpSchema& OpSchema::TypeVarFromAttr(std::string name,
                                    std::string attribute,
                                    std::vector<DType> allowed) {
  type_vars_.push_back(
      {std::move(name), std::move(allowed), std::move(attribute)});
  return *this;
}

OpSchema& OpSchema::Input(std::string name,
                          std::string dtype,
                          std::string doc,
                          ArgTraits traits) {
  inputs_.push_back(
      {std::move(name), std::move(dtype), std::move(doc), traits});
  return *this;
}

OpSchema& OpSchema::Output(std::string name,
                           std::string dtype,
                           std::string doc,
                           ArgTraits traits) {
  outputs_.push_back(
      {std::move(name), std::move(dtype), std::move(doc), traits});
  return *this;
}

OpSchema& OpSchema::Operand(std::string name,
                            std::string attribute,
                            std::string dtype,
                            std::string doc) {
  Input(std::move(name), std::move(dtype), std::move(doc),
        {.optional = true, .host = true});
  inputs_.back().attribute = std::move(attribute);
  return *this;
}

AttrDef& OpSchema::AddAttr(std::string name, AttrType type, std::string doc) {
  AttrDef& attribute = attributes_.emplace_back();
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.doc = std::move(doc);
  return attribute;
}

OpSchema& OpSchema::InferShape(ShapeFn function) {
  shape_fn_ = function;
  return *this;
}

OpSchema& OpSchema::InferShape(StatusShapeFn function) {
  shape_fn_ = Raising(function);
  return *this;
}

OpSchema& OpSchema::InferLateShape(ShapeFn function) {
  late_shape_fn_ = function;
  return *this;
}

OpSchema& OpSchema::InferLateShape(StatusShapeFn function) {
  late_shape_fn_ = Raising(function);
  return *this;
}

OpSchema& OpSchema::Gradient(GradientFn function) {
  gradient_fn_ = function;
  return *this;
}

OpSchema& OpSchema::NoGradient(std::string reason) {
  no_gradient_ = std::move(reason);
  return *this;
}

std::string OpSchema::NoGradientReason() const {
  if (gradient_fn_ != nullptr) return "";
  if (!no_gradient_.empty()) return no_gradient_;
  if (internal_) return "only plans use it";
  const auto of_floats = [&](const ArgDef& def) {
    for (const TypeVarDef& type_var : type_vars_) {
      if (type_var.name != def.dtype) continue;
      return std::any_of(type_var.allowed.begin(), type_var.allowed.end(),
                         IsFloating);
    }
    return def.dtype == kAnyDType || IsFloating(ParseDType(def.dtype));
  };
  bool reads_floats = false;
  for (const ArgDef& def : inputs_) {
    if (def.name.ends_with("@GRAD")) {
      return "it computes a gradient, and there are none of gradients";
    }
    const bool data = !def.traits.shape_only && def.attribute.empty();
    reads_floats = reads_floats || (data && of_floats(def));
  }
  for (const ArgDef& def : outputs_) {
    if (!def.updates.empty()) return "it updates " + def.updates + " in place";
  }
  if (std::none_of(outputs_.begin(), outputs_.end(), of_floats)) {
    return "its outputs are not floats";
  }
  return reads_floats ? "" : "it computes with no floats that it is given";
}

ArgDef& OpSchema::MutableOutput(std::string_view name) {
  for (ArgDef& output : outputs_) {
    if (output.name == name) return output;
  }
  Raise(ErrorCode::kInternal, "schema.no_such_output",
        "operator {} has no output {}", name_, name);
}

OpSchema& OpSchema::Alias(std::string_view output, std::string_view input) {
  MutableOutput(output).aliases = input;
  return *this;
}

OpSchema& OpSchema::Overwrite(std::string_view output, std::string_view input) {
  MutableOutput(output).overwrites = input;
  return *this;
}

OpSchema& OpSchema::Update(std::string_view output, std::string_view input) {
  MutableOutput(output).updates = input;
  return *this;
}

OpSchema& OpSchema::UpdateRows(std::string_view output,
                               std::string_view input,
                               std::string_view rows) {
  MutableOutput(output).few_rows = rows;
  return Update(output, input);
}

OpSchema& OpSchema::SparseRows(std::string_view output, std::string_view rows) {
  MutableOutput(output).sparse_rows = rows;
  return *this;
}

RowTraits& OpSchema::MutableRows(std::string_view argument) {
  for (RowTraits& traits : rows_) {
    if (traits.argument == argument) return traits;
  }
  return rows_.emplace_back(RowTraits{std::string(argument)});
}

const RowTraits& OpSchema::rows(std::string_view argument) const {
  static const RowTraits kNone;
  for (const RowTraits& traits : rows_) {
    if (traits.argument == argument) return traits;
  }
  return kNone;
}

OpSchema& OpSchema::SharesRows(std::string_view output,
                               std::vector<std::string> inputs,
                               RowWiseFn when) {
  MutableRows(output).rows_of = std::move(inputs);
  if (when != nullptr) row_wise_ = when;
  return *this;
}

OpSchema& OpSchema::Ragged(std::string_view argument,
                           std::string_view offsets) {
  MutableRows(argument).offsets = offsets;
  return *this;
}

OpSchema& OpSchema::PerSequence(std::string_view argument,
                                std::string_view offsets) {
  MutableRows(argument).per_sequence = true;
  return Ragged(argument, offsets);
}

namespace {
template <typename Def>
const Def* FindByName(const std::vector<Def>& defs, std::string_view name) {
  for (const Def& def : defs) {
    if (def.name == name) return &def;
  }
  return nullptr;
}
}  // namespace

const AttrDef* OpSchema::FindAttr(std::string_view name) const {
  return FindByName(attributes_, name);
}

const ArgDef* OpSchema::FindInput(std::string_view name) const {
  return FindByName(inputs_, name);
}

const ArgDef* OpSchema::FindOutput(std::string_view name) const {
  return FindByName(outputs_, name);
}

bool OpSchema::IsImage(std::string_view argument, const DDim& dims) const {
  const ArgDef* def = FindInput(argument);
  if (def == nullptr) def = FindOutput(argument);
  return dims.rank() == 4 && !def->traits.keeps_layout;
}

void OpSchema::ValidateRows() const {
  for (const RowTraits& traits : rows_) {
    std::vector<std::string> needed = traits.rows_of;
    needed.push_back(traits.argument);
    if (!traits.offsets.empty()) needed.push_back(traits.offsets);
    for (const std::string& name : needed) {
      SLUICE_ENFORCE(FindInput(name) != nullptr || FindOutput(name) != nullptr,
                     ErrorCode::kInternal, "schema.rows",
                     "operator {}: the rows of {} are declared by {}, which is "
                     "no argument",
                     name_, traits.argument, name);
    }
  }
}

void OpSchema::Validate() const {
  SLUICE_ENFORCE(shape_fn_ != nullptr || holds_blocks(), ErrorCode::kInternal,
                 "schema.shape_function",
                 "operator {} has no shape function: call InferShape", name_);
  std::set<std::string> names;
  const auto check = [&](const ArgDef& argument) {
    SLUICE_ENFORCE(names.insert(argument.name).second, ErrorCode::kInternal,
                   "schema.name_twice", "operator {} names {} twice", name_,
                   argument.name);
    const bool any = holds_blocks() && argument.dtype == kAnyDType;
    if (!any && FindByName(type_vars_, argument.dtype) == nullptr) {
      ParseDType(argument.dtype);
    }
    SLUICE_ENFORCE(
        argument.attribute.empty() || FindAttr(argument.attribute) != nullptr,
        ErrorCode::kInternal, "schema.operand_attribute",
        "operator {}: input {} gives attribute {}, which the operator does not "
        "have",
        name_, argument.name, argument.attribute);
    for (const std::string& input : {argument.aliases, argument.updates,
                                     argument.overwrites, argument.few_rows}) {
      SLUICE_ENFORCE(input.empty() || FindInput(input) != nullptr,
                     ErrorCode::kInternal, "schema.shared_input",
                     "operator {}: output {} shares memory with {}, which is "
                     "no input",
                     name_, argument.name, input);
    }
  };
  std::for_each(inputs_.begin(), inputs_.end(), check);
  std::for_each(outputs_.begin(), outputs_.end(), check);
  ValidateRows();
  for (const TypeVarDef& type_var : type_vars_) {
    const AttrDef* attribute = FindAttr(type_var.from_attribute);
    SLUICE_ENFORCE(
        type_var.from_attribute.empty() ||
            (attribute != nullptr && attribute->type == AttrType::kDType),
        ErrorCode::kInternal, "schema.type_var_attribute",
        "operator {}: type variable {} comes from attribute {}, "
        "which is no attribute of type dtype",
        name_, type_var.name, type_var.from_attribute);
  }
  SLUICE_ENFORCE(permutes_.empty() || FindAttr(permutes_) != nullptr,
                 ErrorCode::kInternal, "schema.permutes",
                 "operator {}: its output is permuted by {}, which is no "
                 "attribute",
                 name_, permutes_);
  for (const auto& [name, unused] : sizes_) {
    SLUICE_ENFORCE(FindInput(name) != nullptr || FindAttr(name) != nullptr,
                   ErrorCode::kInternal, "schema.sizes",
                   "operator {}: there are sizes of {}, which is no input and "
                   "no attribute",
                   name_, name);
  }
  for (const AttrDef& attribute : attributes_) {
    SLUICE_ENFORCE(names.insert(attribute.name).second, ErrorCode::kInternal,
                   "schema.attribute_twice", "operator {} names {} twice",
                   name_, attribute.name);
  }
}

OpSchema& OpSchema::Extends(const OpSchema& base) {
  OpSchema extended = base;
  extended.name_ = std::move(name_);
  extended.gradient_fn_ = nullptr;
  extended.no_gradient_.clear();
  extended.role_ = OpRole::kNone;
  extended.test_type_.clear();
  extended.fused_type_.clear();
  extended.short_name_.clear();
  *this = std::move(extended);
  return *this;
}

OpSchema& OpSchema::Serves(OpRole role) {
  role_ = role;
  return *this;
}

OpSchema& OpSchema::ForTest(std::string type) {
  test_type_ = std::move(type);
  return *this;
}

OpSchema& OpSchema::Random() {
  random_ = true;
  return *this;
}

OpSchema& OpSchema::Elementwise() {
  elementwise_ = true;
  return *this;
}

OpSchema& OpSchema::Permutes(std::string attribute) {
  permutes_ = std::move(attribute);
  return *this;
}

OpSchema& OpSchema::Product() {
  product_ = true;
  return *this;
}

OpSchema& OpSchema::AddsUp(std::string leading_dims) {
  adds_up_ = true;
  leading_dims_ = std::move(leading_dims);
  return *this;
}

OpSchema& OpSchema::FusedAs(std::string type) {
  fused_type_ = std::move(type);
  return *this;
}

OpSchema& OpSchema::Sizes(std::map<std::string, std::string> sizes) {
  sizes_ = std::move(sizes);
  return *this;
}

OpSchema& OpSchema::DimAttribute(std::string attribute) {
  dim_attributes_.push_back(std::move(attribute));
  return *this;
}

OpSchema& OpSchema::Family(std::string name) {
  if (!name.empty()) family_ = std::move(name);
  return *this;
}

OpSchema& OpSchema::ShortName(std::string name) {
  short_name_ = std::move(name);
  return *this;
}

OpSchema& OpSchema::Onnx(OnnxCounterpart counterpart) {
  onnx_ = std::move(counterpart);
  return *this;
}

OpSchema& OpSchema::Torch(std::string expression) {
  torch_ = std::move(expression);
  return *this;
}

OpSchema& OpSchema::Internal() {
  internal_ = true;
  return *this;
}

std::string GradName(std::string_view variable) {
  return std::string(variable) + "@GRAD";
}

namespace {
ArgVars GradNames(const ArgVars& vars) {
  ArgVars names;
  names.reserve(vars.size());
  for (const std::string& var : vars) {
    names.push_back(GradName(var));
  }
  return names;
}

std::vector<std::string> Names(
    const std::vector<std::pair<std::string, ArgVars>>& arguments) {
  std::vector<std::string> names;
  names.reserve(arguments.size());
  for (const auto& [argument, vars] : arguments) {
    names.push_back(argument);
  }
  return names;
}
}  // namespace

OpDesc MakeGradOp(const OpDesc& forward,
                  std::string type,
                  const GradOpArgs& arguments) {
  OpDesc grad;
  grad.type = std::move(type);
  grad.attributes = forward.attributes;
  grad.hint = forward.hint;
  grad.location = forward.location;
  // Omitted optional arguments have no variables.
  const auto add = [](auto* to, std::string name, ArgVars vars) {
    if (!vars.empty()) to->emplace_back(std::move(name), std::move(vars));
  };
  for (const std::string& name : arguments.inputs) {
    add(&grad.inputs, name, forward.Input(name));
  }
  for (const std::string& name : arguments.outputs) {
    add(&grad.inputs, name, forward.Output(name));
  }
  for (const std::string& name : arguments.output_grads) {
    add(&grad.inputs, GradName(name), GradNames(forward.Output(name)));
  }
  for (const std::string& name : arguments.wanted) {
    add(&grad.outputs, GradName(name), GradNames(forward.Input(name)));
  }
  return grad;
}

std::vector<OpDesc> MakeGradOp(const OpDesc& forward,
                               const std::vector<std::string>& wanted) {
  return {
      MakeGradOp(forward, forward.type + "_grad",
                 {Names(forward.inputs), {}, Names(forward.outputs), wanted})};
}

}  // namespace sluice
