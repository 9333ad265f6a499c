#include "tests/onnx/model_builder.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

// Expects an error for an STFT of a signal of 8 elements.
void ExpectRefused(const char* id,
                   int64_t step,
                   int64_t length,
                   std::initializer_list<std::string_view> words) {
  ModelBuilder builder(17);
  builder.Input("x", {1, 8, 1});
  builder.Ints("step", {step});
  builder.Ints("length", {length});
  builder.Node("STFT", {"x", "step", "", "length"}, {"y"}, "node_5");
  builder.Output("y");
  ExpectError(ErrorCode::kInvalidArgument, id, words, [&] { builder.Load(); });
}

TEST(OnnxSignals, FramesMustFitIntoTheSignal) {
  ExpectRefused("onnx.stft_number", 0, 4, {"node_5", "frame_step"});
  ExpectRefused("onnx.stft_number", 1, -1, {"node_5", "frame_length"});
  ExpectRefused("onnx.stft_length", 1, 9, {"node_5", "9 elements", "has 8"});
}

}  // namespace
}  // namespace sluice::testing
