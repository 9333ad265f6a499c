#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/laboratory/tuning/reference.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

const std::string kAvg = "avg";

Floats Pool(const DDim& dims, const Floats& x, const AttributeMap& attributes) {
  return RunOp("pool2d", {{"X", Tensor::FromVector(dims, x)}},
               attributes)["Out"]
      .ToVector<float>();
}

DDim OutDims(const DDim& x, const AttributeMap& attributes) {
  return InferOpShapes("pool2d", {{"X", x}}, attributes).at("Out");
}

TEST(Pool2d, CeilModeTakesWhatIsLeftOver) {
  AttributeMap attributes = {
      {"ksize", Ints{1, 2}}, {"strides", Ints{1, 2}}, {"ceil_mode", true}};
  EXPECT_EQ(Pool({1, 1, 1, 3}, {1, 3, 2}, attributes), (Floats{3, 2}));
  attributes["pooling_type"] = kAvg;
  EXPECT_EQ(Pool({1, 1, 1, 3}, {1, 3, 2}, attributes), (Floats{2, 2}));
  // Padding counts, but not the elements beyond it.
  attributes["exclusive"] = false;
  EXPECT_EQ(Pool({1, 1, 1, 3}, {1, 3, 2}, attributes), (Floats{2, 2}));
  attributes["paddings"] = Ints{0, 0, 0, 1};
  EXPECT_EQ(Pool({1, 1, 1, 3}, {1, 3, 2}, attributes), (Floats{2, 1}));
  // There are no windows of only padding.
  EXPECT_EQ(OutDims({1, 1, 2, 4}, {{"ksize", Ints{2, 2}},
                                   {"strides", Ints{3, 3}},
                                   {"paddings", Ints{1, 0}},
                                   {"ceil_mode", true}}),
            DDim({1, 1, 1, 2}));
}

// Kernels with a tolerance of one rounding: a sum must not lose precision
// because of its many terms.
template <typename Visit>
void ForEachKernel(const std::string& op, const Visit& visit) {
  for (const KernelDef* kernel : testing::KernelsOf(op)) {
    SCOPED_TRACE(ToString(*kernel));
    visit(*kernel);
  }
}

TEST(Pool2d, LargeAveragesKeepTheirDigits) {
  testing::Array x({1, 1, 1000, 1000});
  std::fill(x.values.begin(), x.values.end(), 0.1);
  ForEachKernel("pool2d", [&](const KernelDef& kernel) {
    const Tensor in = testing::ToTensor(x, kernel.key.dtype);
    try {
      const Tensor out =
          RunOp("pool2d", {{"X", in}},
                {{"ksize", Ints{1000, 1000}}, {"pooling_type", kAvg}},
                {.hint = testing::HintFor(kernel)})["Out"];
      const double expected = testing::ToArray(in).values[0];
      const auto bound = NaiveBound(kernel.key.dtype, 1);
      EXPECT_NEAR(testing::ToArray(out).values[0], expected,
                  std::max(bound.relative, 1e-11));
    } catch (const Error& error) {
      EXPECT_EQ(error.check_id(), "resolver.no_kernel") << error.what();
    }
  });
}

TEST(Pool2dGrad, ManySmallGradientsAddUp) {
  testing::Array x({1, 1, 95, 95});
  testing::Array grad({1, 1, 64, 64});
  std::fill(grad.values.begin(), grad.values.end(), 1);
  ForEachKernel("pool2d_grad", [&](const KernelDef& kernel) {
    try {
      const Tensor out =
          RunOp("pool2d_grad",
                {{"X", testing::ToTensor(x, kernel.key.dtype)},
                 {"Out@GRAD", testing::ToTensor(grad, kernel.key.dtype)}},
                {{"ksize", Ints{32, 32}}, {"pooling_type", kAvg}},
                {.hint = testing::HintFor(kernel)})["X@GRAD"];
      EXPECT_EQ(testing::ToArray(out)(0, 0, 47, 47), 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.check_id(), "resolver.no_kernel") << error.what();
    }
  });
}

TEST(Pool2d, NanAndInfinityAreMaximaToo) {
  const float nan = std::nanf(""), infinity = HUGE_VALF;
  const AttributeMap attributes = {{"ksize", Ints{1, 2}},
                                   {"strides", Ints{1, 2}}};
  const Floats out =
      Pool({1, 1, 1, 6}, {nan, 1, 1, nan, -infinity, -infinity}, attributes);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], -infinity);
  const Floats nans =
      Pool({1, 2, 2, 1}, {1, nan, nan, 1}, {{"ksize", Ints{2, 1}}});
  EXPECT_TRUE(std::isnan(nans[0]) && std::isnan(nans[1]));
}

TEST(Pool2d, InfersShapes) {
  EXPECT_EQ(OutDims({2, 3, 7, 8}, {{"ksize", Ints{3, 2}},
                                   {"strides", Ints{2, 3}},
                                   {"paddings", Ints{1, 0}}}),
            DDim({2, 3, 4, 3}));
  EXPECT_EQ(OutDims({-1, -1, 8, 3}, {{"ksize", Ints{2, 2}},
                                     {"data_format", std::string("NHWC")}}),
            DDim({-1, -1, 7, 3}));
  EXPECT_EQ(OutDims(DDim::UnknownRank(), {{"ksize", Ints{2, 2}}}),
            DDim({-1, -1, -1, -1}));
}

Floats PoolGrad(const DDim& dims, const Floats& x, const AttributeMap& how) {
  const Tensor input = Tensor::FromVector(dims, x);
  const Tensor out = RunOp("pool2d", {{"X", input}}, how)["Out"];
  const Tensor grad = Tensor::FromVector(
      out.dims(), Floats(static_cast<size_t>(out.numel()), 1));
  return RunOp("pool2d_grad", {{"X", input}, {"Out", out}, {"Out@GRAD", grad}},
               how)["X@GRAD"]
      .ToVector<float>();
}

TEST(Pool2dGrad, GoesToTheFirstMaximum) {
  const float nan = std::nanf("");
  const AttributeMap pairs = {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(PoolGrad({1, 1, 2, 4}, {1, 2, 3, nan, 2, 2, nan, 3}, pairs),
            (Floats{0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(PoolGrad({1, 3, 3, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0},
                     {{"ksize", Ints{2, 1}}, {"strides", Ints{2, 1}}}),
            (Floats{1, 0, 0, 1, 0, 0, 1, 0, 0}));
}

TEST(Pool2dGrad, NeedsOutOnlyForMaxima) {
  const Tensor x = Tensor::FromVector<float>({1, 1, 1, 2}, {1, 2});
  const Tensor grad = Tensor::FromVector<float>({1, 1, 1, 1}, {6});
  const auto run = [&](const char* type) {
    return RunOp("pool2d_grad", {{"X", x}, {"Out@GRAD", grad}},
                 {{"ksize", Ints{1, 2}}, {"pooling_type", std::string(type)}});
  };
  EXPECT_EQ(run("avg")["X@GRAD"].ToVector<float>(), (Floats{3, 3}));
  ExpectError(ErrorCode::kInvalidArgument, "pool2d.out_missing",
              {"pool2d_grad", "Out"}, [&] { run("max"); });
}

}  // namespace
}  // namespace sluice
