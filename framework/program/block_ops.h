#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Ops that run blocks of their program: those of OpRole::kIf and kLoop. They
// have no kernels; the executor runs the blocks (framework/run/stretches.h).
// Their attributes name variables of the blocks; what blocks read of those
// around them is input X, which Program::AppendOp fills in.

// The attributes of the op of OpRole::kIf: input Cond, one element, chooses the
// block whose outputs become Out.
struct IfBlocks {
  int then_block;
  int else_block;
  std::vector<std::string> then_outputs;  // by output
  std::vector<std::string> else_outputs;
};

// The attributes of the op of OpRole::kLoop. Before iteration i the block's
// data variables get: `iteration` the number i (int64), `condition_in` what
// input Cond or the iteration before said, `carried` the values that iteration
// i - 1 gave as `carried_out`, at first those of input Carried, and `slices`
// element i of Sequences along `sequence_axes`. "" names none of them.
struct LoopBlock {
  int block;
  std::string iteration;
  std::string condition_in;
  std::vector<std::string> carried;
  std::vector<std::string> slices;
  std::string condition_out;  // whether there is another iteration
  std::vector<std::string> carried_out;
  // Output Stacked: these values of all iterations, along a new axis.
  std::vector<std::string> stacked;
  std::vector<int64_t> sequence_axes;      // empty: 0
  std::vector<int64_t> sequence_reversed;  // 1: from the last element on
  std::vector<int64_t> stacked_axes;
  std::vector<int64_t> stacked_reversed;
  int64_t limit;  // more iterations are an error
};

SLUICE_API IfBlocks IfBlocksOf(const OpDesc& op);
SLUICE_API LoopBlock LoopBlockOf(const OpDesc& op);
// The blocks that an op runs; none for most.
SLUICE_API std::vector<int> BlocksOf(const OpDesc& op);

// The attributes that name them.
std::vector<const char*> BlockAttributes(const OpDesc& op);

// Holds a completed op of Program::current_block against its blocks and sets
// input X. Raises InvalidArgument.
void CompleteBlockOp(const Program& program, OpDesc* op);
// How many variables an output has by the attributes.
size_t CountOutputs(const OpDesc& op, const std::string& output);
// Names, dtypes and shapes of the outputs, flattened. Raises InvalidArgument
// where the blocks contradict each other or the inputs.
std::vector<VarDesc> BlockOpOutputs(const Program& program, const OpDesc& op);

// `block` with all blocks inside of it as the blocks of a program; what it
// reads of those around it is data or persistable in block 0.
std::vector<BlockDesc> ExtractBlock(const Program& program, int block);

}  // namespace sluice::framework
