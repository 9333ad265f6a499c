#pragma once

#include <functional>
#include <vector>

#include "sluice/framework/program/control_flow.h"

namespace sluice {

// A Scan of sequences [T, ...]; or of [B, T, ...], in order, whose outputs are
// stacked along axis 1, and whose `step` gets its number, int64 [].
struct StepLoop {
  bool batch_first = false;
  std::vector<DDim> element_dims;  // of each sequence, in the block
  // `number` is invalid unless batch_first.
  std::function<ScanStep(const Var& number, const Vars&, const Vars&)> step;
};
ScanResult AppendStepLoop(const StepLoop& loop,
                          const Vars& first,
                          const Vars& sequences,
                          const ScanOptions& options,
                          const SourceLocation& location);

}  // namespace sluice
