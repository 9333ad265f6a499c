#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"

// Gradients of ops that run blocks. A loop's gradient is a loop that runs
// backward over what the forward loop saved: its new outputs Stacked, one slice
// an iteration. The gradient of an if, and of a loop with attribute recompute,
// computes its block again instead of saving. Internal to framework/program.
namespace sluice {

class GradientFlow;

// A block whose ops get gradients, and the block that these are written to.
struct GradientLevel {
  int forward = 0;
  int gradients = 0;
  GradientLevel* around = nullptr;
  // Whether gradients of persistable variables may stay sparse.
  bool sparse = false;
  // Variables of `forward` that are data of `gradients`: what a loop saves.
  std::vector<std::string> saved = {};
};

// The gradient of one op with blocks, with respect to outer variables.
struct BlockOpGradients {
  // Variables by flat output of the op; "" where there is no gradient.
  std::vector<std::string> of_outputs;
  // By flat input: whether its gradient is wanted, and then its variable ("" if
  // no gradient reaches it).
  std::vector<bool> wanted;
  std::vector<std::string> of_inputs;
};

// Makes what `op` reads of forward blocks, if the program's current block
// cannot see it, data of the blocks of gradients.
void DeclareSaved(Program* program, GradientLevel* level, const OpDesc& op);

// Takes back what gradients let a loop keep.
void DropSaved(OpDesc* op);

// Appends the gradient op of op `index` of block level->forward to the current
// block of the program, and its blocks; `flow` is that of the block that
// the op is in. Raises InvalidArgument.
void AddBlockOpGradients(Program* program,
                         GradientLevel* level,
                         int index,
                         const GradientFlow& flow,
                         BlockOpGradients* gradients);

}  // namespace sluice
