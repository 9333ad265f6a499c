#include "sluice/framework/op/op_check.h"

#include <algorithm>

#include "sluice/framework/op/near_names.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

using Arguments = std::vector<std::pair<std::string, ArgVars>>;

// Formats a string in quotes, and other values as in a program. Long text is
// truncated.
std::string ShownValue(const Attribute& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return Shown(ToString(value));
  const std::string shown = Shown(*text);
  return shown[0] == '"' ? shown : '"' + shown + '"';
}

void CompleteArguments(const OpSchema& schema,
                       const std::vector<ArgDef>& defs,
                       std::string_view what,
                       bool may_leave_out,
                       Arguments* arguments) {
  Arguments ordered;
  const ArgDef* missing = nullptr;
  for (const ArgDef& def : defs) {
    auto given = std::find_if(arguments->begin(), arguments->end(),
                              [&](auto& arg) { return arg.first == def.name; });
    const size_t count = given == arguments->end() ? 0 : given->second.size();
    const bool may_be_missing = def.traits.optional || may_leave_out;
    if (missing == nullptr && count == 0 && !may_be_missing) missing = &def;
    SLUICE_ENFORCE(count <= 1 || def.traits.variadic,
                   ErrorCode::kInvalidArgument, "op.argument_count",
                   "{}: {} {} takes one variable, got {}", schema.name(), what,
                   def.name, count);
    if (count > 0) ordered.push_back(std::move(*given));
    if (given != arguments->end()) arguments->erase(given);
  }
  if (!arguments->empty()) {
    std::vector<std::string> names;
    names.reserve(defs.size());
    for (const ArgDef& def : defs) {
      names.push_back(def.name);
    }
    const std::string& unknown = arguments->front().first;
    Fail(ErrorCode::kNotFound, "op.unknown_argument", "{}: there is no {} {}{}",
         schema.name(), what, Shown(unknown), SuggestNames(unknown, names));
  }
  // Checked last: an unknown argument is usually the missing one misspelt.
  SLUICE_ENFORCE(missing == nullptr, ErrorCode::kInvalidArgument,
                 "op.argument_missing", "{}: {} {} is missing", schema.name(),
                 what, missing->name);
  *arguments = std::move(ordered);
}

void CheckLimits(const OpSchema& schema,
                 const AttrDef& def,
                 const Attribute& value) {
  const auto check = [&](double number) {
    // This form also fails for NaN.
    SLUICE_ENFORCE((!def.minimum || number >= *def.minimum) &&
                       (!def.maximum || number <= *def.maximum),
                   ErrorCode::kInvalidArgument, "op.attribute_limit",
                   "{}: attribute {} must be {}{}{}, got {}", schema.name(),
                   def.name,
                   def.minimum ? Format("at least {}", *def.minimum) : "",
                   def.minimum && def.maximum ? " and " : "",
                   def.maximum ? Format("at most {}", *def.maximum) : "",
                   ShownValue(value));
  };
  if (const auto* number = std::get_if<int64_t>(&value)) {
    check(static_cast<double>(*number));
  }
  if (const auto* number = std::get_if<double>(&value)) check(*number);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t number : *list) {
      check(static_cast<double>(number));
    }
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    for (const double number : *list) {
      check(number);
    }
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && !def.choices.empty()) {
    SLUICE_ENFORCE(std::find(def.choices.begin(), def.choices.end(), *text) !=
                       def.choices.end(),
                   ErrorCode::kInvalidArgument, "op.attribute_choice",
                   "{}: attribute {} must be one of {}, got {}", schema.name(),
                   def.name, ToString(Attribute(def.choices)),
                   ShownValue(value));
  }
}

void CheckText(const OpSchema& schema,
               const AttrDef& def,
               const Attribute& value) {
  const auto check = [&](const std::string& text) {
    SLUICE_ENFORCE(IsUtf8(text), ErrorCode::kInvalidArgument,
                   "op.attribute_text",
                   "{}: attribute {} must be UTF-8, got {}", schema.name(),
                   def.name, Shown(text));
  };
  if (const auto* text = std::get_if<std::string>(&value)) check(*text);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *list) {
      check(text);
    }
  }
}

// Returns the names of the attributes that operands set. Their given values
// must be their defaults, as builders pass them.
std::vector<std::string> LeaveToOperands(const OpSchema& schema, OpDesc* op) {
  std::vector<std::string> names;
  for (const ArgDef& def : schema.inputs()) {
    const AttrDef* attr = GivenByOperand(schema, *op, def);
    if (attr == nullptr) continue;
    const auto given = op->attributes.find(attr->name);
    if (given != op->attributes.end()) {
      Attribute value = given->second;
      SLUICE_ENFORCE(ConvertAttribute(attr->type, &value) &&
                         attr->default_value.has_value() &&
                         value == *attr->default_value,
                     ErrorCode::kInvalidArgument, "op.operand_and_attribute",
                     "{}: attribute {} is given, and input {}, which gives it, "
                     "too; expected one of them",
                     schema.name(), attr->name, def.name);
      op->attributes.erase(given);
    }
    names.push_back(attr->name);
  }
  return names;
}

// Whether a float attribute was given integers, which may be inexact as floats.
bool IsInexact(AttrType type, const Attribute& value) {
  return (type == AttrType::kFloat && TypeOf(value) == AttrType::kInt) ||
         (type == AttrType::kFloats && TypeOf(value) == AttrType::kInts);
}

void CompleteAttributes(const OpSchema& schema,
                        const std::vector<std::string>& by_operands,
                        AttributeMap* attributes) {
  for (const auto& [name, value] : *attributes) {
    if (schema.FindAttr(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const AttrDef& def : schema.attributes()) {
      names.push_back(def.name);
    }
    Fail(ErrorCode::kNotFound, "op.unknown_attribute",
         "{}: there is no attribute {}{}", schema.name(), Shown(name),
         SuggestNames(name, names));
  }
  for (const AttrDef& def : schema.attributes()) {
    if (std::find(by_operands.begin(), by_operands.end(), def.name) !=
        by_operands.end()) {
      continue;
    }
    const auto given = attributes->find(def.name);
    if (given == attributes->end()) {
      SLUICE_ENFORCE(def.default_value.has_value(), ErrorCode::kInvalidArgument,
                     "op.attribute_missing", "{}: attribute {} ({}) is missing",
                     schema.name(), def.name, def.type);
      attributes->emplace(def.name, *def.default_value);
      continue;
    }
    SLUICE_ENFORCE(
        ConvertAttribute(def.type, &given->second), ErrorCode::kInvalidArgument,
        "op.attribute_type", "{}: attribute {} must be {}, got {} {}{}",
        schema.name(), def.name, def.type, TypeOf(given->second),
        ShownValue(given->second),
        IsInexact(def.type, given->second) ? ", which no float is exactly"
                                           : "");
    CheckText(schema, def, given->second);
    CheckLimits(schema, def, given->second);
  }
}

std::string AllowedNames(const std::vector<DType>& allowed) {
  std::string text;
  for (const DType dtype : allowed) {
    text += (text.empty() ? "" : ", ") + std::string(ToString(dtype));
  }
  return text;
}

}  // namespace

void CompleteOp(const OpSchema& schema, OpDesc* op) {
  CompleteArguments(schema, schema.inputs(), "input", false, &op->inputs);
  CompleteArguments(schema, schema.outputs(), "output", true, &op->outputs);
  CompleteAttributes(schema, LeaveToOperands(schema, op), &op->attributes);
}

const AttrDef* GivenByOperand(const OpSchema& schema,
                              const OpDesc& op,
                              const ArgDef& def) {
  if (def.attribute.empty() || op.Input(def.name).empty()) return nullptr;
  return schema.FindAttr(def.attribute);
}

BoundTypes::BoundTypes(const OpSchema& schema,
                       const OpDesc& op,
                       const std::vector<DType>& input_dtypes) {
  const auto bind = [&](const std::string& type_var, std::string_view argument,
                        DType dtype) {
    if (type_var == kAnyDType) return;
    for (const auto& [name, bound] : bound_) {
      if (name != type_var) continue;
      SLUICE_ENFORCE(bound == dtype, ErrorCode::kInvalidArgument,
                     "op.dtype_mismatch",
                     "{}: input {} must be {} as the other inputs of type {}, "
                     "got {}",
                     op.type, argument, bound, type_var, dtype);
      return;
    }
    for (const TypeVarDef& def : schema.type_vars()) {
      if (def.name != type_var) continue;
      SLUICE_ENFORCE(std::find(def.allowed.begin(), def.allowed.end(), dtype) !=
                         def.allowed.end(),
                     ErrorCode::kInvalidArgument, "op.dtype",
                     "{}: {} must be one of {}, got {}", op.type, argument,
                     AllowedNames(def.allowed), dtype);
      bound_.emplace_back(type_var, dtype);
      return;
    }
    const DType fixed = ParseDType(type_var);
    SLUICE_ENFORCE(dtype == fixed, ErrorCode::kInvalidArgument,
                   "op.fixed_dtype", "{}: input {} must be {}, got {}", op.type,
                   argument, fixed, dtype);
  };
  size_t next = 0;
  for (const ArgDef& def : schema.inputs()) {
    for (size_t i = 0; i < op.Input(def.name).size(); ++i) {
      bind(def.dtype, def.name, input_dtypes[next++]);
    }
  }
  for (const TypeVarDef& def : schema.type_vars()) {
    if (def.from_attribute.empty()) continue;
    bind(def.name, "attribute " + def.from_attribute,
         std::get<DType>(op.attributes.find(def.from_attribute)->second));
  }
  const auto position = [&](const std::string& type_var) {
    return std::find_if(schema.type_vars().begin(), schema.type_vars().end(),
                        [&](auto& def) { return def.name == type_var; });
  };
  std::sort(bound_.begin(), bound_.end(), [&](auto& a, auto& b) {
    return position(a.first) < position(b.first);
  });
}

DType BoundTypes::Of(const ArgDef& argument) const {
  for (const auto& [name, dtype] : bound_) {
    if (name == argument.dtype) return dtype;
  }
  return ParseDType(argument.dtype);
}

DType BoundTypes::KernelDType() const {
  return bound_.empty() ? DType::kFloat32 : bound_.front().second;
}

namespace {
template <typename Get>
std::vector<std::string> Flatten(const std::vector<ArgDef>& defs, Get get) {
  std::vector<std::string> names;
  for (const ArgDef& def : defs) {
    const ArgVars& vars = get(def.name);
    names.insert(names.end(), vars.begin(), vars.end());
  }
  return names;
}
}  // namespace

std::vector<std::string> FlatInputs(const OpSchema& schema, const OpDesc& op) {
  return Flatten(
      schema.inputs(), [&](const std::string& name) -> auto& {
        return op.Input(name);
      });
}

std::vector<std::string> FlatOutputs(const OpSchema& schema, const OpDesc& op) {
  return Flatten(
      schema.outputs(), [&](const std::string& name) -> auto& {
        return op.Output(name);
      });
}

}  // namespace sluice
