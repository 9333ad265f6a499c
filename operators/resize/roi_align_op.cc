#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Bounds on memory: points of a part, and parts, along a dim.
constexpr int kMostPoints = 4096;
constexpr int kMostParts = 1024;

void RoiAlignShape(InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  const auto rois = context.WithRank(context.input("Rois"), 2);
  const auto images = context.WithRank(context.input("BatchIndices"), 1);
  context.WithValue(context.Dim(rois, 1), 4);
  context.Require(
      x[2] != 0 && x[3] != 0, "roi_align.empty",
      "input X {} has no pixels; expected [N, C, H, W] with H and W "
      "of 1 or more",
      x);
  const int64_t count =
      context.Merge(context.Dim(rois, 0), context.Dim(images, 0));
  context.SetOutput("Out",
                    DDim{count, x[1], context.Attr<int64_t>("pooled_height"),
                         context.Attr<int64_t>("pooled_width")});
}

void RoiAlignSchema(OpSchema& op) {
  op.Doc(
      "Regions of images, each resized to [pooled_height, pooled_width]: the "
      "mean, or the largest term, of points on a grid in each part of a "
      "region, by bilinear interpolation (K. He et al., \"Mask R-CNN\", ICCV "
      "2017). Points more than a pixel outside of the image are 0. Numbers are "
      "those of ONNX's operator RoiAlign.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "Images [N, C, H, W].");
  op.Input("Rois", "T", "[regions, 4]: left, top, right, bottom.");
  op.Input("BatchIndices", "int64", "[regions]: the image of each.");
  op.Output("Out", "T", "[regions, C, pooled_height, pooled_width].");
  op.Attr<std::string>("mode",
                       "avg: the mean of the points; max: the largest of the "
                       "four terms, pixels times weights, of all points.")
      .Default(std::string("avg"))
      .OneOf({"avg", "max"});
  op.Attr<std::string>(
        "coordinate_transformation_mode",
        "half_pixel: regions are moved by half a pixel, because pixels are "
        "numbered at their middles; output_half_pixel: they are not, and have "
        "a width and a height of 1 or more.")
      .Default(std::string("half_pixel"))
      .OneOf({"half_pixel", "output_half_pixel"});
  op.Attr<int64_t>("pooled_height", "The height of Out.")
      .Default(int64_t{1})
      .AtLeast(1)
      .AtMost(kMostParts);
  op.Attr<int64_t>("pooled_width", "The width of Out.")
      .Default(int64_t{1})
      .AtLeast(1)
      .AtMost(kMostParts);
  op.Attr<int64_t>("sampling_ratio",
                   "How many points there are along each dim of a part; 0: one "
                   "for each pixel, at most 4096.")
      .Default(int64_t{0})
      .AtLeast(0)
      .AtMost(kMostPoints);
  op.Attr<double>("spatial_scale",
                  "The size of X relative to the image that Rois is for.")
      .Default(1.0);
  op.InferShape(RoiAlignShape);
  op.NoGradient("it only predicts so far");
  op.Onnx(
      {"RoiAlign",
       {{"output_height", "pooled_height"}, {"output_width", "pooled_width"}}});
}

// A point along one axis: pixels `low` and `high` with their weights, which are
// 0 outside of the image.
template <typename T>
struct RoiPoint {
  int64_t low = 0;
  int64_t high = 0;
  T low_weight = 0;
  T high_weight = 0;
};

template <typename T>
RoiPoint<T> PointAt(T place, int64_t size) {
  // Written so that NaN is outside, too.
  if (!(place >= -1 && place <= static_cast<T>(size))) return {};
  place = std::max(place, T{0});
  const auto low = static_cast<int64_t>(place);
  if (low >= size - 1) return {size - 1, size - 1, T{1}, T{0}};
  const T rest = place - static_cast<T>(low);
  return {low, low + 1, 1 - rest, rest};
}

// The points of a region along one axis: `count` for each of its parts.
template <typename T>
struct RoiAxis {
  std::vector<RoiPoint<T>> points;
  int64_t count = 0;

  std::span<const RoiPoint<T>> Part(int64_t i) const {
    return {points.data() + i * count, static_cast<size_t>(count)};
  }
};

template <typename T>
class RoiAlignKernel final : public OpKernel {
 public:
  explicit RoiAlignKernel(const OpKernelConstruction& construction)
      : max_(construction.Attr<std::string>("mode") == "max"),
        moved_(construction.Attr<std::string>(
                   "coordinate_transformation_mode") == "half_pixel"),
        height_(construction.Attr<int64_t>("pooled_height")),
        width_(construction.Attr<int64_t>("pooled_width")),
        ratio_(construction.Attr<int64_t>("sampling_ratio")),
        scale_(static_cast<T>(construction.Attr<double>("spatial_scale"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const DDim dims = x.dims();
    const Tensor& rois = context.Input(1);
    const auto* const images = context.Input(2).data<int64_t>();
    const int64_t regions = rois.dims()[0], channels = dims[1];
    for (int64_t i = 0; i < regions; ++i) {
      SLUICE_ENFORCE(images[i] >= 0 && images[i] < dims[0],
                     ErrorCode::kOutOfRange, "roi_align.image",
                     "roi_align: BatchIndices[{}] is {}; expected an image of "
                     "input X {}",
                     i, images[i], dims);
    }
    Tensor& out =
        context.AllocateOutput(0, {regions, channels, height_, width_});
    if (out.numel() == 0) return;
    const int64_t plane = dims[2] * dims[3];
    ParallelFor(regions * channels, 4, [&](int64_t begin, int64_t end) {
      RoiAxis<T> rows, columns;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t region = i / channels;
        if (i == begin || i % channels == 0) {
          const T* const roi = rois.data<T>() + 4 * region;
          rows = AxisOf(roi[1], roi[3], height_, dims[2]);
          columns = AxisOf(roi[0], roi[2], width_, dims[3]);
        }
        const int64_t image = images[region] * channels + i % channels;
        Pool(x.data<T>() + image * plane, dims[3], rows, columns,
             out.data<T>() + i * height_ * width_);
      }
    });
  }

 private:
  RoiAxis<T> AxisOf(T from, T to, int64_t parts, int64_t size) const {
    const T shift = moved_ ? T{0.5} : T{0};
    const T first = from * scale_ - shift;
    T length = to * scale_ - shift - first;
    if (!moved_) length = std::max(length, T{1});
    const T part = length / static_cast<T>(parts);
    RoiAxis<T> axis;
    // Written so that NaN and negative sizes have no points.
    const T exact = ratio_ > 0 ? static_cast<T>(ratio_) : std::ceil(part);
    axis.count =
        exact > 0 ? static_cast<int64_t>(std::min<T>(exact, kMostPoints)) : 0;
    for (int64_t i = 0; i < parts * axis.count; ++i) {
      const int64_t of_part = i / axis.count;
      const auto at = static_cast<T>(of_part);
      const auto inside = static_cast<T>(i % axis.count) + T{0.5};
      axis.points.push_back(PointAt(
          first + at * part + inside * part / static_cast<T>(axis.count),
          size));
    }
    return axis;
  }

  void Pool(const T* x,
            int64_t width,
            const RoiAxis<T>& rows,
            const RoiAxis<T>& columns,
            T* out) const {
    for (int64_t i = 0; i < height_; ++i) {
      for (int64_t k = 0; k < width_; ++k) {
        out[i * width_ + k] = PartOf(x, width, rows.Part(i), columns.Part(k));
      }
    }
  }

  T PartOf(const T* x,
           int64_t width,
           std::span<const RoiPoint<T>> rows,
           std::span<const RoiPoint<T>> columns) const {
    double sum = 0;
    T most = rows.empty() || columns.empty()
                 ? T{0}
                 : -std::numeric_limits<T>::infinity();
    for (const RoiPoint<T>& row : rows) {
      const T* const low = x + row.low * width;
      const T* const high = x + row.high * width;
      const auto add = [&](T weight, T pixel) {
        const T term = weight == 0 ? T{0} : weight * pixel;
        sum += term;
        if (term > most || std::isnan(term)) most = term;
      };
      for (const RoiPoint<T>& column : columns) {
        add(row.low_weight * column.low_weight, low[column.low]);
        add(row.low_weight * column.high_weight, low[column.high]);
        add(row.high_weight * column.low_weight, high[column.low]);
        add(row.high_weight * column.high_weight, high[column.high]);
      }
    }
    if (max_) return most;
    const size_t count = std::max<size_t>(rows.size() * columns.size(), 1);
    return static_cast<T>(sum / static_cast<double>(count));
  }

  bool max_;
  bool moved_;
  int64_t height_;
  int64_t width_;
  int64_t ratio_;
  T scale_;
};

}  // namespace

REGISTER_OPERATOR(roi_align, RoiAlignSchema);
REGISTER_OP_CPU_KERNEL(roi_align, RoiAlignKernel<FloatTypes>);

}  // namespace sluice
