#include <algorithm>

#include "sluice/operators/math/sequence/crf.h"
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
