#include <algorithm>
#include <limits>

#include "sluice/framework/program/ragged_rows.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

void LodResetShape(InferShapeContext& context) {
  SequenceCount(context);
  context.SetOutput("Out", RowsOf(context));
}

std::vector<OpDesc> LodResetGradient(const OpDesc& forward) {
  OpDesc same =
      MakeGradOp(forward, "assign", {.output_grads = {"Out"}, .wanted = {"X"}});
  same.inputs[0].first = "X";
  same.outputs[0].first = "Out";
  return {same};
}

void LodResetSchema(OpSchema& op) {
  op.Doc("X with other offsets: its rows cut in another way.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[N, ...], ragged or not.");
  OffsetsInput(op, "X", "XOffsets");
  op.Input("Offsets", "int64",
           "[B + 1]: the new offsets; they end where the rows of X do.",
           {.host = true});
  op.Output("Out", "T", "X.");
  op.Ragged("Out", "Offsets").Alias("Out", "X");
  op.InferShape(LodResetShape).Gradient(LodResetGradient);
}

// Shapes that depend on offsets.
void OneNumber(InferShapeContext& context) {
  SequenceCount(context);
  if (context.op() == "sequence_expand_rows") {
    SequenceCount(context, "YOffsets", "Y");
  }
  context.SetOutput("Out", DDim{1});
}

void LongestSchema(OpSchema& op) {
  op.Doc("The length of the longest sequence; 0 without sequences.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "[N, ...]: ragged rows.", {.shape_only = true});
  OffsetsInput(op);
  op.Output("Out", "int64", "[1].");
  op.InferShape(OneNumber);
}

void ExpandRowsSchema(OpSchema& op) {
  op.Doc(
      "The rows of sequence_expand's output, rounded up to one of few "
      "capacities: 16, 20, 25, 31 and so on.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", AllDTypes());
  op.Input("X", "T", "[N, ...]: ragged rows.", {.shape_only = true});
  op.Input("Y", "S", "[M, ...]: ragged rows.", {.shape_only = true});
  OffsetsInput(op);
  OffsetsInput(op, "Y", "YOffsets");
  op.Output("Out", "int64", "[1].");
  op.InferShape(OneNumber);
}

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

REGISTER_OPERATOR(lod_reset, LodResetSchema);
REGISTER_OPERATOR(sequence_longest, LongestSchema);
REGISTER_OPERATOR(sequence_expand_rows, ExpandRowsSchema);
REGISTER_OP_CPU_KERNEL(lod_reset, LodResetKernel);
REGISTER_OP_CPU_KERNEL(sequence_longest, SequenceLongestKernel);
REGISTER_OP_CPU_KERNEL(sequence_expand_rows, SequenceExpandRowsKernel);

}  // namespace sluice
