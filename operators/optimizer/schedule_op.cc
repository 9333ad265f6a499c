#include <algorithm>
#include <cmath>
#include <functional>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

// Learning rates as functions of the step, the schedules of Fluid. They are
// computed in float64 and rounded once.
namespace sluice {
namespace {

using Floats = std::vector<double>;
// The learning rate at a step. Steps count from 0.
using Schedule = std::function<double(double step)>;

struct ScheduleRow {
  const char* name;
  const char* doc;
  void (*attributes)(OpSchema& op);
  Schedule (*make)(const OpKernelConstruction& construction);
};

void RateAttribute(OpSchema& op) {
  op.Attr<double>("learning_rate", "The rate at step 0.");
}

void StepsAttribute(OpSchema& op, const char* name, const char* doc) {
  op.Attr<int64_t>(name, doc).AtLeast(1);
}

// What the three schedules that decay without end have in common.
void DecayAttributes(OpSchema& op) {
  RateAttribute(op);
  StepsAttribute(op, "decay_steps", "How many steps one decay takes.");
  op.Attr<double>("decay_rate", "How strong one decay is.");
  op.Attr<bool>("staircase", "Round part down to a whole number.")
      .Default(false);
}

void PolynomialAttributes(OpSchema& op) {
  RateAttribute(op);
  StepsAttribute(op, "decay_steps", "The step where the rate is the last one.");
  op.Attr<double>("end_learning_rate", "The last rate.").Default(0.0001);
  op.Attr<double>("power", "The power; 1 is linear.").Default(1.0);
  op.Attr<bool>("cycle", "Begin again, instead of staying at the last rate.")
      .Default(false);
}

void PiecewiseAttributes(OpSchema& op) {
  op.Attr<Ints>("boundaries", "The steps where the rate changes, ascending.");
  op.Attr<Floats>("values", "The rates, one more than boundaries.");
}

void NoamAttributes(OpSchema& op) {
  StepsAttribute(op, "d_model", "The width of the model.");
  StepsAttribute(op, "warmup_steps", "How many steps the rate grows.");
  op.Attr<double>("learning_rate", "A factor.").Default(1.0);
}

void CosineAttributes(OpSchema& op) {
  RateAttribute(op);
  StepsAttribute(op, "step_each_epoch", "How many steps an epoch has.");
  StepsAttribute(op, "epochs", "After how many epochs the rate is 0.");
}

// Rate * Factor(part): part counts decays.
template <double (*Factor)(double decay_rate, double part)>
Schedule MakeDecay(const OpKernelConstruction& construction) {
  const auto rate = construction.Attr<double>("learning_rate");
  const auto decay = construction.Attr<double>("decay_rate");
  const auto steps =
      static_cast<double>(construction.Attr<int64_t>("decay_steps"));
  const bool staircase = construction.Attr<bool>("staircase");
  return [=](double step) {
    const double part = step / steps;
    return rate * Factor(decay, staircase ? std::floor(part) : part);
  };
}

double Power(double decay_rate, double part) {
  return std::pow(decay_rate, part);
}
double NaturalPower(double decay_rate, double part) {
  return std::exp(-decay_rate * part);
}
double Inverse(double decay_rate, double part) {
  return 1 / (1 + decay_rate * part);
}

Schedule MakePolynomial(const OpKernelConstruction& construction) {
  const auto rate = construction.Attr<double>("learning_rate");
  const auto end = construction.Attr<double>("end_learning_rate");
  const auto power = construction.Attr<double>("power");
  const bool cycle = construction.Attr<bool>("cycle");
  const auto steps =
      static_cast<double>(construction.Attr<int64_t>("decay_steps"));
  return [=](double step) {
    const double cycles = cycle ? std::max(1.0, std::ceil(step / steps)) : 1;
    const double part = std::min(1.0, step / (steps * cycles));
    return (rate - end) * std::pow(1 - part, power) + end;
  };
}

Schedule MakePiecewise(const OpKernelConstruction& construction) {
  return [bounds = construction.Attr<Ints>("boundaries"),
          values = construction.Attr<Floats>("values")](double step) {
    const auto next = std::upper_bound(bounds.begin(), bounds.end(), step);
    return values[static_cast<size_t>(next - bounds.begin())];
  };
}

Schedule MakeNoam(const OpKernelConstruction& construction) {
  const auto number = [&](const char* name) {
    return static_cast<double>(construction.Attr<int64_t>(name));
  };
  const double scale =
      construction.Attr<double>("learning_rate") / std::sqrt(number("d_model"));
  const double growth = std::pow(number("warmup_steps"), -1.5);
  return [=](double step) {
    return scale * std::min(1 / std::sqrt(step + 1), (step + 1) * growth);
  };
}

Schedule MakeCosine(const OpKernelConstruction& construction) {
  const auto rate = construction.Attr<double>("learning_rate");
  const auto number = [&](const char* name) {
    return static_cast<double>(construction.Attr<int64_t>(name));
  };
  const double steps = number("step_each_epoch");
  const double epochs = number("epochs");
  return [=](double step) {
    return rate / 2 * (std::cos(std::floor(step / steps) * M_PI / epochs) + 1);
  };
}

const ScheduleRow kSchedules[] = {
    {"exponential_decay",
     "Out = learning_rate * decay_rate^part, part = Step / decay_steps.",
     &DecayAttributes, &MakeDecay<Power>},
    {"natural_exp_decay",
     "Out = learning_rate * e^(-decay_rate * part), part = Step / decay_steps.",
     &DecayAttributes, &MakeDecay<NaturalPower>},
    {"inverse_time_decay",
     "Out = learning_rate / (1 + decay_rate * part), part = Step / "
     "decay_steps.",
     &DecayAttributes, &MakeDecay<Inverse>},
    {"polynomial_decay",
     "Out = (learning_rate - end_learning_rate) * (1 - part)^power + "
     "end_learning_rate, part = min(1, Step / decay_steps); with cycle, "
     "decay_steps is doubled, tripled and so on when Step passes it.",
     &PolynomialAttributes, &MakePolynomial},
    {"piecewise_decay",
     "Out = values[i], where i is the number of boundaries that are not above "
     "Step.",
     &PiecewiseAttributes, &MakePiecewise},
    {"noam_decay",
     "Out = learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5), "
     "n = Step + 1 (Vaswani et al., Attention Is All You Need, 2017).",
     &NoamAttributes, &MakeNoam},
    {"cosine_decay",
     "Out = learning_rate / 2 * (cos(pi * floor(Step / step_each_epoch) / "
     "epochs) + 1).",
     &CosineAttributes, &MakeCosine}};

void ScheduleShape(InferShapeContext& context) {
  if (context.op() == "piecewise_decay") {
    const Ints& bounds = context.Attr<Ints>("boundaries");
    const Floats& values = context.Attr<Floats>("values");
    context.Require(values.size() == bounds.size() + 1, "schedule.values",
                    "attribute values has {} rates for {} boundaries, expected "
                    "{}",
                    values.size(), bounds.size(), bounds.size() + 1);
    context.Require(std::is_sorted(bounds.begin(), bounds.end()),
                    "schedule.boundaries",
                    "attribute boundaries must be ascending, got {}",
                    ToString(Attribute(bounds)));
  }
  context.SetOutput("Out", context.input("Step"));
}

template <typename T>
class ScheduleKernel final : public OpKernel {
 public:
  explicit ScheduleKernel(const OpKernelConstruction& construction)
      : schedule_(std::find_if(std::begin(kSchedules),
                               std::end(kSchedules),
                               [&](const ScheduleRow& row) {
                                 return construction.op() == row.name;
                               })
                      ->make(construction)) {}

  void Compute(OpKernelContext& context) const override {
    constexpr int64_t kGrain = 1 << 12;
    const Tensor& step = context.Input("Step");
    const int64_t* from = step.data<int64_t>();
    T* to = context.AllocateOutput("Out", step.dims()).template data<T>();
    ParallelFor(step.numel(), kGrain, [&](int64_t begin, int64_t end) {
      std::transform(
          from + begin, from + end, to + begin, [this](int64_t each) {
            return static_cast<T>(schedule_(static_cast<double>(each)));
          });
    });
  }

 private:
  Schedule schedule_;
};

void AddSchedules(Registry& registry) {
  for (const ScheduleRow& row : kSchedules) {
    registry.AddOperator(row.name, [&](OpSchema& op) {
      op.Doc(row.doc);
      op.TypeVarFromAttr("T", "dtype", {DType::kFloat32, DType::kFloat64});
      op.Input("Step", "int64", "Steps, counted from 0, of any shape.");
      op.Output("Out", "T", "The learning rate at each of them.");
      row.attributes(op);
      op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
      op.InferShape(ScheduleShape);
    });
    AddPlainKernels<ScheduleKernel<FloatTypes>>(registry, row.name, CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(schedules, AddSchedules);

}  // namespace sluice
