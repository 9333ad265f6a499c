#include "sluice/onnx/handlers/rotary.h"

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

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
std::string SumOfProducts(Node& node,
                          const std::string& a,
                          const std::string& x,
                          const char* sum,
                          const std::string& b,
                          const std::string& y) {
  const std::string first = node.Binary("elementwise_mul", {a, x});
  const std::string second = node.Binary("elementwise_mul", {b, y});
  return node.Binary(sum, {first, second});
}

}  // namespace

std::string Rotated(Node& node,
                    const std::string& x,
                    int64_t heads,
                    const Rotation& rotation) {
  const std::string cos = node.Unsqueeze(rotation.cos, {heads});
  const std::string sin = node.Unsqueeze(rotation.sin, {heads});
  const int64_t turned = rotation.turned, half = turned / 2;
  const bool interleaved = rotation.interleaved;
  const std::string a =
      interleaved ? Part(node, x, 0, turned, 2) : Part(node, x, 0, half);
  const std::string b =
      interleaved ? Part(node, x, 1, turned, 2) : Part(node, x, half, turned);
  std::string real = SumOfProducts(node, cos, a, "elementwise_sub", sin, b);
  std::string imaginary =
      SumOfProducts(node, sin, a, "elementwise_add", cos, b);
  if (interleaved) {
    real = node.Unsqueeze(real, {-1});
    imaginary = node.Unsqueeze(imaginary, {-1});
  }
  std::string result = node.Concat({real, imaginary}, -1);
  if (interleaved) result = node.Reshape(result, {0, 0, 0, turned});
  if (turned == node.SizeOf(x, 3)) return result;
  return node.Concat({result, Part(node, x, turned, INT64_MAX)}, -1);
}

namespace {

// The inputs of RotaryEmbedding; onnxruntime's has others.
enum : int { kRotated, kCos, kSin, kPositions };
enum : int { kTheirPositions = 1, kTheirCos, kTheirSin };

// Input 0 as [batch, heads, sequence, size], or from [batch, sequence, heads *
// size] as [batch, sequence, heads, size].
std::string HeadsApart(Node& node, int rank, int64_t heads) {
  SLUICE_ENFORCE(rank == 4 || (rank == 3 && heads > 0),
                 ErrorCode::kInvalidArgument, "onnx.rotary_shape",
                 "its input has {} dims and num_heads is {}; expected 4 dims, "
                 "or 3 with num_heads",
                 rank, heads);
  if (rank == 4) return node.In(kRotated);
  return node.Reshape(node.In(kRotated), {0, 0, heads, -1});
}

// Finishes with x of HeadsApart, turned, in the shape of the input.
void FinishRotated(Node& node,
                   const std::string& x,
                   int rank,
                   const Rotation& rotation) {
  const int64_t turned = rotation.turned, size = node.SizeOf(x, 3);
  if (turned < 0) {
    Node::Unsupported(
        "the size of its heads is known only when the model runs");
  }
  SLUICE_ENFORCE(turned % 2 == 0 && (size < 0 || turned <= size),
                 ErrorCode::kInvalidArgument, "onnx.rotary_size",
                 "{} elements of each head of {} are turned; expected pairs of "
                 "its elements",
                 turned, size);
  const std::string result = Rotated(node, x, rank == 4 ? 1 : 2, rotation);
  if (rank == 4) return node.FinishUnary("assign", result);
  node.FinishUnary("reshape", result, {{"shape", Ints{0, 0, -1}}});
}

// Rotates pairs in the first `turned` elements of each head by the angles of
// their position.
void RotaryEmbedding(Node& node) {
  const int rank = RankOf(node, kRotated);
  const std::string x =
      HeadsApart(node, rank, node.attributes().Int("num_heads", 0));
  int64_t turned = node.attributes().Int("rotary_embedding_dim", 0);
  if (turned == 0) turned = node.SizeOf(x, 3);
  // Angles are [batch, sequence, turned / 2].
  const auto angles = [&](int input) {
    if (!node.HasInput(kPositions)) return node.In(input);
    return node.Gather({node.In(input), node.In(kPositions)});
  };
  FinishRotated(node, x, rank,
                {angles(kCos), angles(kSin), turned,
                 node.attributes().Flag("interleaved")});
}

// The rows of a table of angles at the positions of input 0, whose sequence is
// dim `axis`: input 1 has each, [batch, sequence], or the first, [1].
std::string RowsAtPositions(Node& node, int table, int axis) {
  std::string positions = node.In(kTheirPositions);
  const int rank = RankOf(node, kTheirPositions);
  if (rank < 2) {
    const std::string count =
        node.Unary("shape", node.In(kRotated),
                   {{"start", int64_t{axis}}, {"end", int64_t{axis + 1}}});
    positions =
        node.Binary("elementwise_add",
                    {node.Count(count), node.Cast(positions, DType::kInt64)});
    positions = node.Unsqueeze(positions, {0});
  }
  return node.Gather({node.In(table), positions});
}

// onnxruntime's: its tables are always looked up, and say how many elements of
// a head are turned.
void RotaryOfTables(Node& node) {
  Attributes& attributes = node.attributes();
  if (attributes.Flag("is_packed_batching")) {
    Node::Unsupported("is_packed_batching = 1, sequences without a batch dim");
  }
  const double scale = attributes.Float("scale", 1);
  if (scale != 1) Node::Unsupported("attribute scale, {}", scale);
  const int rank = RankOf(node, kRotated);
  const int64_t columns = node.SizeOf(node.In(kTheirCos), 1);
  int64_t turned = attributes.Int("rotary_embedding_dim", 0);
  if (turned == 0 && columns >= 0) turned = 2 * columns;
  int64_t heads = attributes.Int("num_heads", 0);
  const int64_t width = rank == 3 ? node.SizeOf(node.In(kRotated), 2) : -1;
  if (heads == 0 && width >= 0 && turned > 0) heads = width / turned;
  const std::string x = HeadsApart(node, rank, heads);
  if (turned == 0) turned = node.SizeOf(x, 3);
  const int sequence = rank == 4 ? 2 : 1;
  FinishRotated(node, x, rank,
                {RowsAtPositions(node, kTheirCos, sequence),
                 RowsAtPositions(node, kTheirSin, sequence), turned,
                 attributes.Flag("interleaved")});
}

}  // namespace

const HandlerTable kRotaryHandlers = {
    {"RotaryEmbedding", 23, RotaryEmbedding},
    {"com.microsoft.RotaryEmbedding", 1, RotaryOfTables},
};

}  // namespace sluice::onnx
