#include <algorithm>
#include <string>

#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/program/block_writer.h"
#include "sluice/framework/program/ragged_rows.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

using Names = std::vector<std::string>;

// The offsets of what a block gives.
struct Cut {
  std::string offsets;  // "": none
  bool inside = false;  // whether the block makes them
};

Cut CutOf(const Program& program, int block, const std::string& name) {
  const auto& blocks = program.blocks();
  const VarDesc* var = nullptr;
  for (int at = block; at >= 0 && var == nullptr; at = blocks[at].parent) {
    var = blocks[at].FindVar(name);
  }
  Cut cut{.offsets = var == nullptr ? "" : var->offsets};
  cut.inside = blocks[block].FindVar(cut.offsets) != nullptr;
  return cut;
}

std::string Described(const std::string& offsets) {
  return offsets.empty() ? "none" : offsets;
}

bool AreFed(const Program& program,
            const std::string& a,
            const std::string& b) {
  return program.FindVar(a).is_data && program.FindVar(b).is_data;
}

// An output of an if has the offsets that both blocks' values have.
void PassIf(const Program& program,
            const OpDesc& op,
            std::vector<VarDesc>* made,
            Program::EqualOffsets* equal) {
  const IfBlocks blocks = IfBlocksOf(op);
  const Names& thens = blocks.then_outputs;
  const Names& elses = blocks.else_outputs;
  for (size_t i = 0; i < thens.size(); ++i) {
    const Cut a = CutOf(program, blocks.then_block, thens[i]);
    const Cut b = CutOf(program, blocks.else_block, elses[i]);
    if (a.offsets.empty() && b.offsets.empty()) continue;
    std::string& offsets = (*made)[i].offsets;
    for (size_t j = 0; j < thens.size(); ++j) {
      if (thens[j] == a.offsets && elses[j] == b.offsets) {
        offsets = (*made)[j].name;
      }
    }
    if (!offsets.empty()) continue;
    const bool around =
        !a.inside && !b.inside && !a.offsets.empty() && !b.offsets.empty();
    const bool same = a.offsets == b.offsets;
    SLUICE_ENFORCE(
        around && (same || AreFed(program, a.offsets, b.offsets)),
        ErrorCode::kInvalidArgument, "if.ragged_output",
        "{}: output {} has offsets {} where the condition holds ({}) and {} "
        "where it does not ({}); give rows of equal offsets, or these as "
        "further outputs of both blocks",
        op.type, i, Described(a.offsets), thens[i], Described(b.offsets),
        elses[i]);
    if (!same) equal->emplace_back(a.offsets, b.offsets);
    offsets = a.offsets;
  }
}

// A carried output has the offsets of the block's variable: a variable outside
// of the loop, or another carried one.
void PassCarried(const Program& program,
                 const OpDesc& op,
                 const LoopBlock& loop,
                 std::vector<VarDesc>* made) {
  const ArgVars& first = op.Input("Carried");
  const Names& carried = loop.carried;
  for (size_t i = 0; i < carried.size(); ++i) {
    const Cut in = CutOf(program, loop.block, carried[i]);
    const Cut next = CutOf(program, loop.block, loop.carried_out[i]);
    std::string begin = in.offsets, end = in.offsets;
    if (in.inside) {
      const auto at = static_cast<size_t>(
          std::find(carried.begin(), carried.end(), in.offsets) -
          carried.begin());
      if (at < carried.size()) {
        begin = first[at];
        end = loop.carried_out[at];
        (*made)[i].offsets = (*made)[at].name;
      }
    } else {
      (*made)[i].offsets = in.offsets;
    }
    const std::string& before = program.FindVar(first[i]).offsets;
    SLUICE_ENFORCE(begin == before && end == next.offsets,
                   ErrorCode::kInvalidArgument, "loop.ragged_carried",
                   "{}: {} begins with offsets {}, and the next value, {}, has "
                   "{}; expected equal ones, unless the offsets are carried "
                   "on, too",
                   op.type, first[i], Described(before), loop.carried_out[i],
                   Described(next.offsets));
  }
}

// Rows stay rows where a new axis is not the first.
void PassStacked(const Program& program,
                 const OpDesc& op,
                 const LoopBlock& loop,
                 std::vector<VarDesc>* made) {
  for (size_t i = 0; i < loop.stacked.size(); ++i) {
    const Cut each = CutOf(program, loop.block, loop.stacked[i]);
    VarDesc& output = (*made)[loop.carried.size() + i];
    const bool kept = output.name.find(kSaved) != std::string::npos;
    if (each.offsets.empty() || kept) continue;
    const int64_t axis = loop.stacked_axes.empty() ? 0 : loop.stacked_axes[i];
    const int rank = output.dims.rank();
    const bool first = axis == 0 || (output.dims.rank_known() && axis == -rank);
    SLUICE_ENFORCE(!first && !each.inside, ErrorCode::kInvalidArgument,
                   "loop.ragged_stacked",
                   "{}: what is stacked, {}, is ragged (offsets {}), and its "
                   "padding would be among the elements; make it dense first, "
                   "by sequence_pool or sequence_pad",
                   op.type, loop.stacked[i], each.offsets);
    output.offsets = each.offsets;
  }
}

}  // namespace

Program::EqualOffsets PassBlockOffsets(const Program& program,
                                       const OpDesc& op,
                                       std::vector<VarDesc>* made) {
  Program::EqualOffsets equal;
  if (BlockAttributes(op).size() > 1) {
    PassIf(program, op, made, &equal);
    return equal;
  }
  for (const std::string& name : op.Input("Sequences")) {
    const VarDesc& sequence = program.FindVar(name);
    SLUICE_ENFORCE(sequence.offsets.empty(), ErrorCode::kInvalidArgument,
                   "loop.ragged_sequence",
                   "{}: sequence {} is ragged (offsets {}), and its padding "
                   "would be elements; sequence_scan takes the steps of ragged "
                   "rows",
                   op.type, name, sequence.offsets);
  }
  const LoopBlock loop = LoopBlockOf(op);
  PassCarried(program, op, loop, made);
  PassStacked(program, op, loop, made);
  return equal;
}

}  // namespace sluice
