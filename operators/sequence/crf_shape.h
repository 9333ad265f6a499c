#pragma once

#include "sluice/operators/ragged/sequences.h"

// Shared by the schemas of linear_chain_crf, its gradient and crf_decoding.
namespace sluice {

// Declares Emission, Transition and Length.
inline void CrfInputs(OpSchema& op) {
  op.Input("Emission", "T",
           "[B, T, N]: the weight of each of N tags at each of up to T "
           "positions of B sequences; or ragged [rows, N].");
  op.Input("Transition", "T",
           "[N + 2, N]: row 0 are the weights of the first tag, row 1 those "
           "of the last; row 2 + i has those of each tag that follows i.");
}
inline void CrfLengths(OpSchema& op) {
  op.Input("Length", "int64",
           "[B]: the positions of each padded sequence, from 0 to T, checked "
           "when the op runs. One of 0 has one path, the empty one.",
           {.optional = true, .host = true});
  OffsetsInput(op, "Emission");
}

// Returns the shape of the tags, [rows, 1], of ragged inputs.
inline DDim RaggedCrfTagShape(const InferShapeContext& context) {
  const auto emission = context.WithRank(context.input("Emission"), 2);
  context.Require(!context.HasInput("Length"), "crf.length_and_offsets",
                  "Emission is ragged, so that there is no input Length");
  SequenceCount(context, "Offsets", "Emission");
  const int64_t rows = context.Dim(emission, 0).size;
  if (context.HasInput("Label")) {
    const DDim label = RowsOf(context, "Label");
    context.Require(!label.known() || rows < 0 || label.numel() == rows,
                    "crf.label_rows",
                    "Label {} must have one tag for each row of Emission {}",
                    label, emission.dims);
  }
  return {rows, 1};
}

// Checks Transition against Emission, whose last dim are tags.
inline void CheckCrfTags(const InferShapeContext& context) {
  const auto emission = context.WithRankAtLeast(context.input("Emission"), 2);
  const auto transition = context.WithRank(context.input("Transition"), 2);
  if (!emission.dims.rank_known() || !transition.dims.rank_known()) return;
  const int64_t tags = emission.dims[emission.rank() - 1];
  const auto fits = [&](int axis, int64_t size) {
    return tags < 0 || transition.dims[axis] < 0 ||
           transition.dims[axis] == size;
  };
  context.Require(tags != 0, "crf.tags",
                  "Emission {} has no tags; expected at least 1",
                  emission.dims);
  context.Require(fits(0, tags + 2) && fits(1, tags), "crf.transition",
                  "Transition must be [N + 2, N] = [{}, {}] for the {} tags "
                  "of Emission {}, got {}",
                  tags + 2, tags, tags, emission.dims, transition.dims);
}

// Returns the shape of the tags, [B, T] or [rows, 1], from the op's inputs.
inline DDim CrfTagShape(const InferShapeContext& context) {
  CheckCrfTags(context);
  if (context.HasInput("Offsets")) return RaggedCrfTagShape(context);
  context.Require(context.HasInput("Length"), "crf.no_length",
                  "expected ragged input Emission, or input Length");
  const auto emission = context.WithRank(context.input("Emission"), 3);
  const auto length = context.WithRank(context.input("Length"), 1);
  DimHandle batch = context.Dim(length, 0);
  DimHandle positions;
  if (emission.dims.rank_known()) {
    batch = context.Merge(context.Dim(emission, 0), batch);
    positions = context.Dim(emission, 1);
  }
  if (context.HasInput("Label")) {
    const auto label = context.WithRank(context.input("Label"), 2);
    if (label.dims.rank_known()) {
      batch = context.Merge(batch, context.Dim(label, 0));
      positions = context.Merge(positions, context.Dim(label, 1));
    }
  }
  return {batch.size, positions.size};
}

// Returns the number of sequences.
inline int64_t CrfBatch(const InferShapeContext& context) {
  const int64_t tags = CrfTagShape(context)[0];
  return context.HasInput("Offsets") ? SequenceCount(context) : tags;
}

}  // namespace sluice
