#include "sluice/framework/program/program.h"

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
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

namespace {

using framework::ArgVars;
using framework::BlockDesc;
using framework::OpDesc;
using framework::OpPurpose;
using framework::Program;
using framework::VarDesc;

using Arguments = std::vector<std::pair<std::string, ArgVars>>;
using Line = std::pair<std::string, int>;

// {argument: [name]} of the op's outputs.
nb::dict AppendOp(Program& self,
                  const std::string& type,
                  Arguments inputs,
                  const nb::dict& attributes,
                  Arguments outputs,
                  Line line,
                  const std::string& hint) {
  const OpDesc& op =
      self.AppendOp(type, std::move(inputs), ToAttributes(attributes, type),
                    {std::move(line.first), line.second}, std::move(outputs));
  nb::dict result;
  for (const auto& [argument, vars] : op.outputs) {
    result[argument.c_str()] = nb::cast(vars);
  }
  if (!hint.empty()) self.Hint(hint);
  return result;
}

nb::dict DescribeVar(const VarDesc& var) {
  nb::dict result;
  result["name"] = var.name;
  result["dtype"] = ToPython(var.dtype);
  result["shape"] = ToPython(var.dims);
  result["persistable"] = var.persistable;
  result["is_data"] = var.is_data;
  result["stop_gradient"] = var.stop_gradient;
  return result;
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
  result["file"] = op.location.file;
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

// [(parameter, gradient)] by name.
nb::list AppendBackward(Program& self,
                        const std::string& loss,
                        std::vector<std::string> parameters,
                        std::vector<std::string> no_gradient,
                        const Line& line) {
  nb::list result;
  for (const framework::ParamGrad& pair : framework::AppendBackward(
           self, loss, {std::move(parameters), std::move(no_gradient)},
           {line.first, line.second})) {
    result.append(nb::make_tuple(pair.param, pair.grad));
  }
  return result;
}

nb::bytes Serialize(const Program& self) {
  const std::string bytes = framework::SerializeProgram(self);
  return nb::bytes(bytes.data(), bytes.size());
}

// The program becomes what `other` is, under a uid of its own.
void Parse(Program& self, const nb::bytes& bytes, const std::string& origin) {
  self = framework::ParseProgram(
      std::string_view(static_cast<const char*>(bytes.data()), bytes.size()),
      origin);
}

void SetPurpose(Program& self, const std::string& purpose) {
  self.SetPurpose(purpose == "backward"   ? OpPurpose::kBackward
                  : purpose == "optimize" ? OpPurpose::kOptimize
                                          : OpPurpose::kForward);
}

}  // namespace

void BindPrograms(nb::module_& m) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace)
  nb::class_<Program>(m, "Program", nb::is_weak_referenceable())
      .def(nb::init<>())
      .def("_data",
           [](Program& self, const std::string& name, nb::handle dtype,
              nb::handle shape) {
             self.Data(name, ToDType(dtype), ToDDim(shape));
           })
      .def("_persistable",
           [](Program& self, const std::string& name, nb::handle dtype,
              nb::handle shape) {
             self.Persistable(name, ToDType(dtype), ToDDim(shape));
           })
      .def("_append_op", &AppendOp)
      .def("_append_backward", &AppendBackward)
      .def("_var",
           [](const Program& self, const std::string& name) {
             return DescribeVar(self.FindVar(name));
           })
      .def("_has_var",
           [](const Program& self, const std::string& name) {
             return self.block().FindVar(name) != nullptr;
           })
      .def("_blocks", &Blocks)
      .def("_op_count",
           [](const Program& self) { return self.block().ops.size(); })
      .def("_set_stop_gradient", &Program::SetStopGradient)
      .def("_set_purpose", &SetPurpose)
      .def("_become_test_clone_of",
           [](Program& self, const Program& other) {
             self = other.CloneForTest();
           })
      .def("_become_copy_of",
           [](Program& self, const Program& other) { self = Program(other); })
      .def("_parse", &Parse)
      .def("serialize", &Serialize, "The program as bytes; see parse().")
      .def("__str__",
           [](const Program& self) { return framework::ToString(self); })
      .def_prop_ro("uid", &Program::uid)
      .def_prop_ro("version", &Program::version);
}

}  // namespace sluice::python
