#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/crf_kernel.h"
#include "sluice/operators/sequence/crf_shape.h"

namespace sluice {
namespace {

DDim CrfLossDims(const InferShapeContext& context) {
  return {CrfBatch(context), 1};
}

void CrfSchema(OpSchema& op) {
  op.Doc(
      "The cost of a linear-chain conditional random field: LogLikelihood is, "
      "as in Fluid and in spite of its name, the negative logarithm of the "
      "probability of the right tags, to be minimised.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  CrfInputs(op);
  op.Input("Label", "int64",
           "[B, T] or ragged [rows, 1]: the right tags; those past a "
           "sequence's length are not read.");
  CrfLengths(op);
  op.Ragged("Label", "Offsets");
  op.Output("LogLikelihood", "T", "[B, 1]: -log P(Label | Emission).");
  op.PerSequence("LogLikelihood", "Offsets");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("LogLikelihood", CrfLossDims(context));
  });
}

constexpr GradientOp kCrfGrad = {
    .forward = CrfSchema,
    .doc =
        "The gradient of linear_chain_crf, exact, by a pass forward and one "
        "back; 0 past the sequences' lengths.",
    .inputs = {"Emission", "Transition", "Label", "Length", "Offsets"},
    .output_grads = {"LogLikelihood"},
    .wanted = {"Emission", "Transition"},
    .dims = CrfLossDims};

constexpr double kNone = -std::numeric_limits<double>::infinity();

// The doubles of scratch that CrfCost and CrfGradient need for sequences of up
// to `length` positions.
inline int64_t CrfCostScratch(int64_t tags) {
  return 3 * tags;
}
inline int64_t CrfGradientScratch(int64_t length, int64_t tags) {
  return (length + 4) * tags + length;
}

double SumOfExponentials(const double* x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::exp(x[i]);
  }
  return sum;
}

// Advances by one position: emission[j] + log(sum over i of exp(from[i] +
// pair[i, j])). `sums` has space for one number per tag.
template <typename T>
double NextAlpha(const CrfWeights<T>& weights,
                 const T* emission,
                 const double* from,
                 double* to,
                 double* sums) {
  const int64_t tags = weights.tags();
  const CrfEmissions<T> emissions(emission, tags);
  std::fill(to, to + tags, kNone);
  std::fill(sums, sums + tags, 0.0);
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      to[j] = std::max(to[j], from[i] + weights.pair(i, j));
    }
  }
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      if (to[j] == kNone) continue;
      sums[j] += std::exp(from[i] + weights.pair(i, j) - to[j]);
    }
  }
  for (int64_t j = 0; j < tags; ++j) {
    to[j] += emissions[j];
  }
  // The logarithms are small and therefore added last.
  const double largest = CenterWeights(to, tags);
  for (int64_t j = 0; j < tags; ++j) {
    to[j] += std::log(sums[j]);
  }
  return largest;
}

// Computes beta[i] of the previous position, up to a constant, from gamma[j] =
// emission + beta of one position. Adds `factor` times P(i, j) to pair_grad;
// its logarithm is alpha[i] + pair[i, j] + gamma[j] - log_factor. `terms` and
// `sums` have space for one number per tag.
template <typename T>
void StepBack(const CrfWeights<T>& weights,
              const double* alpha,
              const double* gamma,
              double log_factor,
              double factor,
              double* beta,
              double* terms,
              double* sums,
              double* pair_grad) {
  const int64_t tags = weights.tags();
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      terms[j] = weights.pair(i, j) + gamma[j];
    }
    beta[i] = *std::max_element(terms, terms + tags);
    sums[i] = 1;
    if (beta[i] == kNone) continue;
    const double weight = factor * std::exp(alpha[i] + (beta[i] - log_factor));
    double sum = 0;
    for (int64_t j = 0; j < tags; ++j) {
      const double term = std::exp(terms[j] - beta[i]);
      sum += term;
      pair_grad[i * tags + j] += weight * term;
    }
    sums[i] = sum;
  }
  CenterWeights(beta, tags);
  for (int64_t i = 0; i < tags; ++i) {
    beta[i] += std::log(sums[i]);
  }
}

// Returns -log of the probability of `label`, for emissions [length, tags].
template <typename T>
double CrfCost(const CrfWeights<T>& weights,
               const T* emission,
               const int64_t* label,
               int64_t length,
               double* scratch) {
  if (length == 0) return 0;
  const int64_t tags = weights.tags();
  double* alpha = scratch;
  double* next = scratch + tags;
  double* sums = scratch + 2 * tags;
  // How much better the best path so far is than the labels. Only this is
  // stored: both scores may be large, and their difference would lose digits.
  double ahead =
      FirstAlpha(weights, emission, alpha) -
      (weights.start(label[0]) + CrfEmissions<T>(emission, tags)[label[0]]);
  for (int64_t t = 1; t < length; ++t) {
    const T* own = emission + t * tags;
    ahead += NextAlpha(weights, own, alpha, next, sums) -
             (weights.pair(label[t - 1], label[t]) +
              CrfEmissions<T>(own, tags)[label[t]]);
    std::swap(alpha, next);
  }
  for (int64_t j = 0; j < tags; ++j) {
    alpha[j] += weights.end(j);
  }
  ahead += CenterWeights(alpha, tags) - weights.end(label[length - 1]);
  return ahead + std::log(SumOfExponentials(alpha, tags));
}

// Adds `scale` times the gradient of CrfCost to transition_grad [tags + 2,
// tags], and sets emission_grad [length, tags] to it unless that is nullptr.
template <typename T>
void CrfGradient(const CrfWeights<T>& weights,
                 const T* emission,
                 const int64_t* label,
                 int64_t length,
                 double scale,
                 T* emission_grad,
                 double* transition_grad,
                 double* scratch) {
  if (length == 0) return;
  const int64_t tags = weights.tags();
  double* alphas = scratch;
  double* beta = scratch + length * tags;
  double* gamma = beta + tags;
  double* terms = gamma + tags;
  double* sums = terms + tags;
  double* steps = sums + tags;  // subtracted by NextAlpha
  double* start_grad = transition_grad;
  double* end_grad = transition_grad + tags;
  double* pair_grad = transition_grad + 2 * tags;
  steps[0] = FirstAlpha(weights, emission, alphas);
  for (int64_t t = 1; t < length; ++t) {
    steps[t] = NextAlpha(weights, emission + t * tags, alphas + (t - 1) * tags,
                         alphas + t * tags, sums);
  }
  for (int64_t j = 0; j < tags; ++j) {
    beta[j] = weights.end(j);
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    const double* alpha = alphas + t * tags;
    // Normalizes so that the probabilities at each position add up to 1.
    for (int64_t j = 0; j < tags; ++j) {
      terms[j] = alpha[j] + beta[j];
    }
    const double largest = CenterWeights(terms, tags);
    const double sum = SumOfExponentials(terms, tags);
    const CrfEmissions<T> emissions(emission + t * tags, tags);
    for (int64_t j = 0; j < tags; ++j) {
      const double hit = j == label[t] ? 1.0 : 0.0;
      const double p = scale * (std::exp(terms[j]) / sum - hit);
      if (emission_grad != nullptr) {
        emission_grad[t * tags + j] = static_cast<T>(p);
      }
      if (t == 0) start_grad[j] += p;
      if (t == length - 1) end_grad[j] += p;
      gamma[j] = emissions[j] + beta[j];
    }
    if (t == 0) break;
    StepBack(weights, alpha - tags, gamma, steps[t] + largest, scale / sum,
             beta, terms, sums, pair_grad);
    pair_grad[label[t - 1] * tags + label[t]] -= scale;
  }
}

// Transition gradients are summed in this many groups of sequences. The sums of
// the groups are added at the end.
constexpr int64_t kRuns = 8;

template <typename T>
class LinearChainCrfKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    sizes_ = CrfSizes(preparation.query);
    slots_ = std::clamp<int64_t>(preparation.num_threads, 1,
                                 std::max<int64_t>(sizes_.batch, 1));
    preparation.scratch_bytes =
        slots_ * CrfCostScratch(sizes_.tags) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    const CrfSequences sequences = CrfSequencesOf(context, sizes_);
    const int64_t* labels = CrfLabelsOf(context, sizes_, sequences);
    const T* emission = context.Input("Emission").data<T>();
    const CrfWeights<T> weights = {context.Input("Transition").data<T>(),
                                   sizes_.tags};
    Tensor& out = context.AllocateOutput("LogLikelihood", {sizes_.batch, 1});
    if (out.numel() == 0) return;
    T* costs = out.data<T>();
    ForEachSequence(slots_, sizes_.batch, [&](int64_t slot, int64_t b) {
      const int64_t first = sequences.first(b);
      double* scratch = static_cast<double*>(context.scratch()) +
                        slot * CrfCostScratch(sizes_.tags);
      costs[b] =
          static_cast<T>(CrfCost(weights, emission + first * sizes_.tags,
                                 labels + first, sequences.length(b), scratch));
    });
  }

 private:
  CrfSizes sizes_;
  int64_t slots_ = 1;
};

template <typename T>
class LinearChainCrfGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    sizes_ = CrfSizes(preparation.query);
    runs_ = std::clamp<int64_t>(sizes_.batch, 1, kRuns);
    slots_ = std::clamp<int64_t>(preparation.num_threads, 1, runs_);
    slot_ = CrfGradientScratch(sizes_.positions, sizes_.tags);
    preparation.scratch_bytes =
        (runs_ * sizes_.transition_size() + slots_ * slot_) * sizeof(double);
  }

  void Compute(OpKernelContext& context) const override {
    const CrfSequences sequences = CrfSequencesOf(context, sizes_);
    const int64_t* labels = CrfLabelsOf(context, sizes_, sequences);
    const bool emissions = context.HasOutput("Emission@GRAD");
    T* emission_grad = nullptr;
    if (emissions) {
      Tensor& grad = context.AllocateOutput("Emission@GRAD",
                                            context.Input("Emission").dims());
      emission_grad = grad.data<T>();
      if (sizes_.ragged) std::fill_n(emission_grad, grad.numel(), T{0});
    }
    auto* sums = static_cast<double*>(context.scratch());
    double* memory = sums + runs_ * sizes_.transition_size();
    ForEachSequence(slots_, runs_, [&](int64_t slot, int64_t run) {
      Run(context, run, sequences, labels, emission_grad,
          sums + run * sizes_.transition_size(), memory + slot * slot_);
    });
    if (context.HasOutput("Transition@GRAD")) AddUp(context, sums);
  }

 private:
  // Handles the sequences of one group. Sets `transition_grad` to their sum.
  void Run(const OpKernelContext& context,
           int64_t run,
           const CrfSequences& sequences,
           const int64_t* labels,
           T* emission_grad,
           double* transition_grad,
           double* scratch) const {
    const CrfWeights<T> weights = {context.Input("Transition").data<T>(),
                                   sizes_.tags};
    const T* emission = context.Input("Emission").data<T>();
    const T* cost_grad = context.Input("LogLikelihood@GRAD").data<T>();
    std::fill(transition_grad, transition_grad + sizes_.transition_size(), 0.0);
    const int64_t end = (run + 1) * sizes_.batch / runs_;
    for (int64_t b = run * sizes_.batch / runs_; b < end; ++b) {
      const int64_t first = sequences.first(b);
      const int64_t length = sequences.length(b);
      T* grad = emission_grad == nullptr ? nullptr
                                         : emission_grad + first * sizes_.tags;
      CrfGradient(weights, emission + first * sizes_.tags, labels + first,
                  length, static_cast<double>(cost_grad[b]), grad,
                  transition_grad, scratch);
      if (grad != nullptr) {
        std::fill(grad + length * sizes_.tags,
                  grad + sequences.room(b) * sizes_.tags, T{0});
      }
    }
  }

  void AddUp(OpKernelContext& context, const double* sums) const {
    Tensor& out = context.AllocateOutput("Transition@GRAD",
                                         {sizes_.tags + 2, sizes_.tags});
    T* to = out.data<T>();
    const int64_t size = sizes_.transition_size();
    for (int64_t i = 0; i < size; ++i) {
      double sum = 0;
      for (int64_t run = 0; run < runs_; ++run) {
        sum += sums[run * size + i];
      }
      to[i] = static_cast<T>(sum);
    }
  }

  CrfSizes sizes_;
  int64_t runs_ = 1, slots_ = 1, slot_ = 0;
};

}  // namespace

REGISTER_OPERATOR(linear_chain_crf, WithGradient<kCrfGrad>);
REGISTER_OPERATOR(linear_chain_crf_grad, GradientSchema<kCrfGrad>);
REGISTER_OP_CPU_KERNEL(linear_chain_crf, LinearChainCrfKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(linear_chain_crf_grad,
                       LinearChainCrfGradKernel<FloatTypes>);

}  // namespace sluice
