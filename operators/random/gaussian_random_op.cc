#include <cmath>
#include <type_traits>

#include "sluice/operators/late_shape.h"
#include "sluice/operators/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void GaussianRandomShape(InferShapeContext& context) {
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "gaussian_random.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  for (const char* name : {"mean", "std"}) {
    const auto value = context.Attr<double>(name);
    context.Require(std::isfinite(value), "gaussian_random.finite",
                    "attribute {} must be finite, got {}", name, value);
  }
  context.SetOutput("Out", DDim(shape));
}

void NormalArguments(OpSchema& op) {
  op.TypeVarFromAttr("T", "dtype", FloatDTypes());
  op.Output("Out", "T", "A tensor of the given shape and dtype.");
  op.Attr<Ints>("shape", "The shape of Out.").AtLeast(0);
  op.Attr<double>("mean", "The mean.").Default(0.0);
  op.Attr<double>("std", "The standard deviation.").Default(1.0).AtLeast(0);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  op.Attr<int64_t>("seed",
                   "With the op's position in the program and the number of "
                   "the run it says which numbers.")
      .Default(int64_t{0});
  op.TypeVar("S", IndexDTypes());
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
  op.InferShape(GaussianRandomShape).InferLateShape(LateShapeOfVector).Random();
}

void GaussianRandomSchema(OpSchema& op) {
  op.Doc(
      "Independent random numbers of a normal distribution: the same for the "
      "same seed, place in the program and run, whatever the device and the "
      "number of threads.");
  NormalArguments(op);
}

void TruncatedSchema(OpSchema& op) {
  op.Doc(
      "Independent random numbers of a normal distribution without what is "
      "more than two standard deviations from the mean, so that theirs is "
      "0.88 std. Each is the quantile of a uniform number.");
  NormalArguments(op);
}

template <typename T, typename Truncated>
class GaussianRandomKernel final : public OpKernel {
 public:
  explicit GaussianRandomKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        mean_(construction.Attr<double>("mean")),
        std_(construction.Attr<double>("std")),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const auto fill =
        Truncated::value ? &FillTruncatedNormal<T> : &FillNormal<T>;
    fill({seed_, op_, context.step()}, mean_, std_, out.numel(), out.data<T>());
  }

 private:
  DDim dims_;
  double mean_;
  double std_;
  uint64_t seed_;
  uint32_t op_;
};

}  // namespace

REGISTER_OPERATOR(gaussian_random, GaussianRandomSchema);
REGISTER_OPERATOR(truncated_gaussian_random, TruncatedSchema);
REGISTER_OP_CPU_KERNEL(gaussian_random,
                       GaussianRandomKernel<FloatTypes, std::false_type>);
REGISTER_OP_CPU_KERNEL(truncated_gaussian_random,
                       GaussianRandomKernel<FloatTypes, std::true_type>);

}  // namespace sluice
