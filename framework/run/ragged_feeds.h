#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

// Feeds of ragged variables (Program::RaggedData). Rows are fed at a capacity,
// so that few plans serve all lengths: rows past the last offset are padding.
namespace sluice {

// Returns the feeds of ragged variable `name`: the sequences' rows, one after
// the other, padded to their capacity by copies of the last row (zeros would
// make 0 / 0 in ops that divide by them), and `name@LOD`, their offsets. Raises
// InvalidArgument for sequences of different dtypes or shapes past dim 0, and
// for none: feed rows of the right shape and offsets {0} instead.
SLUICE_API Feeds PackSequences(const std::string& name,
                               const std::vector<Tensor>& sequences);

// Returns views of the sequences' rows, the other way round, on the CPU.
SLUICE_API std::vector<Tensor> UnpackSequences(const Tensor& rows,
                                               const Tensor& offsets);

// Checks offsets of fed variable `name`: they start at 0, never fall, and end
// at `rows` at most. Raises InvalidArgument.
void CheckOffsets(std::string_view name, const Tensor& offsets, int64_t rows);

// Checks all fed offsets of `program`, and that those that must be equal are.
void CheckRaggedFeeds(const Program& program, const Feeds& feeds);

}  // namespace sluice
