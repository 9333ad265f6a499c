#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// layer_norm, rms_norm, instance_norm and group_norm.
namespace sluice::operators {
namespace {

using framework::AttributeMap;
using framework::DDim;
using framework::RunOp;
using framework::RunOpOptions;
using framework::Tensor;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;

Tensor Row(const Floats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}

AttributeMap Exactly(AttributeMap attributes = {}) {
  attributes["epsilon"] = 0.0;
  return attributes;
}

TEST(LayerNorm, NormalizesEachRow) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {1, 3, 14, 10});
  auto out = RunOp(
      "layer_norm", {{"X", x}, {"Scale", Row({2, 3})}, {"Bias", Row({5, 7})}},
      Exactly(), RunOpOptions{.outputs = {"Y", "Mean", "Variance"}});
  EXPECT_EQ(out["Y"].ToVector<float>(), (Floats{3, 10, 7, 4}));
  EXPECT_EQ(out["Mean"].dims(), DDim({2}));
  EXPECT_EQ(out["Mean"].ToVector<float>(), (Floats{2, 12}));
  EXPECT_EQ(out["Variance"].ToVector<float>(), (Floats{1, 4}));
}

TEST(LayerNorm, ScaleAndBiasMayHaveTheDimsOfARow) {
  const Tensor x =
      Tensor::FromVector<float>({2, 2, 2}, {1, 1, 3, 3, 5, 9, 5, 9});
  const Tensor flat = Row({1, 2, 3, 4});
  const auto run = [&](const Tensor& parameters) {
    return RunOp("layer_norm",
                 {{"X", x}, {"Scale", parameters}, {"Bias", parameters}},
                 Exactly())["Y"]
        .ToVector<float>();
  };
  EXPECT_EQ(run(flat), (Floats{0, 0, 6, 8, 0, 4, 0, 8}));
  EXPECT_EQ(run(flat.Reshaped({2, 2})), run(flat));
}

TEST(LayerNorm, ANanStaysInItsRow) {
  Floats values(3 * 37, 1);
  values[0] = 2;
  values[37 + 5] = std::nanf("");
  values[2 * 37 + 7] = std::numeric_limits<float>::infinity();
  const Floats y =
      RunOp("layer_norm", {{"X", Tensor::FromVector<float>({3, 37}, values)}})
          .at("Y")
          .ToVector<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y[i]), i >= 37) << i;
  }
}

// Sums of floats would keep three digits here, and so would a mean that is
// rounded to a float.
TEST(LayerNorm, LargeMeansCostNoDigits) {
  constexpr int64_t kRows = 5, kSize = 3001;
  const Tensor x = RunOp("gaussian_random", {},
                         {{"shape", std::vector<int64_t>{kRows, kSize}},
                          {"mean", 1e4},
                          {"std", 1.0}})
                       .at("Out");
  const Tensor y = RunOp("layer_norm", {{"X", x}}, Exactly()).at("Y");
  for (int64_t row = 0; row < kRows; ++row) {
    const float* from = x.data<float>() + row * kSize;
    double mean = 0, variance = 0, most = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      mean += from[i] / double{kSize};
    }
    for (int64_t i = 0; i < kSize; ++i) {
      variance += (from[i] - mean) * (from[i] - mean) / double{kSize};
    }
    for (int64_t i = 0; i < kSize; ++i) {
      const double want = (from[i] - mean) / std::sqrt(variance);
      most = std::max(most, std::abs(y.data<float>()[row * kSize + i] - want));
    }
    EXPECT_LT(most, 1.5e-6) << "row " << row;
  }
}

TEST(RmsNorm, DividesByTheRootOfTheMeanOfTheSquares) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {3, 3, -7, 1});
  EXPECT_EQ(
      RunOp("rms_norm", {{"X", x}, {"Scale", Row({1, 10})}}, Exactly())["Y"]
          .ToVector<float>(),
      (Floats{1, 10, -1.4F, 2}));
}

TEST(GroupNorm, IsInstanceNormOfOneChannelAndLayerNormOfAll) {
  Floats values(2 * 6 * 5);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * i % 23);
  }
  const Tensor x = Tensor::FromVector<float>({2, 6, 5}, values);
  const auto group_norm = [&](int64_t groups) {
    return RunOp("group_norm", {{"X", x}}, {{"groups", groups}})["Y"]
        .ToVector<float>();
  };
  EXPECT_EQ(group_norm(6),
            RunOp("instance_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_EQ(group_norm(1),
            RunOp("layer_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_NE(group_norm(2), group_norm(3));
}

TEST(RowNorm, InfersWhatIsKnown) {
  const auto shapes =
      InferOpShapes("layer_norm", {{"X", {-1, 3, 4}}, {"Scale", {12}}},
                    {{"begin_norm_axis", int64_t{-2}}});
  EXPECT_EQ(shapes.at("Mean"), DDim({-1}));
  EXPECT_EQ(shapes.at("Y"), DDim({-1, 3, 4}));
  EXPECT_EQ(InferOpShapes("instance_norm", {{"X", {-1, -1, 4}}, {"Scale", {3}}})
                .at("Mean"),
            DDim({-1, 3}));
  EXPECT_EQ(
      InferOpShapes("group_norm", {{"X", {7, -1, 4}}}, {{"groups", int64_t{2}}})
          .at("Variance"),
      DDim({7, 2}));
}

TEST(RowNorm, RefusesAnAxisOutOfRange) {
  for (const int64_t axis :
       {int64_t{2}, int64_t{-3}, std::numeric_limits<int64_t>::min()}) {
    for (const char* op : {"layer_norm", "rms_norm"}) {
      ExpectError(
          ErrorCode::kInvalidArgument, "row_norm.axis",
          {op, "begin_norm_axis = ", "[3, 4]", "-2 to 1"}, [&] {
            InferOpShapes(op, {{"X", {3, 4}}}, {{"begin_norm_axis", axis}});
          });
    }
  }
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank_at_least",
              {"layer_norm", "X"}, [] {
                InferOpShapes("layer_norm", {{"X", DDim()}});
              });
}

TEST(RowNorm, RefusesScalesOfAnotherSize) {
  for (const DDim& scale : {DDim{11}, DDim{4, 3}, DDim{3, 4, 1}, DDim()}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "row_norm.parameter",
        {"layer_norm", "Scale", ToString(scale), "[2, 3, 4]"}, [&] {
          InferOpShapes("layer_norm", {{"X", {2, 3, 4}}, {"Scale", scale}});
        });
  }
  ExpectError(ErrorCode::kInvalidArgument, "row_norm.parameter",
              {"layer_norm", "Bias", "[2]"}, [] {
                InferOpShapes("layer_norm", {{"X", {2, 3}}, {"Bias", {2}}});
              });
  ExpectError(
      ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
      {"instance_norm", "Bias", "4"}, [] {
        InferOpShapes("instance_norm", {{"X", {2, 3, 5}}, {"Bias", {4}}});
      });
}

TEST(RowNorm, RefusesGroupsThatDoNotDivideTheChannels) {
  for (const int64_t groups : {int64_t{4}, int64_t{12}}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "group_norm.groups",
        {"group_norm", "groups = ", "6 channels", "[2, 6, 5]"}, [&] {
          InferOpShapes("group_norm", {{"X", {2, 6, 5}}}, {{"groups", groups}});
        });
  }
  // Every number divides 0.
  ExpectError(ErrorCode::kInvalidArgument, "group_norm.groups", {"0 channels"},
              [] {
                InferOpShapes("group_norm", {{"X", {2, 0, 5}}},
                              {{"groups", int64_t{1} << 62}});
              });
}

TEST(RowNorm, RefusesBadAttributes) {
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
              {"rms_norm", "epsilon"}, [] {
                InferOpShapes("rms_norm", {{"X", {2, 3}}}, {{"epsilon", -1.0}});
              });
  ExpectError(
      ErrorCode::kInvalidArgument, "op.attribute_limit",
      {"group_norm", "groups"}, [] {
        InferOpShapes("group_norm", {{"X", {2, 3}}}, {{"groups", int64_t{0}}});
      });
}

TEST(RowNorm, GradientsOfMomentsAreAsLargeAsThese) {
  ExpectError(
      ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
      {"layer_norm_grad", "Mean@GRAD", "3", "2"}, [] {
        InferOpShapes("layer_norm_grad", {{"X", {2, 5}}, {"Mean@GRAD", {3}}});
      });
}

}  // namespace
}  // namespace sluice::operators

// What the harness tests every kernel of the ops with.
namespace sluice::testing {
namespace {

using framework::AttributeMap;
using framework::DDim;
using framework::OpDesc;

constexpr double kEpsilon = 0.25;

// Which inputs an example has, in turn.
struct Given {
  bool scale, bias, flat;
};
constexpr Given kGiven[] = {{true, true, false},
                            {true, true, true},
                            {true, false, false},
                            {false, true, true},
                            {false, false, false}};

OpExample MakeExample(ExampleMaker& make,
                      const DDim& dims,
                      const DDim& parameters,
                      const Given& given,
                      bool has_bias,
                      AttributeMap attributes) {
  attributes["epsilon"] = kEpsilon;
  const DDim shape = given.flat ? DDim{parameters.numel()} : parameters;
  OpExample example{{{"X", make.Values(dims)}}, attributes};
  if (given.scale) example.inputs.emplace_back("Scale", make.Values(shape));
  if (given.bias && has_bias) {
    example.inputs.emplace_back("Bias", make.Values(shape));
  }
  return example;
}

std::vector<OpExample> FromAxisExamples(ExampleMaker& make, bool has_bias) {
  std::vector<OpExample> examples;
  for (const auto& [dims, axis] :
       std::vector<std::pair<DDim, int64_t>>{{{3, 5}, 1},
                                             {{2, 3, 5}, 1},
                                             {{2, 3, 5}, -1},
                                             {{7}, 0},
                                             {{2, 3, 4}, 0},
                                             {{1, 1}, 1},
                                             {{0, 4}, 1},
                                             {{4, 0}, 1},
                                             {{61, 67, 5}, 1},
                                             {{33, 1025}, -1}}) {
    const int64_t at = axis < 0 ? axis + dims.rank() : axis;
    DDim row;
    for (auto i = static_cast<int>(at); i < dims.rank(); ++i) {
      row.InsertDim(row.rank(), dims[i]);
    }
    examples.push_back(MakeExample(make, dims, row,
                                   kGiven[examples.size() % std::size(kGiven)],
                                   has_bias, {{"begin_norm_axis", axis}}));
  }
  return examples;
}

std::vector<OpExample> LayerNormExamples(ExampleMaker& make) {
  return FromAxisExamples(make, /*has_bias=*/true);
}
std::vector<OpExample> RmsNormExamples(ExampleMaker& make) {
  return FromAxisExamples(make, /*has_bias=*/false);
}

std::vector<OpExample> InstanceNormExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim{2, 3, 5}, DDim{1, 1}, DDim{3, 2, 7}, DDim{0, 3, 2}, DDim{2, 3, 0},
        DDim{3, 2}, DDim{2, 0, 3}, DDim{2, 3, 3, 5}, DDim{3, 5, 61, 67}}) {
    examples.push_back(MakeExample(make, dims, DDim{dims[1]},
                                   kGiven[examples.size() % std::size(kGiven)],
                                   /*has_bias=*/true, {}));
  }
  return examples;
}

std::vector<OpExample> GroupNormExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const auto& [dims, groups] :
       std::vector<std::pair<DDim, int64_t>>{{{2, 6, 5}, 3},
                                             {{2, 6, 5}, 1},
                                             {{3, 4}, 2},
                                             {{1, 1}, 1},
                                             {{0, 4, 3}, 2},
                                             {{2, 4, 0}, 2},
                                             {{2, 4, 3, 5}, 4},
                                             {{2, 150}, 2},
                                             {{3, 12, 41, 37}, 4}}) {
    examples.push_back(MakeExample(make, dims, DDim{dims[1]},
                                   kGiven[examples.size() % std::size(kGiven)],
                                   /*has_bias=*/true, {{"groups", groups}}));
  }
  return examples;
}

// The row of each element of X, and which scale it has.
struct Layout {
  DDim row_dims;  // the shape of Mean
  DDim parameter_dims;
  std::vector<std::vector<size_t>> rows;
  std::vector<size_t> parameter;
  bool centered = true;
};

Layout LayoutOf(const DDim& x, const OpDesc& op) {
  Layout layout;
  const Array array(x);
  const auto count = static_cast<size_t>(x.numel());
  layout.parameter.resize(count);
  std::vector<size_t> row_of(count);
  layout.centered = !op.type.starts_with("rms");
  if (op.attributes.contains("begin_norm_axis")) {
    auto axis = GetAttr<int64_t>(op, "begin_norm_axis");
    if (axis < 0) axis += x.rank();
    const auto at = static_cast<int>(axis);
    const int64_t size = x.Product(at, x.rank());
    layout.row_dims = DDim{x.Product(0, at)};
    layout.parameter_dims = DDim{size};
    for (size_t i = 0; i < count; ++i) {
      row_of[i] = i / static_cast<size_t>(size);
      layout.parameter[i] = i % static_cast<size_t>(size);
    }
  } else {
    const int64_t groups = op.attributes.contains("groups")
                               ? GetAttr<int64_t>(op, "groups")
                               : x[1];
    layout.row_dims = DDim{x[0], groups};
    layout.parameter_dims = DDim{x[1]};
    for (size_t i = 0; i < count; ++i) {
      const auto index = array.IndexOf(static_cast<int64_t>(i));
      const int64_t group = index[1] / (x[1] / groups);
      row_of[i] = static_cast<size_t>(index[0] * groups + group);
      layout.parameter[i] = static_cast<size_t>(index[1]);
    }
  }
  layout.rows.resize(static_cast<size_t>(layout.row_dims.numel()));
  for (size_t i = 0; i < count; ++i) {
    layout.rows[row_of[i]].push_back(i);
  }
  return layout;
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments MomentsOf(const Array& x,
                  const std::vector<size_t>& row,
                  bool centered) {
  const auto count = static_cast<double>(row.size());
  Moments moments;
  for (const size_t i : row) {
    if (centered) moments.mean += x.values[i];
  }
  if (centered) moments.mean /= count;
  for (const size_t i : row) {
    moments.variance += std::pow(x.values[i] - moments.mean, 2);
  }
  moments.variance /= count;
  return moments;
}

// An element of an input, or what stands for it where that was left out.
double Or(const Arrays& in, const char* name, size_t i, double otherwise) {
  const auto found = in.find(name);
  return found == in.end() ? otherwise : found->second.values[i];
}

Arrays RowNormReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Layout layout = LayoutOf(x.dims, op);
  Array y(x.dims), mean(layout.row_dims), variance(layout.row_dims);
  for (size_t r = 0; r < layout.rows.size(); ++r) {
    const Moments moments = MomentsOf(x, layout.rows[r], layout.centered);
    mean.values[r] = moments.mean;
    variance.values[r] = moments.variance;
    for (const size_t i : layout.rows[r]) {
      const size_t p = layout.parameter[i];
      y.values[i] = (x.values[i] - moments.mean) /
                        std::sqrt(moments.variance + kEpsilon) *
                        Or(in, "Scale", p, 1) +
                    Or(in, "Bias", p, 0);
    }
  }
  return {{"Y", y}, {"Mean", mean}, {"Variance", variance}};
}

// With the gradients of outputs, of which some examples leave some out.
template <auto Examples>
std::vector<OpExample> GradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Examples(make);
  for (size_t number = 0; number < examples.size(); ++number) {
    OpExample& example = examples[number];
    const DDim x = example.inputs[0].second.dims();
    OpDesc op;
    op.type = example.attributes.contains("begin_norm_axis") ? "layer_norm"
                                                             : "group_norm";
    op.attributes = example.attributes;
    const DDim rows = LayoutOf(x, op).row_dims;
    const bool moments = Examples != &RmsNormExamples;
    if (!moments || number % 4 != 3) {
      example.inputs.emplace_back("Y@GRAD", make.Values(x));
    }
    if (moments && number % 3 != 2) {
      example.inputs.emplace_back("Mean@GRAD", make.Values(rows));
      example.inputs.emplace_back("Variance@GRAD", make.Values(rows));
    }
  }
  return examples;
}

// By the chain rule: through the mean and the variance of the row.
Arrays RowNormGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Layout layout = LayoutOf(x.dims, op);
  const auto dims_of = [&](const char* name) {
    return in.contains(name) ? in.at(name).dims : layout.parameter_dims;
  };
  Array x_grad(x.dims), scale_grad(dims_of("Scale")),
      bias_grad(dims_of("Bias"));
  for (size_t r = 0; r < layout.rows.size(); ++r) {
    const std::vector<size_t>& row = layout.rows[r];
    const Moments moments = MomentsOf(x, row, layout.centered);
    const double deviation = std::sqrt(moments.variance + kEpsilon);
    double mean_grad = Or(in, "Mean@GRAD", r, 0);
    double variance_grad = Or(in, "Variance@GRAD", r, 0);
    for (const size_t i : row) {
      const size_t p = layout.parameter[i];
      const double distance = x.values[i] - moments.mean;
      const double grad = Or(in, "Y@GRAD", i, 0);
      bias_grad.values[p] += grad;
      scale_grad.values[p] += grad * distance / deviation;
      const double own = grad * Or(in, "Scale", p, 1);
      x_grad.values[i] = own / deviation;
      mean_grad -= own / deviation;
      variance_grad -= own * distance / (2 * std::pow(deviation, 3));
    }
    const auto count = static_cast<double>(row.size());
    for (const size_t i : row) {
      const double distance = x.values[i] - moments.mean;
      x_grad.values[i] += 2 * variance_grad * distance / count;
      if (layout.centered) x_grad.values[i] += mean_grad / count;
    }
  }
  return {
      {"X@GRAD", x_grad}, {"Scale@GRAD", scale_grad}, {"Bias@GRAD", bias_grad}};
}

REGISTER_OP_CASE(layer_norm, LayerNormExamples, RowNormReference, 16);
REGISTER_OP_CASE(rms_norm, RmsNormExamples, RowNormReference, 16);
REGISTER_OP_CASE(instance_norm, InstanceNormExamples, RowNormReference, 16);
REGISTER_OP_CASE(group_norm, GroupNormExamples, RowNormReference, 16);
REGISTER_OP_CASE(layer_norm_grad,
                 GradExamples<&LayerNormExamples>,
                 RowNormGradReference,
                 32);
REGISTER_OP_CASE(rms_norm_grad,
                 GradExamples<&RmsNormExamples>,
                 RowNormGradReference,
                 32);
REGISTER_OP_CASE(instance_norm_grad,
                 GradExamples<&InstanceNormExamples>,
                 RowNormGradReference,
                 32);
REGISTER_OP_CASE(group_norm_grad,
                 GradExamples<&GroupNormExamples>,
                 RowNormGradReference,
                 32);

}  // namespace
}  // namespace sluice::testing
