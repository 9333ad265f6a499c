#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/random/random_reference.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

std::vector<float> Dropout(const std::vector<float>& x,
                           const AttributeMap& attributes) {
  const auto size = static_cast<int64_t>(x.size());
  return RunOp("dropout", {{"X", Tensor::FromVector<float>({size}, x)}},
               attributes)["Out"]
      .ToVector<float>();
}

TEST(Dropout, LeavesOutAboutAsManyAsAsked) {
  int left_out = 0;
  for (const float value :
       Dropout(std::vector<float>(10'000, 3), {{"dropout_prob", 0.25}})) {
    left_out += value == 0 ? 1 : 0;
    if (value != 0) {
      EXPECT_FLOAT_EQ(value, 4);
    }
  }
  EXPECT_NEAR(left_out, 2500, 150);
}

TEST(Dropout, ProbabilitiesOf0And1) {
  EXPECT_EQ(Dropout({1, 2}, {{"dropout_prob", 0.0}}),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(Dropout({1, 2}, {{"dropout_prob", 1.0}}),
            (std::vector<float>{0, 0}));
}

TEST(Dropout, KeepsAllWhenTesting) {
  EXPECT_EQ(Dropout({1, 2}, {{"is_test", true}, {"dropout_prob", 0.25}}),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(Dropout({1, 2}, {{"is_test", true},
                             {"dropout_prob", 0.25},
                             {"dropout_implementation",
                              std::string("downgrade_in_infer")}}),
            (std::vector<float>{0.75, 1.5}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> DropoutExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims :
       {DDim{3, 5}, DDim{}, DDim{1}, DDim{4, 0}, DDim{91, 301}}) {
    for (const bool is_test : {false, true}) {
      for (const char* how : {"upscale_in_train", "downgrade_in_infer"}) {
        examples.push_back({{{"X", make.Values(dims)}},
                            {{"dropout_prob", 0.375},
                             {"is_test", is_test},
                             {"dropout_implementation", std::string(how)},
                             {"seed", int64_t{5}}}});
      }
    }
  }
  return examples;
}

double Scale(const OpDesc& op) {
  const bool upscale =
      GetAttr<std::string>(op, "dropout_implementation") == "upscale_in_train";
  if (GetAttr<bool>(op, "is_test")) return upscale ? 1 : 0.625;
  return upscale ? 1 / 0.625 : 1;
}

Arrays DropoutReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X"), mask(out.dims);
  for (size_t i = 0; i < out.values.size(); ++i) {
    const double u = RandomWord(5, static_cast<int64_t>(i)) / 4294967296.0;
    mask.values[i] = GetAttr<bool>(op, "is_test") || u >= 0.375 ? 1 : 0;
    out.values[i] *= mask.values[i] * Scale(op);
  }
  return {{"Out", out}, {"Mask", mask}};
}

std::vector<OpExample> DropoutGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = DropoutExamples(make);
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    example.inputs = {{"Mask", make.Integers(DType::kUInt8, dims, 0, 1)},
                      {"Out@GRAD", make.Values(dims)}};
  }
  return examples;
}

Arrays DropoutGradReference(const Arrays& in, const OpDesc& op) {
  Array grad = in.at("Out@GRAD");
  for (size_t i = 0; i < grad.values.size(); ++i) {
    grad.values[i] *= in.at("Mask").values[i] * Scale(op);
  }
  return {{"X@GRAD", grad}};
}

REGISTER_OP_CASE(dropout, DropoutExamples, DropoutReference, 4);
REGISTER_OP_CASE(dropout_grad, DropoutGradExamples, DropoutGradReference, 4);

}  // namespace
}  // namespace sluice::testing
