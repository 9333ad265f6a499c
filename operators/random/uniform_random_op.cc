#include <cmath>

#include "sluice/operators/late_shape.h"
#include "sluice/operators/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void UniformRandomShape(InferShapeContext& context) {
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "uniform_random.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  const auto min = context.Attr<double>("min");
  const auto max = context.Attr<double>("max");
  // The condition also rejects NaN. The kernels compute max - min.
  context.Require(min <= max && std::isfinite(max - min),
                  "uniform_random.range",
                  "attributes min and max must be finite, with min <= max and "
                  "a finite difference, got {} and {}",
                  min, max);
  context.SetOutput("Out", DDim(shape));
}

void UniformRandomSchema(OpSchema& op) {
  op.Doc(
      "Independent random numbers, every one from min on and below max equally "
      "likely: the same for the same seed, place in the program and run, "
      "whatever the device and the number of threads. They have 32 random bits "
      "in float32, and 53 in float64, of which the first 32 are the same.");
  op.TypeVarFromAttr("T", "dtype", FloatDTypes());
  op.Output("Out", "T", "A tensor of the given shape and dtype.");
  op.Attr<Ints>("shape", "The shape of Out.").AtLeast(0);
  op.Attr<double>("min", "The smallest number.").Default(-1.0);
  op.Attr<double>("max", "All numbers are below.").Default(1.0);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  op.Attr<int64_t>("seed",
                   "With the op's position in the program and the number of "
                   "the run it says which numbers.")
      .Default(int64_t{0});
  op.TypeVar("S", IndexDTypes());
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
  op.InferShape(UniformRandomShape).InferLateShape(LateShapeOfVector).Random();
}

template <typename T>
class UniformRandomKernel final : public OpKernel {
 public:
  explicit UniformRandomKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        min_(construction.Attr<double>("min")),
        max_(construction.Attr<double>("max")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    FillUniform({seed_, op_, context.step()}, min_, max_, out.numel(),
                out.data<T>());
  }

 private:
  DDim dims_;
  double min_;
  double max_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OPERATOR(uniform_random, UniformRandomSchema);
REGISTER_OP_CPU_KERNEL(uniform_random, UniformRandomKernel<FloatTypes>);

}  // namespace sluice
