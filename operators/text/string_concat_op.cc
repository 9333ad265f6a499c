#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/text/op_texts.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim ConcatDims(const InferShapeContext& context) {
  const DDim x = context.input("X"), y = context.input("Y");
  if (!x.rank_known() || !y.rank_known()) return DDim::UnknownRank();
  DDim out;
  context.Require(BroadcastShape(x, y, -1, &out) < 0, "string_concat.shapes",
                  "X of shape {} and Y of shape {} do not fit: expected equal "
                  "sizes or a 1",
                  x, y);
  return out;
}

void StringConcatSchema(OpSchema& op) {
  op.Doc(
      "Each string of X with the one of Y after it. Sizes of 1, and dimensions "
      "that one of them lacks, are repeated, as in numpy.");
  op.Input("X", "T", "The first parts, of any shape.");
  op.Input("Y", "T", "The second parts.");
  AddTextsInput(op);
  op.Output("Out", "T", "The strings, in the common shape.");
  op.InferShape(OutShape<ConcatDims>);
}

class StringConcatKernel final : public Int64Kernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const OpTexts texts(context);
    const Tensor &x = context.Input(0), &y = context.Input(1);
    DDim dims;
    BroadcastShape(x.dims(), y.dims(), -1, &dims);
    auto* out = context.AllocateOutput(0, dims).data<int64_t>();
    if (dims.numel() == 0) return;
    const BroadcastPlan plan = PlanBroadcast(x.dims(), y.dims(), -1);
    const int axis = plan.rank - 1;
    const auto row = [&](int64_t first, int64_t second, int64_t to) {
      for (int64_t i = 0; i < plan.row_size(); ++i) {
        const int64_t a = x.data<int64_t>()[first + i * plan.x_steps[axis]];
        const int64_t b = y.data<int64_t>()[second + i * plan.y_steps[axis]];
        out[to + i] = texts.NumberOf(texts.Read("X", a) + texts.Read("Y", b));
      }
    };
    ForEachRow(plan, 0, plan.row_count(), row);
  }
};

}  // namespace

REGISTER_OPERATOR(string_concat, StringConcatSchema);
REGISTER_OP_CPU_KERNEL(string_concat, StringConcatKernel);

}  // namespace sluice
