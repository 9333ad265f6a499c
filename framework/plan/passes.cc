#include "sluice/framework/plan/passes.h"

#include <set>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/error.h"
#include "sluice/platform/foreign.h"

namespace sluice {

static int Run(const PassDef& pass, Graph* graph) try {
  return pass.run(*graph);
} catch (...) {
  RethrowForeign(Format("pass {}", pass.name));
}

std::vector<std::string> RunPasses(Graph* graph) {
  // Passes are registered by the libraries of their kernels. The decision about
  // each op reports disabled or missing libraries.
  std::set<std::pair<const OpSchema*, std::vector<const KernelHint*>>> seen;
  for (const int id : graph->order()) {
    const PreparedOp& op = graph->op(id);
    if (!seen.emplace(op.schema, op.hints).second) continue;
    LoadLibraries(op.desc.type, op.hints, Registry::Global());
  }
  std::vector<std::string> remarks;
  for (const PassDef& pass : Registry::Global().Passes()) {
    if (!graph->BeginPass(pass.name)) continue;
    const int changes = Run(pass, graph);
    if (changes > 0) {
      remarks.push_back(Format("pass {}: {} change{}", pass.name, changes,
                               changes == 1 ? "" : "s"));
    }
  }
  for (std::string& remark : graph->PassRemarks()) {
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace sluice
