#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/operators/math/optimizer/optimizer_row.h"

// The optimizers whose cases differ by a formula only, and what all optimizers
// do alike.
namespace sluice::testing {
namespace {

using Names = std::vector<std::string>;

// One element: `state` has the states in the order of the row, then the powers.
struct Element {
  double param;
  double grad;
  double rate;
  std::vector<double> state;
};
// Returns the parameter after the step, and changes the states.
using Formula = std::function<double(Element& e, const OpDesc& op)>;

double Number(const OpDesc& op, const char* name) {
  return GetAttr<double>(op, name);
}

bool IsTorch(const OpDesc& op) {
  return GetAttr<std::string>(op, "formula") == "pytorch";
}

Arrays ByElement(const Names& names,
                 const Names& powers,
                 const Arrays& in,
                 const OpDesc& op,
                 const Formula& formula) {
  Arrays out = {{"ParamOut", in.at("Param")}};
  for (const std::string& name : names) {
    out[name + "Out"] = in.at(name);
  }
  Array& param = out["ParamOut"];
  for (size_t i = 0; i < param.values.size(); ++i) {
    Element e = {
        param.values[i], in.at("Grad").values[i], in.at("LearningRate")(0), {}};
    for (const std::string& name : names) {
      e.state.push_back(in.at(name).values[i]);
    }
    for (const std::string& name : powers) {
      e.state.push_back(in.at(name)(0));
    }
    param.values[i] = formula(e, op);
    for (size_t s = 0; s < names.size(); ++s) {
      out[names[s] + "Out"].values[i] = e.state[s];
    }
  }
  for (size_t p = 0; p < powers.size(); ++p) {
    Array power = in.at(powers[p]);
    power(0) *= Number(op, p == 0 ? "beta1" : "beta2");
    out[powers[p] + "Out"] = power;
  }
  return out;
}

const Names kTwoMoments = {"Moment1", "Moment2"};
const Names kTwoPowers = {"Beta1Pow", "Beta2Pow"};

std::vector<OpExample> Examples(ExampleMaker& make,
                                const Names& states,
                                const Names& powers,
                                const std::vector<AttributeMap>& attributes) {
  std::vector<OpExample> examples;
  for (const AttributeMap& some : attributes) {
    for (OpExample& example : UpdateExamples(make, states)) {
      for (const std::string& power : powers) {
        example.inputs.emplace_back(power, One(make.dtype(), 0.59375));
      }
      example.attributes = some;
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

// Moments as in Adam; returns m / (sqrt(v) + epsilon), by default without their
// bias.
double AdamDirection(Element& e, const OpDesc& op, bool biased = false) {
  std::vector<double>& s = e.state;
  const double beta1 = Number(op, "beta1");
  const double beta2 = Number(op, "beta2");
  s[0] = beta1 * s[0] + (1 - beta1) * e.grad;
  s[1] = beta2 * s[1] + (1 - beta2) * e.grad * e.grad;
  const double m = biased ? s[0] : s[0] / (1 - s[2]);
  const double v = biased ? s[1] : s[1] / (1 - s[3]);
  return m / (std::sqrt(v) + Number(op, "epsilon"));
}

const AttributeMap kAdamAttributes = {
    {"beta1", 0.875}, {"beta2", 0.96875}, {"epsilon", 0.0078125}};

AttributeMap With(AttributeMap attributes,
                  const std::string& name,
                  const Attribute& value) {
  attributes[name] = value;
  return attributes;
}

std::vector<OpExample> AdamWExamples(ExampleMaker& make) {
  return Examples(make, kTwoMoments, kTwoPowers,
                  {With(kAdamAttributes, "coeff", 0.25)});
}
Arrays AdamWReference(const Arrays& in, const OpDesc& op) {
  return ByElement(kTwoMoments, kTwoPowers, in, op,
                   [](Element& e, const OpDesc& op) {
                     const double step = e.rate * AdamDirection(e, op);
                     return e.param * (1 - e.rate * Number(op, "coeff")) - step;
                   });
}
REGISTER_OP_CASE(adamw, AdamWExamples, AdamWReference);

double Norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) {
    squares += value * value;
  }
  return std::sqrt(squares);
}

std::vector<OpExample> LambExamples(ExampleMaker& make) {
  const AttributeMap decay = With(kAdamAttributes, "weight_decay", 0.25);
  return Examples(make, kTwoMoments, kTwoPowers,
                  {decay, With(decay, "formula", std::string("fluid"))});
}
Arrays LambReference(const Arrays& in, const OpDesc& op) {
  std::vector<double> directions;
  const auto direction = [](Element& e, const OpDesc& op) {
    const bool fluid = GetAttr<std::string>(op, "formula") == "fluid";
    return AdamDirection(e, op, fluid) + Number(op, "weight_decay") * e.param;
  };
  ByElement(kTwoMoments, kTwoPowers, in, op, [&](Element& e, const OpDesc& op) {
    directions.push_back(direction(e, op));
    return 0;
  });
  const double norm = Norm(in.at("Param").values);
  const bool known = norm != 0 && Norm(directions) != 0;
  const double ratio = known ? norm / Norm(directions) : 1;
  return ByElement(kTwoMoments, kTwoPowers, in, op,
                   [&](Element& e, const OpDesc& op) {
                     return e.param - e.rate * ratio * direction(e, op);
                   });
}
REGISTER_OP_CASE(lamb, LambExamples, LambReference);

std::vector<OpExample> LarsMomentumExamples(ExampleMaker& make) {
  return Examples(make, {"Velocity"}, {},
                  {{{"mu", 0.5},
                    {"lars_coeff", 0.125},
                    {"lars_weight_decay", 0.25},
                    {"epsilon", 0.0625}},
                   {{"lars_weight_decay", 0.0}}});
}
Arrays LarsMomentumReference(const Arrays& in, const OpDesc& op) {
  const double param = Norm(in.at("Param").values);
  const double grad = Norm(in.at("Grad").values);
  const double decay = Number(op, "lars_weight_decay");
  double ratio = 1;
  if (param != 0 && grad != 0 && decay > 0) {
    ratio = Number(op, "lars_coeff") * param /
            (grad + decay * param + Number(op, "epsilon"));
  }
  return ByElement({"Velocity"}, {}, in, op, [&](Element& e, const OpDesc& op) {
    e.state[0] = Number(op, "mu") * e.state[0] +
                 e.rate * ratio * (e.grad + decay * e.param);
    return e.param - e.state[0];
  });
}
REGISTER_OP_CASE(lars_momentum, LarsMomentumExamples, LarsMomentumReference);

std::vector<OpExample> AdamaxExamples(ExampleMaker& make) {
  const std::string torch = "pytorch";
  return Examples(make, {"Moment", "InfNorm"}, {"Beta1Pow"},
                  {kAdamAttributes, With(kAdamAttributes, "formula", torch)});
}
Arrays AdamaxReference(const Arrays& in, const OpDesc& op) {
  return ByElement({"Moment", "InfNorm"}, {"Beta1Pow"}, in, op,
                   [](Element& e, const OpDesc& op) {
                     std::vector<double>& s = e.state;
                     const double beta1 = Number(op, "beta1");
                     const double epsilon = Number(op, "epsilon");
                     const double faded = Number(op, "beta2") * s[1];
                     s[0] = beta1 * s[0] + (1 - beta1) * e.grad;
                     s[1] = IsTorch(op)
                                ? std::max(faded, std::abs(e.grad) + epsilon)
                                : std::max(faded + epsilon, std::abs(e.grad));
                     return e.param - e.rate / (1 - s[2]) * s[0] / s[1];
                   });
}
REGISTER_OP_CASE(adamax, AdamaxExamples, AdamaxReference);

std::vector<OpExample> DecayedAdagradExamples(ExampleMaker& make) {
  return Examples(make, {"Moment"}, {},
                  {{{"decay", 0.75}, {"epsilon", 0.0078125}}});
}
Arrays DecayedAdagradReference(const Arrays& in, const OpDesc& op) {
  return ByElement({"Moment"}, {}, in, op, [](Element& e, const OpDesc& op) {
    const double decay = Number(op, "decay");
    e.state[0] = decay * e.state[0] + (1 - decay) * e.grad * e.grad;
    return e.param -
           e.rate * e.grad / (std::sqrt(e.state[0]) + Number(op, "epsilon"));
  });
}
REGISTER_OP_CASE(decayed_adagrad,
                 DecayedAdagradExamples,
                 DecayedAdagradReference);

const Names kAdadeltaStates = {"AvgSquaredGrad", "AvgSquaredUpdate"};
std::vector<OpExample> AdadeltaExamples(ExampleMaker& make) {
  return Examples(make, kAdadeltaStates, {},
                  {{{"rho", 0.75}, {"epsilon", 0.0078125}}});
}
Arrays AdadeltaReference(const Arrays& in, const OpDesc& op) {
  return ByElement(
      kAdadeltaStates, {}, in, op, [](Element& e, const OpDesc& op) {
        std::vector<double>& s = e.state;
        const double rho = Number(op, "rho");
        const double epsilon = Number(op, "epsilon");
        s[0] = rho * s[0] + (1 - rho) * e.grad * e.grad;
        const double update =
            e.grad * std::sqrt((s[1] + epsilon) / (s[0] + epsilon));
        s[1] = rho * s[1] + (1 - rho) * update * update;
        return e.param - e.rate * update;
      });
}
REGISTER_OP_CASE(adadelta, AdadeltaExamples, AdadeltaReference);

const Names kRmsPropStates = {"MeanSquare", "MeanGrad", "Moment"};
std::vector<OpExample> RmsPropExamples(ExampleMaker& make) {
  const AttributeMap some = {{"decay", 0.75}, {"epsilon", 0.0078125}};
  const AttributeMap momentum = With(some, "momentum", 0.5);
  const AttributeMap centered = With(momentum, "centered", true);
  const std::string torch = "pytorch";
  std::vector<OpExample> examples =
      Examples(make, kRmsPropStates, {},
               {some, centered, With(centered, "formula", torch)});
  // Means of squares are not below the squares of means.
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    example.inputs[2].second = make.Integers(make.dtype(), dims, 4, 9);
    example.inputs[3].second = make.Integers(make.dtype(), dims, 0, 1);
  }
  return examples;
}
Arrays RmsPropReference(const Arrays& in, const OpDesc& op) {
  return ByElement(
      kRmsPropStates, {}, in, op, [](Element& e, const OpDesc& op) {
        std::vector<double>& s = e.state;
        const double decay = Number(op, "decay");
        const double epsilon = Number(op, "epsilon");
        s[0] = decay * s[0] + (1 - decay) * e.grad * e.grad;
        s[1] = GetAttr<bool>(op, "centered")
                   ? decay * s[1] + (1 - decay) * e.grad
                   : 0;
        const double variance = s[0] - s[1] * s[1];
        const double momentum = Number(op, "momentum") * s[2];
        if (IsTorch(op)) {
          s[2] = momentum + e.grad / (std::sqrt(variance) + epsilon);
          return e.param - e.rate * s[2];
        }
        s[2] = momentum + e.rate * e.grad / std::sqrt(variance + epsilon);
        return e.param - s[2];
      });
}
REGISTER_OP_CASE(rmsprop, RmsPropExamples, RmsPropReference);

const Names kFtrlStates = {"SquaredAccumulator", "LinearAccumulator"};
std::vector<OpExample> FtrlExamples(ExampleMaker& make) {
  const AttributeMap some = {{"l1", 0.75}, {"l2", 0.25}};
  std::vector<OpExample> examples = Examples(
      make, kFtrlStates, {}, {{}, some, With(some, "lr_power", -0.75)});
  // A negative rate would make denominators that cancel.
  for (OpExample& example : examples) {
    example.inputs.back().second = One(make.dtype(), 0.375);
  }
  return examples;
}
Arrays FtrlReference(const Arrays& in, const OpDesc& op) {
  return ByElement(kFtrlStates, {}, in, op, [](Element& e, const OpDesc& op) {
    std::vector<double>& s = e.state;
    const double power = -Number(op, "lr_power");
    const double l1 = Number(op, "l1");
    const double before = std::pow(s[0], power);
    s[0] += e.grad * e.grad;
    const double after = std::pow(s[0], power);
    s[1] += e.grad - (after - before) / e.rate * e.param;
    if (std::abs(s[1]) <= l1) return 0.0;
    return (std::copysign(l1, s[1]) - s[1]) /
           (after / e.rate + 2 * Number(op, "l2"));
  });
}
// The difference of two powers loses digits.
REGISTER_OP_CASE(ftrl, FtrlExamples, FtrlReference, 4);

// Inputs of one element for a row, and whether the step is skipped.
std::vector<std::pair<std::string, Tensor>> SmallInputs(
    const OptimizerInfo& info, bool skip) {
  const auto d = DType::kFloat64;
  std::vector<std::pair<std::string, Tensor>> inputs = {
      {"Param", One(d, 2)}, {"Grad", One(d, 3)}, {"LearningRate", One(d, 0.5)}};
  for (const OptimizerState& state : info.states) {
    if (state.name != nullptr) inputs.emplace_back(state.name, One(d, 5));
  }
  for (const OptimizerPower& power : info.powers) {
    if (power.name != nullptr) inputs.emplace_back(power.name, One(d, 0.75));
  }
  inputs.emplace_back("SkipUpdate", Tensor::FromVector<bool>({1}, {skip}));
  return inputs;
}

TEST(OptimizerRows, ASkippedStepChangesNothing) {
  for (const OptimizerRow& row : OptimizerRows()) {
    for (const bool skip : {true, false}) {
      const auto inputs = SmallInputs(row.info, skip);
      auto out = RunOp(row.info.name, inputs);
      bool same = true;
      for (const auto& [name, tensor] : inputs) {
        if (name == "Grad" || name == "LearningRate" || name == "SkipUpdate") {
          continue;
        }
        same = same &&
               out[name + "Out"].data<double>()[0] == tensor.data<double>()[0];
      }
      EXPECT_EQ(same, skip) << row.info.name;
    }
  }
}

TEST(OptimizerRows, SkipUpdateIsOneBool) {
  auto inputs = SmallInputs(OptimizerRows()[0].info, true);
  inputs.back().second = Tensor::FromVector<bool>({2}, {true, false});
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"SkipUpdate", "[2]"},
              [&] { RunOp(OptimizerRows()[0].info.name, inputs); });
}

// A parameter of zeros moves by the plain rate, not by 0 or NaN.
TEST(OptimizerRows, NormsOfZeroCountAsOne) {
  const auto d = DType::kFloat64;
  auto out = RunOp("lars_momentum", {{"Param", One(d, 0)},
                                     {"Grad", One(d, 4)},
                                     {"Velocity", One(d, 0)},
                                     {"LearningRate", One(d, 0.5)}});
  EXPECT_EQ(out["ParamOut"].data<double>()[0], -2);
  out = RunOp("lamb", {{"Param", One(d, 0)},
                       {"Grad", One(d, 4)},
                       {"Moment1", One(d, 0)},
                       {"Moment2", One(d, 0)},
                       {"Beta1Pow", One(d, 0.9)},
                       {"Beta2Pow", One(d, 0.999)},
                       {"LearningRate", One(d, 0.5)}});
  EXPECT_NEAR(out["ParamOut"].data<double>()[0], -0.5, 1e-6);
}

TEST(OptimizerRows, FtrlMakesSmallParametersZero) {
  const auto d = DType::kFloat64;
  auto out = RunOp("ftrl",
                   {{"Param", One(d, 0)},
                    {"Grad", One(d, 0.5)},
                    {"SquaredAccumulator", One(d, 0)},
                    {"LinearAccumulator", One(d, 0)},
                    {"LearningRate", One(d, 0.5)}},
                   {{"l1", 1.0}});
  EXPECT_EQ(out["ParamOut"].data<double>()[0], 0);
}

}  // namespace
}  // namespace sluice::testing
