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

}  // namespace

REGISTER_OPERATOR(non_max_suppression, NonMaxSuppressionSchema);

}  // namespace sluice
