#include "sluice/framework/plan/passes.h"

#include "sluice/framework/registry.h"
#include "sluice/platform/error.h"

namespace sluice::framework {

std::vector<std::string> RunPasses(Graph* graph) {
  // Passes come with the libraries whose kernels they rewrite for. What is off
  // or not there is said by the decision about each op.
  std::vector<std::string> remarks;
  for (const int id : graph->order()) {
    const GraphOp& op = graph->op(id);
    std::vector<const KernelHint*> hints;
    for (const KernelHint& hint : op.hints) {
      hints.push_back(&hint);
    }
    LoadLibraries(op.desc.type, hints, Registry::Global(), &remarks);
  }
  remarks.clear();
  for (const PassDef& pass : Registry::Global().Passes()) {
    const int changes = pass.run(*graph);
    if (changes > 0) {
      remarks.push_back(
          platform::Format("pass {}: {} changes", pass.name, changes));
    }
  }
  return remarks;
}

}  // namespace sluice::framework
