#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// One op as a program: what RunOp prepares and runs.
struct OneOp {
  Program program;
  Feeds feeds;
  Fetches fetches;
  std::vector<std::string> arguments;  // of the fetches
};

struct RunOpOptions {
  PlaceKey place{};
  std::string hint{};  // e.g. "require variant=plain"
  // Outputs to compute; empty for all that are not optional.
  std::vector<std::string> outputs{};
  // As PlanOptions::isolate.
  bool isolate = false;
};

// `inputs` and the result as RunOp has them.
SLUICE_API OneOp
MakeOneOp(const std::string& op,
          const std::vector<std::pair<std::string, Tensor>>& inputs,
          const AttributeMap& attributes,
          const std::vector<std::string>& outputs = {});

// Runs one op by itself: makes a program of it, prepares and runs that.
// `inputs` go by argument name; a variadic argument is given several times.
// Returns host tensors by output argument (of variadic outputs the first).
//   Tensor z = RunOp("manhattan_distance", {{"X", x}, {"Y", y}})["Out"];
SLUICE_API std::map<std::string, Tensor> RunOp(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes = {},
    const RunOpOptions& options = {});

}  // namespace sluice::framework
