#include "sluice/framework/program/ragged_rows.h"

#include <algorithm>
#include <map>
#include <new>
#include <string>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

std::string OffsetsOf(const Program& program, const std::string& name) {
  return name.empty() || !program.HasVar(name) ? ""
                                               : program.FindVar(name).offsets;
}

bool IsOffsets(const OpSchema& schema, const ArgDef& argument) {
  const auto names_it = [&](const ArgDef& other) {
    return schema.rows(other.name).offsets == argument.name;
  };
  return std::any_of(schema.inputs().begin(), schema.inputs().end(),
                     names_it) ||
         std::any_of(schema.outputs().begin(), schema.outputs().end(),
                     names_it);
}

// Calls visit(definition, position in `made`) for each output.
template <typename Visit>
void ForEachOutput(const OpSchema& schema, const OpDesc& op, Visit visit) {
  size_t flat = 0;
  for (const auto& [argument, vars] : op.outputs) {
    const ArgDef& def = *schema.FindOutput(argument);
    for (size_t i = 0; i < vars.size(); ++i) {
      visit(def, flat++);
    }
  }
}

bool SharesRowsOf(const OpSchema& schema,
                  const ArgDef& output,
                  const ArgDef& input) {
  const auto& rows_of = schema.rows(output.name).rows_of;
  return schema.elementwise() ||
         std::find(rows_of.begin(), rows_of.end(), input.name) != rows_of.end();
}

// Whether an output that shares the rows of `input` still has them: not where
// broadcasting moved them to another dim.
bool KeepsRows(const OpDesc& op, const VarDesc& input, const VarDesc& output) {
  const int rank = output.dims.rank();
  if (!output.dims.rank_known() || !input.dims.rank_known()) return true;
  const auto axis = op.attributes.find("axis");
  const bool from_first =
      axis != op.attributes.end() && axis->second == Attribute(int64_t{0});
  return rank > 0 && output.dims[0] == input.dims[0] &&
         (rank <= input.dims.rank() || from_first);
}

// Returns whether padding of input `var` stays apart from other rows.
bool IsRowWise(const OpSchema& schema,
               const OpDesc& op,
               const ArgDef& def,
               const VarDesc& var,
               const std::vector<VarDesc>& made) {
  bool shares = false;
  bool keeps = true;
  ForEachOutput(schema, op, [&](const ArgDef& output, size_t at) {
    const bool same = SharesRowsOf(schema, output, def);
    shares = shares || same;
    if (schema.elementwise()) {
      keeps = keeps && KeepsRows(op, var, made[at]);
    }
  });
  return shares && keeps &&
         (schema.row_wise() == nullptr || schema.row_wise()(op, var.dims));
}

// Calls visit(definition, variable) for each ragged input of an op of the
// forward pass.
template <typename Visit>
void ForEachRagged(const Program& program,
                   const OpSchema& schema,
                   const OpDesc& op,
                   Visit visit) {
  for (const auto& [argument, vars] : op.inputs) {
    const ArgDef& def = *schema.FindInput(argument);
    for (const std::string& name : vars) {
      const VarDesc& var = program.FindVar(name);
      if (!var.offsets.empty() && !IsOffsets(schema, def)) visit(def, var);
    }
  }
}

// Inputs of one group need equal offsets.
std::string GroupOf(const RowTraits& rows) {
  return rows.offsets + (rows.per_sequence ? "/" : "");
}

bool AreFed(const Program& program,
            const std::string& first,
            const std::string& other) {
  return program.FindVar(first).is_data && program.FindVar(other).is_data;
}

// Returns whether Pair accepts two offsets.
bool MayBeEqual(const Program& program, std::string first, std::string other) {
  while (first != other && !first.empty() && !other.empty()) {
    if (!AreFed(program, first, other)) return false;
    first = OffsetsOf(program, first);
    other = OffsetsOf(program, other);
  }
  return true;
}

// Compares the offsets of two inputs, level by level.
void Pair(const Program& program,
          const OpDesc& op,
          std::string first,
          std::string other,
          Program::EqualOffsets* equal) {
  while (first != other && !first.empty() && !other.empty()) {
    SLUICE_ENFORCE(
        AreFed(program, first, other), ErrorCode::kInvalidArgument,
        "program.ragged_offsets",
        "{}: the rows of two inputs are cut by different offsets, {} and {}; "
        "if they are equal, give one of them the other's by lod_reset",
        op.type, first, other);
    equal->emplace_back(first, other);
    first = OffsetsOf(program, first);
    other = OffsetsOf(program, other);
  }
}

void SetOutputs(const Program& program,
                const OpSchema& schema,
                const OpDesc& op,
                std::vector<VarDesc>* made) {
  ForEachOutput(schema, op, [&](const ArgDef& output, size_t at) {
    std::string& offsets = (*made)[at].offsets;
    const RowTraits& rows = schema.rows(output.name);
    if (!rows.offsets.empty()) {
      const ArgVars& in = op.Input(rows.offsets);
      const ArgVars& vars = in.empty() ? op.Output(rows.offsets) : in;
      if (vars.empty()) return;
      offsets = rows.per_sequence ? OffsetsOf(program, vars[0]) : vars[0];
      return;
    }
    for (const auto& [argument, vars] : op.inputs) {
      if (!SharesRowsOf(schema, output, *schema.FindInput(argument))) continue;
      for (const std::string& var : vars) {
        if (offsets.empty()) offsets = OffsetsOf(program, var);
      }
    }
  });
}

}  // namespace

int64_t RowCapacity(int64_t rows) {
  constexpr int64_t kSmallest = 16;
  if (rows <= 0) return 0;
  int64_t capacity = kSmallest;
  while (capacity < rows) {
    capacity += capacity / 4;
  }
  return capacity;
}

void AddOffsetsInputs(const Program& program,
                      const OpSchema& schema,
                      OpDesc* op) {
  // Ops of the backward pass name what they read: it may be of another block.
  if (op->purpose == OpPurpose::kBackward) return;
  for (const ArgDef& def : schema.inputs()) {
    const RowTraits& rows = schema.rows(def.name);
    const ArgDef* offsets = schema.FindInput(rows.offsets);
    if (rows.per_sequence || offsets == nullptr ||
        op->Input(def.name).empty() || !op->Input(offsets->name).empty()) {
      continue;
    }
    ArgVars vars;
    for (const std::string& var : op->Input(def.name)) {
      if (program.FindVar(var).offsets.empty()) continue;
      vars.push_back(program.FindVar(var).offsets);
    }
    // An op may have another form without offsets; its shape function says so.
    if (vars.size() == op->Input(def.name).size()) {
      op->inputs.emplace_back(offsets->name, std::move(vars));
    }
  }
}

Program::EqualOffsets PassOffsets(const Program& program,
                                  const OpSchema& schema,
                                  const OpDesc& op,
                                  std::vector<VarDesc>* made) {
  Program::EqualOffsets equal;
  if (schema.internal()) return equal;
  if (op.purpose != OpPurpose::kForward) {
    constexpr std::string_view kGrad = "@GRAD";
    for (VarDesc& var : *made) {
      const size_t at = var.name.rfind(kGrad);  // a number may follow
      if (at == std::string::npos) continue;
      var.offsets = OffsetsOf(program, var.name.substr(0, at));
    }
    return equal;
  }
  if (schema.holds_blocks()) return PassBlockOffsets(program, op, made);
  std::map<std::string, std::string> first;  // by group
  ForEachRagged(
      program, schema, op, [&](const ArgDef& def, const VarDesc& var) {
        const RowTraits& rows = schema.rows(def.name);
        SLUICE_ENFORCE(
            !rows.offsets.empty() || IsRowWise(schema, op, def, var, *made),
            ErrorCode::kInvalidArgument, "program.ragged_input",
            "{}: the rows of input {}, {}, are ragged (offsets {}) and end "
            "with padding, which {} would mix in; make them dense first, by "
            "sequence_pool or sequence_pad",
            op.type, def.name, Shown(var.name), var.offsets, op.type);
        if (def.traits.variadic && !rows.offsets.empty()) return;
        const auto [known, added] = first.emplace(GroupOf(rows), var.offsets);
        if (!added) Pair(program, op, known->second, var.offsets, &equal);
      });
  SetOutputs(program, schema, op, made);
  return equal;
}

std::vector<RaggedInput> RaggedInputs(const Program& program,
                                      const OpSchema& schema,
                                      const OpDesc& op,
                                      const std::vector<VarDesc>& made) {
  std::vector<RaggedInput> inputs;
  if (op.purpose != OpPurpose::kForward || schema.holds_blocks()) return inputs;
  struct First {
    std::string offsets;
    size_t input;
  };
  std::map<std::string, First> first;  // by group
  ForEachRagged(
      program, schema, op, [&](const ArgDef& def, const VarDesc& var) {
        const RowTraits& rows = schema.rows(def.name);
        const bool kept = IsRowWise(schema, op, def, var, made);
        inputs.push_back({var.name, !rows.offsets.empty() ? RowUse::kGiven
                                    : kept                ? RowUse::kKept
                                                          : RowUse::kMixed});
        if (def.traits.variadic && !rows.offsets.empty()) return;
        const auto [known, added] =
            first.emplace(GroupOf(rows), First{var.offsets, inputs.size() - 1});
        if (added) return;
        const auto& [offsets, input] = known->second;
        if (MayBeEqual(program, offsets, var.offsets)) return;
        inputs[input].use = inputs.back().use = RowUse::kMixed;
      });
  return inputs;
}

Var Program::RaggedData(std::string_view name,
                        DType dtype,
                        const DDim& dims,
                        int levels,
                        const char* file,
                        int line) try {
  SLUICE_ENFORCE(
      dims.rank_known() && dims.rank() > 0 && dims[0] < 0 && levels >= 1,
      ErrorCode::kInvalidArgument, "program.ragged_data",
      "data {}: ragged rows need an unknown dim 0 and at least one "
      "level, got shape {} and {} levels",
      Shown(name), dims, levels);
  const Var rows = Data(name, dtype, dims, file, line);
  std::string of(name);
  for (int level = 0; level < levels; ++level) {
    const std::string offsets = of + std::string(kOffsetsSuffix);
    Data(offsets, DType::kInt64, {-1}, file, line);
    SetOffsets(of, offsets);
    of = offsets;
  }
  return rows;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
