#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// A parameter and the variable of the loss's gradient with respect to it.
struct ParamGrad {
  std::string param;
  std::string grad;
};

struct BackwardOptions {
  // The variables whose gradients are wanted; empty means every persistable
  // float variable without stop_gradient that the loss depends on.
  std::vector<std::string> parameters = {};
  // Variables where gradients stop, besides those with stop_gradient.
  std::vector<std::string> no_gradient = {};
  // Whether gradients of parameters stay sparse where all that contributes to
  // them is sparse (VarDesc::rows). Others are made dense.
  bool sparse = true;
  // Ops that gradients go through, by variable: of each its type, with input X
  // and output Out, and attributes. One acts on the whole gradient, where all
  // that contributes to it is added up, and everything that the gradient is
  // passed on to gets the result. The variables may be of any block.
  std::map<std::string, OpDesc> gradient_ops = {};
};

// Appends the ops that compute the gradients of `loss`, a float variable of one
// element; they have purpose kBackward and the locations of their forward ops.
// Returns the parameters that have a gradient, in the order of `options` or of
// the program.
//
// Only variables on a path from a wanted one to the loss get a gradient. It is
// named GradName(variable), with a number appended if that exists (for a second
// loss, or an earlier value of a variable that is written twice). Gradients
// from several ops are added up by the op of OpRole::kSum. If an output has no
// gradient, its gradient op omits that input if it is optional, and gets zeros
// otherwise. An op with blocks gets another one, whose blocks have the
// gradients of its own, and may get outputs that keep what these read.
//
// Raises, with `location`, NotFound for an unknown variable and
// InvalidArgument for
//  - a loss that is no float, has not one element, or was used before;
//  - a wanted variable that is no float, or that stops gradients;
//  - a path with no gradient (see GradientFlow);
//  - a value that a gradient op needs but that a later op has overwritten;
//  - a loop that ends by a condition, without max_trips.
// On errors the program is unchanged.
SLUICE_API std::vector<ParamGrad> AppendBackward(
    Program& program,
    const std::string& loss,
    const BackwardOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());
SLUICE_API std::vector<ParamGrad> AppendBackward(
    const Var& loss,
    const BackwardOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice
