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

TEST(OnnxFeatures, OnlyStringsAreLookedUpAmongStrings) {
  const auto refused = [](const char* id, const std::string& type,
                          const std::vector<NodeChange>& changes,
                          std::string_view word) {
    ExpectClassicalRefused(id, type, changes, {}, word);
  };
  refused("onnx.label_type", "LabelEncoder",
          {OfTexts("keys_strings", {"a"}), Of("values_int64s", {1})},
          "its keys are strings, and its input is float32");
  refused("onnx.label_type", "LabelEncoder",
          {OfTexts("classes_strings", {"a"})},
          "its keys are int64, and its input is float32");
  refused("onnx.label_count", "CategoryMapper",
          {OfTexts("cats_strings", {"a"})}, "0 keys and 1 values");
  refused("onnx.no_keys", "OneHotEncoder", {OfTexts("cats_strings", {"a"})},
          "no keys or categories");
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
  const NodeChange texts = OfTexts("classlabels_strings", {"b", "a"});
  const onnx::OnnxModel model = Classical("ZipMap", {texts}).Load();
  EXPECT_EQ(model.outputs[0].map_keys, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(model.outputs[0].of_texts);
  EXPECT_EQ(model.texts, (std::vector<std::string>{"b", "a"}));
}

}  // namespace
}  // namespace sluice::testing
