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

TEST(OnnxFile, ThatIsNotThereIsNamed) {
  EXPECT_THROW(LoadOnnx("/nonexistent/net.onnx"), Error);
}

}  // namespace
}  // namespace sluice::testing
