#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/math/softmax.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Checks the inputs and returns the batch.
int64_t CtcBatch(const InferShapeContext& context) {
  const auto logits = context.WithRank(context.input("Logits"), 3);
  const auto label = context.WithRank(context.input("Label"), 2);
  const auto times = context.WithRank(context.input("LogitsLength"), 1);
  const auto length = context.WithRank(context.input("LabelLength"), 1);
  DimHandle batch = context.Dim(times, 0);
  batch = context.Merge(batch, context.Dim(length, 0));
  if (label.dims.rank_known()) {
    batch = context.Merge(batch, context.Dim(label, 0));
  }
  if (!logits.dims.rank_known()) return batch;
  const int64_t classes = logits.dims[2];
  const auto blank = context.Attr<int64_t>("blank");
  context.Require(classes < 0 || blank < classes, "warpctc.blank",
                  "attribute blank = {}; expected a class of Logits {}, 0 to "
                  "{}",
                  blank, logits.dims, classes - 1);
  return context.Merge(batch, context.Dim(logits, 1));
}

DDim CtcLossDims(const InferShapeContext& context) {
  return {CtcBatch(context), 1};
}

void CtcSchema(OpSchema& op) {
  op.Doc(
      "Connectionist temporal classification: -log of the summed probability, "
      "by softmax(Logits), of all sequences of classes that become Label once "
      "equal neighbours are merged and blanks removed. It is computed in log "
      "space, and is infinite where there is no such sequence. From Graves et "
      "al., 2006.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Logits", "T",
           "[T, B, C]: the logits of C classes, one of them the blank, at each "
           "of up to T times of B sequences.");
  op.Input("Label", "int64",
           "[B, L]: the classes that each sequence has to show, no blank among "
           "them; those past its length are not read.");
  op.Input("LogitsLength", "int64", "[B]: from 0 to T.", {.host = true});
  op.Input("LabelLength", "int64", "[B]: from 0 to L.", {.host = true});
  op.Output("Loss", "T", "[B, 1].");
  op.Attr<int64_t>("blank", "The class that stands for no label.")
      .Default(int64_t{0})
      .AtLeast(0);
  op.Attr<bool>(
        "norm_by_times",
        "Divides gradients, not losses, by the sequence's LogitsLength, "
        "as in Fluid.")
      .Default(false);
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("Loss", CtcLossDims(context));
  });
}

constexpr GradientOp kWarpctcGrad = {
    .forward = CtcSchema,
    .doc =
        "The gradient of warpctc, exact, by a pass forward and one back; 0 "
        "past the sequences' lengths and where the loss is infinite.",
    .inputs = {"Logits", "Label", "LogitsLength", "LabelLength"},
    .output_grads = {"Loss"},
    .wanted = {"Logits"},
    .dims = CtcLossDims};

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp a + exp b + exp c).
double LogSum(double a, double b, double c = kNever) {
  const double most = std::max({a, b, c});
  if (!(most > kNever)) return a + b + c;  // no path, or NaN
  return most +
         std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// One sequence. Its states are a blank, label 0, a blank, label 1, and so on
// to the last blank.
template <typename T>
struct CtcSequence {
  const T* log_softmax;  // of the first time
  int64_t stride;        // from one time to the next
  const int64_t* label;
  int64_t times, labels, blank;

  int64_t states() const { return 2 * labels + 1; }
  int64_t ClassOf(int64_t s) const { return s % 2 == 0 ? blank : label[s / 2]; }
  double At(int64_t t, int64_t s) const {
    return static_cast<double>(log_softmax[t * stride + ClassOf(s)]);
  }
  // Whether a path may go from state s - 2 to s.
  bool Skips(int64_t s) const {
    return s % 2 == 1 && s > 1 && label[s / 2] != label[s / 2 - 1];
  }

  // Sets alpha[s] to the log-probability of all beginnings that are in state s
  // at time t; `before` is that of time t - 1.
  void Forward(int64_t t, const double* before, double* alpha) const {
    for (int64_t s = 0; s < states(); ++s) {
      double sum = s < 2 ? 0 : kNever;
      if (t > 0) {
        sum = LogSum(before[s], s > 0 ? before[s - 1] : kNever,
                     Skips(s) ? before[s - 2] : kNever);
      }
      alpha[s] = sum + At(t, s);
    }
  }
  // Sets beta[s] to that of all ends after time t; `after` is of time t + 1.
  void Backward(int64_t t, const double* after, double* beta) const {
    const int64_t last = states() - 1;
    for (int64_t s = 0; s <= last; ++s) {
      if (t + 1 == times) {
        beta[s] = s + 1 < last ? kNever : 0;
        continue;
      }
      const auto next = [&](int64_t to) { return after[to] + At(t + 1, to); };
      beta[s] = LogSum(next(s), s < last ? next(s + 1) : kNever,
                       s + 2 <= last && Skips(s + 2) ? next(s + 2) : kNever);
    }
  }
  // The loss, from the last alpha.
  double Loss(const double* alpha) const {
    if (times == 0) return labels == 0 ? 0 : -kNever;
    const int64_t last = states() - 1;
    return -LogSum(alpha[last], last > 0 ? alpha[last - 1] : kNever);
  }
};

// What both kernels read: all sequences, checked.
template <typename T>
class CtcBatchOf {
 public:
  CtcBatchOf(OpKernelContext& context, int64_t blank)
      : dims_(context.Input("Logits").dims()),
        label_(context.Input("Label")),
        times_(Lengths(context, "LogitsLength", dims_[0])),
        labels_(Lengths(context, "LabelLength", label_.dims()[1])),
        blank_(blank),
        log_softmax_(context.AllocateTemp(kDTypeOf<T>, dims_)) {
    for (int64_t b = 0; b < dims_[1]; ++b) {
      const CtcSequence<T> one = (*this)[b];
      for (int64_t i = 0; i < one.labels; ++i) {
        const int64_t label = one.label[i];
        SLUICE_ENFORCE(
            label >= 0 && label < dims_[2] && label != blank,
            ErrorCode::kOutOfRange, "warpctc.label",
            "{}: input Label[{}, {}] = {}; expected a class, 0 to {}, that is "
            "not blank = {}",
            context.op(), b, i, label, dims_[2] - 1, blank);
      }
    }
    Softmax<T>(SoftmaxStep::kLogSoftmax, {dims_[0] * dims_[1], dims_[2], 1},
               context.Input("Logits").data<T>(), nullptr,
               log_softmax_.template data<T>());
  }

  int64_t size() const { return dims_[1]; }
  const T* log_softmax() const { return log_softmax_.template data<T>(); }
  CtcSequence<T> operator[](int64_t b) const {
    const int64_t most = label_.dims()[1];
    return {log_softmax_.template data<T>() + b * dims_[2],
            dims_[1] * dims_[2],
            label_.data<int64_t>() + b * most,
            times_[b],
            labels_[b],
            blank_};
  }

 private:
  static const int64_t* Lengths(const OpKernelContext& context,
                                const char* name,
                                int64_t most) {
    const Tensor& input = context.Input(name);
    const int64_t* lengths = input.data<int64_t>();
    for (int64_t b = 0; b < input.numel(); ++b) {
      SLUICE_ENFORCE(lengths[b] >= 0 && lengths[b] <= most,
                     ErrorCode::kOutOfRange, "warpctc.length",
                     "{}: input {}[{}] = {}; expected 0 to {}", context.op(),
                     name, b, lengths[b], most);
    }
    return lengths;
  }

  DDim dims_;
  const Tensor& label_;
  const int64_t *times_, *labels_;
  int64_t blank_;
  Tensor log_softmax_;
};

template <typename T>
class WarpCtcKernel final : public OpKernel {
 public:
  explicit WarpCtcKernel(const OpKernelConstruction& construction)
      : blank_(construction.Attr<int64_t>("blank")) {}

  void Compute(OpKernelContext& context) const override {
    const CtcBatchOf<T> batch(context, blank_);
    Tensor& out = context.AllocateOutput("Loss", {batch.size(), 1});
    if (out.numel() == 0) return;
    T* loss = out.data<T>();
    ParallelFor(batch.size(), 1, [&](int64_t begin, int64_t end) {
      std::vector<double> before, alpha;
      for (int64_t b = begin; b < end; ++b) {
        const CtcSequence<T> one = batch[b];
        before.resize(one.states());
        alpha.resize(one.states());
        for (int64_t t = 0; t < one.times; ++t) {
          before.swap(alpha);
          one.Forward(t, before.data(), alpha.data());
        }
        loss[b] = static_cast<T>(one.Loss(alpha.data()));
      }
    });
  }

 private:
  int64_t blank_;
};

template <typename T>
class WarpCtcGradKernel final : public OpKernel {
 public:
  explicit WarpCtcGradKernel(const OpKernelConstruction& construction)
      : blank_(construction.Attr<int64_t>("blank")),
        norm_by_times_(construction.Attr<bool>("norm_by_times")) {}

  void Compute(OpKernelContext& context) const override {
    const CtcBatchOf<T> batch(context, blank_);
    const DDim& dims = context.Input("Logits").dims();
    const T* loss_grad = context.Input("Loss@GRAD").data<T>();
    Tensor& out = context.AllocateOutput("Logits@GRAD", dims);
    if (out.numel() == 0) return;
    T* grad = out.data<T>();
    FillZero(grad, out.numel() * sizeof(T));
    ParallelFor(batch.size(), 1, [&](int64_t begin, int64_t end) {
      std::vector<double> memory(dims[2]);
      for (int64_t b = begin; b < end; ++b) {
        auto scale = static_cast<double>(loss_grad[b]);
        const CtcSequence<T> one = batch[b];
        if (norm_by_times_) scale /= static_cast<double>(one.times);
        if (one.times > 0) {
          Differentiate(one, scale, &memory, grad + b * dims[2]);
        }
      }
    });
  }

 private:
  // Sets the gradients of a sequence's logits, `stride` apart from time to
  // time: softmax less the share of the paths that have the class then.
  static void Differentiate(const CtcSequence<T>& one,
                            double scale,
                            std::vector<double>* memory,
                            T* grad) {
    const int64_t states = one.states();
    const auto classes = static_cast<int64_t>(memory->size());
    std::vector<double> alpha(states * one.times), beta(states), after(states);
    for (int64_t t = 0; t < one.times; ++t) {
      double* now = alpha.data() + t * states;
      one.Forward(t, t > 0 ? now - states : nullptr, now);
    }
    const double loss = one.Loss(alpha.data() + (one.times - 1) * states);
    if (loss == -kNever) return;
    for (int64_t t = one.times; t-- > 0;) {
      beta.swap(after);
      one.Backward(t, after.data(), beta.data());
      std::fill(memory->begin(), memory->end(), 0.0);
      for (int64_t s = 0; s < states; ++s) {
        (*memory)[one.ClassOf(s)] +=
            std::exp(alpha[t * states + s] + beta[s] + loss);
      }
      const T* log_softmax = one.log_softmax + t * one.stride;
      for (int64_t c = 0; c < classes; ++c) {
        const double softmax = std::exp(static_cast<double>(log_softmax[c]));
        grad[t * one.stride + c] =
            static_cast<T>(scale * (softmax - (*memory)[c]));
      }
    }
  }

  int64_t blank_;
  bool norm_by_times_;
};

}  // namespace

REGISTER_OPERATOR(warpctc, WithGradient<kWarpctcGrad>);
REGISTER_OPERATOR(warpctc_grad, GradientSchema<kWarpctcGrad>);
REGISTER_OP_CPU_KERNEL(warpctc, WarpCtcKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(warpctc_grad, WarpCtcGradKernel<FloatTypes>);

}  // namespace sluice
