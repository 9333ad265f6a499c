#include <algorithm>
#include <cmath>
#include <vector>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void PairwiseCouplingShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 2);
  const auto classes = context.Attr<int64_t>("classes");
  DDim out({kUnknownDim, classes});
  if (x.dims.rank_known()) {
    context.WithValue(context.Dim(x, 1), classes * (classes - 1) / 2);
    out[0] = x.dims[0];
  }
  context.SetOutput("Out", out);
}

void PairwiseCouplingSchema(OpSchema& op) {
  op.Doc(
      "The probabilities of all classes from those of each pair of them, by "
      "the second method of Wu, Lin and Weng (Journal of Machine Learning "
      "Research 5, 2004), as LIBSVM computes it: at most 100 rounds in "
      "float64, until the condition of the optimum holds within 0.005 / "
      "classes.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T",
           "[N, classes * (classes - 1) / 2]: for classes i < j, in the order "
           "(0, 1), (0, 2), ..., (1, 2), ..., the probability of i if it is "
           "one of both; more than 0 and less than 1.");
  op.Output("Out", "T", "[N, classes]: rows with the sum 1.");
  op.Attr<int64_t>("classes", "The number of classes.")
      .AtLeast(2)
      .AtMost(65535);
  op.InferShape(PairwiseCouplingShape);
  op.NoGradient("it stops by the numbers");
}

// One row. Each round changes one probability after the other.
class CoupledRow {
 public:
  explicit CoupledRow(int64_t classes)
      : classes_(static_cast<size_t>(classes)),
        q_(classes_ * classes_),
        products_(classes_),
        p_(classes_) {}

  template <typename T>
  void Compute(const T* pairs, T* out) {
    constexpr int kRounds = 100;
    SetQ(pairs);
    std::fill(p_.begin(), p_.end(), 1 / static_cast<double>(classes_));
    for (int round = 0; round < kRounds; ++round) {
      const double product = Multiply();
      if (IsOptimum(product)) break;
      ChangeAll(product);
    }
    std::transform(p_.begin(), p_.end(), out,
                   [](double p) { return static_cast<T>(p); });
  }

 private:
  double& Q(size_t i, size_t j) { return q_[i * classes_ + j]; }

  // Q(i, i) is the sum of the squares of the probabilities of other classes
  // against i, Q(i, j) minus the product of those of i and j.
  template <typename T>
  void SetQ(const T* pairs) {
    std::fill(q_.begin(), q_.end(), 0.0);
    for (size_t i = 0; i < classes_; ++i) {
      for (size_t j = i + 1; j < classes_; ++j) {
        const auto first = static_cast<double>(*pairs++);
        const double second = 1 - first;
        Q(i, i) += second * second;
        Q(j, j) += first * first;
        Q(i, j) = Q(j, i) = -first * second;
      }
    }
  }

  // Sets the products Q p, and returns p Q p.
  double Multiply() {
    double sum = 0;
    for (size_t i = 0; i < classes_; ++i) {
      products_[i] = 0;
      for (size_t j = 0; j < classes_; ++j) {
        products_[i] += Q(i, j) * p_[j];
      }
      sum += p_[i] * products_[i];
    }
    return sum;
  }

  bool IsOptimum(double product) const {
    const double slack = 0.005 / static_cast<double>(classes_);
    return std::all_of(products_.begin(), products_.end(), [=](double value) {
      return std::abs(value - product) < slack;
    });
  }

  void ChangeAll(double product) {
    for (size_t i = 0; i < classes_; ++i) {
      const double change = (product - products_[i]) / Q(i, i);
      const double scale = 1 + change;
      p_[i] += change;
      product = (product + change * (change * Q(i, i) + 2 * products_[i])) /
                scale / scale;
      for (size_t j = 0; j < classes_; ++j) {
        products_[j] = (products_[j] + change * Q(i, j)) / scale;
        p_[j] /= scale;
      }
    }
  }

  size_t classes_;
  std::vector<double> q_;
  std::vector<double> products_;
  std::vector<double> p_;
};

template <typename T>
class PairwiseCouplingKernel final : public OpKernel {
 public:
  explicit PairwiseCouplingKernel(const OpKernelConstruction& construction)
      : classes_(construction.Attr<int64_t>("classes")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int64_t rows = x.dims()[0], pairs = x.dims()[1];
    Tensor& out = context.AllocateOutput("Out", {rows, classes_});
    const T* from = x.data<T>();
    T* to = out.data<T>();
    // Some rounds of two products of a matrix and a vector.
    const int64_t grain = std::max<int64_t>(1, 2048 / (classes_ * classes_));
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      CoupledRow row(classes_);
      for (; begin < end; ++begin) {
        row.Compute(from + begin * pairs, to + begin * classes_);
      }
    });
  }

 private:
  int64_t classes_;
};

}  // namespace

REGISTER_OPERATOR(pairwise_coupling, PairwiseCouplingSchema);
REGISTER_OP_CPU_KERNEL(pairwise_coupling, PairwiseCouplingKernel<FloatTypes>);

}  // namespace sluice
