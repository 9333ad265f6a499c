#include "sluice/framework/program/value_kinds.h"

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/ragged_rows.h"

namespace sluice {

namespace {

void InferDense(AppendedOp* added) {
  const auto& [program, schema, op, outputs, equal, ragged] = *added;
  std::vector<DDim> dims;
  std::vector<DType> dtypes;
  for (const std::string& name : FlatInputs(schema, op)) {
    const VarDesc& var = program.FindVar(name);
    dims.push_back(var.dims);
    dtypes.push_back(var.dtype);
  }
  const BoundTypes types(schema, op, dtypes);
  if (schema.holds_blocks()) return;
  const auto shapes =
      InferShapes(schema, op, std::move(dims), std::move(dtypes));
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ArgDef& def = schema.outputs()[i];
    for (size_t element = 0; element < shapes[i].size(); ++element) {
      VarDesc& var = added->outputs.emplace_back();
      var.name = op.Output(def.name)[element];
      var.dtype = types.Of(def);
      var.dims = shapes[i][element];
    }
  }
}

// Sets which outputs are sparse gradients.
constexpr ValueKind kSparse = {
    nullptr,
    [](AppendedOp* added) {
      for (const ArgDef& def : added->schema.outputs()) {
        const ArgVars& vars = added->op.Output(def.name);
        if (def.sparse_rows.empty() || vars.empty()) continue;
        for (VarDesc& var : added->outputs) {
          if (var.name != vars[0]) continue;
          var.rows = added->op.Output(def.sparse_rows)[0];
        }
      }
    },
};

constexpr ValueKind kRagged = {
    [](AppendedOp* added) {
      AddOffsetsInputs(added->program, added->schema, &added->op);
    },
    [](AppendedOp* added) {
      if (added->ragged_inputs != nullptr) {
        *added->ragged_inputs = RaggedInputs(added->program, added->schema,
                                             added->op, added->outputs);
        return;
      }
      added->equal_offsets = PassOffsets(added->program, added->schema,
                                         added->op, &added->outputs);
    },
};

constexpr ValueKind kDense = {
    [](AppendedOp* added) {
      ParseKernelHints(added->op.hint, "op attribute");
      CompleteOp(added->schema, &added->op);
    },
    &InferDense,
};

constexpr ValueKind kOfBlocks = {
    [](AppendedOp* added) {
      if (!added->schema.holds_blocks()) return;
      CompleteBlockOp(added->program, &added->op);
    },
    [](AppendedOp* added) {
      if (!added->schema.holds_blocks()) return;
      added->outputs = BlockOpOutputs(added->program, added->op);
    },
};

}  // namespace

std::span<const ValueKind> ValueKinds() {
  static constexpr ValueKind kKinds[] = {kSparse, kRagged, kDense, kOfBlocks};
  return kKinds;
}

}  // namespace sluice
