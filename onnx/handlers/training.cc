#include <string>
#include <vector>

#include "sluice/onnx/import/handlers.h"
#include "sluice/onnx/import/term.h"

// ONNX's optimizers: one step, whose outputs are the changed tensors.
namespace sluice::onnx {
namespace {

Term Root(const Term& x) {
  return x.Of("sqrt");
}
Term Power(double base, const Term& exponent) {
  return exponent.Number(base).With("elementwise_pow", exponent);
}
// `later` in all steps but the first, whose number is 0.
Term IfLater(const Term& steps, const Term& later, const Term& first) {
  return Where(steps.Number(0) < steps, later, first);
}

// The learning rate and the number of earlier steps, in float64, and a tensor,
// its gradient and states.
struct Step {
  Term rate, steps;
  std::vector<Term> parts;
  Attributes& attributes;

  // The gradient with that of norm_coefficient / 2 * |x|^2.
  Term Gradient() const {
    const double coefficient = attributes.Float("norm_coefficient", 0);
    return coefficient * parts[0] + parts[1];
  }
};

// Computes the new tensor and states.
using Formula = std::vector<Term> (*)(const Step& step);

// The inputs are the rate, the number of steps, and lists of one length: of
// tensors, gradients, and `states` others. The outputs are these lists without
// gradients.
void RunOptimizer(Node& node, int states, Formula formula) {
  const int lists = 2 + states, count = (node.input_count() - 2) / lists;
  SLUICE_ENFORCE(count > 0 && node.input_count() == 2 + lists * count &&
                     node.output_count() == (lists - 1) * count,
                 ErrorCode::kInvalidArgument, "onnx.optimizer_lists",
                 "it has {} inputs and {} outputs; expected, for n tensors, 2 "
                 "+ {} * n inputs and {} * n outputs",
                 node.input_count(), node.output_count(), lists, lists - 1);
  const auto number = [&node](int input) -> Term {
    return {&node,
            node.Reshape(node.Cast(node.In(input), DType::kFloat64), {})};
  };
  Step step = {number(0), number(1), {}, node.attributes()};
  for (int i = 0; i < count; ++i) {
    step.parts.clear();
    const DDim dims = node.Dims(2 + i);
    for (int input = 2 + i; input < node.input_count(); input += count) {
      const DDim own = node.Dims(input);
      SLUICE_ENFORCE(!own.known() || !dims.known() || own == dims,
                     ErrorCode::kInvalidArgument, "onnx.optimizer_shape",
                     "its input {} has shape {}; expected {}, that of input {}",
                     input, own, dims, 2 + i);
      step.parts.push_back({&node, node.In(input)});
    }
    int output = i;
    for (const Term& result : formula(step)) {
      if (node.HasOutput(output)) {
        node.FinishOutput(output, "assign", {{"X", {result.name}}});
      }
      output += count;
    }
  }
}

void Adagrad(Node& node) {
  RunOptimizer(node, 1, [](const Step& step) -> std::vector<Term> {
    const Term &x = step.parts[0], gradient = step.Gradient();
    const double decay = step.attributes.Float("decay_factor", 0);
    const double epsilon = step.attributes.Float("epsilon", 1e-6);
    const Term rate = step.rate / (decay * step.steps + 1);
    const Term sum = step.parts[2] + gradient * gradient;
    return {x - rate.Like(x) * (gradient / (Root(sum) + epsilon)), sum};
  });
}

void Adam(Node& node) {
  RunOptimizer(node, 2, [](const Step& step) -> std::vector<Term> {
    const Term &x = step.parts[0], gradient = step.Gradient();
    const double alpha = step.attributes.Float("alpha", 0.9);
    const double beta = step.attributes.Float("beta", 0.999);
    const double epsilon = step.attributes.Float("epsilon", 1e-6);
    const double decay = step.attributes.Float("norm_coefficient_post", 0);
    const Term mean = alpha * step.parts[2] + (1 - alpha) * gradient;
    const Term square =
        beta * step.parts[3] + (1 - beta) * (gradient * gradient);
    const Term one = step.steps.Number(1);
    const Term correction =
        Root(one - Power(beta, step.steps)) / (one - Power(alpha, step.steps));
    const Term rate =
        IfLater(step.steps, step.rate * correction, step.rate).Like(x);
    const Term moved = x - rate * (mean / (Root(square) + epsilon));
    return {(1 - decay) * moved, mean, square};
  });
}

void Momentum(Node& node) {
  const std::string mode = node.attributes().String("mode", "");
  SLUICE_ENFORCE(mode == "standard" || mode == "nesterov",
                 ErrorCode::kInvalidArgument, "onnx.momentum_mode",
                 "attribute mode is {}; expected standard or nesterov",
                 Shown(mode));
  for (const char* name : {"alpha", "beta", "norm_coefficient"}) {
    node.attributes().NeededFloat(name);
  }
  RunOptimizer(node, 1, [](const Step& step) -> std::vector<Term> {
    const Term &x = step.parts[0], gradient = step.Gradient();
    const double alpha = step.attributes.Float("alpha", 0);
    const Term beta = step.steps.Number(step.attributes.Float("beta", 0));
    const Term share = IfLater(step.steps, beta, step.steps.Number(1)).Like(x);
    const Term moment = alpha * step.parts[2] + share * gradient;
    const bool ahead = step.attributes.String("mode", "") == "nesterov";
    return {
        x - step.rate.Like(x) * (ahead ? gradient + alpha * moment : moment),
        moment};
  });
}

}  // namespace

const HandlerTable kTrainingHandlers = {
    {"ai.onnx.preview.training.Adagrad", 1, Adagrad},
    {"ai.onnx.preview.training.Adam", 1, Adam},
    {"ai.onnx.preview.training.Momentum", 1, Momentum},
};

}  // namespace sluice::onnx
