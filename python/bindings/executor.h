#pragma once

#include <string_view>
#include <vector>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

// Executor::Run with arguments from Python; errors in them name `function`.
// Releases the GIL unless runs are brief; Ctrl-C ends a run at its next
// instruction.
SLUICE_API std::vector<Tensor> RunProgram(Executor& executor,
                                          std::string_view function,
                                          nb::handle program,
                                          nb::handle feed,
                                          nb::handle fetch_list,
                                          nb::handle scope,
                                          const RunPlan& run_plan = {});

// `wanted` has op, all, fold, width, colour, and names and numbers of layers.
SLUICE_API ExplainOptions ToOptions(const nb::tuple& wanted);

}  // namespace sluice::python
