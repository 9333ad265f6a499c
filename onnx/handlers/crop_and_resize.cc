#include <string>

#include "sluice/onnx/import/handlers.h"

namespace sluice::onnx {

namespace {

// CropAndResize of onnxruntime: the rectangles of input 1 in images [batch,
// channels, height, width], each in the size of input 3. Input 2 says in which
// image each is.
class CropAndResize {
 public:
  explicit CropAndResize(Node* node) : node_(*node), dtype_(node->TypeOf(1)) {}

  void Run() {
    const std::string mode = node_.attributes().String("mode", "bilinear");
    SLUICE_ENFORCE(mode == "bilinear" || mode == "nearest",
                   ErrorCode::kInvalidArgument, "onnx.crop_mode",
                   "attribute mode is {}; expected bilinear or nearest",
                   Shown(mode));
    const double outside = node_.attributes().Float("extrapolation_value", 0);
    // Pixels as rows of a matrix, whose columns are the channels.
    pixels_ = node_.Unary("flatten", node_.Transpose(node_.In(0), {0, 2, 3, 1}),
                          {{"axis", int64_t{3}}});
    images_ = node_.Reshape(node_.Cast(node_.In(2), DType::kInt64), {-1, 1, 1});
    const Places y = PlacesAlong(0), x = PlacesAlong(1);
    const std::string crops =
        mode == "nearest" ? Nearest(y, x) : Bilinear(y, x);
    const std::string inside =
        node_.Unsqueeze(Apply("logical_and", y.inside, x.inside), {3});
    const std::string kept =
        node_.Where({inside, crops, node_.Number(outside, node_.TypeOf(0))});
    node_.FinishUnary("transpose", kept, {{"axis", Ints{0, 3, 1, 2}}});
  }

 private:
  // Where the rows or columns of crops are in images, which broadcasts with
  // [crops, rows, columns]; 0 for those that are not inside.
  struct Places {
    std::string at, inside;
  };

  std::string Apply(const char* type,
                    const std::string& x,
                    const std::string& y) {
    return node_.Binary(type, {x, y});
  }
  std::string Whole(const std::string& places) {
    return node_.Cast(places, DType::kInt64);
  }
  std::string AsFloat(const std::string& x) { return node_.Cast(x, dtype_); }
  // Corner `i` of each rectangle: the first row, the first column, the last
  // row, the last column, in shares of the image.
  std::string Corner(int64_t i) {
    return node_.Slice(node_.In(1), i, i + 1, {1});
  }
  // The height (0) or width (1) of images.
  std::string SizeOfImages(int64_t axis) {
    return node_.Unary("shape", node_.In(0),
                       {{"start", axis + 2}, {"end", axis + 3}});
  }

  // One row of a crop is in the middle of its rectangle, several are from its
  // first to its last.
  Places PlacesAlong(int64_t axis) {
    const std::string one = node_.Whole(1);
    const std::string last =
        AsFloat(Apply("elementwise_sub", SizeOfImages(axis), one));
    const std::string count =
        node_.Slice(node_.Cast(node_.In(3), DType::kInt64), axis, axis + 1);
    const std::string begin = Corner(axis), end = Corner(axis + 2);
    const std::string steps = AsFloat(
        Apply("elementwise_max", Apply("elementwise_sub", count, one), one));
    const std::string size =
        Apply("elementwise_mul", Apply("elementwise_sub", end, begin), last);
    const std::string middle = node_.Unary(
        "scale", Apply("elementwise_add", begin, end), {{"scale", 0.5}});
    const std::string first =
        Apply("elementwise_mul",
              node_.Where({Apply("equal", count, one), middle, begin}), last);
    const std::string at =
        Apply("elementwise_add", first,
              Apply("elementwise_mul", AsFloat(node_.Count(count)),
                    Apply("elementwise_div", size, steps)));
    const std::string zero = node_.Number(0, dtype_);
    const std::string inside =
        Apply("logical_and", Apply("greater_equal", at, zero),
              Apply("less_equal", at, last));
    // [crops, count] with a dim for the columns or before them.
    const Ints other = {axis == 0 ? 2 : 1};
    return {node_.Unsqueeze(node_.Where({inside, at, zero}), other),
            node_.Unsqueeze(inside, other)};
  }

  // The pixels of the images at whole places: [crops, rows, columns, channels].
  std::string At(const std::string& y, const std::string& x) {
    const auto then = [this](const std::string& index, int64_t axis,
                             const std::string& place) {
      return Apply("elementwise_add",
                   Apply("elementwise_mul", index, SizeOfImages(axis)), place);
    };
    return node_.Gather(
        {pixels_, then(then(images_, 0, Whole(y)), 1, Whole(x))});
  }

  // Halves are rounded up.
  std::string Nearest(const Places& y, const Places& x) {
    const auto round = [this](const std::string& places) {
      return node_.Unary("floor",
                         node_.Unary("scale", places, {{"bias", 0.5}}));
    };
    return At(round(y.at), round(x.at));
  }

  std::string Bilinear(const Places& y, const Places& x) {
    const std::string top = node_.Unary("floor", y.at);
    const std::string bottom = node_.Unary("ceil", y.at);
    const std::string left = node_.Unary("floor", x.at);
    const std::string right = node_.Unary("ceil", x.at);
    const std::string across = Apply("elementwise_sub", x.at, left);
    const std::string upper = Between(At(top, left), At(top, right), across);
    const std::string lower =
        Between(At(bottom, left), At(bottom, right), across);
    return Between(upper, lower, Apply("elementwise_sub", y.at, top));
  }

  // a + (b - a) * share, of each pixel.
  std::string Between(const std::string& a,
                      const std::string& b,
                      const std::string& share) {
    const std::string factor =
        node_.Cast(node_.Unsqueeze(share, {3}), node_.TypeOf(0));
    return Apply(
        "elementwise_add", a,
        Apply("elementwise_mul", Apply("elementwise_sub", b, a), factor));
  }

  Node& node_;
  DType dtype_;  // of the places
  std::string pixels_, images_;
};

void CropAndResizeImages(Node& node) {
  CropAndResize(&node).Run();
}

}  // namespace

const HandlerTable kCropHandlers = {
    {"com.microsoft.CropAndResize", 1, CropAndResizeImages}};

}  // namespace sluice::onnx
