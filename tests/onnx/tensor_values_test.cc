#include <filesystem>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::testing {
namespace {

using onnx::OnnxOptions;

// y = x + w; `change` is applied to w, which is [2] = {1, 2}.
template <typename Change>
ModelBuilder Adding(Change change) {
  ModelBuilder builder;
  builder.Input("x", {-1, 2});
  change(builder.Floats("w", {2}, {1, 2}));
  builder.Node("Add", {"x", "w"}, {"y"});
  builder.Output("y");
  return builder;
}

template <typename Change>
void Refused(ErrorCode code,
             const char* id,
             Change change,
             const OnnxOptions& options = {}) {
  const ModelBuilder builder = Adding(change);
  ExpectError(code, id, {"initialiser w", "the ONNX model"},
              [&] { builder.Load(options); });
}

using Tensor = ::onnx::TensorProto;

TEST(OnnxTensor, MayHaveItsElementsInATypedField) {
  const ModelBuilder builder = Adding([](Tensor& w) {
    w.clear_raw_data();
    w.add_float_data(5);
    w.add_float_data(-1);
  });
  EXPECT_EQ(builder.Run({{1, 2}})[0], std::vector<float>({6, 1}));
}

TEST(OnnxTensor, OfOtherSizeThanItsShapeIsRefused) {
  Refused(ErrorCode::kDataLoss, "onnx.tensor_bytes",
          [](Tensor& w) { w.set_raw_data("1234"); });
  Refused(ErrorCode::kDataLoss, "onnx.tensor_bytes",
          [](Tensor& w) { w.set_dims(0, int64_t{1} << 40); });
  Refused(ErrorCode::kDataLoss, "onnx.tensor_count", [](Tensor& w) {
    w.clear_raw_data();
    w.add_float_data(5);
  });
  Refused(ErrorCode::kInvalidArgument, "onnx.tensor_fields",
          [](Tensor& w) { w.add_float_data(5); });
}

TEST(OnnxTensor, WithImpossibleDimsIsRefused) {
  Refused(ErrorCode::kInvalidArgument, "onnx.negative_dim",
          [](Tensor& w) { w.set_dims(0, -2); });
  Refused(ErrorCode::kInvalidArgument, "onnx.size_overflow", [](Tensor& w) {
    w.set_dims(0, int64_t{1} << 40);
    w.add_dims(int64_t{1} << 40);
  });
  Refused(ErrorCode::kUnimplemented, "onnx.tensor_rank", [](Tensor& w) {
    for (int i = 0; i < 8; ++i) {
      w.add_dims(1);
    }
  });
}

TEST(OnnxTensor, OfADTypeThatSluiceLacksIsRefused) {
  Refused(ErrorCode::kUnimplemented, "onnx.dtype",
          [](Tensor& w) { w.set_data_type(Tensor::COMPLEX64); });
  Refused(ErrorCode::kUnimplemented, "onnx.dtype",
          [](Tensor& w) { w.set_data_type(77); });
}

class ExternalData : public ::testing::Test {
 protected:
  // Places w in `location`.
  static auto At(const std::string& location,
                 const std::string& offset = "",
                 const std::string& length = "") {
    return [=](Tensor& w) {
      w.clear_raw_data();
      w.set_data_location(Tensor::EXTERNAL);
      const auto add = [&](const char* key, const std::string& value) {
        if (value.empty()) return;
        auto* entry = w.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      add("location", location);
      add("offset", offset);
      add("length", length);
    };
  }
  static std::string Numbers() {
    const float numbers[] = {9, 9, 3, 4};
    return {reinterpret_cast<const char*>(numbers), sizeof(numbers)};
  }

  void SetUp() override {
    std::filesystem::create_directory(folder_.File("models"));
    std::filesystem::create_directory(folder_.File("models/weights"));
    folder_.Write("models/weights/w.bin", Numbers());
    folder_.Write("secret.bin", Numbers());
    options_.folder = folder_.File("models");
  }

  TempFolder folder_;
  OnnxOptions options_;
};

TEST_F(ExternalData, IsReadBesideTheModelsFile) {
  const std::string path = folder_.Write(
      "models/net.onnx", Adding(At("weights/w.bin", "8", "8")).Bytes());
  const onnx::OnnxModel model = onnx::LoadOnnx(path);
  ASSERT_EQ(model.parameters.size(), 1u);
  EXPECT_EQ(model.parameters[0].second.ToVector<float>(),
            std::vector<float>({3, 4}));
  EXPECT_NO_THROW(Adding(At("weights/w.bin")).Load(options_));
}

TEST_F(ExternalData, OutsideOfTheFolderIsRefused) {
  for (const std::string& path :
       {std::string("../secret.bin"), folder_.File("secret.bin"),
        std::string("weights/../../secret.bin")}) {
    Refused(ErrorCode::kInvalidArgument, "onnx.external_path", At(path),
            options_);
  }
  Refused(ErrorCode::kInvalidArgument, "onnx.external_path", At(""), options_);
}

TEST_F(ExternalData, BehindALinkThatLeavesTheFolderIsRefused) {
  std::filesystem::create_symlink("../secret.bin",
                                  folder_.File("models/link.bin"));
  Refused(ErrorCode::kInvalidArgument, "onnx.external_outside", At("link.bin"),
          options_);
  std::filesystem::create_directory_symlink("..", folder_.File("models/up"));
  Refused(ErrorCode::kInvalidArgument, "onnx.external_outside",
          At("up/secret.bin"), options_);
  // Another folder, whose name begins with that of the model's.
  std::filesystem::create_directory(folder_.File("models2"));
  folder_.Write("models2/w.bin", Numbers());
  std::filesystem::create_symlink("../models2/w.bin",
                                  folder_.File("models/near.bin"));
  Refused(ErrorCode::kInvalidArgument, "onnx.external_outside", At("near.bin"),
          options_);
}

TEST_F(ExternalData, BehindLinksThatStayInTheFolderIsRead) {
  std::filesystem::create_symlink("weights/w.bin",
                                  folder_.File("models/link.bin"));
  EXPECT_NO_THROW(Adding(At("link.bin")).Load(options_));
  // Like a cache of downloaded models: the folder itself is a link.
  std::filesystem::create_directory_symlink("models", folder_.File("cache"));
  EXPECT_NO_THROW(
      Adding(At("weights/w.bin")).Load({.folder = folder_.File("cache")}));
}

TEST_F(ExternalData, ThatIsNotThereIsNamed) {
  Refused(ErrorCode::kNotFound, "onnx.external_missing", At("none.bin"),
          options_);
  Refused(ErrorCode::kInvalidArgument, "onnx.external_regular", At("weights"),
          options_);
  Refused(ErrorCode::kInvalidArgument, "onnx.external_folder",
          At("weights/w.bin"));
}

TEST_F(ExternalData, PastTheEndOfItsFileIsRefused) {
  Refused(ErrorCode::kDataLoss, "onnx.external_range",
          At("weights/w.bin", "12"), options_);
  Refused(ErrorCode::kDataLoss, "onnx.external_range",
          At("weights/w.bin", "18446744073709551615"), options_);
  Refused(ErrorCode::kDataLoss, "onnx.external_length",
          At("weights/w.bin", "0", "4"), options_);
  Refused(ErrorCode::kInvalidArgument, "onnx.external_number",
          At("weights/w.bin", "-4"), options_);
  Refused(ErrorCode::kInvalidArgument, "onnx.external_number",
          At("weights/w.bin", "0", "8 bytes"), options_);
}

}  // namespace
}  // namespace sluice::testing
