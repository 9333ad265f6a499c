#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

std::string Transposed(OpExport& op, const char* input, bool turn) {
  const int rank = op.Rank(input);
  if (!turn || rank == 0) return op.In(input);
  // A vector becomes a matrix of one column (X) or one row (Y).
  if (rank == 1) {
    const int64_t place = std::string_view(input) == "X" ? 1 : 0;
    return op.Append("Unsqueeze", {op.In(input), op.Vector({place})});
  }
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return op.Transpose(op.In(input), order);
}

// Gemm covers two matrices, but its alpha is a float32.
void Matmul(OpExport& op) {
  const double alpha = op.Float("alpha");
  const bool turn_x = op.Bool("transpose_X"), turn_y = op.Bool("transpose_Y");
  const bool plain = alpha == 1 && !turn_x && !turn_y;
  if (plain) return op.Finish("MatMul", {op.In("X"), op.In("Y")});
  const bool rounded = op.TypeOf("X") == DType::kFloat64 &&
                       alpha != static_cast<double>(static_cast<float>(alpha));
  if (op.Rank("X") == 2 && op.Rank("Y") == 2 && !rounded) {
    return op.Finish("Gemm", {op.In("X"), op.In("Y")},
                     {{"transA", int64_t{turn_x}},
                      {"transB", int64_t{turn_y}},
                      {"alpha", alpha}});
  }
  const Names factors = {Transposed(op, "X", turn_x),
                         Transposed(op, "Y", turn_y)};
  if (alpha == 1) return op.Finish("MatMul", factors);
  op.Finish("Mul",
            {op.Append("MatMul", factors), op.Number(alpha, op.TypeOf("X"))});
}

// Multiplies X and Y as matrices; the result has the dims of both.
void Mul(OpExport& op) {
  const int64_t rows = op.Int("x_num_col_dims");
  const int64_t inner = op.Int("y_num_col_dims");
  const DDim x = op.Dims("X"), y = op.Dims("Y");
  const bool flat_x = op.Rank("X") == 2 && rows == 1;
  const bool flat_y = op.Rank("Y") == 2 && inner == 1;
  const auto matrix = [&](const char* input, bool flat, int64_t axis) {
    if (flat) return op.In(input);
    return op.Append("Flatten", {op.In(input)}, {{"axis", axis}});
  };
  const Names factors = {matrix("X", flat_x, rows), matrix("Y", flat_y, inner)};
  if (rows == 1 && y.rank() - inner == 1) return op.Finish("MatMul", factors);
  const std::string product = op.Append("MatMul", factors);
  Ints shape(x.begin(), x.begin() + rows);
  shape.insert(shape.end(), y.begin() + inner, y.end());
  const DDim out(shape);
  if (out.known() || (std::count(shape.begin(), shape.end(), -1) == 1 &&
                      std::count(shape.begin(), shape.end(), 0) == 0)) {
    return op.FinishReshape(product, shape);
  }
  const std::string of_x = op.Append("Shape", {op.In("X")}, {{"end", rows}});
  const std::string of_y = op.Append("Shape", {op.In("Y")}, {{"start", inner}});
  op.Finish("Reshape", {product, op.Append("Concat", {of_x, of_y},
                                           {{"axis", int64_t{0}}})});
}

// Computes the sum over k of |X[i, k] - Y[j, k]|.
void ManhattanDistance(OpExport& op) {
  const std::string x = op.Append("Unsqueeze", {op.In("X"), op.Vector({1})});
  const std::string y = op.Append("Unsqueeze", {op.In("Y"), op.Vector({0})});
  const std::string size = op.Append("Abs", {op.Append("Sub", {x, y})});
  op.Finish("ReduceSum", {size, op.Vector({2})}, {{"keepdims", int64_t{0}}});
}

void Mean(OpExport& op) {
  op.Finish("ReduceMean", {op.In("X")}, {{"keepdims", int64_t{0}}});
}

// reduce_all and reduce_any of bools are the minimum and the maximum.
void OfBools(OpExport& op) {
  const bool all_dims =
      op.Bool("reduce_all") || (!op.Has("Dim") && op.List("dim").empty());
  op.Finish(op.type() == "reduce_all" ? "ReduceMin" : "ReduceMax",
            {op.In("X"), all_dims ? "" : op.Operand("Dim")},
            {{"keepdims", op.Attr("keep_dim")}});
}

void QuantizeLinear(OpExport& op) {
  constexpr int64_t kPrecision = 23;
  for (const DType dtype : {op.TypeOf("X"), op.TypeOf("Scale")}) {
    if (dtype == DType::kFloat64) {
      OpExport::Unsupported("QuantizeLinear of ONNX does not take float64");
    }
  }
  AttributeMap attributes = {{"axis", op.Attr("axis")},
                             {"block_size", op.Attr("block_size")},
                             {"output_dtype", op.OutType()},
                             {"saturate", op.Attr("saturate")}};
  const auto precision = std::get<DType>(op.Attr("precision"));
  if (op.opset() >= kPrecision) {
    if (precision == DType::kFloat64) {
      OpExport::Unsupported(
          "QuantizeLinear of ONNX divides in float32 at most");
    }
    attributes["precision"] = precision;
  } else if (op.TypeOf("X") != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "QuantizeLinear of ONNX takes a scale of another dtype from opset {} "
        "on",
        kPrecision);
  } else if (precision != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "QuantizeLinear of ONNX divides with another precision than that of "
        "the scale from opset {} on",
        kPrecision);
  }
  op.Finish("QuantizeLinear", op.AllInputs(), attributes);
}

void DequantizeLinear(OpExport& op) {
  constexpr int64_t kOutputDType = 23;
  AttributeMap attributes = {{"axis", op.Attr("axis")},
                             {"block_size", op.Attr("block_size")}};
  if (op.opset() >= kOutputDType) {
    attributes["output_dtype"] = op.OutType();
  } else if (op.OutType() != op.TypeOf("Scale")) {
    OpExport::Unsupported(
        "DequantizeLinear of ONNX gives another dtype than the scale's from "
        "opset {} on",
        kOutputDType);
  }
  op.Finish("DequantizeLinear", op.AllInputs(), attributes);
}

void BitCast(OpExport& op) {
  constexpr int64_t kBitCast = 26;
  if (op.opset() < kBitCast) {
    OpExport::Unsupported("BitCast is an operator of ONNX from opset {} on",
                          kBitCast);
  }
  op.Finish("BitCast", {op.In("X")}, {{"to", op.OutType()}});
}

}  // namespace

const ExporterTable kContractionExporters = {
    {"manhattan_distance", ManhattanDistance},
    {"matmul", Matmul},
    {"mul", Mul},
    {"mean", Mean},
    {"reduce_all reduce_any", OfBools},
    {"bitcast", BitCast},
    {"dequantize_linear", DequantizeLinear},
    {"quantize_linear", QuantizeLinear},
};

}  // namespace sluice::onnx
