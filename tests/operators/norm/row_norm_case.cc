#include <cmath>
#include <iterator>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The cases of the harness for every kernel of layer_norm, rms_norm,
// instance_norm and group_norm; row_norm_test.cc has their special cases.
namespace sluice::testing {
namespace {

constexpr double kRowNormEpsilon = 0.25;

// The optional inputs of consecutive examples.
struct Given {
  bool scale, bias, flat;
};
constexpr Given kGiven[] = {{true, true, false},
                            {true, true, true},
                            {true, false, false},
                            {false, true, true},
                            {false, false, false}};

// Values that differ from the mean of their row: such a value times an infinite
// scale is NaN or infinite, depending on rounding.
Tensor Uneven(ExampleMaker& make, const DDim& dims) {
  Array values = ToArray(make.Values(dims));
  for (double& value : values.values) {
    value += value * value / 8;
  }
  return ToTensor(values, make.dtype());
}

OpExample MakeExample(ExampleMaker& make,
                      const DDim& dims,
                      const DDim& parameters,
                      const Given& given,
                      bool has_bias,
                      AttributeMap attributes) {
  attributes["epsilon"] = kRowNormEpsilon;
  const DDim shape = given.flat ? DDim{parameters.numel()} : parameters;
  OpExample example{{{"X", Uneven(make, dims)}}, attributes};
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

// An element of an input, or the default if it is omitted.
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
                        std::sqrt(moments.variance + kRowNormEpsilon) *
                        Or(in, "Scale", p, 1) +
                    Or(in, "Bias", p, 0);
    }
  }
  return {{"Y", y}, {"Mean", mean}, {"Variance", variance}};
}

// Adds the gradients of outputs, some of which are omitted in some examples.
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

// Applies the chain rule through the mean and the variance of the row.
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
    const double deviation = std::sqrt(moments.variance + kRowNormEpsilon);
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
