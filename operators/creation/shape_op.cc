#include <algorithm>
#include <limits>

#include "sluice/operators/creation/shape_range.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void ShapeShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  if (!x.rank_known()) return context.SetOutput("Out", DDim{-1});
  const ShapeRange range(x.rank(), context.Attr<int64_t>("start"),
                         context.Attr<int64_t>("end"));
  context.SetOutput("Out", DDim{range.count()});
}

void ShapeSchema(OpSchema& op) {
  op.Doc("The sizes of X's dims from `start` to before `end`.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "A tensor of any shape.", {.shape_only = true});
  op.Output("Out", "int64", "[dims]: their sizes.");
  op.Attr<int64_t>("start",
                   "The first dim; a negative one counts from the end, and "
                   "what is past an end is cut.")
      .Default(int64_t{0});
  op.Attr<int64_t>("end", "The dim to stop before, likewise.")
      .Default(std::numeric_limits<int64_t>::max());
  op.InferShape(ShapeShape).Onnx({"Shape", {}});
  op.Serves(OpRole::kShape);
}

class ShapeKernel final : public OpKernel {
 public:
  explicit ShapeKernel(const OpKernelConstruction& construction)
      : start_(construction.Attr<int64_t>("start")),
        end_(construction.Attr<int64_t>("end")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_ = preparation.query.inputs[0];
    range_ = ShapeRange(x_.rank(), start_, end_);
  }

  void Compute(OpKernelContext& context) const override {
    auto* const out =
        context.AllocateOutput(0, DDim{range_.count()}).data<int64_t>();
    std::copy(x_.begin() + range_.begin, x_.begin() + range_.end, out);
  }

 private:
  int64_t start_;
  int64_t end_;
  DDim x_;
  ShapeRange range_;
};

}  // namespace

REGISTER_OPERATOR(shape, ShapeSchema);
REGISTER_OP_CPU_KERNEL(shape, ShapeKernel);

}  // namespace sluice
