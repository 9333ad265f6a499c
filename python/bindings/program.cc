#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/program/program_text.h"
#include "sluice/framework/program/prune.h"
#include "sluice/framework/program/variable_owners.h"
#include "sluice/operators/contraction/einsum.h"
#include "sluice/platform/text.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

namespace {

using Arguments = std::vector<std::pair<std::string, ArgVars>>;

std::vector<std::string> ToNames(nb::handle names, std::string_view what) {
  std::vector<std::string> result;
  for (nb::handle name : names) {
    result.push_back(ToText(name, what));
  }
  return result;
}

// Converts [(argument, [name])].
Arguments ToArguments(nb::handle arguments, const std::string& op) {
  Arguments result;
  for (nb::handle argument : arguments) {
    std::string name = ToText(argument[0], op + ": the name of an argument");
    const std::string what = Format("{}: argument {}", op, name);
    result.emplace_back(std::move(name), ToNames(argument[1], what));
  }
  return result;
}

void AddData(Program& self,
             nb::handle name,
             nb::handle dtype,
             nb::handle shape,
             nb::handle line) {
  const std::string text = ToText(name, "data: name");
  const std::string what = "data " + sluice::Shown(text);
  const SourceLocation location = ToLocation(line);
  self.Data(text, ToDType(dtype, what), ToDDim(shape, what),
            location.file.c_str(), location.line);
}

void AddRaggedData(Program& self,
                   nb::handle name,
                   nb::handle dtype,
                   nb::handle shape,
                   int levels,
                   nb::handle line) {
  const std::string text = ToText(name, "data: name");
  const std::string what = "data " + sluice::Shown(text);
  const SourceLocation location = ToLocation(line);
  self.RaggedData(text, ToDType(dtype, what), ToDDim(shape, what), levels,
                  location.file.c_str(), location.line);
}

void AddPersistable(Program& self,
                    nb::handle name,
                    nb::handle dtype,
                    nb::handle shape) {
  const std::string text = ToText(name, "persistable: name");
  const std::string what = "persistable " + sluice::Shown(text);
  self.Persistable(text, ToDType(dtype, what), ToDDim(shape, what));
}

// Returns {argument: [name]} for the op's outputs.
nb::dict AppendOp(Program& self,
                  nb::handle op_type,
                  nb::handle inputs,
                  const nb::dict& attributes,
                  nb::handle outputs,
                  nb::handle line,
                  nb::handle op_hint) {
  SourceLocation location = ToLocation(line);
  try {
    const std::string type = ToText(op_type, "the type of an op");
    const std::string hint = ToText(op_hint, type + ": hint");
    const OpDesc& op = self.AppendOp(type, ToArguments(inputs, type),
                                     ToAttributes(attributes, type), location,
                                     ToArguments(outputs, type));
    nb::dict result;
    for (const auto& [argument, vars] : op.outputs) {
      result[argument.c_str()] = nb::cast(vars);
    }
    if (!hint.empty()) self.Hint(hint);
    return result;
  } catch (Error& error) {
    AddLocation(location, &error);
    throw;
  }
}

// Returns [(variable, "given", "kept" or "mixed")], see sluice::RaggedInput.
nb::list RaggedInputs(Program& self,
                      nb::handle op_type,
                      nb::handle inputs,
                      const nb::dict& attributes,
                      nb::handle outputs,
                      nb::handle line) {
  static const char* const kUses[] = {"given", "kept", "mixed"};
  OpDesc op;
  op.location = ToLocation(line);
  try {
    op.type = ToText(op_type, "the type of an op");
    op.inputs = ToArguments(inputs, op.type);
    op.attributes = ToAttributes(attributes, op.type);
    op.outputs = ToArguments(outputs, op.type);
  } catch (Error& error) {
    AddLocation(op.location, &error);
    throw;
  }
  nb::list result;
  for (const RaggedInput& input : self.RaggedInputs(std::move(op))) {
    const char* use = kUses[static_cast<int>(input.use)];
    result.append(nb::make_tuple(input.variable, use));
  }
  return result;
}

// Returns the name of the result.
std::string AppendEinsum(Program& self,
                         nb::handle equation,
                         nb::handle inputs,
                         nb::handle line) {
  const SourceLocation location = ToLocation(line);
  try {
    std::vector<Var> vars;
    for (const std::string& name : ToNames(inputs, "einsum: operands")) {
      vars.push_back(self.Find(name));
    }
    return Einsum(ToText(equation, "einsum: equation"), vars, location).name();
  } catch (Error& error) {
    AddLocation(location, &error);
    throw;
  }
}

nb::dict DescribeVar(const VarDesc& var) {
  nb::dict result;
  result["name"] = var.name;
  result["dtype"] = ToPython(var.dtype);
  result["shape"] = ToPython(var.dims);
  result["persistable"] = var.persistable;
  result["is_data"] = var.is_data;
  result["stop_gradient"] = var.stop_gradient;
  result["offsets"] = var.offsets;
  result["rows"] = var.rows;
  return result;
}

nb::tuple PlaceOfVar(const Program& self, const std::string& name) {
  const SourceLocation made = MadeAt(self, name);
  return nb::make_tuple(FromPath(made.file), made.line);
}

nb::dict DescribeOp(const OpDesc& op) {
  static const char* const kPurposes[] = {"forward", "backward", "optimize"};
  nb::dict attributes;
  for (const auto& [name, value] : op.attributes) {
    attributes[name.c_str()] = ToPython(value);
  }
  nb::dict result;
  result["type"] = op.type;
  result["inputs"] = nb::cast(op.inputs);
  result["outputs"] = nb::cast(op.outputs);
  result["attributes"] = attributes;
  result["hint"] = op.hint;
  result["file"] = FromPath(op.location.file);
  result["line"] = op.location.line;
  result["purpose"] = kPurposes[static_cast<int>(op.purpose)];
  return result;
}

nb::list Blocks(const Program& self) {
  nb::list blocks;
  for (const BlockDesc& block : self.blocks()) {
    nb::list vars;
    for (const VarDesc& var : block.vars()) {
      vars.append(DescribeVar(var));
    }
    nb::list ops;
    for (const OpDesc& op : block.ops) {
      ops.append(DescribeOp(op));
    }
    nb::dict result;
    result["index"] = block.index;
    result["parent"] = block.parent;
    result["vars"] = vars;
    result["ops"] = ops;
    blocks.append(result);
  }
  return blocks;
}

// Returns [(parameter, gradient)] by name.
nb::list AppendBackward(Program& self,
                        nb::handle loss,
                        nb::handle parameters,
                        nb::handle no_gradient,
                        const nb::dict& gradient_ops,
                        nb::handle line) {
  nb::list result;
  for (const ParamGrad& pair : sluice::AppendBackward(
           self, ToText(loss, "append_backward: loss"),
           {.parameters =
                ToNames(parameters, "append_backward: parameter_list"),
           .no_gradient = ToNames(no_gradient, "append_backward: no_grad_set"),
           .gradient_ops = ToGradientOps(gradient_ops)},
           ToLocation(line))) {
    result.append(nb::make_tuple(pair.param, pair.grad));
  }
  return result;
}

nb::bytes Serialize(const Program& self, const nb::dict& settings) {
  const std::string bytes = SerializeProgram(self, ToSettings(settings));
  return nb::bytes(bytes.data(), bytes.size());
}

// Replaces the program by the one in `data`; returns its settings.
nb::dict Parse(Program& self, nb::handle data, nb::handle origin) {
  if (!nb::isinstance<nb::bytes>(data)) {
    RaiseArgument("parse: data", "bytes", data);
  }
  const auto bytes = nb::borrow<nb::bytes>(data);
  VariableSettings settings;
  self = ParseProgram(
      std::string_view(static_cast<const char*>(bytes.data()), bytes.size()),
      ToText(origin, "parse: origin"), &settings);
  return ToPython(settings);
}

void SetPurpose(Program& self, const std::string& purpose) {
  self.SetPurpose(purpose == "backward"   ? OpPurpose::kBackward
                  : purpose == "optimize" ? OpPurpose::kOptimize
                                          : OpPurpose::kForward);
}

void BecomeCopy(Program& self, const Program& other) {
  self = Program(other);
}

void BecomePruned(Program& self,
                  const Program& other,
                  const std::vector<std::string>& fetches) {
  self = Prune(other, fetches);
}

std::string TextOf(const Program& self, bool all) {
  return all ? ToString(self) : BriefText(self);
}

uint64_t OwnerOfVar(const Program& program, const std::string& name) {
  return OwnerOf(program.uid(), name);
}

}  // namespace

Program& ToProgram(nb::handle value, std::string_view what) {
  auto* program = ToObject<Program>(value);
  if (program == nullptr) {
    RaiseArgument(Format("{}: program", what), "a sluice.Program", value);
  }
  return *program;
}

void BindPrograms(nb::module_& m) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace)
  nb::class_<Program>(m, "Program", nb::is_weak_referenceable())
      .def(nb::init<>())
      .def("_data", &AddData, "name"_a.none(), "dtype"_a.none(),
           "shape"_a.none(), "line"_a)
      .def("_ragged_data", &AddRaggedData, "name"_a.none(), "dtype"_a.none(),
           "shape"_a.none(), "levels"_a, "line"_a)
      .def("_persistable", &AddPersistable, "name"_a.none(), "dtype"_a.none(),
           "shape"_a.none())
      .def("_append_op", &AppendOp, "type"_a.none(), "inputs"_a, "attributes"_a,
           "outputs"_a, "line"_a, "hint"_a)
      .def("_ragged_inputs", &RaggedInputs, "type"_a.none(), "inputs"_a,
           "attributes"_a, "outputs"_a, "line"_a)
      .def("_append_backward", &AppendBackward)
      .def("_append_einsum", &AppendEinsum, "equation"_a.none(), "inputs"_a,
           "line"_a)
      .def(
          "_var",
          [](const Program& self, nb::handle name) {
            return DescribeVar(self.FindVar(ToText(name, "variable")));
          },
          "name"_a.none())
      .def(
          "_has_var",
          [](const Program& self, nb::handle name) {
            return self.HasVar(ToText(name, "variable"));
          },
          "name"_a.none())
      .def("_owner_of", &OwnerOfVar)
      .def("_blocks", &Blocks)
      .def("_made_at", &PlaceOfVar)
      .def("_op_count",
           [](const Program& self) { return self.block().ops.size(); })
      .def("_begin_block", &Program::BeginBlock)
      .def("_end_block", &Program::EndBlock)
      .def("_drop_blocks", &Program::DropBlocks)
      .def("_current_block", &Program::current_block)
      .def("_set_stop_gradient", &Program::SetStopGradient)
      .def("_rename", &Program::Rename)
      .def("_set_rows", &Program::SetRows)
      .def("_set_offsets", &Program::SetOffsets)
      .def("_set_purpose", &SetPurpose)
      .def("_become_test_clone_of",
           [](Program& self, const Program& other) {
             self = other.CloneForTest();
           })
      .def("_become_pruned", &BecomePruned)
      .def("_become_copy_of", &BecomeCopy)
      .def("_parse", &Parse)
      .def("_serialize", &Serialize)
      .def("__str__", &BriefText)
      .def("to_string", &TextOf, "all"_a = false,
           "The text that print shows; with ``all`` everything, unbroken.")
      .def_prop_ro("_ragged", &Program::ragged)
      .def_prop_ro("uid", &Program::uid)
      .def_prop_ro("version", &Program::version);
}

}  // namespace sluice::python
