#include <cstdint>
#include <string>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// The inputs of RotaryEmbedding.
enum : int { kX, kCos, kSin, kPositions };

// Elements `start`, `start` + `step`, ... before `end` of the last dim.
std::string Part(Node& node,
                 const std::string& x,
                 int64_t start,
                 int64_t end,
                 int64_t step = 1) {
  return node.Unary("slice", x,
                    {{"starts", Ints{start}},
                     {"ends", Ints{end}},
                     {"axes", Ints{-1}},
                     {"steps", Ints{step}}});
}

// Computes a * x + sign * b * y.
std::string Rotated(Node& node,
                    const std::string& a,
                    const std::string& x,
                    const char* sum,
                    const std::string& b,
                    const std::string& y) {
  const std::string first = node.Binary("elementwise_mul", {a, x});
  const std::string second = node.Binary("elementwise_mul", {b, y});
  return node.Binary(sum, {first, second});
}

// Rotates pairs in the first `turned` elements of each head by the angles of
// their position. x is [batch, heads, sequence, size], or [batch, sequence,
// heads * size].
void RotaryEmbedding(Node& node) {
  const int rank = RankOf(node, kX);
  const int64_t heads = node.attributes().Int("num_heads", 0);
  const bool interleaved = node.attributes().Int("interleaved", 0) != 0;
  SLUICE_ENFORCE(rank == 4 || (rank == 3 && heads > 0),
                 ErrorCode::kInvalidArgument, "onnx.rotary_shape",
                 "its input has {} dims and num_heads is {}; expected 4 dims, "
                 "or 3 with num_heads",
                 rank, heads);
  std::string x = node.In(kX);
  if (rank == 3) {
    x = node.Unary("reshape", x, {{"shape", Ints{0, 0, heads, -1}}});
  }
  const int64_t size = node.SizeOf(x, 3);
  int64_t turned = node.attributes().Int("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  if (turned < 0) {
    Node::Unsupported(
        "the size of its heads is known only when the model runs");
  }
  SLUICE_ENFORCE(turned % 2 == 0 && (size < 0 || turned <= size),
                 ErrorCode::kInvalidArgument, "onnx.rotary_size",
                 "{} elements of each head of {} are turned; expected pairs of "
                 "its elements",
                 turned, size);
  // Angles are [batch, sequence, turned / 2], with a dim of 1 for the heads.
  const auto angles = [&](int input) {
    std::string cache = node.In(input);
    if (node.HasInput(kPositions)) {
      cache = node.Append("gather",
                          {{"X", {cache}}, {"Index", {node.In(kPositions)}}});
    }
    return node.Unary("unsqueeze", cache, {{"axes", Ints{rank == 4 ? 1 : 2}}});
  };
  const std::string cos = angles(kCos), sin = angles(kSin);
  const int64_t half = turned / 2;
  const std::string a =
      interleaved ? Part(node, x, 0, turned, 2) : Part(node, x, 0, half);
  const std::string b =
      interleaved ? Part(node, x, 1, turned, 2) : Part(node, x, half, turned);
  std::string real = Rotated(node, cos, a, "elementwise_sub", sin, b);
  std::string imaginary = Rotated(node, sin, a, "elementwise_add", cos, b);
  const AttributeMap last = {{"axis", int64_t{-1}}};
  if (interleaved) {
    const AttributeMap pairs = {{"axes", Ints{-1}}};
    real = node.Unary("unsqueeze", real, pairs);
    imaginary = node.Unary("unsqueeze", imaginary, pairs);
  }
  std::string result = node.Append("concat", {{"X", {real, imaginary}}}, last);
  if (interleaved) {
    result = node.Unary("reshape", result, {{"shape", Ints{0, 0, 0, turned}}});
  }
  if (turned != size) {
    result = node.Append(
        "concat", {{"X", {result, Part(node, x, turned, INT64_MAX)}}}, last);
  }
  if (rank == 4) return node.FinishUnary("assign", result);
  node.FinishUnary("reshape", result, {{"shape", Ints{0, 0, -1}}});
}

constexpr HandlerRow kRotaryEmbeddingRows[] = {
    {"RotaryEmbedding", 23, RotaryEmbedding}};

}  // namespace

std::span<const HandlerRow> RotaryEmbeddingHandlers() {
  return kRotaryEmbeddingRows;
}

}  // namespace sluice::onnx
