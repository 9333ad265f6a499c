#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A parameter and the variable that holds the loss's gradient by it.
struct ParamGrad {
  std::string param;
  std::string grad;
};

struct BackwardOptions {
  // The variables whose gradients are wanted; empty means every persistable
  // float variable without stop_gradient that the loss depends on.
  std::vector<std::string> parameters = {};
  // Where gradients stop, besides the variables that say so themselves.
  std::vector<std::string> no_gradient = {};
};

// Appends the ops that compute the gradients of `loss`, a float variable of
// one element, behind the ops that are there; they have purpose kBackward and
// the locations of their forward ops. Returns the parameters that got one, in
// the order of `options` or of the program.
//
// Only variables on a path from a wanted one to the loss get a gradient, named
// GradName(variable), or with a number after it where that is taken (a second
// loss, an earlier value of a variable that is written twice). Gradients that
// come from several ops are added up by the op of OpRole::kSum. Where an
// output has no gradient, its gradient op goes without it if that is optional
// there, and is given zeros otherwise.
//
// Raises, with `location`, NotFound for an unknown variable and
// InvalidArgument for
//  - a loss that is no float, has not one element, or was given before;
//  - a wanted variable that is no float, or that stops gradients;
//  - a path with no gradient (see GradientFlow);
//  - a value that a gradient op needs but that a later op has overwritten;
//  - an output without gradient whose zeros would have an unknown shape.
// The program is unchanged then.
SLUICE_API std::vector<ParamGrad> AppendBackward(
    Program& program,
    const std::string& loss,
    const BackwardOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());
SLUICE_API std::vector<ParamGrad> AppendBackward(
    const Var& loss,
    const BackwardOptions& options = {},
    const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::framework
