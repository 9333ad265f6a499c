#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
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

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

struct PoolSizes {
  DDim x;  // NCHW
  AttributeMap attributes;
};

std::vector<PoolSizes> AllSizes() {
  const AttributeMap pairs = {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  return {
      {{2, 3, 4, 6}, pairs},
      {{1, 5, 7, 9}, pairs},
      {{2, 2, 5, 6}, {{"ksize", Ints{3, 2}}, {"strides", Ints{2, 1}}}},
      {{1, 3, 5, 4},
       {{"ksize", Ints{3, 3}},
        {"strides", Ints{2, 2}},
        {"paddings", Ints{1, 1}}}},
      {{1, 2, 4, 5}, {{"ksize", Ints{2, 3}}, {"paddings", Ints{1, 0, 2, 1}}}},
      {{2, 1, 6, 8},
       {{"ksize", Ints{3, 2}}, {"strides", Ints{4, 3}}, {"ceil_mode", true}}},
      {{1, 2, 5, 5},
       {{"ksize", Ints{3, 3}},
        {"strides", Ints{3, 3}},
        {"paddings", Ints{1, 2}},
        {"ceil_mode", true}}},
      {{2, 3, 3, 5}, {{"global_pooling", true}}},
      {{1, 1, 1, 1}, {{"ksize", Ints{1, 1}}}},
      {{0, 3, 4, 4}, pairs},
      {{2, 0, 4, 4}, pairs},
      {{3, 19, 30, 30}, pairs},
      {{2, 131, 15, 9}, pairs},
      {{1, 2, 3, 301}, {{"ksize", Ints{2, 2}}, {"paddings", Ints{1, 1}}}}};
}

std::vector<OpExample> Pool2dExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const PoolSizes& sizes : AllSizes()) {
    for (const bool last : {false, true}) {
      for (const char* type : {"max", "avg", "all"}) {
        const DDim& x = sizes.x;
        OpExample example = {
            {{"X", make.Values(last ? DDim{x[0], x[2], x[3], x[1]} : sizes.x)}},
            sizes.attributes};
        example.attributes["data_format"] = std::string(last ? "NHWC" : "NCHW");
        example.attributes["pooling_type"] =
            std::string(type[0] == 'm' ? "max" : "avg");
        example.attributes["exclusive"] = type != std::string("all");
        examples.push_back(std::move(example));
      }
    }
  }
  return examples;
}

// A window along one axis; `whole` includes its pixels in the padding.
struct Reach {
  int64_t begin, end, whole;
};

std::vector<Reach> Windows(const OpDesc& op, int axis, int64_t size) {
  if (GetAttr<bool>(op, "global_pooling")) return {{0, size, size}};
  const int64_t kernel = GetAttr<Ints>(op, "ksize")[axis];
  const Ints& pad = GetAttr<Ints>(op, "paddings");
  const int64_t before = pad.size() == 4 ? pad[2 * axis] : pad[axis];
  const int64_t after = pad.size() == 4 ? pad[2 * axis + 1] : pad[axis];
  std::vector<Reach> windows;
  for (int64_t at = -before; at < size;
       at += GetAttr<Ints>(op, "strides")[axis]) {
    if (at + kernel > size + after) {
      // Adds a partial window, at most one.
      const bool left =
          windows.empty() || windows.back().begin + kernel < size + after;
      if (!GetAttr<bool>(op, "ceil_mode") || !left) break;
      windows.push_back({at, at + kernel, size + after - at});
      break;
    }
    windows.push_back({at, at + kernel, kernel});
    if (at + kernel == size + after) break;
  }
  for (Reach& window : windows) {
    window.begin = std::max<int64_t>(window.begin, 0);
    window.end = std::min(window.end, size);
  }
  return windows;
}

struct PoolShape {
  PoolShape(const DDim& x, const OpDesc& op)
      : last(GetAttr<std::string>(op, "data_format") == "NHWC"),
        rows(Windows(op, 0, x[last ? 1 : 2])),
        columns(Windows(op, 1, x[last ? 2 : 3])) {
    const auto h = static_cast<int64_t>(rows.size());
    const auto w = static_cast<int64_t>(columns.size());
    out = last ? DDim{x[0], h, w, x[3]} : DDim{x[0], x[1], h, w};
  }
  bool last;
  std::vector<Reach> rows, columns;
  DDim out;
};

// Calls visit(out, pixels, whole): the offsets in x of the window of element
// `out`, row by row, and the size of the window with its padding.
template <typename Visit>
void ForEachWindow(const Array& x, const OpDesc& op, const Visit& visit) {
  const PoolShape shape(x.dims, op);
  const Array out(shape.out);
  for (int64_t i = 0; i < shape.out.numel(); ++i) {
    Ints at = out.IndexOf(i);
    int64_t& h = at[shape.last ? 1 : 2];
    int64_t& w = at[shape.last ? 2 : 3];
    const Reach rows = shape.rows[h], columns = shape.columns[w];
    std::vector<size_t> pixels;
    for (h = rows.begin; h < rows.end; ++h) {
      for (w = columns.begin; w < columns.end; ++w) {
        pixels.push_back(x.Offset(at));
      }
    }
    visit(static_cast<size_t>(i), pixels,
          static_cast<double>(rows.whole * columns.whole));
  }
}

Arrays Pool2dReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out(PoolShape(x.dims, op).out);
  ForEachWindow(x, op, [&](size_t i, const auto& pixels, double whole) {
    double sum = 0, max = x.values[pixels[0]];
    for (const size_t pixel : pixels) {
      sum += x.values[pixel];
      max = std::max(max, x.values[pixel]);
    }
    const double count = GetAttr<bool>(op, "exclusive")
                             ? static_cast<double>(pixels.size())
                             : whole;
    out.values[i] =
        GetAttr<std::string>(op, "pooling_type") == "max" ? max : sum / count;
  });
  return {{"Out", out}};
}

std::vector<OpExample> Pool2dGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Pool2dExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("pool2d", example);
    const Array out = Pool2dReference(InputArrays(example), op).at("Out");
    if (GetAttr<std::string>(op, "pooling_type") == "max") {
      example.inputs.emplace_back("Out", ToTensor(out, make.dtype()));
    }
    example.inputs.emplace_back("Out@GRAD", make.Values(out.dims));
  }
  return examples;
}

Arrays Pool2dGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& grad = in.at("Out@GRAD");
  Array out(x.dims);
  ForEachWindow(x, op, [&](size_t i, const auto& pixels, double whole) {
    if (GetAttr<std::string>(op, "pooling_type") == "max") {
      size_t best = pixels[0];
      for (const size_t pixel : pixels) {
        if (x.values[pixel] > x.values[best]) best = pixel;
      }
      out.values[best] += grad.values[i];
      return;
    }
    const double count = GetAttr<bool>(op, "exclusive")
                             ? static_cast<double>(pixels.size())
                             : whole;
    for (const size_t pixel : pixels) {
      out.values[pixel] += grad.values[i] / count;
    }
  });
  return {{"X@GRAD", out}};
}

REGISTER_OP_CASE(pool2d, Pool2dExamples, Pool2dReference);
REGISTER_OP_CASE(pool2d_grad, Pool2dGradExamples, Pool2dGradReference, 4);

}  // namespace
}  // namespace sluice::testing
