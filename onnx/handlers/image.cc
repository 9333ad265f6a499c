#include <algorithm>
#include <string>
#include <vector>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

std::string IntsOf(Node& node, const Ints& values) {
  return node.NewConstant(Tensor::FromVector<int64_t>(
      {static_cast<int64_t>(values.size())}, values));
}

// A size of a new shape: that of dim `dim` of the old one, or 1 for dim -1,
// times `factor`, or divided by it.
struct NewSize {
  int dim;
  int64_t times = 1;
  int64_t divided = 1;
};

// The inputs and attributes with which reshape makes `sizes` of x. Sizes that
// are known only when the model runs are computed then.
void ShapeOf(Node& node,
             const std::string& x,
             const std::vector<NewSize>& sizes,
             Inputs* inputs,
             AttributeMap* attributes) {
  const DDim dims = node.DimsOf(x);
  Ints shape, which, times, divided;
  bool known = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const NewSize& size = sizes[i];
    const int64_t old = size.dim < 0 ? 1 : dims[size.dim];
    // 0 copies the size.
    const bool copied = size.dim == static_cast<int>(i) && size.times == 1 &&
                        size.divided == 1 && old < 0;
    known = known && (copied || old >= 0);
    // One that is unknown is not used.
    const int64_t known_old = std::max<int64_t>(old, 0);
    shape.push_back(
        copied ? 0 : DDim{known_old, size.times}.numel() / size.divided);
    which.push_back(size.dim < 0 ? dims.rank() : size.dim);
    times.push_back(size.times);
    divided.push_back(size.divided);
  }
  *inputs = {{"X", {x}}};
  if (known) {
    (*attributes)["shape"] = shape;
    return;
  }
  const std::string old = node.Append("shape", {{"X", {x}}});
  const std::string longer =
      node.Append("concat", {{"X", {old, IntsOf(node, {1})}}});
  const std::string picked = node.Append(
      "gather", {{"X", {longer}}, {"Index", {IntsOf(node, which)}}});
  const std::string multiplied = node.Append(
      "elementwise_mul", {{"X", {picked}}, {"Y", {IntsOf(node, times)}}});
  const std::string result =
      node.Append("elementwise_floordiv",
                  {{"X", {multiplied}}, {"Y", {IntsOf(node, divided)}}});
  inputs->emplace_back("Shape", framework::ArgVars{result});
}

int64_t BlockOf(Node& node) {
  const int64_t block = node.attributes().NeededInt("blocksize");
  SLUICE_ENFORCE(block > 0 && block < (1 << 15), ErrorCode::kInvalidArgument,
                 "onnx.block_size",
                 "attribute blocksize is {}; expected 1 to "
                 "32767",
                 block);
  const DDim x = node.Dims(0);
  SLUICE_ENFORCE(
      RankOf(node, 0) == 4, ErrorCode::kInvalidArgument, "onnx.block_rank",
      "its input has shape {}; expected [N, C, H, W]", platform::Printable(x));
  return block;
}

// Whether the channels of a block are next to each other in depth.
bool IsColumnRowDepth(Node& node) {
  const std::string mode = node.attributes().String("mode", "DCR");
  SLUICE_ENFORCE(mode == "DCR" || mode == "CRD", ErrorCode::kInvalidArgument,
                 "onnx.block_mode", "attribute mode is {}; expected DCR or CRD",
                 mode);
  return mode == "CRD";
}

void CheckDivides(int64_t size, int64_t by, const char* what) {
  SLUICE_ENFORCE(size < 0 || size % by == 0, ErrorCode::kInvalidArgument,
                 "onnx.block_divides", "its {} {} does not divide by {}", what,
                 size, by);
}

// x in a shape of 6 dims, transposed, and in a shape of 4 dims.
void Rearrange(Node& node,
               const std::vector<NewSize>& apart,
               const Ints& order,
               const std::vector<NewSize>& together) {
  if (node.attributes().NeededInt("blocksize") == 1) {
    return node.Finish("assign", {{"X", {node.In(0)}}});
  }
  Inputs inputs;
  AttributeMap attributes;
  ShapeOf(node, node.In(0), apart, &inputs, &attributes);
  const std::string blocks = node.Append("reshape", inputs, attributes);
  const std::string turned =
      node.Append("transpose", {{"X", {blocks}}}, {{"axis", order}});
  attributes.clear();
  ShapeOf(node, node.In(0), together, &inputs, &attributes);
  inputs[0].second = {turned};
  node.Finish("reshape", inputs, attributes);
}

void SpaceToDepth(Node& node) {
  const int64_t b = BlockOf(node);
  const DDim x = node.Dims(0);
  CheckDivides(x[2], b, "height");
  CheckDivides(x[3], b, "width");
  const Ints order =
      IsColumnRowDepth(node) ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
  Rearrange(node, {{0}, {1}, {2, 1, b}, {-1, b}, {3, 1, b}, {-1, b}}, order,
            {{0}, {1, b * b}, {2, 1, b}, {3, 1, b}});
}

void DepthToSpace(Node& node) {
  const int64_t b = BlockOf(node);
  CheckDivides(node.Dims(0)[1], b * b, "number of channels");
  const std::vector<NewSize> together = {{0}, {1, 1, b * b}, {2, b}, {3, b}};
  if (IsColumnRowDepth(node)) {
    return Rearrange(node, {{0}, {1, 1, b * b}, {-1, b}, {-1, b}, {2}, {3}},
                     {0, 1, 4, 2, 5, 3}, together);
  }
  Rearrange(node, {{0}, {-1, b}, {-1, b}, {1, 1, b * b}, {2}, {3}},
            {0, 3, 4, 1, 5, 2}, together);
}

void CenterCropPad(Node& node) {
  const int rank = RankOf(node, 0);
  Ints axes = node.attributes().Ints("axes");
  if (axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) {
      axes.push_back(axis);
    }
  }
  for (int64_t& axis : axes) {
    axis = AxisOf(axis, rank);
  }
  // What is added to each dim, and removed where it is negative.
  const std::string sizes = node.Append("shape", {{"X", {node.In(0)}}});
  const std::string index = IntsOf(node, axes);
  const std::string old =
      node.Append("gather", {{"X", {sizes}}, {"Index", {index}}});
  const std::string wanted =
      node.Append("cast", {{"X", {node.In(1)}}}, {{"dtype", DType::kInt64}});
  const std::string added =
      node.Append("elementwise_sub", {{"X", {wanted}}, {"Y", {old}}});
  // Half of it, rounded towards 0.
  const std::string before = Quotient(node, added, IntsOf(node, {2}));
  const std::string after =
      node.Append("elementwise_sub", {{"X", {added}}, {"Y", {before}}});
  const std::string none = IntsOf(node, Ints(static_cast<size_t>(rank), 0));
  framework::ArgVars pads;
  for (const std::string& side : {before, after}) {
    pads.push_back(
        node.Append("scatter_elements",
                    {{"X", {none}}, {"Index", {index}}, {"Updates", {side}}}));
  }
  const std::string both = node.Append("concat", {{"X", pads}});
  node.Finish("pad", {{"X", {node.In(0)}}, {"Pads", {both}}});
}

// Opset 20 has other names of two modes.
void GridSample(Node& node) {
  std::string mode = node.attributes().String("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  node.Finish(
      "grid_sample", {{"X", {node.In(0)}}, {"Grid", {node.In(1)}}},
      {{"mode", mode},
       {"padding_mode", node.attributes().String("padding_mode", "zeros")},
       {"align_corners", node.attributes().Int("align_corners", 0) != 0}});
}

constexpr HandlerRow kImageRows[] = {
    {"CenterCropPad", 18, CenterCropPad},
    {"DepthToSpace", 1, DepthToSpace},
    {"GridSample", 16, GridSample},
    {"SpaceToDepth", 1, SpaceToDepth},
};

}  // namespace

std::span<const HandlerRow> ImageHandlers() {
  return kImageRows;
}

}  // namespace sluice::onnx
