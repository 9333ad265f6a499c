#include <exception>
#include <set>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/gradient_check.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/platform/error.h"
#include "sluice/python/bindings/laboratory/laboratory.h"
#include "sluice/python/bindings/registry.h"

namespace sluice::python {

namespace {

// Returns the kernel with these fields (Kernel in sluice/tools.py).
const KernelDef& FindKernel(const nb::dict& fields) {
  const auto op = nb::cast<std::string>(fields["op"]);
  for (const KernelDef* kernel : Registry::Global().Kernels(op)) {
    if (ToPython(*kernel).equal(fields)) return *kernel;
  }
  Raise(ErrorCode::kNotFound, "verify.kernel", "verify: there is no kernel {}",
        nb::str(fields).c_str());
}

nb::dict Describe(const KernelMistake& mistake) {
  nb::dict entry;
  entry["check"] = mistake.check;
  entry["example"] = mistake.example;
  entry["threads"] = mistake.threads;
  entry["signature"] = mistake.signature;
  entry["message"] = mistake.message;
  return entry;
}

nb::dict Describe(const KernelReport& report) {
  nb::list mistakes;
  for (const KernelMistake& mistake : report.mistakes) {
    mistakes.append(Describe(mistake));
  }
  nb::dict result;
  result["examples"] = report.examples;
  result["refused"] = report.refused;
  result["error"] = report.error;
  result["remark"] = report.remark;
  result["mistakes"] = mistakes;
  return result;
}

KernelCheckOptions OptionsOf(const std::string& examples,
                             const std::string& examples_file,
                             int only,
                             nb::handle before) {
  KernelCheckOptions options;
  options.examples = ParseKnownExamples(examples, examples_file);
  options.only = only;
  options.before = [before](int example, int count, const std::string& text,
                            const std::string& step) {
    const nb::gil_scoped_acquire gil;
    before(example, count, text, step);
  };
  return options;
}

nb::dict Check(const nb::dict& fields,
               const std::string& examples,
               const std::string& examples_file,
               const std::vector<int>& threads,
               int only,
               nb::handle before) {
  const KernelDef* kernel = &FindKernel(fields);
  KernelCheckOptions options = OptionsOf(examples, examples_file, only, before);
  options.threads = threads;
  std::vector<KernelReport> reports;
  {
    const nb::gil_scoped_release release;
    reports = CheckKernels({&kernel, 1}, options);
  }
  return Describe(reports[0]);
}

// Checks the gradient of an op; None if it has none.
nb::object CheckGradient(const std::string& op,
                         const std::string& examples,
                         const std::string& examples_file,
                         int only,
                         nb::handle before) {
  const OpSchema& schema = Registry::Global().Schema(op);
  if (schema.gradient_fn() == nullptr) return nb::none();
  KernelCheckOptions options = OptionsOf(examples, examples_file, only, before);
  KernelReport report;
  {
    const nb::gil_scoped_release release;
    report = sluice::CheckGradient(schema, schema.gradient_fn(), options);
  }
  return Describe(report);
}

}  // namespace

void BindVerifying(nb::module_& m) {
  // The ops of the examples in a text, without duplicates.
  m.def("_example_ops", [](const std::string& lines, const std::string& file) {
    std::set<std::string> ops;
    for (const auto& example : ParseKnownExamples(lines, file)) {
      ops.insert(example.op);
    }
    return std::vector<std::string>(ops.begin(), ops.end());
  });
  m.def("_check_kernel", &Check, nb::arg("kernel"), nb::arg("examples"),
        nb::arg("examples_file"), nb::arg("threads"), nb::arg("only"),
        nb::arg("before"));
  m.def("_check_gradient", &CheckGradient, nb::arg("op"), nb::arg("examples"),
        nb::arg("examples_file"), nb::arg("only"), nb::arg("before"));
}

}  // namespace sluice::python
