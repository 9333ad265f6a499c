#pragma once

#include <functional>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Adds ops that run blocks to a program. The functions that are given are
// called once each, at once; what they add to the program becomes a block. A
// block may read all variables around it. Where one of them throws, the program
// is as it was.

using Vars = std::vector<Var>;

// Runs what `then_block` added where `condition` (bool, one element) is true,
// else what `else_block` added; gives what the function of that block returned.
// Both return as many variables, of the same dtypes. Raises InvalidArgument.
SLUICE_API Vars Cond(const Var& condition,
                     const std::function<Vars()>& then_block,
                     const std::function<Vars()>& else_block,
                     const SourceLocation& location = SourceLocation::Here());

struct WhileOptions {
  // The shapes of the variables within the loop, for those that change from one
  // iteration to the next: -1 for sizes that do. Empty: those of `first`.
  std::vector<DDim> dims = {};
  // More iterations are an error.
  int64_t limit = 10'000'000;
};

// Sets variables to `first` and then, as long as `condition` of them is true
// (bool, one element), to `body` of them; gives what they are at the end.
// `condition` is called twice: before the loop and in its block. Raises
// InvalidArgument.
SLUICE_API Vars
WhileLoop(const std::function<Var(const Vars&)>& condition,
          const std::function<Vars(const Vars&)>& body,
          const Vars& first,
          const WhileOptions& options = {},
          const SourceLocation& location = SourceLocation::Here());

struct ScanStep {
  Vars carried;  // for the next step
  Vars stacked;  // what becomes an element of the outputs
};
struct ScanResult {
  Vars carried;  // of the last step
  Vars stacked;  // along a new first axis
};
struct ScanOptions {
  bool reversed = false;  // from the last element of the sequences to the first
};

// Calls `step` for one element of each of `sequences`, along their first axes,
// with what the step before carried on: a recurrent layer. Raises
// InvalidArgument.
SLUICE_API ScanResult
Scan(const std::function<ScanStep(const Vars& carried, const Vars& elements)>&
         step,
     const Vars& first,
     const Vars& sequences,
     const ScanOptions& options = {},
     const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::framework
