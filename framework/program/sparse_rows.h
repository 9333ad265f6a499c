#pragma once

#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// Says which of `made`, the outputs of `op`, are sparse gradients
// (OpSchema::SparseRows). Internal to framework/program.
void NoteSparse(const OpSchema& schema,
                const OpDesc& op,
                std::vector<VarDesc>* made);

}  // namespace sluice
