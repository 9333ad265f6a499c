#include <algorithm>
#include <fstream>

#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::testing {
namespace {

using onnx::LoadOnnx;
using onnx::ParseOnnx;

TEST(OnnxFile, ThatIsCutOffAnywhereIsRefused) {
  ModelBuilder builder = Small();
  builder.Floats("w", {2}, {1, 2});
  const std::string bytes = builder.Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseOnnx(bytes.substr(0, size)), Error) << size;
  }
  ExpectError(
      ErrorCode::kDataLoss, "onnx.truncated", {"cut off", "net.onnx"}, [&] {
        ParseOnnx(bytes.substr(0, bytes.size() - 5), {.name = "net.onnx"});
      });
}

TEST(OnnxFile, WithAnyBitFlippedIsLoadedOrRefused) {
  ModelBuilder builder = Small();
  builder.Floats("w", {2}, {1, 2});
  std::string bytes = builder.Bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    try {
      ParseOnnx(bytes);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(OnnxFile, OfAnotherFormatIsRefused) {
  for (const char* bytes : {"{\"graph\": []}",
                            "\x7f"
                            "ELF\x02\x01\x01"}) {
    EXPECT_THROW(ParseOnnx(bytes), Error) << bytes;
  }
  // A whole field whose content is no graph.
  ExpectError(ErrorCode::kDataLoss, "onnx.not_a_model", {"another format"},
              [] { ParseOnnx(std::string("\x3a\x02\xff\xff", 4)); });
}

TEST(OnnxFile, WithoutGraphOrVersionsIsRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "onnx.no_graph", {"no graph"},
              [] { ParseOnnx(""); });
  const auto refused = [](ErrorCode code, const char* id, auto change) {
    ModelBuilder builder = Small();
    change(builder.model);
    ExpectError(code, id, {"the ONNX model"}, [&] { builder.Load(); });
  };
  refused(ErrorCode::kInvalidArgument, "onnx.ir_version",
          [](auto& model) { model.set_ir_version(2); });
  refused(ErrorCode::kUnimplemented, "onnx.ir_version_new",
          [](auto& model) { model.set_ir_version(1000); });
  refused(ErrorCode::kInvalidArgument, "onnx.no_opset",
          [](auto& model) { model.clear_opset_import(); });
  refused(ErrorCode::kUnimplemented, "onnx.opset_old",
          [](auto& model) { model.mutable_opset_import(0)->set_version(-1); });
  refused(ErrorCode::kUnimplemented, "onnx.opset_new",
          [](auto& model) { model.mutable_opset_import(0)->set_version(29); });
}

TEST(OnnxFile, MayImportAnOpsetTwice) {
  ModelBuilder builder = Small();
  for (const char* domain : {"ai.onnx", ""}) {
    auto* opset = builder.model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(13);
  }
  EXPECT_EQ(builder.Run({{-1, 2}})[0], (std::vector<float>{0, 2}));
}

TEST(OnnxFile, OfTwoGigabytesIsNotRead) {
  const TempFolder folder;
  const std::string path = folder.File("large.onnx");
  const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, int64_t{1} << 31), 0);
  close(file);
  ExpectError(ErrorCode::kResourceExhausted, "onnx.too_large",
              {"large.onnx", "2147483648", "external data"},
              [&] { LoadOnnx(path); });
}

TEST(OnnxFile, WithGraphsInOneAnotherHasALimit) {
  ModelBuilder builder = Small();
  ::onnx::GraphProto* graph = &builder.graph();
  for (int depth = 1; depth < 17; ++depth) {
    ::onnx::NodeProto* node = graph->add_node();
    node->set_op_type("If");
    node->add_output("made" + std::to_string(depth));
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  ExpectError(ErrorCode::kInvalidArgument, "onnx.nesting", {"17 graphs"},
              [&] { builder.Load(); });
}

// y = x + w with large parameters, one of them in the bytes of the message.
class LargeParameters : public ::testing::Test {
 protected:
  LargeParameters() {
    for (int64_t i = 0; i < kCount; ++i)
      values_.push_back(static_cast<float>(i));
    w_ = &builder_.Floats("w", {kCount}, {});
    w_->set_raw_data(values_.data(), kCount * sizeof(float));
    builder_.Floats("v", {kCount}, values_);
    builder_.Floats("u", {2}, {5, 7});
    for (const char* name : {"w", "v", "u"}) {
      builder_.Node("Identity", {name}, {std::string(name) + "_out"});
      builder_.Output(std::string(name) + "_out");
    }
  }
  std::string Path() { return folder_.File("net.onnx"); }
  // Writes the first bytes, all of them if there are not more, and returns how
  // many the model has.
  size_t Write(size_t most = SIZE_MAX) {
    const std::string bytes = builder_.Bytes();
    std::ofstream(Path(), std::ios::binary)
        << bytes.substr(0, std::min(most, bytes.size()));
    return bytes.size();
  }
  void ExpectValues(const onnx::OnnxModel& model) {
    ASSERT_EQ(model.parameters.size(), 3u);
    for (const auto& [name, value] : model.parameters) {
      EXPECT_EQ(value.ToVector<float>(),
                value.numel() == 2 ? (std::vector<float>{5, 7}) : values_)
          << name;
    }
  }

  static constexpr int64_t kCount = 200'000;
  ModelBuilder builder_ = Small();
  std::vector<float> values_;
  ::onnx::TensorProto* w_;
  const TempFolder folder_;
};

TEST_F(LargeParameters, AreReadFromAFileAndFromBytes) {
  Write();
  ExpectValues(LoadOnnx(Path()));
  ExpectValues(builder_.Load());
}

TEST_F(LargeParameters, AreCheckedLikeSmallOnes) {
  const auto refused = [&](ErrorCode code, const char* id) {
    Write();
    ExpectError(code, id, {"initialiser w"}, [&] { LoadOnnx(Path()); });
    ExpectError(code, id, {"initialiser w"}, [&] { builder_.Load(); });
  };
  w_->add_float_data(1);
  refused(ErrorCode::kInvalidArgument, "onnx.tensor_fields");
  w_->clear_float_data();
  w_->set_dims(0, kCount + 1);
  refused(ErrorCode::kDataLoss, "onnx.tensor_bytes");
}

TEST_F(LargeParameters, ThatAreCutOffAreRefused) {
  const size_t size = Write();
  for (const size_t part : {2, 3, 9}) {
    Write(size - size / part);
    ExpectError(ErrorCode::kDataLoss, "onnx.truncated", {"net.onnx"},
                [&] { LoadOnnx(Path()); });
  }
}

TEST_F(LargeParameters, OfANameThatAnInnerGraphHasStayApart) {
  ::onnx::NodeProto& node = builder_.Node("If", {"yes"}, {"chosen"});
  ::onnx::TensorProto& yes = builder_.Floats("yes", {}, {});
  yes.clear_raw_data();
  yes.set_data_type(::onnx::TensorProto::BOOL);
  yes.add_int32_data(1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto* inner = attribute->mutable_g();
    ::onnx::TensorProto* own = inner->add_initializer();
    own->set_name("w");
    own->set_data_type(::onnx::TensorProto::FLOAT);
    own->add_dims(1);
    own->add_float_data(3);
    inner->add_output()->set_name("w");
  }
  builder_.Output("chosen");
  EXPECT_EQ(builder_.Run({{1, 2}}).back(), std::vector<float>{3});
}

TEST(OnnxFile, ThatIsNotThereIsNamed) {
  EXPECT_THROW(LoadOnnx("/nonexistent/net.onnx"), Error);
}

}  // namespace
}  // namespace sluice::testing
