#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/program/program_text.h"
#include "sluice/framework/program/prune.h"
#include "sluice/framework/program/variable_owners.h"
#include "sluice/operators/contraction/einsum.h"
#include "sluice/platform/text.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/results.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

namespace {

using Arguments = std::vector<std::pair<std::string, ArgVars>>;

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

using Line = Given<SourceLocation>;

void AddData(Program& self,
             const Given<std::string, "data: name">& name,
             nb::handle dtype,
             nb::handle shape,
             const Line& line) {
  const std::string what = "data " + sluice::Shown(name);
  self.Data(name, ToDType(dtype, what), ToDDim(shape, what), line.file.c_str(),
            line.line);
}

void AddRaggedData(Program& self,
                   const Given<std::string, "data: name">& name,
                   nb::handle dtype,
                   nb::handle shape,
                   int levels,
                   const Line& line) {
  const std::string what = "data " + sluice::Shown(name);
  self.RaggedData(name, ToDType(dtype, what), ToDDim(shape, what), levels,
                  line.file.c_str(), line.line);
}

void AddPersistable(Program& self,
                    const Given<std::string, "persistable: name">& name,
                    nb::handle dtype,
                    nb::handle shape) {
  const std::string what = "persistable " + sluice::Shown(name);
  self.Persistable(name, ToDType(dtype, what), ToDDim(shape, what));
}

// Returns {argument: [name]} for the op's outputs.
nb::dict AppendOp(Program& self,
                  nb::handle op_type,
                  nb::handle inputs,
                  const nb::dict& attributes,
                  nb::handle outputs,
                  const Line& line,
                  nb::handle op_hint) {
  try {
    const std::string type = ToText(op_type, "the type of an op");
    const std::string hint = ToText(op_hint, type + ": hint");
    const OpDesc& op = self.AppendOp(type, ToArguments(inputs, type),
                                     ToAttributes(attributes, type), line,
                                     ToArguments(outputs, type));
    if (!hint.empty()) self.Hint(hint);
    return ToDict(op.outputs,
                  [](const ArgVars& vars) { return nb::cast(vars); });
  } catch (Error& error) {
    AddLocation(line, &error);
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
                         const Line& line) {
  try {
    std::vector<Var> vars;
    for (const std::string& name : ToNames(inputs, "einsum: operands")) {
      vars.push_back(self.Find(name));
    }
    return Einsum(ToText(equation, "einsum: equation"), vars, line).name();
  } catch (Error& error) {
    AddLocation(line, &error);
    throw;
  }
}

nb::dict DescribeVar(const VarDesc& var) {
  return DictOf({
      {"name", var.name},
      {"dtype", var.dtype},
      {"shape", var.dims},
      {"persistable", var.persistable},
      {"is_data", var.is_data},
      {"stop_gradient", var.stop_gradient},
      {"offsets", var.offsets},
      {"rows", var.rows},
  });
}

nb::dict FindVar(const Program& self,
                 const Given<std::string, "variable">& name) {
  return DescribeVar(self.FindVar(name));
}

bool HasVar(const Program& self, const Given<std::string, "variable">& name) {
  return self.HasVar(name);
}

nb::tuple PlaceOfVar(const Program& self, const std::string& name) {
  const SourceLocation made = MadeAt(self, name);
  return nb::make_tuple(FromPath(made.file), made.line);
}

nb::dict DescribeOp(const OpDesc& op) {
  static const char* const kPurposes[] = {"forward", "backward", "optimize"};
  return DictOf({
      {"type", op.type},
      {"inputs", op.inputs},
      {"outputs", op.outputs},
      {"attributes", op.attributes},
      {"hint", op.hint},
      {"file", FromPath(op.location.file)},
      {"line", op.location.line},
      {"purpose", kPurposes[static_cast<int>(op.purpose)]},
  });
}

nb::list Blocks(const Program& self) {
  return ToList(self.blocks(), [](const BlockDesc& block) {
    return DictOf({
        {"index", block.index},
        {"parent", block.parent},
        {"vars", ToList(block.vars(), DescribeVar)},
        {"ops", ToList(block.ops, DescribeOp)},
    });
  });
}

// Returns [(parameter, gradient)] by name.
nb::list AppendBackward(Program& self,
                        const Given<std::string, "append_backward: loss">& loss,
                        nb::handle parameters,
                        nb::handle no_gradient,
                        const nb::dict& gradient_ops,
                        const Line& line) {
  const BackwardOptions options = {
      .parameters = ToNames(parameters, "append_backward: parameter_list"),
      .no_gradient = ToNames(no_gradient, "append_backward: no_grad_set"),
      .gradient_ops = ToGradientOps(gradient_ops)};
  return ToPython(sluice::AppendBackward(self, loss, options, line));
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
  nb::class_<Program>(m, "Program", nb::is_weak_referenceable())
      .def(nb::init<>())
      .def("_data", &AddData)
      .def("_ragged_data", &AddRaggedData)
      .def("_persistable", &AddPersistable)
      .def("_append_op", &AppendOp)
      .def("_ragged_inputs", &RaggedInputs)
      .def("_append_backward", &AppendBackward)
      .def("_append_einsum", &AppendEinsum)
      .def("_var", &FindVar)
      .def("_has_var", &HasVar)
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
      .def("_become_pruned",
           [](Program& self, const Program& other,
              const std::vector<std::string>& fetches) {
             self = Prune(other, fetches);
           })
      .def("_become_copy_of",
           [](Program& self, const Program& other) { self = Program(other); })
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
