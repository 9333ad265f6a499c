#include <new>

#include "sluice/framework/program/program.h"
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

std::string Type(const VarDesc& var) {
  return Format("{} {}", var.dtype, var.dims);
}

}  // namespace

std::string DescribeLocation(const SourceLocation& location) {
  if (location.file.empty()) return "";
  if (location.line <= 0) {
    return Format("created at {}", location.file);
  }
  if (location.file.starts_with("cell ")) {  // of a notebook, not a path
    return Format("created in {}, line {}", location.file, location.line);
  }
  return Format("created at {}:{}", location.file, location.line);
}

std::string ToString(const OpDesc& op) try {
  std::string left;
  for (const auto& [name, vars] : op.outputs) {
    left += (left.empty() ? "" : ", ") + Join(vars);
  }
  std::string arguments;
  const auto add = [&](const std::string& name, const std::string& value) {
    arguments += (arguments.empty() ? "" : ", ") + name + "=" + value;
  };
  for (const auto& [name, vars] : op.inputs) {
    add(name, Join(vars));
  }
  for (const auto& [name, value] : op.attributes) {
    add(name, ToString(value));
  }
  return Format("{} = {}({})", left, op.type, arguments);
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

std::string ToString(const Program& program) try {
  std::string text;
  for (const BlockDesc& block : program.blocks()) {
    text += Format("block {} {{\n", block.index);
    for (const VarDesc& var : block.vars()) {
      const char* kind = var.is_data       ? "data"
                         : var.persistable ? "persistable"
                                           : nullptr;
      if (kind == nullptr) continue;
      text += Format("  {} = {}({})\n", var.name, kind, Type(var));
    }
    for (const OpDesc& op : block.ops) {
      text += Format("  {}", ToString(op));
      std::string types;
      for (const auto& [name, vars] : op.outputs) {
        for (const std::string& name_of_var : vars) {
          const VarDesc* var = block.FindVar(name_of_var);
          if (var == nullptr) continue;
          types += (types.empty() ? "" : ", ") + Type(*var);
        }
      }
      if (!types.empty()) text += "  -> " + types;
      if (!op.hint.empty()) text += "  # hint: " + op.hint;
      text += '\n';
    }
    text += "}\n";
  }
  return text;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
