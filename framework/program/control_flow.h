#pragma once

#include <functional>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// Adds ops that run blocks to a program. The given functions are called
// immediately, once each; the ops that they add become a block. A block may
// read all variables around it. If one of them throws, the program is
// unchanged.

using Vars = std::vector<Var>;

// Runs the ops of `then_block` if `condition` (bool, one element) is true, else
// those of `else_block`, and returns that function's variables. Both must
// return as many, of the same dtypes. Raises InvalidArgument.
SLUICE_API Vars Cond(const Var& condition,
                     const std::function<Vars()>& then_block,
                     const std::function<Vars()>& else_block,
                     const SourceLocation& location = SourceLocation::Here());

struct WhileOptions {
  // The shapes of the loop variables, if they change between iterations: -1 for
  // sizes that do. Empty: those of `first`.
  std::vector<DDim> dims = {};
  // More iterations are an error.
  int64_t limit = 10'000'000;
  // If above 0: more iterations are an error. A gradient through the loop needs
  // it, because it keeps values of so many iterations.
  int64_t max_trips = 0;
  bool recompute = false;  // as in ScanOptions
};

// Sets variables to `first`. While `condition` of them is true (bool, one
// element), sets them to `body` of them. Returns their final values.
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
  Vars stacked;  // become elements of the outputs
};
struct ScanResult {
  Vars carried;  // of the last step
  Vars stacked;  // along a new first axis
};
struct ScanOptions {
  bool reversed = false;  // from the last element of the sequences to the first
  // Whether the gradient computes each step again instead of keeping what it
  // reads: less memory, more time.
  bool recompute = false;
  // The shapes of what is carried, as in WhileOptions.
  std::vector<DDim> dims = {};
};

// Calls `step` for one element of each of `sequences`, along their first axes,
// with the carried values of the last step: a recurrent layer. Raises
// InvalidArgument.
SLUICE_API ScanResult
Scan(const std::function<ScanStep(const Vars& carried, const Vars& elements)>&
         step,
     const Vars& first,
     const Vars& sequences,
     const ScanOptions& options = {},
     const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice
