#include "sluice/onnx/import/folding.h"

#include <cstdint>

#include "sluice/framework/run/run_op.h"

namespace sluice::onnx {

namespace {

// Bytes of the plan's results with known shapes.
uint64_t BytesOfResults(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Slot& slot : plan.slots()) {
    if (slot.kind == SlotKind::kFetch) bytes += slot.bytes;
  }
  return bytes;
}

uint64_t BytesOfArenas(const Plan& plan) {
  uint64_t bytes = 0;
  for (const auto& [place, arena] : plan.arenas()) {
    bytes += arena;
  }
  return bytes;
}

// Arithmetic and bytes moved, by the estimates of the chosen kernels.
double OperationsOf(const Plan& plan) {
  double operations = 0;
  for (const Decision& decision : plan.decisions()) {
    for (const Candidate& candidate : decision.candidates()) {
      if (candidate.kernel != decision.kernel) continue;
      for (const WorkCount& count : kWorkCounts) {
        operations += candidate.work.*count.count;
      }
      break;
    }
  }
  return operations;
}

}  // namespace

std::optional<Tensor> ComputeConstant(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes,
    const std::string& argument,
    ImportCost* cost) {
  // Checked before the plan is made, because making it is what costs time.
  if (!cost->TakeOperations(kFoldOperations)) return std::nullopt;
  const OneOp one = MakeOneOp(op, inputs, attributes);
  Executor executor;
  const auto plan = executor.Prepare(one.program, one.feeds, one.fetches);
  const uint64_t arenas = BytesOfArenas(*plan);
  const uint64_t results = BytesOfResults(*plan);
  if (!cost->TakeOperations(OperationsOf(*plan)) || !cost->Take(arenas)) {
    return std::nullopt;
  }
  cost->Return(arenas);
  if (!cost->Take(results)) return std::nullopt;
  const std::vector<Tensor> values =
      executor.Run(one.program, one.feeds, one.fetches);
  for (size_t i = 0; i < values.size(); ++i) {
    if (one.arguments[i] == argument) return values[i];
  }
  return std::nullopt;
}

}  // namespace sluice::onnx
