#include <exception>
#include <set>
#include <string>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/gradient_check.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/laboratory/op_example.h"
#include "sluice/platform/error.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/laboratory/laboratory.h"
#include "sluice/python/bindings/registry.h"
#include "sluice/python/bindings/results.h"

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

nb::dict DescribeMistake(const KernelMistake& mistake) {
  return DictOf({
      {"check", mistake.check},
      {"example", mistake.example},
      {"threads", mistake.threads},
      {"signature", mistake.signature},
      {"message", mistake.message},
  });
}

nb::dict DescribeReport(const KernelReport& report) {
  return DictOf({
      {"examples", report.examples},
      {"refused", report.refused},
      {"error", report.error},
      {"remark", report.remark},
      {"mistakes", ToList(report.mistakes, DescribeMistake)},
  });
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
  return DescribeReport(WithoutGil([&] {
    return CheckKernels({&kernel, 1}, options)[0];
  }));
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
  return DescribeReport(WithoutGil([&] {
    return sluice::CheckGradient(schema, schema.gradient_fn(), options);
  }));
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
  // Those of Sluice's own ops, a line of JSON each.
  m.def("_builtin_examples", [] {
    std::vector<std::string> lines;
    for (const std::string& op : OpsWithExamples()) {
      for (const OpExample& example : BuiltinExamples(op)) {
        lines.push_back(ExampleToJson(example));
      }
    }
    return lines;
  });
  m.def("_check_kernel", &Check);
  m.def("_check_gradient", &CheckGradient);
}

}  // namespace sluice::python
