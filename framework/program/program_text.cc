#include "sluice/framework/program/program_text.h"

#include <algorithm>
#include <new>
#include <set>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::string Join(const ArgVars& vars) {
  std::string text;
  for (const std::string& var : vars) {
    text += (text.empty() ? "" : ", ") + var;
  }
  return vars.size() == 1 ? text : "[" + text + "]";
}

std::string Type(const VarDesc& var, bool brief) {
  return brief && var.dtype == DType::kFloat32
             ? ToString(var.dims)
             : Format("{} {}", var.dtype, var.dims);
}

bool IsDefault(const OpSchema* schema,
               const std::string& name,
               const Attribute& value) {
  if (schema == nullptr) return false;
  const auto& known = schema->attributes();
  return std::any_of(known.begin(), known.end(), [&](const AttrDef& def) {
    return def.name == name && def.default_value.has_value() &&
           ToString(*def.default_value) == ToString(value);
  });
}

// "out = type".
std::string OutputsText(const OpDesc& op) {
  std::string left;
  for (const auto& [name, vars] : op.outputs) {
    left += (left.empty() ? "" : ", ") + Join(vars);
  }
  return Format("{} = {}", left, op.type);
}

// "out = type(Argument=variable, attribute=value)"; in brief without attributes
// that are their defaults.
std::string CallText(const OpDesc& op, bool brief) {
  const OpSchema* schema =
      brief ? Registry::Global().FindSchema(op.type) : nullptr;
  std::string arguments;
  const auto add = [&](const std::string& name, const std::string& value) {
    arguments += (arguments.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const auto& [name, vars] : op.inputs) {
    add(name, Join(vars));
  }
  for (const auto& [name, value] : op.attributes) {
    if (!IsDefault(schema, name, value)) add(name, ToString(value));
  }
  return Format("{}({})", OutputsText(op), arguments);
}

const char* KindOf(const VarDesc& var) {
  return var.is_data ? "data" : var.persistable ? "persistable" : nullptr;
}

// The types of an op's outputs: "  -> float32 [-1, 3]", or ""; in brief without
// float32.
std::string TypesOf(const BlockDesc& block, const OpDesc& op, bool brief) {
  std::string types;
  for (const auto& [name, vars] : op.outputs) {
    for (const std::string& name_of_var : vars) {
      const VarDesc* var = block.FindVar(name_of_var);
      if (var == nullptr) continue;
      types += (types.empty() ? "" : ", ") + Type(*var, brief);
    }
  }
  return types.empty() ? types : "  -> " + types;
}

// Appends a line, broken after commas and the like, but not in shapes.
void AddLine(std::string_view line, std::string* text) {
  constexpr size_t kWidth = 100;
  std::string_view start = "  ";
  while (start.size() + line.size() > kWidth) {
    size_t end = 0;
    int depth = 0;
    for (size_t i = 1; i < kWidth - start.size(); ++i) {
      depth += (line[i] == '[') - (line[i] == ']');
      const bool after =
          std::string_view(",=)").find(line[i - 1]) != std::string_view::npos;
      if (line[i] == ' ' && depth == 0 && after) end = i;
    }
    if (end == 0) break;
    *text += Format("{}{}\n", start, line.substr(0, end));
    line.remove_prefix(line.find_first_not_of(' ', end));
    start = "      ";
  }
  *text += Format("{}{}\n", start, line);
}

// The values that are fed and kept. Of the optimizer's own there is a number.
std::string BriefVars(const BlockDesc& block) {
  std::set<std::string> used;  // by other ops than the optimizer's
  for (const OpDesc& op : block.ops) {
    if (op.purpose == OpPurpose::kOptimize) continue;
    for (const auto* arguments : {&op.inputs, &op.outputs}) {
      for (const auto& [name, vars] : *arguments) {
        used.insert(vars.begin(), vars.end());
      }
    }
  }
  std::string fed;
  std::string kept;
  int of_optimizer = 0;
  for (const VarDesc& var : block.vars()) {
    if (KindOf(var) == nullptr) continue;
    if (!var.is_data && used.count(var.name) == 0) {
      ++of_optimizer;
      continue;
    }
    std::string& line = var.is_data ? fed : kept;
    line += (line.empty() ? "" : ", ") + var.name + " " + Type(var, true);
  }
  if (of_optimizer > 0) {
    kept += Format("{}{} of the optimizer", kept.empty() ? "" : " and ",
                   of_optimizer);
  }
  std::string text;
  if (!fed.empty()) AddLine("fed: " + fed, &text);
  if (!kept.empty()) AddLine("kept: " + kept, &text);
  return text;
}

std::string BriefText(const BlockDesc& block) {
  std::string text = BriefVars(block);
  const auto& ops = block.ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool forward = ops[i].purpose == OpPurpose::kForward;
    std::string line =
        forward ? CallText(ops[i], true) + TypesOf(block, ops[i], true)
                : OutputsText(ops[i]) + "(...)";
    if (!ops[i].hint.empty()) line += "  # hint: " + ops[i].hint;
    AddLine(line, &text);
    size_t like = i + 1;
    while (ops[i].purpose == OpPurpose::kOptimize && like < ops.size() &&
           ops[like].purpose == ops[i].purpose &&
           ops[like].type == ops[i].type) {
      ++like;
    }
    if (like - i < 3) continue;
    AddLine(Format("... {} more {} updates", like - i - 1, ops[i].type), &text);
    i = like - 1;
  }
  return text;
}

}  // namespace

std::string DescribeLocation(const SourceLocation& location) {
  if (location.file.empty()) return "";
  const auto& [file, line] = location;
  if (line <= 0) return Format("created at {}", file);
  if (file.starts_with("cell ")) {  // of a notebook, not a path
    return Format("created in {}, line {}", file, line);
  }
  return Format("created at {}:{}", location.file, location.line);
}

void AddLocation(const SourceLocation& location, Error* error) noexcept {
  try {
    const std::string created = DescribeLocation(location);
    // An op that a function added for several ops has it already.
    if (std::string_view(error->what()).find(created) != std::string::npos) {
      return;
    }
    error->AddContext(created);
  } catch (const std::bad_alloc&) {
    return;
  }
}

std::string ToString(const OpDesc& op) try {
  return CallText(op, false);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const Program& program) try {
  std::string text;
  for (const BlockDesc& block : program.blocks()) {
    text += Format("block {} {{\n", block.index);
    for (const VarDesc& var : block.vars()) {
      const char* kind = KindOf(var);
      if (kind == nullptr) continue;
      text += Format("  {} = {}({})\n", var.name, kind, Type(var, false));
    }
    for (const OpDesc& op : block.ops) {
      text += Format("  {}{}", ToString(op), TypesOf(block, op, false));
      if (!op.hint.empty()) text += "  # hint: " + op.hint;
      text += '\n';
    }
    text += "}\n";
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string BriefText(const Program& program) try {
  std::string text;
  const bool one = program.blocks().size() == 1;
  for (const BlockDesc& block : program.blocks()) {
    const std::string inside = BriefText(block);
    text += one ? inside : Format("block {} {{\n{}}}\n", block.index, inside);
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
