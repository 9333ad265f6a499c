#include <string>
#include <vector>

#include "tests/onnx/classical_model.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Operators that prepare features. tests/python/classical/test_onnx_features.py
// compares their results.
namespace sluice::testing {
namespace {

TEST(OnnxFeatures, AreChecked) {
  ExpectClassicalRefused("onnx.feature_count", "Scaler",
                         {OfFloats("offset", {1, 2, 3})}, {});
  ExpectClassicalRefused("onnx.normalizer_norm", "Normalizer",
                         {OfText("norm", "L3")}, {}, {"L3"});
  ExpectClassicalRefused("onnx.imputer_values", "Imputer", {}, {});
  ExpectClassicalRefused("onnx.imputer_type", "Imputer",
                         {Of("imputed_value_int64s", {1})}, {});
  ExpectClassicalRefused("onnx.vectorizer_widths", "FeatureVectorizer",
                         {Of("inputdimensions", {1, 2})}, {});
  ExpectClassicalRefused("onnx.vectorizer_width", "FeatureVectorizer",
                         {Of("inputdimensions", {-1})}, {});
  ExpectClassicalRefused("onnx.no_keys", "OneHotEncoder", {}, {});
}

TEST(OnnxFeatures, LabelsHaveAValueForEachKey) {
  const std::vector<NodeChange> labels = {OfFloats("keys_floats", {1, 2}),
                                          OfFloats("values_floats", {3, 4})};
  EXPECT_EQ(Classical("LabelEncoder", labels).Run({{2, 7}})[0],
            (std::vector<float>{4, 0}));
  const auto refused = [&](const char* id, const NodeChange& change) {
    ExpectClassicalRefused(id, "LabelEncoder", labels, {change});
  };
  refused("onnx.label_count", OfFloats("values_floats", {3}));
  refused("onnx.label_default", OfTensor("default_tensor", {1, 2}));
  ExpectClassicalRefused("onnx.label_type", "LabelEncoder",
                         {Of("keys_int64s", {1}), Of("values_int64s", {1})},
                         {});
}

TEST(OnnxFeatures, OfStringsAreRefused) {
  const auto refused = [](const std::string& type, const NodeChange& change) {
    ExpectClassicalRefused("onnx.unsupported", type, {change}, {},
                           {"Sluice has no tensors of strings"},
                           ErrorCode::kUnimplemented);
  };
  refused("LabelEncoder", OfTexts("keys_strings", {"a"}));
  refused("LabelEncoder", OfTexts("classes_strings", {"a"}));
  refused("OneHotEncoder", OfTexts("cats_strings", {"a"}));
  refused("ZipMap", OfTexts("classlabels_strings", {"a", "b"}));
  refused("CategoryMapper", OfTexts("cats_strings", {"a"}));
}

TEST(OnnxClassical, ModelsNeedNoOtherDomain) {
  ModelBuilder builder = Classical("Scaler", {OfFloats("scale", {2})});
  builder.model.mutable_opset_import()->DeleteSubrange(0, 1);
  EXPECT_EQ(builder.Run({{1, 2}})[0], (std::vector<float>{2, 4}));
}

TEST(OnnxMaps, HaveAKeyForEachColumn) {
  const NodeChange keys = Of("classlabels_int64s", {7, 9});
  EXPECT_EQ(Classical("ZipMap", {keys}).Load().outputs[0].map_keys,
            (std::vector<int64_t>{7, 9}));
  ExpectClassicalRefused("onnx.map_keys", "ZipMap",
                         {Of("classlabels_int64s", {7})}, {});
}

}  // namespace
}  // namespace sluice::testing
