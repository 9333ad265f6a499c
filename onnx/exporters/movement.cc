#include <cstdint>
#include <limits>
#include <string>

#include "sluice/onnx/export/exporters.h"

namespace sluice::onnx {

namespace {

void Assign(OpExport& op) {
  op.Finish("Identity", {op.In("X")});
}

void Concat(OpExport& op) {
  op.Finish("Concat", op.All("X"), {{"axis", op.Attr("axis")}});
}

// 0 copies a size, here and there.
void Reshape(OpExport& op) {
  op.Finish("Reshape", {op.In("X"), op.Operand("Shape")});
}

void Transpose(OpExport& op) {
  op.Finish("Transpose", {op.In("X")}, {{"perm", op.Attr("axis")}});
}

void Cast(OpExport& op) {
  op.Finish("Cast", {op.In("X")}, {{"to", op.Attr("dtype")}});
}

// A slice from the offsets on, of the shape of Y or of the attribute, where -1
// means all that is left.
void Crop(OpExport& op) {
  const int rank = op.Rank("X");
  if (rank == 0) return op.Finish("Identity", {op.In("X")});
  const bool late = op.Has("Offsets");
  Ints offsets = op.List("offsets"), ends;
  if (offsets.empty()) offsets.assign(static_cast<size_t>(rank), 0);
  std::string starts = late ? op.In("Offsets") : op.Vector(offsets);
  if (late && op.TypeOf("Offsets") != DType::kInt64) {
    starts = op.Cast(starts, DType::kInt64);
  }
  std::string stops;
  if (op.Has("Y")) {
    stops = op.Append("Add", {starts, op.Append("Shape", {op.In("Y")})});
  } else if (late) {
    stops = op.Append("Add", {starts, op.Vector(op.List("shape"))});
  } else {
    for (size_t i = 0; i < offsets.size(); ++i) {
      const int64_t size = op.List("shape")[i];
      ends.push_back(size < 0 ? std::numeric_limits<int64_t>::max()
                              : offsets[i] + size);
    }
    stops = op.Vector(ends);
  }
  op.Finish("Slice", {op.In("X"), starts, stops});
}

constexpr ExporterRow kRows[] = {
    {"assign", Assign}, {"cast", Cast},       {"concat", Concat},
    {"crop", Crop},     {"reshape", Reshape}, {"transpose", Transpose},
};

}  // namespace

// Others are known by their schemas (export/counterpart_export.h).
std::span<const ExporterRow> MovementExporters() {
  return kRows;
}

}  // namespace sluice::onnx
