#include <string>
#include <vector>

#include "tests/onnx/classical_model.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Linear models and support vector machines.
// tests/python/classical/test_onnx_linear.py compares their results.
namespace sluice::testing {
namespace {

TEST(OnnxLinear, ModelsHaveACoefficientForEachFeature) {
  const std::vector<NodeChange> linear = {
      OfFloats("coefficients", {1, 2, 3, 4}), OfFloats("intercepts", {0, 1}),
      OfInt("targets", 2)};
  EXPECT_EQ(Classical("LinearRegressor", linear).Run({{1, 10}})[0],
            (std::vector<float>{21, 44}));
  const auto refused = [&](const char* id, const NodeChange& change) {
    ExpectClassicalRefused(id, "LinearRegressor", linear, {change});
  };
  refused("onnx.linear_count", OfFloats("coefficients", {1, 2, 3}));
  refused("onnx.linear_count", OfFloats("coefficients", {}));
  refused("onnx.linear_features", OfFloats("coefficients", {1, 2}));
  refused("onnx.linear_intercepts", OfFloats("intercepts", {1, 2, 3}));
}

TEST(OnnxLinear, RowsHaveOneOrTwoDims) {
  ModelBuilder builder =
      Classical("LinearRegressor",
                {OfFloats("coefficients", {1, 2}), OfInt("targets", 1)});
  auto* type = builder.graph().mutable_input(0)->mutable_type();
  type->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
  ExpectError(ErrorCode::kInvalidArgument, "onnx.rows_rank",
              {"node_5", "[?, 2, 2]"}, [&] { builder.Load(); });
}

const std::vector<NodeChange> kMachines = {
    Of("classlabels_ints", {0, 1, 2}),
    Of("vectors_per_class", {1, 1, 1}),
    OfFloats("coefficients", {1, 2, 3, 4, 5, 6}),
    OfFloats("support_vectors", {1, 2, 3, 4, 5, 6}),
    OfFloats("rho", {0, 0, 0}),
    OfFloats("kernel_params", {1, 0, 0})};

TEST(OnnxSupportVectors, AreChecked) {
  const auto refused = [](const char* id, const NodeChange& change) {
    ExpectClassicalRefused(id, "SVMClassifier", kMachines, {change});
  };
  refused("onnx.svm_kernel", OfText("kernel_type", "COSINE"));
  refused("onnx.svm_parameters", OfFloats("kernel_params", {1}));
  refused("onnx.svm_rho", OfFloats("rho", {0, 0}));
  refused("onnx.svm_vectors", Of("vectors_per_class", {-1, 1, 1}));
  refused("onnx.svm_vectors", Of("vectors_per_class", {7, 1, 1}));
  refused("onnx.svm_coefficients", OfFloats("coefficients", {1, 2, 3}));
  refused("onnx.svm_probabilities", OfFloats("prob_a", {1, 2}));
  refused("onnx.svm_classes", Of("vectors_per_class", {2, 1}));
}

TEST(OnnxSupportVectors, OfRegressorsHaveNoTransform) {
  ExpectClassicalRefused(
      "onnx.unsupported", "SVMRegressor",
      {OfFloats("coefficients", {1, 2}), OfFloats("rho", {0})},
      {OfText("post_transform", "LOGISTIC")},
      {"its post_transform, which onnxruntime ignores"},
      ErrorCode::kUnimplemented);
}

}  // namespace
}  // namespace sluice::testing
