#include <algorithm>
#include <array>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Counts that a user gives may be as large as there are: they wrap around.
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

template <typename T>
class AucKernel final : public OpKernel {
 public:
  explicit AucKernel(const OpKernelConstruction& construction)
      : precision_recall_(construction.Attr<std::string>("curve") == "PR"),
        thresholds_(construction.Attr<int64_t>("num_thresholds")),
        window_(construction.Attr<int64_t>("slide_steps")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& predict = context.Input("Predict");
    const int64_t rows = predict.dims()[0], columns = predict.dims()[1];
    const T* scores = predict.data<T>();
    CheckScores(context, scores, rows, columns);
    const auto* label = context.Input("Label").data<int64_t>();
    std::array<std::vector<int64_t>, 2> sums;
    for (const bool positive : {false, true}) {
      const char* name = positive ? "StatPos" : "StatNeg";
      const Tensor& before = context.Input(name);
      Tensor& after =
          context.AllocateOutput(std::string(name) + "Out", before.dims());
      auto* counts = after.data<int64_t>();
      const auto* old = before.data<int64_t>();
      const int64_t bins = thresholds_ + 1, kept = before.numel() - bins;
      // The runs of a window move up by one.
      if (window_ > 0) {
        std::copy(old + bins, old + bins + kept, counts);
        std::fill_n(counts + kept, bins, 0);
      } else if (old != counts) {
        std::copy_n(old, bins, counts);
      }
      for (int64_t row = 0; row < rows; ++row) {
        if ((label[row] != 0) != positive) continue;
        const auto score =
            static_cast<double>(scores[row * columns + columns - 1]);
        int64_t& count =
            counts[kept + static_cast<int64_t>(
                              score * static_cast<double>(thresholds_))];
        count = Plus(count, 1);
      }
      std::vector<int64_t>& sum = sums[positive ? 1 : 0];
      sum.assign(bins, 0);
      for (int64_t i = 0; i < after.numel(); ++i) {
        sum[i % bins] = Plus(sum[i % bins], counts[i]);
      }
    }
    *context.AllocateOutput("AUC", DDim({1})).template data<double>() =
        Area(sums[1], sums[0]);
  }

 private:
  static void CheckScores(const OpKernelContext& context,
                          const T* scores,
                          int64_t rows,
                          int64_t columns) {
    for (int64_t row = 0; row < rows; ++row) {
      const T score = scores[row * columns + columns - 1];
      SLUICE_ENFORCE(score >= 0 && score <= 1, ErrorCode::kOutOfRange,
                     "auc.score",
                     "{}: input Predict has {} in row {}; expected a "
                     "probability, 0 to 1",
                     context.op(), score, row);
    }
  }

  // Walks from the highest threshold to the lowest.
  double Area(const std::vector<int64_t>& positive,
              const std::vector<int64_t>& negative) const {
    double hits = 0, alarms = 0, area = 0, precision = 1;
    for (int64_t i = thresholds_; i >= 0; --i) {
      const auto more = static_cast<double>(positive[i]);
      const auto wrong = static_cast<double>(negative[i]);
      if (more + wrong == 0) continue;
      if (precision_recall_) {
        const double now = (hits + more) / (hits + more + alarms + wrong);
        area += more * (precision + now) / 2;
        precision = now;
      } else {
        area += wrong * (hits + more / 2);
      }
      hits += more;
      alarms += wrong;
    }
    if (hits == 0 || alarms == 0) return 0;
    return area / hits / (precision_recall_ ? 1 : alarms);
  }

  bool precision_recall_;
  int64_t thresholds_, window_;
};

class PrecisionRecallKernel final : public OpKernel {
 public:
  static constexpr DType kDTypes[1] = {DType::kFloat32};

  explicit PrecisionRecallKernel(const OpKernelConstruction& construction)
      : classes_(construction.Attr<int64_t>("class_number")) {}

  void Compute(OpKernelContext& context) const override {
    const int64_t rows = context.Input("Indices").numel();
    const int64_t* predicted = Classes(context, "Indices");
    const int64_t* label = Classes(context, "Labels");
    const auto* weights = context.HasInput("Weights")
                              ? context.Input("Weights").data<float>()
                              : nullptr;
    std::vector<double> counts(classes_ * 4, 0.0);
    double all = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const double weight =
          weights == nullptr ? 1 : static_cast<double>(weights[i]);
      all += weight;
      if (predicted[i] == label[i]) {
        counts[label[i] * 4] += weight;
      } else {
        counts[predicted[i] * 4 + 1] += weight;
        counts[label[i] * 4 + 3] += weight;
      }
    }
    for (int64_t c = 0; c < classes_; ++c) {
      double* of = counts.data() + c * 4;
      of[2] = all - of[0] - of[1] - of[3];
    }
    Measure(counts, context.AllocateOutput("BatchMetrics", DDim({6})));
    if (context.HasInput("StatesInfo")) {
      const auto* before = context.Input("StatesInfo").data<float>();
      for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] += static_cast<double>(before[i]);
      }
    }
    Measure(counts, context.AllocateOutput("AccumMetrics", DDim({6})));
    auto* states = context.AllocateOutput("AccumStatesInfo", {classes_, 4})
                       .template data<float>();
    std::copy(counts.begin(), counts.end(), states);
  }

 private:
  const int64_t* Classes(const OpKernelContext& context,
                         const char* name) const {
    const Tensor& input = context.Input(name);
    const auto* classes = input.data<int64_t>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      SLUICE_ENFORCE(classes[i] >= 0 && classes[i] < classes_,
                     ErrorCode::kOutOfRange, "precision_recall.class",
                     "{}: input {} has {} in row {}; expected a class, 0 to {}",
                     context.op(), name, classes[i], i, classes_ - 1);
    }
    return classes;
  }

  void Measure(const std::vector<double>& counts, Tensor& out) const {
    const auto share = [](double part, double rest) {
      return part > 0 || rest > 0 ? part / (part + rest) : 1;
    };
    const auto f1 = [](double precision, double recall) {
      return precision > 0 || recall > 0
                 ? 2 * precision * recall / (precision + recall)
                 : 0;
    };
    auto* to = out.data<double>();
    std::fill_n(to, 6, 0.0);
    std::array<double, 4> sums = {};
    for (int64_t c = 0; c < classes_; ++c) {
      const double* of = counts.data() + c * 4;
      to[0] += share(of[0], of[1]) / static_cast<double>(classes_);
      to[1] += share(of[0], of[3]) / static_cast<double>(classes_);
      for (int i = 0; i < 4; ++i) {
        sums[i] += of[i];
      }
    }
    to[2] = f1(to[0], to[1]);
    to[3] = share(sums[0], sums[1]);
    to[4] = share(sums[0], sums[3]);
    to[5] = f1(to[3], to[4]);
  }

  int64_t classes_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(auc, AucKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(precision_recall, PrecisionRecallKernel);

}  // namespace sluice
