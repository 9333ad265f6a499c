#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// Ops that run blocks of their program: those of OpRole::kIf and kLoop. They
// have no kernels; the executor runs the blocks (Executor::Run).
// Their attributes name variables of the blocks. Input X lists the outer
// variables that the blocks read; Program::AppendOp sets it.

// The attributes of the op of OpRole::kIf. Input Cond, one element, chooses the
// block whose outputs become Out.
struct IfBlocks {
  int then_block;
  int else_block;
  std::vector<std::string> then_outputs;  // by output
  std::vector<std::string> else_outputs;
};

// The attributes of the op of OpRole::kLoop. Before iteration i these data
// variables of the block are set: `iteration` to the number i (int64),
// `condition_in` to input Cond or the last iteration's condition, `carried` to
// the last iteration's `carried_out`, at first to input Carried, and `slices`
// to element i of Sequences along `sequence_axes`. "" names no variable.
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
  std::vector<int64_t> sequence_axes;  // empty: 0
  // 1: from the last element on; 2: from that of the last iteration on.
  std::vector<int64_t> sequence_reversed;
  std::vector<int64_t> stacked_axes;
  std::vector<int64_t> stacked_reversed;
  int64_t limit;  // more iterations are an error
  // If above 0: more iterations are an error, Stacked have so many slices, and
  // output Trips is the number of iterations.
  int64_t max_trips;
  bool recompute;  // how its gradient gets values of the iterations
};

SLUICE_API IfBlocks IfBlocksOf(const OpDesc& op);
SLUICE_API LoopBlock LoopBlockOf(const OpDesc& op);
// Returns the blocks that an op runs; empty for most ops.
SLUICE_API std::vector<int> BlocksOf(const OpDesc& op);

// Returns the attributes that refer to blocks.
std::vector<const char*> BlockAttributes(const OpDesc& op);

// Checks a completed op of Program::current_block against its blocks and sets
// input X. Raises InvalidArgument.
void CompleteBlockOp(const Program& program, OpDesc* op);
// Returns how many variables an output has, from the attributes.
size_t CountOutputs(const OpDesc& op, const std::string& output);
// Returns names, dtypes and shapes of the outputs, flattened. Raises
// InvalidArgument if the blocks are inconsistent with each other or the inputs.
std::vector<VarDesc> BlockOpOutputs(const Program& program, const OpDesc& op);

// Returns `block` and all blocks inside of it as the blocks of a program; the
// outer variables that it reads become data or persistable in block 0.
std::vector<BlockDesc> ExtractBlock(const Program& program, int block);

}  // namespace sluice
