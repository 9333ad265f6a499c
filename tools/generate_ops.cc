// Writes the C++ builders (sluice/ops.h) from schemas: of libsluice's
// operators, or of an operator library's.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <dlfcn.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"

namespace {

using sluice::ArgDef;
using sluice::AttrDef;
using sluice::Attribute;
using sluice::AttrType;
using sluice::DType;
using sluice::Format;
using sluice::OpSchema;
using sluice::Registry;

// Converts manhattan_distance to ManhattanDistance.
std::string CamelCase(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = false;
  }
  return result;
}

// Converts Out to out, ParamOut to param_out, and avoids reserved words.
std::string SnakeCase(const std::string& name) {
  static const std::set<std::string> kReserved = {
      "and",  "auto", "bool", "default",  "double", "float", "int",
      "long", "not",  "or",   "register", "switch", "this",  "xor"};
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (std::isupper(c) && i > 0 &&
        std::islower(static_cast<unsigned char>(name[i - 1]))) {
      result += '_';
    }
    result += static_cast<char>(std::tolower(c));
  }
  return kReserved.count(result) > 0 ? result + "_" : result;
}

std::string CppType(AttrType type) {
  switch (type) {
    case AttrType::kBool:
      return "bool";
    case AttrType::kInt:
      return "int64_t";
    case AttrType::kFloat:
      return "double";
    case AttrType::kString:
      return "std::string";
    case AttrType::kInts:
      return "std::vector<int64_t>";
    case AttrType::kFloats:
      return "std::vector<double>";
    case AttrType::kStrings:
      return "std::vector<std::string>";
    case AttrType::kDType:
      return "::sluice::DType";
  }
  return "";
}

std::string Quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

struct Literal {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const {
    return value == std::numeric_limits<int64_t>::min()
               ? "std::numeric_limits<int64_t>::min()"
               : std::to_string(value);
  }
  std::string operator()(double value) const {
    if (value != value) return "std::numeric_limits<double>::quiet_NaN()";
    if (value - value != 0) {
      return value > 0 ? "std::numeric_limits<double>::infinity()"
                       : "-std::numeric_limits<double>::infinity()";
    }
    return Format("{:.17g}", value);
  }
  std::string operator()(const std::string& value) const {
    return Quoted(value);
  }
  std::string operator()(DType value) const {
    return Format("::sluice::ParseDType(\"{}\")", value);
  }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "{";
    for (const T& value : values) {
      text += (text.size() > 1 ? ", " : "") + (*this)(value);
    }
    return text + "}";
  }
};

// Formats `text` as // comment lines of at most 80 columns.
std::string Comment(const std::string& text, const std::string& indent) {
  std::string result;
  std::string line = indent + "//";
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != '\n') {
      word += c;
      continue;
    }
    if (line.size() + 1 + word.size() > 80) {
      result += line + "\n";
      line = indent + "//";
    }
    if (!word.empty()) line += " " + word;
    word.clear();
  }
  return result + line + "\n";
}

// Writes the builder of one op.
class Builder {
 public:
  explicit Builder(const OpSchema& schema)
      : schema_(schema), name_(CamelCase(schema.name())) {}

  std::string Text() const {
    return OptionsStruct() + OutputsStruct() + Function();
  }

 private:
  static bool Required(const ArgDef& def) { return !def.traits.optional; }

  // An optional input gets a suffix if an attribute has the same name.
  std::string OptionalField(const ArgDef& def) const {
    const std::string field = SnakeCase(def.name);
    return schema_.FindAttr(field) == nullptr ? field : field + "_var";
  }

  std::string OptionsStruct() const {
    std::string text = Format("struct {}Options {{\n", name_);
    for (const AttrDef& def : schema_.attributes()) {
      if (!def.default_value) continue;
      text += Comment(def.doc, "  ");
      text += Format("  {} {} = {};\n", CppType(def.type), SnakeCase(def.name),
                     std::visit(Literal(), *def.default_value));
    }
    for (const ArgDef& def : schema_.inputs()) {
      if (Required(def)) continue;
      text += Comment(def.doc, "  ");
      const char* form = def.traits.variadic
                             ? "  std::vector<::sluice::Var> {} = {{}};\n"
                             : "  ::sluice::Var {} = {{}};\n";
      text += Format(form, OptionalField(def));
    }
    text += "  // Which kernel to prefer or require (kernel_hints.h).\n";
    return text + "  std::string hint = {};\n};\n\n";
  }

  std::vector<const ArgDef*> Outputs() const {
    std::vector<const ArgDef*> outputs;
    for (const ArgDef& def : schema_.outputs()) {
      if (Required(def)) outputs.push_back(&def);
    }
    return outputs;
  }

  std::string OutputsStruct() const {
    if (Outputs().size() == 1) return "";
    std::string text = Format("struct {}Outputs {{\n", name_);
    for (const ArgDef* def : Outputs()) {
      text += Comment(def->doc, "  ");
      text += Format("  ::sluice::Var {};\n", SnakeCase(def->name));
    }
    return text + "};\n\n";
  }

  // Without a required input, the caller must pass the program.
  bool TakesProgram() const {
    return std::none_of(schema_.inputs().begin(), schema_.inputs().end(),
                        Required);
  }

  std::string Parameters() const {
    std::string text;
    if (TakesProgram()) {
      text += "    ::sluice::Program& program,\n";
    }
    for (const ArgDef& def : schema_.inputs()) {
      if (!Required(def)) continue;
      const char* form = def.traits.variadic
                             ? "    const std::vector<::sluice::Var>"
                               "& {},\n"
                             : "    const ::sluice::Var& {},\n";
      text += Format(form, SnakeCase(def.name));
    }
    for (const AttrDef& def : schema_.attributes()) {
      if (def.default_value) continue;
      text += Format("    {} {},\n", CppType(def.type), SnakeCase(def.name));
    }
    return text + Format(
                      "    const {}Options& options = {{}},\n"
                      "    ::sluice::SourceLocation location =\n"
                      "        ::sluice::SourceLocation::Here()",
                      name_);
  }

  std::string Body() const {
    std::string common;
    std::string text = "  ::sluice::OpDesc op;\n";
    // Not by operator=(const char*), of which GCC 12 says at -O3 that it may
    // copy overlapping memory (-Wrestrict, GCC bug 105329).
    text += Format("  op.type = std::string(\"{}\");\n", schema_.name());
    text += "  op.hint = options.hint;\n";
    text += "  op.location = std::move(location);\n";
    for (const ArgDef& def : schema_.inputs()) {
      const std::string var =
          Required(def) ? SnakeCase(def.name) : "options." + OptionalField(def);
      if (def.traits.variadic) {
        text += Format(
            "  auto& {2}_vars = op.inputs.emplace_back().second;\n"
            "  op.inputs.back().first = \"{1}\";\n"
            "  for (const auto& var : {0}) "
            "{2}_vars.push_back(var.name());\n",
            var, def.name, SnakeCase(def.name));
        // As if it were not there: a list that is left out.
        if (!Required(def)) {
          text += Format("  if ({}.empty()) op.inputs.pop_back();\n", var);
        }
        continue;
      }
      common += (common.empty() ? "&" : ", &") + var;
      const std::string add = Format(
          "op.inputs.push_back({{\"{}\", {{{}.name()}}}});\n", def.name, var);
      text +=
          Required(def) ? "  " + add : Format("  if ({}.valid()) ", var) + add;
    }
    for (const AttrDef& def : schema_.attributes()) {
      text += Format("  op.attributes[\"{}\"] = {}{};\n", def.name,
                     def.default_value ? "options." : "", SnakeCase(def.name));
    }
    if (!TakesProgram()) {
      text += Format("  std::vector<const ::sluice::Var*> vars = {{{}}};\n",
                     common);
      for (const std::string& list : Variadic()) {
        text += Format("  for (const auto& var : {}) vars.push_back(&var);\n",
                       list);
      }
      text +=
          "  auto& program = ::sluice::Program::CommonOf(op, "
          "vars);\n";
    }
    if (ReturnsList()) {
      text += Format(
          "  const size_t count = program.AppendOp(std::move(op))"
          ".Output(\"{}\").size();\n",
          Outputs()[0]->name);
    } else {
      text += "  program.AppendOp(std::move(op));\n";
    }
    return text + Return();
  }

  std::vector<std::string> Variadic() const {
    std::vector<std::string> lists;
    for (const ArgDef& def : schema_.inputs()) {
      if (!def.traits.variadic) continue;
      lists.push_back(Required(def) ? SnakeCase(def.name)
                                    : "options." + OptionalField(def));
    }
    return lists;
  }

  // An op with a variadic output has no other output.
  bool ReturnsList() const {
    return Outputs().size() == 1 && Outputs()[0]->traits.variadic;
  }

  std::string Return() const {
    std::string text;
    if (ReturnsList()) {
      return Format(
          "  std::vector<::sluice::Var> outputs;\n"
          "  while (outputs.size() < count) {{\n"
          "    outputs.push_back(program.Output(\"{}\", "
          "static_cast<int>(outputs.size())));\n"
          "  }}\n"
          "  return outputs;\n",
          Outputs()[0]->name);
    }
    for (const ArgDef* def : Outputs()) {
      text += Format("{}program.Output(\"{}\")", text.empty() ? "" : ", ",
                     def->name);
    }
    return Outputs().size() == 1 ? Format("  return {};\n", text)
                                 : Format("  return {{{}}};\n", text);
  }

  std::string Function() const {
    std::string text = Comment(schema_.doc(), "");
    for (const ArgDef& def : schema_.inputs()) {
      if (Required(def)) {
        text += Comment("  " + SnakeCase(def.name) + ": " + def.doc, "");
      }
    }
    const std::string result = ReturnsList() ? "std::vector<::sluice::Var>"
                               : Outputs().size() == 1 ? "::sluice::Var"
                                                       : name_ + "Outputs";
    return text + Format(
                      "inline {} {}(\n{}) try {{\n{}}} catch (const "
                      "std::bad_alloc&) {{\n"
                      "  ::sluice::RaiseOutOfMemory();\n}}\n\n",
                      result, name_, Parameters(), Body());
  }

  const OpSchema& schema_;
  std::string name_;
};

// Leaves out ops that AppendBackward makes, like Python (layers/ops.py).
bool HasBuilder(const OpSchema& schema) {
  const auto is_gradient = [](const ArgDef& def) {
    return def.name.ends_with("@GRAD");
  };
  return !schema.internal() && !schema.holds_blocks() &&
         std::none_of(schema.inputs().begin(), schema.inputs().end(),
                      is_gradient);
}

std::string Header(const std::vector<std::string>& ops,
                   const std::vector<std::string>& includes) {
  std::string text =
      "// Written by sluice_generate_ops from the operator schemas; do not "
      "edit.\n#pragma once\n\n#include <cstdint>\n#include <limits>\n"
      "#include <new>\n"
      "#include <string>\n#include <utility>\n#include <vector>\n\n"
      "#include \"sluice/framework/program/program.h\"\n"
      "#include \"sluice/platform/error.h\"\n";
  for (const std::string& include : includes) {
    text += Format("#include \"{}\"\n", include);
  }
  text +=
      "\n// One builder an operator: adds it to the program of its inputs "
      "and returns\n// its outputs; an operator without inputs is given its "
      "program. Raises what\n// Program::AppendOp raises.\n"
      "namespace sluice::ops {\n\n";
  for (const std::string& op : ops) {
    const OpSchema& schema = Registry::Global().Schema(op);
    if (HasBuilder(schema)) text += Builder(schema).Text();
  }
  return text + "}  // namespace sluice::ops\n";
}

void LoadLibrary(const std::string& path, const std::string& function) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto* add = reinterpret_cast<void (*)()>(dlsym(library, function.c_str()));
  if (add == nullptr) throw std::runtime_error(dlerror());
  add();
}

// Does not touch an unchanged file, so that nothing is recompiled.
void WriteIfNew(const std::string& path, const std::string& text) {
  std::ostringstream old;
  if (std::ifstream file(path); file) old << file.rdbuf();
  if (old.str() == text) return;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Writes the C++ builders of Sluice's operators.");
  std::string output;
  std::string library;
  std::string function;
  std::vector<std::string> includes;
  app.add_option("--output", output, "The header to write")->required();
  auto* library_option = app.add_option(
      "--library", library, "An operator library: only its operators");
  app.add_option("--function", function, "Its function that registers them")
      ->needs(library_option);
  app.add_option("--include", includes, "Headers that the header includes");
  CLI11_PARSE(app, argc, argv);

  std::vector<std::string> ops = Registry::Global().OpNames();
  if (!library.empty()) {
    const std::set<std::string> known(ops.begin(), ops.end());
    LoadLibrary(library, function);
    ops.clear();
    for (const std::string& op : Registry::Global().OpNames()) {
      if (known.count(op) == 0) ops.push_back(op);
    }
  }
  WriteIfNew(output, Header(ops, includes));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "sluice_generate_ops: " << error.what() << "\n";
  return 1;
}
