#pragma once

#include <string_view>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// The offsets of fed variable x are x@LOD.
inline constexpr std::string_view kOffsetsSuffix = "@LOD";

// Returns the rows at which ragged variables of `rows` rows are fed: 0 for 0,
// and otherwise the first of 16, 20, 25, 31, ... (each 1.25 of the one before)
// that is at least as many.
SLUICE_API int64_t RowCapacity(int64_t rows);

// Adds the omitted offsets of ragged inputs (OpSchema::Ragged) to `op`, unless
// it is of the backward pass. Raises InvalidArgument when the input has none.
void AddOffsetsInputs(const Program& program,
                      const OpSchema& schema,
                      OpDesc* op);

// Sets the offsets of `made`, the outputs of `op` in order, and returns the
// pairs of fed offsets that `op` needs to be equal. Raises InvalidArgument for
// a ragged input whose rows `op` would mix with padding, and for computed
// offsets that differ. An op of the backward pass reads any rows: the gradients
// of padding are 0.
Program::EqualOffsets PassOffsets(const Program& program,
                                  const OpSchema& schema,
                                  const OpDesc& op,
                                  std::vector<VarDesc>* made);
// Returns how `op`, whose outputs are `made`, takes each of its ragged inputs,
// in order; none for an op that is not of the forward pass or runs blocks.
// PassOffsets raises where one is RowUse::kMixed.
std::vector<RaggedInput> RaggedInputs(const Program& program,
                                      const OpSchema& schema,
                                      const OpDesc& op,
                                      const std::vector<VarDesc>& made);
// PassOffsets for an op that runs blocks. Offsets of a block's results must be
// outside of the block, or results of it as well.
Program::EqualOffsets PassBlockOffsets(const Program& program,
                                       const OpDesc& op,
                                       std::vector<VarDesc>* made);

}  // namespace sluice
