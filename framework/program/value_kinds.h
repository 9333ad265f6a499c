#pragma once

#include <span>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"

namespace sluice {

// An op that Program::AppendOp adds. Internal to framework/program.
struct AppendedOp {
  const Program& program;
  const OpSchema& schema;
  OpDesc& op;
  // Set by ValueKind::infer: the op's outputs, flattened, and the offsets that
  // must be equal.
  std::vector<VarDesc> outputs = {};
  Program::EqualOffsets equal_offsets = {};
  // If not null, the op is not added: its ragged inputs go here.
  std::vector<RaggedInput>* ragged_inputs = nullptr;
};

// The effect of one kind of values (dense, ragged, sparse, of blocks) on an
// op. Either function may be null, and raises what AppendOp does.
struct ValueKind {
  // Adds inputs and attributes that the caller may omit, and checks the others.
  void (*complete)(AppendedOp* added);
  // Infers outputs, or adds to those that kinds after this one inferred.
  void (*infer)(AppendedOp* added);
};

// Ops are completed in this order, and outputs inferred in the reverse order.
std::span<const ValueKind> ValueKinds();

}  // namespace sluice
