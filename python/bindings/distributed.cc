#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "sluice/operators/collective/data_parallel.h"
#include "sluice/platform/ranks/world.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

namespace {

// Returns ([(parameter, gradient)], loss).
nb::tuple AppendDataParallel(Program& program,
                             const std::string& loss,
                             std::vector<std::string> parameters,
                             std::vector<std::string> no_gradient,
                             const nb::dict& gradient_ops,
                             nb::handle bucket_bytes,
                             nb::handle parts,
                             nb::handle line) {
  DataParallelOptions options;
  options.bucket_bytes =
      ToInt(IntArg{bucket_bytes}, "DataParallel: bucket_bytes");
  options.parts = ToInt(IntArg{parts}, "DataParallel: parts");
  const DataParallelBackward result =
      AppendDataParallelBackward(program, loss,
                                 {.parameters = std::move(parameters),
                                  .no_gradient = std::move(no_gradient),
                                  .gradient_ops = ToGradientOps(gradient_ops)},
                                 options, ToLocation(line));
  nb::list pairs;
  for (const ParamGrad& pair : result.gradients) {
    pairs.append(nb::make_tuple(pair.param, pair.grad));
  }
  return nb::make_tuple(pairs, result.loss);
}

}  // namespace

void BindDistributed(nb::module_& m) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace)
  m.def("_join_world", [] { World::Join(); });
  m.def("_require_joined", &World::RequireJoined);
  m.def("_name_ranks", &NameRanks);
  m.def("_world_rank", [] { return World::Get().rank(); });
  m.def("_world_size", [] { return World::Get().size(); });
  m.def("_world_library", [] { return std::string(World::Get().library()); });
  m.def("_world_waited", [] { return World::Get().WaitedSeconds(); });
  // Called for an uncaught exception that Python prints itself.
  m.def("_fail_world", [](const std::string& why) {
    World::NoteErrorShown();
    World::Get().Fail(why);
  });
  m.def("_append_data_parallel", &AppendDataParallel, "program"_a, "loss"_a,
        "parameters"_a, "no_gradient"_a, "gradient_ops"_a,
        "bucket_bytes"_a.none(), "parts"_a.none(), "line"_a.none());
  m.def(
      "_same_on_ranks",
      [](nb::handle program_object) {
        std::vector<std::string> names;
        const auto& program = ToProgram(program_object, "check_parameters");
        for (const VarDesc& var : program.block().vars()) {
          if (var.replicated) names.push_back(var.name);
        }
        return names;
      },
      "program"_a.none());
}

}  // namespace sluice::python
