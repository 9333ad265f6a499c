#include <algorithm>
#include <limits>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void NonMaxSuppressionShape(InferShapeContext& context) {
  const auto boxes = context.WithRank(context.input("Boxes"), 3);
  const auto scores = context.WithRank(context.input("Scores"), 3);
  context.WithValue(context.Dim(boxes, 2), 4);
  context.Merge(context.Dim(boxes, 0), context.Dim(scores, 0));
  context.Merge(context.Dim(boxes, 1), context.Dim(scores, 2));
  context.SetOutput("Out", DDim({kUnknownDim, 3}));
}

void NonMaxSuppressionSchema(OpSchema& op) {
  op.Doc(
      "Chooses boxes of each image and class, from the highest score down: "
      "those that no chosen one overlaps by more than iou_threshold "
      "(intersection over union). Of equal scores the first comes first. A box "
      "whose score is NaN is never chosen. How many there are is known when it "
      "has run.");
  op.Input(
      "Boxes", "float32",
      "[images, boxes, 4]: two corners y, x, y, x in any order, or x, y of "
      "the centre, width and height.");
  op.Input("Scores", "float32", "[images, classes, boxes].");
  op.Output("Out", "int64",
            "[n, 3]: image, class and box of each that was chosen, by image, "
            "class and falling score.");
  op.Attr<int64_t>("max_output_boxes_per_class",
                   "The most boxes of an image and a class; 0 is none.")
      .Default(int64_t{0});
  op.Attr<double>("iou_threshold",
                  "Boxes that overlap by more are not both chosen.")
      .Default(0.0);
  op.Attr<double>("score_threshold", "Boxes must have a higher score.")
      .Default(-std::numeric_limits<double>::infinity());
  op.Attr<int64_t>("center_point_box",
                   "0: boxes are corners; 1: they are centres and sizes.")
      .Default(int64_t{0})
      .AtLeast(0)
      .AtMost(1);
  op.Operand("MaxOutput", "max_output_boxes_per_class", "int64",
             "Attribute max_output_boxes_per_class as one element.");
  op.Operand("IouThreshold", "iou_threshold", "float32",
             "Attribute iou_threshold as one element.");
  op.Operand("ScoreThreshold", "score_threshold", "float32",
             "Attribute score_threshold as one element.");
  op.InferShape(NonMaxSuppressionShape);
  op.InferLateShape(NonMaxSuppressionShape);
}

struct Box {
  float top;
  float left;
  float bottom;
  float right;

  float Area() const { return (bottom - top) * (right - left); }
};

Box BoxOf(const float* values, bool centred) {
  if (centred) {
    const float half_width = values[2] / 2;
    const float half_height = values[3] / 2;
    return {values[1] - half_height, values[0] - half_width,
            values[1] + half_height, values[0] + half_width};
  }
  return {std::min(values[0], values[2]), std::min(values[1], values[3]),
          std::max(values[0], values[2]), std::max(values[1], values[3])};
}

bool Overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  // With NaN, this comparison is false.
  if (!(height > 0 && width > 0)) return false;
  const float common = height * width;
  return common / (a.Area() + b.Area() - common) > threshold;
}

template <typename T>
class NonMaxSuppressionKernel final : public OpKernel {
 public:
  explicit NonMaxSuppressionKernel(const OpKernelConstruction& construction)
      : most_(construction.Attr<int64_t>("max_output_boxes_per_class")),
        iou_(static_cast<float>(construction.Attr<double>("iou_threshold"))),
        score_(construction.Attr<double>("score_threshold")),
        centred_(construction.Attr<int64_t>("center_point_box") == 1) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& boxes = context.Input(0);
    const Tensor& scores = context.Input(1);
    const bool empty = scores.numel() == 0;  // with huge dims, perhaps
    const int64_t images = empty ? 0 : scores.dims()[0];
    const int64_t classes = scores.dims()[1];
    const int64_t count = empty ? 0 : scores.dims()[2];
    std::vector<int64_t> chosen;
    std::vector<Box> of_image(static_cast<size_t>(count));
    for (int64_t image = 0; image < images; ++image) {
      for (int64_t i = 0; i < count; ++i) {
        of_image[static_cast<size_t>(i)] =
            BoxOf(boxes.data<T>() + (image * count + i) * 4, centred_);
      }
      for (int64_t category = 0; category < classes; ++category) {
        const T* line = scores.data<T>() + (image * classes + category) * count;
        for (const int64_t box : Choose(of_image, line)) {
          chosen.insert(chosen.end(), {image, category, box});
        }
      }
    }
    Tensor& out = context.AllocateOutput(
        0, DDim({static_cast<int64_t>(chosen.size()) / 3, 3}));
    std::copy(chosen.begin(), chosen.end(), out.data<int64_t>());
  }

 private:
  std::vector<int64_t> Choose(const std::vector<Box>& boxes,
                              const T* scores) const {
    std::vector<int64_t> order;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (scores[i] > score_) order.push_back(static_cast<int64_t>(i));
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return scores[a] > scores[b];
    });
    std::vector<int64_t> chosen;
    for (const int64_t box : order) {
      if (static_cast<int64_t>(chosen.size()) >= most_) break;
      const bool free =
          std::none_of(chosen.begin(), chosen.end(), [&](int64_t other) {
            return Overlap(boxes[static_cast<size_t>(box)],
                           boxes[static_cast<size_t>(other)], iou_);
          });
      if (free) chosen.push_back(box);
    }
    return chosen;
  }

  int64_t most_;
  float iou_;
  double score_;
  bool centred_;
};

// Each box is compared with the boxes that were selected before it.
KernelWork SuppressionWork(const KernelQuery& query) {
  constexpr double kOfAPair = 12;
  const DDim& scores = query.inputs[1];
  const int64_t most = query.Attr<int64_t>("max_output_boxes_per_class");
  KernelWork work = DefaultKernelWork(query);
  work.comparisons =
      kOfAPair * static_cast<double>(scores.numel()) *
      static_cast<double>(std::clamp<int64_t>(most, 0, scores[2]));
  work.max_threads = 1;
  return work;
}

}  // namespace

REGISTER_OPERATOR(non_max_suppression, NonMaxSuppressionSchema);
REGISTER_OP_CPU_KERNEL(non_max_suppression,
                       EstimatedBy<&SuppressionWork>,
                       NonMaxSuppressionKernel<float>);

}  // namespace sluice
