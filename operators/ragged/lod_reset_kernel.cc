#include <algorithm>
#include <limits>

#include "sluice/framework/program/ragged_rows.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

class LodResetKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    int64_t rows = x.dims()[0];
    if (context.HasInput("XOffsets")) {
      rows = CheckedSequences(context, context.Input("XOffsets"), rows).rows();
    }
    const Sequences cut =
        CheckedSequences(context, context.Input("Offsets"), rows);
    SLUICE_ENFORCE(cut.rows() == rows, ErrorCode::kInvalidArgument,
                   "lod_reset.end",
                   "{}: the new Offsets end at {}; X has {} rows", context.op(),
                   cut.rows(), rows);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0 || out.raw_data() == x.raw_data()) return;
    CopyBytes(x.raw_data(), out.raw_data(), out.bytes());
  }
};

class SequenceLongestKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Sequences cut =
        CheckedSequences(context, context.Input("Offsets"), kAnyRows);
    int64_t longest = 0;
    for (int64_t b = 0; b < cut.count; ++b) {
      longest = std::max(longest, cut.length(b));
    }
    context.AllocateOutput(0, DDim{1}).data<int64_t>()[0] = longest;
  }
};

class SequenceExpandRowsKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Sequences cut =
        CheckedSequences(context, context.Input("Offsets"), kAnyRows);
    const Sequences times =
        CheckedSequences(context, context.Input("YOffsets"), kAnyRows);
    SLUICE_ENFORCE(cut.count == times.count, ErrorCode::kInvalidArgument,
                   "sequence_expand_rows.count",
                   "{}: Offsets cut X into {} sequences, YOffsets cut Y into "
                   "{}; expected as many",
                   context.op(), cut.count, times.count);
    int64_t rows = 0;
    for (int64_t b = 0; b < cut.count; ++b) {
      int64_t more = 0;
      const bool fits =
          !__builtin_mul_overflow(cut.length(b), times.length(b), &more) &&
          !__builtin_add_overflow(rows, more, &rows) && rows < (1LL << 60);
      SLUICE_ENFORCE(fits, ErrorCode::kResourceExhausted,
                     "sequence_expand_rows.overflow",
                     "{}: {} copies of the {} rows of sequence {} are too many",
                     context.op(), times.length(b), cut.length(b), b);
    }
    context.AllocateOutput(0, DDim{1}).data<int64_t>()[0] = RowCapacity(rows);
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(lod_reset, LodResetKernel);
REGISTER_OP_CPU_KERNEL(sequence_longest, SequenceLongestKernel);
REGISTER_OP_CPU_KERNEL(sequence_expand_rows, SequenceExpandRowsKernel);

}  // namespace sluice
