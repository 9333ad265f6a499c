#include <cstring>
#include <string>
#include <utility>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/tensor_values.h"

// Operators of onnxruntime whose weights have a few bits each.
namespace sluice::onnx {

namespace {

// Prevents overflow of products of sizes.
constexpr int64_t kMostOfWeights = int64_t{1} << 30;

// A constant of bytes as [rows, columns] of numbers of 2, 4 or 8 bits, several
// in a byte, which are cut to `kept` columns.
std::string Unpacked(
    Node& node, int index, DType dtype, const Ints& dims, int64_t kept) {
  const Tensor* bytes = node.Constant(index);
  if (bytes == nullptr || bytes->dtype() != DType::kUInt8) {
    Node::Unsupported("its input {} is not a constant of uint8", index);
  }
  Tensor numbers;
  numbers.Resize(DDim(dims));
  SLUICE_ENFORCE(
      static_cast<int64_t>(BytesInFile(dtype, numbers.numel())) ==
          bytes->numel(),
      ErrorCode::kInvalidArgument, "onnx.packed_weights",
      "its input {} has {} bytes; expected those of {} numbers of {}", index,
      bytes->numel(), DDim(dims), dtype);
  node.cost().Check("its weights", static_cast<uint64_t>(numbers.numel()));
  void* data = numbers.mutable_data(dtype, CPUPlace());
  std::memcpy(data, bytes->raw_data(), bytes->bytes());
  UnpackInPlace(dtype, numbers.numel(), data);
  return node.Slice(node.NewConstant(std::move(numbers)), 0, kept, {1});
}

DType DTypeOfBits(int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8) {
    Node::Unsupported("attribute bits, {}; there are 2, 4 and 8", bits);
  }
  return bits == 8 ? DType::kUInt8 : bits == 4 ? DType::kUInt4 : DType::kUInt2;
}

// Weights in blocks of `size` numbers of few bits, of which a row has
// `columns`.
struct PackedWeights {
  int64_t rows, columns, bits, size, blocks;
  DType dtype;
  Inputs inputs;  // of dequantize_linear
};

// Input 3, a zero point for each block, as numbers of few bits.
std::string PackedZeros(Node& node, const PackedWeights& weights) {
  if (node.HasInput(3)) {
    const int64_t in_byte = 8 / weights.bits;
    const int64_t stored = (weights.blocks + in_byte - 1) / in_byte * in_byte;
    return Unpacked(node, 3, weights.dtype, {weights.rows, stored},
                    weights.blocks);
  }
  const std::string middle = node.Number(
      static_cast<double>(int64_t{1} << (weights.bits - 1)), weights.dtype);
  return node.Unary("expand", middle,
                    {{"shape", Ints{weights.rows, weights.blocks}}});
}

std::string DequantizedBlocks(Node& node, Inputs inputs, int64_t size) {
  return node.Append("dequantize_linear", std::move(inputs),
                     {{"axis", int64_t{1}}, {"block_size", size}});
}

// The weights in float32. Zero points may be floats, too: they are subtracted
// from what is dequantized.
std::string FloatWeights(Node& node, const PackedWeights& weights) {
  Inputs inputs = weights.inputs;
  if (!node.HasInput(3) || !IsFloating(node.TypeOf(3))) {
    inputs.push_back({"ZeroPoint", {PackedZeros(node, weights)}});
    return DequantizedBlocks(node, std::move(inputs), weights.size);
  }
  const std::string zeros = node.Reshape(node.Cast(node.In(3), DType::kFloat32),
                                         {weights.rows, weights.blocks, 1});
  const std::string scales = node.Unsqueeze(inputs[1].second[0], {2});
  std::string shift = node.Binary("elementwise_mul", {zeros, scales});
  shift =
      node.Unary("expand", shift,
                 {{"shape", Ints{weights.rows, weights.blocks, weights.size}}});
  shift = node.Slice(node.Reshape(shift, {weights.rows, -1}), 0,
                     weights.columns, {1});
  const std::string scaled =
      DequantizedBlocks(node, std::move(inputs), weights.size);
  return node.Binary("elementwise_sub", {scaled, shift});
}

// A product with weights in blocks of few bits, with a scale for each block.
// They become float32 while the model is read.
void MatMulNBits(Node& node) {
  Attributes& attributes = node.attributes();
  const int64_t columns = attributes.NeededInt("K");
  const int64_t rows = attributes.NeededInt("N");
  const int64_t bits = attributes.Int("bits", 4);
  const int64_t size = attributes.NeededInt("block_size");
  attributes.Ignore("accuracy_level");
  if (node.HasInput(4)) Node::Unsupported("its input 4 (g_idx)");
  const DType dtype = DTypeOfBits(bits);
  const int64_t prepacked = attributes.Int("weight_prepacked", 0);
  if (prepacked != 0) {
    Node::Unsupported("attribute weight_prepacked, {}: weights for one GPU",
                      prepacked);
  }
  SLUICE_ENFORCE(columns > 0 && rows > 0 && size >= 16 &&
                     columns <= kMostOfWeights && rows <= kMostOfWeights &&
                     size <= kMostOfWeights,
                 ErrorCode::kInvalidArgument, "onnx.blocks",
                 "K = {}, N = {} and block_size = {} are no sizes of weights",
                 columns, rows, size);
  const int64_t blocks = (columns + size - 1) / size;
  const std::string codes =
      Unpacked(node, 1, dtype, {rows, blocks * size}, columns);
  const std::string scales =
      node.Reshape(node.Cast(node.In(2), DType::kFloat32), {rows, blocks});
  const std::string weights =
      FloatWeights(node, {rows,
                          columns,
                          bits,
                          size,
                          blocks,
                          dtype,
                          {{"X", {codes}}, {"Scale", {scales}}}});
  const std::string product =
      node.Binary("matmul", {node.In(0), node.Cast(weights, node.TypeOf(0))},
                  {{"transpose_Y", true}});
  if (!node.HasInput(5)) return node.FinishUnary("assign", product);
  node.FinishBinary("elementwise_add", {product, node.In(5)});
}

// A matrix of bytes as numbers of few bits, and their zero points.
struct PackedTable {
  std::string codes, zeros;
};
PackedTable ReadPackedTable(Node& node, int64_t bits) {
  const DDim bytes = node.Dims(0), scales = node.Dims(2);
  if (!bytes.known() || bytes.rank() != 2 || !scales.known() ||
      scales.rank() != 2) {
    Node::Unsupported(
        "bytes of shape {} with scales of shape {}; there are "
        "matrices of known sizes",
        Printable(bytes), Printable(scales));
  }
  const DType dtype = DTypeOfBits(bits);
  const int64_t in_byte = 8 / bits, rows = bytes[0];
  PackedTable table;
  table.codes =
      Unpacked(node, 0, dtype, {rows, bytes[1] * in_byte}, bytes[1] * in_byte);
  table.zeros = PackedZeros(node, {rows, 0, bits, 0, scales[1], dtype, {}});
  return table;
}

// Rows of a table whose numbers are in blocks along the last dim. They are
// picked before they become floats.
void GatherBlockQuantized(Node& node) {
  Attributes& attributes = node.attributes();
  const int rank = RankOf(node, 0);
  const int64_t axis = AxisOf(attributes.Int("gather_axis", 0), rank);
  const int64_t along = AxisOf(attributes.Int("quantize_axis", 1), rank);
  const int64_t size = attributes.Int("block_size", 128);
  const int64_t bits = attributes.Int("bits", 4);
  if (axis != 0 || along != rank - 1 || size < 1) {
    Node::Unsupported(
        "gather_axis = {}, quantize_axis = {} and block_size = {}: there are "
        "rows of dim 0, with blocks of 1 or more along the last dim",
        axis, along, size);
  }
  const auto picked = [&](const std::string& table) {
    return node.Gather({table, node.In(1)});
  };
  std::string codes = node.In(0), zeros;
  if (node.HasInput(3)) zeros = node.In(3);
  if (node.TypeOf(0) == DType::kUInt8) {
    const PackedTable table = ReadPackedTable(node, bits);
    codes = table.codes;
    zeros = table.zeros;
  }
  Inputs inputs = {{"X", {picked(codes)}}, {"Scale", {picked(node.In(2))}}};
  if (!zeros.empty()) inputs.push_back({"ZeroPoint", {picked(zeros)}});
  node.Finish("dequantize_linear", std::move(inputs),
              {{"axis", int64_t{RankOf(node, 1) + rank - 2}},
               {"block_size", size},
               {"dtype", node.TypeOf(2)}});
}

}  // namespace

const HandlerTable kPackedWeightHandlers = {
    {"com.microsoft.GatherBlockQuantized", 1, GatherBlockQuantized},
    {"com.microsoft.MatMulNBits", 1, MatMulNBits},
};

}  // namespace sluice::onnx
