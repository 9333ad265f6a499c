#include "sluice/framework/choice/op_signature.h"

#include <array>
#include <charconv>

#include "sluice/framework/op/op_schema.h"

namespace sluice {

namespace {

void AppendNumber(int64_t value, std::string* text) {
  std::array<char, 24> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text->append(digits.data(), end);
}

void AppendValue(DType dtype, const DDim& dims, std::string* text) {
  *text += ' ';
  *text += ToString(dtype);
  *text += '[';
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (axis > 0) *text += ',';
    AppendNumber(dims[axis], text);
  }
  *text += ']';
}

// Appends the values of `defs`, each after its argument's name.
void AppendArguments(const std::vector<ArgDef>& defs,
                     const std::vector<std::pair<std::string, ArgVars>>& bound,
                     const std::vector<DDim>& dims,
                     const std::vector<DType>& dtypes,
                     const std::vector<uint8_t>& constant,
                     std::string* text) {
  size_t flat = 0;
  auto next = bound.begin();  // bound arguments keep the schema's order
  for (const ArgDef& def : defs) {
    if (next == bound.end() || next->first != def.name) continue;
    for (size_t i = 0; i < next->second.size(); ++i, ++flat) {
      if (flat > 0) *text += ", ";
      *text += def.name;
      AppendValue(dtypes[flat], dims[flat], text);
      if (flat < constant.size() && constant[flat] != 0) *text += " constant";
    }
    ++next;
  }
}

}  // namespace

std::string OpSignature(const OpFacts& op) {
  std::string text;
  text.reserve(256);
  text += op.desc.type;
  text += '(';
  AppendArguments(op.schema->inputs(), op.desc.inputs, op.inputs,
                  op.input_dtypes, op.input_constant, &text);
  text += ") -> ";
  AppendArguments(op.schema->outputs(), op.desc.outputs, op.outputs,
                  op.output_dtypes, {}, &text);
  const char* separator = " {";
  for (const auto& [name, value] : op.desc.attributes) {
    const AttrDef* def = op.schema->FindAttr(name);
    if (def != nullptr && def->default_value == value) continue;
    text += separator;
    separator = ", ";
    text += name;
    text += '=';
    text += ToString(value);
  }
  if (separator[0] == ',') text += '}';
  return text;
}

}  // namespace sluice
