#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/handlers/integers.h"
#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/term.h"

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

// The sizes of the image and the blocks of Col2Im, int64 variables [rank].
struct BlockSizes {
  Node& node;
  std::string image = node.Cast(node.In(1), DType::kInt64);
  std::string block = node.Cast(node.In(2), DType::kInt64);
  size_t rank = RankOfImage();
  Ints strides = NumbersOf(node, "strides", rank, 1);
  Ints dilations = NumbersOf(node, "dilations", rank, 1);
  Ints pads = NumbersOf(node, "pads", 2 * rank, 0);

  size_t RankOfImage() const {
    int64_t ranks[] = {kUnknownDim, kUnknownDim};
    for (int i = 0; i < 2; ++i) {
      const DDim dims = node.Dims(i + 1);
      if (!dims.rank_known()) continue;
      SLUICE_ENFORCE(dims.rank() == 1, ErrorCode::kInvalidArgument,
                     "onnx.col2im_sizes",
                     "its input {} has shape {}; expected a list of sizes",
                     i + 1, Printable(dims));
      ranks[i] = dims[0];
    }
    const int64_t rank = std::max(ranks[0], ranks[1]);
    if (rank < 0) {
      Node::Unsupported(
          "the number of sizes in its inputs 1 and 2 is known only when the "
          "model runs");
    }
    SLUICE_ENFORCE(rank > 0 && rank <= DDim::kMaxRank &&
                       (ranks[0] < 0 || ranks[1] < 0 || ranks[0] == ranks[1]),
                   ErrorCode::kInvalidArgument, "onnx.col2im_shape",
                   "its image has {} dims and its blocks {}; expected as many, "
                   "1 to {}",
                   ranks[0], ranks[1], DDim::kMaxRank);
    return static_cast<size_t>(rank);
  }

  // Checks sizes that are known.
  void Check() const {
    Ints known[2];
    for (int i = 0; i < 2; ++i) {
      const Tensor* given = node.ConstantOf(i == 0 ? image : block);
      if (given != nullptr) known[i] = given->ToVector<int64_t>();
      for (const int64_t size : known[i]) {
        SLUICE_ENFORCE(size > 0 && size < int64_t{1} << 31,
                       ErrorCode::kInvalidArgument, "onnx.col2im_size",
                       "its input {} has the size {}; expected 1 to 2^31 - 1",
                       i + 1, size);
      }
      DDim(known[i]).numel();  // raises if there are too many
    }
    for (size_t i = 0; i < std::min(known[0].size(), known[1].size()); ++i) {
      SLUICE_ENFORCE(
          known[0][i] + pads[i] + pads[rank + i] >
              (known[1][i] - 1) * dilations[i],
          ErrorCode::kInvalidArgument, "onnx.col2im_block",
          "dim {} of its image has {} elements, and no room for a block of {}",
          i, known[0][i], known[1][i]);
    }
  }
};

// The places in an image of each element of each block, [elements of a block,
// blocks]; `pixels`, their number, for an element in the padding.
Term PlacesOfBlocks(const BlockSizes& sizes, const Term& pixels) {
  Node& node = sizes.node;
  const auto count = [&node](const Term& end) -> Term {
    return {&node, node.Count(end.name)};
  };
  const Term zero = {&node, node.Whole(0)};
  Term elements = {&node, node.Vector({1})}, step = elements;
  std::optional<Term> places;
  for (size_t i = sizes.rank; i-- > 0;) {
    const auto at = static_cast<int64_t>(i);
    const Term image = Term{&node, sizes.image}.Part(at, at + 1),
               block = Term{&node, sizes.block}.Part(at, at + 1),
               stride = {&node, node.Vector({sizes.strides[i]})};
    const auto dilation = static_cast<double>(sizes.dilations[i]),
               before = static_cast<double>(sizes.pads[i]),
               after = static_cast<double>(sizes.pads[sizes.rank + i]);
    // Where elements of the first block are, and where blocks begin.
    const Term inner = dilation * count(block) - before;
    const Term room = image - dilation * (block - 1) + (before + after - 1);
    const Term starts = stride * count(room / stride + 1);
    const Term place = inner.Unsqueeze({1}) + starts;
    // A sum with minus the number of pixels is negative.
    const Term of_dim =
        Where(place < zero, -1.0 * pixels,
              Where(place < image, place * step, -1.0 * pixels));
    elements = elements * block;
    step = step * image;
    if (!places) {
      places = of_dim;
      continue;
    }
    const Term sums = of_dim.Unsqueeze({1, 3}) + places->Unsqueeze({0, 2});
    const std::string shape = node.Concat({elements.name, node.Vector({-1})});
    places->name =
        node.Append("reshape", {{"X", {sums.name}}, {"Shape", {shape}}});
  }
  return Where(*places < zero, pixels, *places);
}

// Adds the blocks X [N, C * block, blocks] into an image. Overlapping elements
// are summed.
void Col2Im(Node& node) {
  const BlockSizes sizes{node};
  sizes.Check();
  SLUICE_ENFORCE(RankOf(node, 0) == 3, ErrorCode::kInvalidArgument,
                 "onnx.col2im_rank",
                 "its input has shape {}; expected [N, channels, blocks]",
                 Printable(node.Dims(0)));
  const auto product = [&node](const std::string& of) {
    return node.Reshape(node.Unary("reduce_prod", of), {1});
  };
  const std::string pixels = product(sizes.image), one = node.Vector({1}),
                    elements = product(sizes.block);
  const int64_t rows = node.Dims(0)[1];
  const Tensor* known = node.ConstantOf(elements);
  const bool checked = rows >= 0 && known != nullptr;
  if (checked) {
    CheckDivides(rows, known->data<int64_t>()[0], "number of channels");
  }
  const auto size = [&node](const std::string& x, int axis) {
    const int64_t found = node.SizeOf(x, axis);
    if (found >= 0) return node.Vector({found});
    return node.Unary("shape", x,
                      {{"start", int64_t{axis}}, {"end", int64_t{axis + 1}}});
  };
  const std::string parts = node.Append(
      "reshape",
      {{"X", {node.In(0)}},
       {"Shape",
        {node.Concat({node.Vector({-1}), elements, node.Vector({0})})}}});
  const std::string columns = node.Transpose(parts, {1, 2, 0});
  const std::string zeros = node.Append(
      "expand", {{"X", {node.Number(0, node.TypeOf(0))}},
                 {"Shape",
                  {node.Concat({node.Binary("elementwise_add", {pixels, one}),
                                size(columns, 2)})}}});
  const std::string sums = node.Append(
      "scatter_nd",
      {{"X", {zeros}},
       {"Index", {PlacesOfBlocks(sizes, {&node, pixels}).Unsqueeze({2}).name}},
       {"Updates", {columns}}},
      {{"reduction", std::string("add")}});
  const std::string inside = node.Append(
      "slice",
      {{"X", {sums}}, {"Starts", {node.Vector({0})}}, {"Ends", {pixels}}});
  const std::string shape = node.Concat(
      {checked ? node.Vector({-1}) : size(node.In(0), 0),
       node.Binary("elementwise_floordiv", {size(node.In(0), 1), elements}),
       sizes.image});
  node.Finish("reshape",
              {{"X", {node.Transpose(inside, {1, 0})}}, {"Shape", {shape}}});
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
