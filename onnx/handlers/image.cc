#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// A size of a new shape: the size of dim `dim` of the old one, or 1 for dim -1,
// multiplied and divided by these.
struct NewSize {
  int dim;
  int64_t times = 1;
  int64_t divided = 1;
};

// The inputs and attributes of a reshape of x to `sizes`. Sizes that are
// unknown at import are computed at run time.
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
    // A size of 0 copies the old size.
    const bool copied = size.dim == static_cast<int>(i) && size.times == 1 &&
                        size.divided == 1 && old < 0;
    known = known && (copied || old >= 0);
    // An unknown size is not used.
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
  const std::string old = node.Unary("shape", x);
  const std::string longer = node.Concat({old, node.Vector({1})});
  const std::string picked = node.Gather({longer, node.Vector(which)});
  const std::string multiplied =
      node.Binary("elementwise_mul", {picked, node.Vector(times)});
  const std::string result =
      node.Binary("elementwise_floordiv", {multiplied, node.Vector(divided)});
  inputs->emplace_back("Shape", ArgVars{result});
}

int64_t BlockOf(Node& node) {
  const int64_t block = node.attributes().NeededInt("blocksize");
  SLUICE_ENFORCE(block > 0 && block < (1 << 15), ErrorCode::kInvalidArgument,
                 "onnx.block_size",
                 "attribute blocksize is {}; expected 1 to "
                 "32767",
                 block);
  const DDim x = node.Dims(0);
  SLUICE_ENFORCE(RankOf(node, 0) == 4, ErrorCode::kInvalidArgument,
                 "onnx.block_rank",
                 "its input has shape {}; expected [N, C, H, W]", Printable(x));
  return block;
}

// Returns whether the channels of a block are adjacent in depth.
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

// Reshapes x to 6 dims, transposes it, and reshapes it to 4 dims.
void Rearrange(Node& node,
               const std::vector<NewSize>& apart,
               const Ints& order,
               const std::vector<NewSize>& together) {
  if (node.attributes().NeededInt("blocksize") == 1) {
    return node.FinishUnary("assign", node.In(0));
  }
  Inputs inputs;
  AttributeMap attributes;
  ShapeOf(node, node.In(0), apart, &inputs, &attributes);
  const std::string blocks = node.Append("reshape", inputs, attributes);
  const std::string turned = node.Transpose(blocks, order);
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
  // The number of elements to add to each dim; negative means remove.
  const std::string sizes = node.Unary("shape", node.In(0));
  const std::string index = node.Vector(axes);
  const std::string old = node.Gather({sizes, index});
  const std::string wanted =
      node.Unary("cast", node.In(1), {{"dtype", DType::kInt64}});
  const std::string added = node.Binary("elementwise_sub", {wanted, old});
  // Half of it, rounded towards 0.
  const std::string before = Quotient(node, added, node.Vector({2}));
  const std::string after = node.Binary("elementwise_sub", {added, before});
  const std::string none = node.Vector(Ints(static_cast<size_t>(rank), 0));
  ArgVars pads;
  for (const std::string& side : {before, after}) {
    pads.push_back(
        node.Append("scatter_elements",
                    {{"X", {none}}, {"Index", {index}}, {"Updates", {side}}}));
  }
  const std::string both = node.Concat(pads);
  node.Finish("pad", {{"X", {node.In(0)}}, {"Pads", {both}}});
}

// Opset 20 renamed two modes.
void GridSample(Node& node) {
  std::string mode = node.attributes().String("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  node.FinishAs(
      "grid_sample",
      {{"mode", mode},
       {"padding_mode", node.attributes().String("padding_mode", "zeros")},
       {"align_corners", node.attributes().Flag("align_corners")}});
}

// Before opset 16 there is no attribute for the coordinates.
void RoiAlign10(Node& node) {
  auto& given = node.attributes();
  node.FinishAs(
      "roi_align",
      {{"coordinate_transformation_mode", std::string("output_half_pixel")},
       {"mode", given.String("mode", "avg")},
       {"pooled_height", given.Int("output_height", 1)},
       {"pooled_width", given.Int("output_width", 1)},
       {"sampling_ratio", given.Int("sampling_ratio", 0)},
       {"spatial_scale", given.Float("spatial_scale", 1)}});
}

// Attribute `name`, or `count` times `otherwise`.
Ints NumbersOf(Node& node, const char* name, size_t count, int64_t otherwise) {
  Ints numbers = node.attributes().Ints(name);
  if (numbers.empty()) numbers.assign(count, otherwise);
  SLUICE_ENFORCE(numbers.size() == count, ErrorCode::kInvalidArgument,
                 "onnx.col2im_entries",
                 "attribute {} has {} entries; expected {}", name,
                 numbers.size(), count);
  for (const int64_t number : numbers) {
    SLUICE_ENFORCE(number >= otherwise && number < (int64_t{1} << 31),
                   ErrorCode::kInvalidArgument, "onnx.col2im_number",
                   "attribute {} has {}; expected {} to 2^31 - 1", name, number,
                   otherwise);
  }
  return numbers;
}

// The blocks of Col2Im along one dim: element `k` of block `at` is at at *
// stride + k * dilation - pad.
struct BlockDim {
  int64_t image, block, stride, dilation, pad, blocks;
};

std::vector<BlockDim> BlockDims(Node& node) {
  const Ints image = node.ConstantInts(1, "image shape");
  const Ints block = node.ConstantInts(2, "block shape");
  const size_t rank = image.size();
  SLUICE_ENFORCE(block.size() == rank && rank > 0, ErrorCode::kInvalidArgument,
                 "onnx.col2im_shape",
                 "its image has {} dims and its blocks {}; expected as many",
                 rank, block.size());
  const Ints strides = NumbersOf(node, "strides", rank, 1);
  const Ints dilations = NumbersOf(node, "dilations", rank, 1);
  const Ints pads = NumbersOf(node, "pads", 2 * rank, 0);
  std::vector<BlockDim> dims;
  for (size_t i = 0; i < rank; ++i) {
    constexpr int64_t kMost = int64_t{1} << 31;
    const bool fits =
        image[i] > 0 && image[i] < kMost && block[i] > 0 && block[i] < kMost;
    const int64_t room = fits ? image[i] + pads[i] + pads[rank + i] - 1 -
                                    (block[i] - 1) * dilations[i]
                              : -1;
    SLUICE_ENFORCE(room >= 0, ErrorCode::kInvalidArgument, "onnx.col2im_block",
                   "dim {} of its image has {} elements, and no room for a "
                   "block of {}",
                   i, image[i], block[i]);
    dims.push_back({image[i], block[i], strides[i], dilations[i], pads[i],
                    room / strides[i] + 1});
  }
  return dims;
}

// Fills in the image index of each element of each block, blocks last;
// `nowhere` for elements in the padding.
void FillPlaces(const std::vector<BlockDim>& dims,
                int64_t nowhere,
                Tensor* places) {
  auto* place = places->mutable_data<int64_t>(CPUPlace());
  for (int64_t n = 0; n < places->numel(); ++n) {
    int64_t at = n, element = n, step = 1, in_image = 0;
    for (const BlockDim& dim : dims) {
      element /= dim.blocks;
    }
    bool inside = true;
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      const int64_t i = at % dim->blocks * dim->stride +
                        element % dim->block * dim->dilation - dim->pad;
      inside = inside && i >= 0 && i < dim->image;
      in_image += i * step;
      step *= dim->image;
      at /= dim->blocks;
      element /= dim->block;
    }
    place[n] = inside ? in_image : nowhere;
  }
}

// Adds the blocks X [N, C * block, blocks] into an image. Overlapping elements
// are summed.
void Col2Im(Node& node) {
  const std::vector<BlockDim> dims = BlockDims(node);
  DDim image, block, blocks;
  for (const BlockDim& dim : dims) {
    image.InsertDim(image.rank(), dim.image);
    block.InsertDim(block.rank(), dim.block);
    blocks.InsertDim(blocks.rank(), dim.blocks);
  }
  SLUICE_ENFORCE(
      RankOf(node, 0) == 3 && node.SizeOf(node.In(0), 1) >= 0,
      ErrorCode::kUnimplemented, "onnx.col2im_rank",
      "its input has shape {}; expected [N, channels, blocks] with a known "
      "number of channels",
      Printable(node.Dims(0)));
  const int64_t channels = node.Dims(0)[1];
  Tensor places =
      node.NewTable({DDim{block.numel(), blocks.numel()}.numel(), 1});
  CheckDivides(channels, block.numel(), "number of channels");
  FillPlaces(dims, image.numel(), &places);
  const std::string columns =
      node.Transpose(node.Reshape(node.In(0), {-1, places.dims()[0]}), {1, 0});
  const std::string none = node.Slice(columns, 0, 0);
  const std::string zeros =
      node.Unary("pad", none, {{"pads", Ints{0, 0, image.numel() + 1, 0}}});
  const std::string sums =
      node.Append("scatter_nd",
                  {{"X", {zeros}},
                   {"Index", {node.NewConstant(std::move(places))}},
                   {"Updates", {columns}}},
                  {{"reduction", std::string("add")}});
  const std::string inside = node.Slice(sums, 0, image.numel());
  Ints shape = {-1, channels / block.numel()};
  shape.insert(shape.end(), image.begin(), image.end());
  node.FinishUnary("reshape", node.Transpose(inside, {1, 0}),
                   {{"shape", shape}});
}

}  // namespace

const HandlerTable kImageHandlers = {
    {"CenterCropPad", 18, CenterCropPad},
    {"Col2Im", 18, Col2Im},
    {"DepthToSpace", 1, DepthToSpace},
    {"GridSample", 16, GridSample},
    {"RoiAlign", 10, RoiAlign10},
    {"RoiAlign", 16, nullptr},
    {"SpaceToDepth", 1, SpaceToDepth},
    {"com.microsoft.GridSample", 1, GridSample},
};

}  // namespace sluice::onnx
