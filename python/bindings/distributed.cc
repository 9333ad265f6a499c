#include <string>
#include <vector>

#include "sluice/operators/collective/data_parallel.h"
#include "sluice/platform/ranks/world.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/settings.h"

namespace sluice::python {

namespace {

using BucketBytes = Given<int, "DataParallel: bucket_bytes">;

// Returns ([(parameter, gradient)], loss).
nb::tuple AppendDataParallel(Program& program,
                             const std::string& loss,
                             std::vector<std::string> parameters,
                             std::vector<std::string> no_gradient,
                             const nb::dict& gradient_ops,
                             BucketBytes bucket_bytes,
                             Given<int, "DataParallel: parts"> parts,
                             const Given<SourceLocation>& line) {
  const DataParallelBackward result = AppendDataParallelBackward(
      program, loss,
      {.parameters = std::move(parameters),
       .no_gradient = std::move(no_gradient),
       .gradient_ops = ToGradientOps(gradient_ops)},
      {.bucket_bytes = bucket_bytes, .parts = parts}, line);
  return nb::make_tuple(ToPython(result.gradients), result.loss);
}

}  // namespace

void BindDistributed(nb::module_& m) {
  m.def("_join_world", [] { World::Join(); });
  m.def("_require_joined", &World::RequireJoined);
  m.def("_name_ranks", &NameRanks);
  m.def("_world_rank", [] { return World::Get().rank(); });
  m.def("_world_size", [] { return World::Get().size(); });
  m.def("_world_waited", [] { return World::Get().WaitedSeconds(); });
  // Called for an uncaught exception that Python prints itself.
  m.def("_fail_world", [](const std::string& why) {
    World::NoteErrorShown();
    World::Get().Fail(why);
  });
  m.def("_append_data_parallel", &AppendDataParallel);
  m.def("_same_on_ranks", [](Given<Program&, "check_parameters"> program) {
    std::vector<std::string> names;
    for (const VarDesc& var : program.value.block().vars()) {
      if (var.replicated) names.push_back(var.name);
    }
    return names;
  });
}

}  // namespace sluice::python
