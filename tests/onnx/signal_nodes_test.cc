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

TEST(OnnxSignals, MelWeightsNeedAnOrderOfFrequencies) {
  const auto refuse = [](const char* part, int64_t bins, float low) {
    ModelBuilder builder(17);
    builder.Ints("bins", {bins});
    builder.Ints("length", {16});
    builder.Floats("low", {1}, {low});
    builder.Floats("high", {1}, {1000});
    builder.Node("MelWeightMatrix", {"bins", "length", "length", "low", "high"},
                 {"y"}, "node_5");
    builder.Output("y");
    ExpectError(ErrorCode::kInvalidArgument, "onnx.mel_input", {"node_5", part},
                [&] { builder.Load(); });
  };
  refuse("num_mel_bins (input 0) is 0; expected 1 or more", 0, 20);
  refuse("lower_edge_hertz (input 3) is -1; expected 0 or more", 4, -1);
  refuse("upper_edge_hertz (input 4) is 1000; expected 2000 or more", 4, 2000);
}

}  // namespace
}  // namespace sluice::testing
