#include <vector>

#include "tests/operators/harness/op_case.h"

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

DDim NllLabelDims(const DDim& x, int axis) {
  std::vector<int64_t> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) dims.push_back(x[i]);
  }
  return DDim(dims);
}

std::vector<OpExample> NllExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 5},
                           {1, 1},
                           {0, 4},
                           {2, 3, 7},
                           {3, 4, 0},
                           {2, 5, 3, 2},
                           {19001, 3, 2}}) {
    OpExample example = {
        {{"X", make.Values(dims)},
         {"Label",
          make.Integers(DType::kInt64, NllLabelDims(dims, 1), 0, dims[1] - 1)}},
        {}};
    if (dims.rank() != 3) {
      example.inputs.emplace_back("Weight", make.Values({dims[1]}));
    }
    if (dims[1] > 3) example.attributes["ignore_index"] = int64_t{2};
    examples.push_back(example);
  }
  examples.push_back(
      {{{"X", make.Values({2, 3, 4})},
        {"Label", make.Integers(DType::kInt64, {2, 3, 1}, 0, 3)}},
       {{"axis", int64_t{-1}}}});
  examples.push_back({{{"X", make.Values({3, 4})},
                       {"Label", make.Integers(DType::kInt64, {4}, 0, 2)}},
                      {{"axis", int64_t{0}}}});
  return examples;
}

// Calls use(label index, index in X, class) for labels that are not ignored.
template <typename Use>
void ForEachNllLabel(const Arrays& in, const OpDesc& op, const Use& use) {
  const DDim& dims = in.at("X").dims;
  const Array& label = in.at("Label");
  const auto axis = static_cast<int>(GetAttr<int64_t>(op, "axis"));
  const int along = axis < 0 ? axis + dims.rank() : axis;
  int64_t inner = 1;
  for (int i = along + 1; i < dims.rank(); ++i) {
    inner *= dims[i];
  }
  for (size_t i = 0; i < label.values.size(); ++i) {
    const auto c = static_cast<int64_t>(label.values[i]);
    if (c == GetAttr<int64_t>(op, "ignore_index")) continue;
    const auto at = static_cast<int64_t>(i);
    use(i, (at / inner * dims[along] + c) * inner + at % inner, c);
  }
}

Arrays NllReference(const Arrays& in, const OpDesc& op) {
  Array loss(in.at("Label").dims), weights(loss.dims);
  ForEachNllLabel(in, op, [&](size_t i, int64_t at, int64_t c) {
    weights.values[i] =
        in.count("Weight") > 0 ? in.at("Weight").values[c] : 1.0;
    loss.values[i] = -weights.values[i] * in.at("X").values[at];
  });
  return {{"Loss", loss}, {"LabelWeight", weights}};
}

std::vector<OpExample> NllGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = NllExamples(make);
  for (OpExample& example : examples) {
    example.inputs.resize(2);
    const DDim dims = example.inputs[1].second.dims();
    example.inputs.emplace_back("LabelWeight", make.Values(dims));
    example.inputs.emplace_back("Loss@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays NllGradReference(const Arrays& in, const OpDesc& op) {
  Array grad(in.at("X").dims);
  ForEachNllLabel(in, op, [&](size_t i, int64_t at, int64_t /*c*/) {
    grad.values[at] =
        -in.at("LabelWeight").values[i] * in.at("Loss@GRAD").values[i];
  });
  return {{"X@GRAD", grad}};
}

REGISTER_OP_CASE(nll_loss, NllExamples, NllReference);
REGISTER_OP_CASE(nll_loss_grad, NllGradExamples, NllGradReference);

}  // namespace
}  // namespace sluice::testing
