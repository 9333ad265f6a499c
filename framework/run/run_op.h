#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// A program of a single op, its feeds and its fetches.
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
  // See PlanOptions::isolate.
  bool isolate = false;
};

// Makes the program of RunOp; `inputs` and outputs are those of RunOp.
SLUICE_API OneOp
MakeOneOp(const std::string& op,
          const std::vector<std::pair<std::string, Tensor>>& inputs,
          const AttributeMap& attributes,
          const std::vector<std::string>& outputs = {});

// Runs a single op: makes a program of it, prepares and runs that. `inputs` are
// pairs of argument name and tensor; a variadic argument has several pairs.
// Returns host tensors by output argument (the first of a variadic one).
//   Tensor z = RunOp("manhattan_distance", {{"X", x}, {"Y", y}})["Out"];
SLUICE_API std::map<std::string, Tensor> RunOp(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes = {},
    const RunOpOptions& options = {});

}  // namespace sluice
