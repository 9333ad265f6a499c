#pragma once

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/operators/math/ragged/rows.h"
#include "sluice/operators/registration.h"

// Shared by the ops over ragged rows.
namespace sluice {

// Declares optional input `name`: the offsets of rows of `of`.
inline void OffsetsInput(OpSchema& op,
                         const std::string& of = "X",
                         const std::string& name = "Offsets",
                         bool variadic = false) {
  op.Input(name, "int64",
           "[B + 1]: sequence b of " + of +
               " has rows Offsets[b] to Offsets[b + 1]; rows after the last "
               "are padding. Those of the ragged variable if left out.",
           {.optional = true, .variadic = variadic, .host = true});
  op.Ragged(of, name);
}

// Declares output OutOffsets, of output Out.
inline void OffsetsOutput(OpSchema& op) {
  op.Output("OutOffsets", "int64", "[B + 1]: the offsets of Out.");
  op.Ragged("Out", "OutOffsets");
}

// Returns the number of sequences, -1 while unknown.
inline int64_t SequenceCount(const InferShapeContext& context,
                             std::string_view name = "Offsets",
                             std::string_view of = "X") {
  context.Require(context.HasInput(name), "ragged.no_offsets",
                  "input {} is not ragged: it has no offsets; declare it by "
                  "data with lod_level=1, or give it offsets by lod_reset",
                  of);
  const DimHandle size =
      context.Dim(context.WithRank(context.input(name), 1), 0);
  context.Require(size.size != 0, "ragged.no_first_offset",
                  "input {} is empty; expected at least the offset 0", name);
  return size.size < 0 ? size.size : size.size - 1;
}

// Returns X's shape with another dim 0.
inline DDim WithRowCount(DDim dims, int64_t rows) {
  if (dims.rank_known() && dims.rank() > 0) dims[0] = rows;
  return dims;
}

// Returns X's shape, of rank 1 or more.
inline DDim RowsOf(const InferShapeContext& context,
                   std::string_view name = "X") {
  return context.WithRankAtLeast(context.input(name), 1);
}

// Checks offsets of at most `capacity` rows, those of input `of`.
void CheckSequences(const OpKernelContext& context,
                    const Sequences& sequences,
                    int64_t capacity,
                    std::string_view of);

// Checks and returns offsets of at most `capacity` rows, those of input `of`.
Sequences CheckedSequences(const OpKernelContext& context,
                           const Tensor& offsets,
                           int64_t capacity,
                           std::string_view of = "X");

// Returns the elements of a row.
inline int64_t RowWidth(const DDim& dims) {
  int64_t width = 1;
  for (int axis = 1; axis < dims.rank(); ++axis) {
    width *= dims[axis];
  }
  return width;
}

}  // namespace sluice
