#include <cmath>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_shape.h"

namespace sluice {
namespace {

// Checks everything and returns the shape of the losses, one per image.
DDim LossesOfImages(const InferShapeContext& context) {
  for (const char* name : {"delta_v", "delta_d", "variance_weight",
                           "distance_weight", "regularization_weight"}) {
    const auto value = context.Attr<double>(name);
    context.Require(
        value >= 0 && std::isfinite(value), "discriminative_loss.attribute",
        "{} = {}; expected a finite number, 0 or more", name, value);
  }
  return {EmbeddingMaskShape(context)[0]};
}

void DiscriminativeLossShape(InferShapeContext& context) {
  context.SetOutput("Loss", LossesOfImages(context));
}

void DiscriminativeLossSchema(OpSchema& op) {
  op.Doc(
      "The loss of instance segmentation by embeddings of De Brabandere et al. "
      "2017, of each image: embeddings of the pixels of one mask are drawn to "
      "its mean, and means of different masks pushed apart. With C masks that "
      "have pixels it is variance_weight * the mean over masks of the mean "
      "over pixels x of max(0, |mean - x| - delta_v)^2, + distance_weight * "
      "the mean over pairs of masks of max(0, 2 delta_d - |mean - other "
      "mean|)^2, + regularization_weight * the mean over masks of |mean|, with "
      "Euclidean norms. Empty masks do not count, and no masks have loss 0. "
      "Masks are as in average_embedding_mask, and may overlap.");
  EmbeddingMaskInputs(op);
  op.Output("Loss", "T", "[B]: the loss of each image.");
  op.Attr<double>("delta_v",
                  "How far from its mask's mean an embedding may be without a "
                  "loss.")
      .Default(0.5);
  op.Attr<double>("delta_d",
                  "Half of how far apart the means of two masks have to be.")
      .Default(1.5);
  op.Attr<double>("variance_weight", "Weight of the variance term.")
      .Default(1.0);
  op.Attr<double>("distance_weight", "Weight of the distance term.")
      .Default(1.0);
  op.Attr<double>("regularization_weight", "Weight of the mean norm of means.")
      .Default(0.001);
  op.InferShape(DiscriminativeLossShape);
}

constexpr GradientOp kDiscriminativeLossGrad = {
    .forward = DiscriminativeLossSchema,
    .doc =
        "The gradient of discriminative_loss: 0 outside of all masks. That of "
        "a norm of 0 counts as 0.",
    .inputs = {"Embedding", "Mask"},
    .output_grads = {"Loss"},
    .wanted = {"Embedding"},
    .dims = LossesOfImages};

}  // namespace

REGISTER_OPERATOR(discriminative_loss, WithGradient<kDiscriminativeLossGrad>);
REGISTER_OPERATOR(discriminative_loss_grad,
                  GradientSchema<kDiscriminativeLossGrad>);

}  // namespace sluice
