#include "sluice/operators/math/gemm.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  double alpha = 1, beta = 0;
  int64_t padding = 0;  // unused elements at the end of each row
};

template <typename T>
class Problem {
 public:
  explicit Problem(const Case& what) : case_(what) {
    lda_ = (what.transpose_a ? what.m : what.k) + what.padding;
    ldb_ = (what.transpose_b ? what.k : what.n) + what.padding;
    ldc_ = what.n + what.padding;
    a_ = Random((what.transpose_a ? what.k : what.m) * lda_);
    b_ = Random((what.transpose_b ? what.n : what.k) * ldb_);
    c_ = Random(what.m * ldc_);
    if (what.beta == 0) {
      // The old content must not be read.
      c_.assign(c_.size(), std::numeric_limits<T>::quiet_NaN());
    }
  }

  std::vector<T> Run(int threads) const {
    ThreadCountGuard guard(threads);
    std::vector<T> c = c_;
    Gemm<T>({case_.transpose_a, case_.transpose_b, case_.m, case_.n, case_.k,
             static_cast<T>(case_.alpha), a_.data(), lda_, b_.data(), ldb_,
             static_cast<T>(case_.beta), c.data(), ldc_});
    return c;
  }

  void Check() const {
    SCOPED_TRACE(::testing::Message()
                 << case_.m << " x " << case_.n << " x " << case_.k
                 << (case_.transpose_a ? " A^T" : " A")
                 << (case_.transpose_b ? " B^T" : " B"));
    const std::vector<T> got = Run(1);
    int wrong = 0;
    for (int64_t i = 0; i < case_.m; ++i) {
      for (int64_t j = 0; j < ldc_; ++j) {
        const double value = got[i * ldc_ + j];
        if (j >= case_.n) {  // beyond the row: as it was
          wrong += case_.beta == 0 ? !std::isnan(value)
                                   : got[i * ldc_ + j] != c_[i * ldc_ + j];
          continue;
        }
        const double expected = Element(i, j);
        const double limit = 8 * std::numeric_limits<T>::epsilon() *
                             (1 + static_cast<double>(case_.k) / 8);
        wrong += !(std::abs(value - expected) <= limit);
      }
    }
    EXPECT_EQ(wrong, 0);
  }

 private:
  std::vector<T> Random(int64_t count) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> values(count);
    for (T& value : values) {
      value = static_cast<T>(uniform(engine_));
    }
    return values;
  }

  double Element(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t l = 0; l < case_.k; ++l) {
      sum += double{case_.transpose_a ? a_[l * lda_ + i] : a_[i * lda_ + l]} *
             double{case_.transpose_b ? b_[j * ldb_ + l] : b_[l * ldb_ + j]};
    }
    sum *= case_.alpha;
    return case_.beta == 0 ? sum : sum + case_.beta * c_[i * ldc_ + j];
  }

  Case case_;
  int64_t lda_, ldb_, ldc_;
  std::mt19937 engine_{7};
  std::vector<T> a_, b_, c_;
};

template <typename T>
class GemmTest : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Elements);

TYPED_TEST(GemmTest, MatchesTheFormulaInAllFormsAndOddSizes) {
  const int64_t sizes[] = {1, 2, 7, 16, 33, 65};
  for (const int64_t m : sizes) {
    for (const int64_t n : sizes) {
      for (const int64_t k : sizes) {
        for (int form = 0; form < 4; ++form) {
          Problem<TypeParam>({m, n, k, form % 2 == 1, form / 2 == 1}).Check();
        }
      }
    }
  }
}

TYPED_TEST(GemmTest, ScalesAndAddsToC) {
  for (int form = 0; form < 4; ++form) {
    for (const double beta : {0.0, 1.0, -0.5}) {
      Problem<TypeParam>(
          {13, 70, 9, form % 2 == 1, form / 2 == 1, 0.75, beta, 3})
          .Check();
      Problem<TypeParam>(
          {34, 21, 700, form % 2 == 1, form / 2 == 1, 1.5, beta, 1})
          .Check();
      Problem<TypeParam>(
          {3, 600, 9, form % 2 == 1, form / 2 == 1, 0.75, beta, 3})
          .Check();
    }
  }
}

TYPED_TEST(GemmTest, LargeAndThinMatrices) {
  for (int form = 0; form < 4; ++form) {
    const bool ta = form % 2 == 1, tb = form / 2 == 1;
    Problem<TypeParam>({64, 500, 800, ta, tb}).Check();
    Problem<TypeParam>({301, 203, 517, ta, tb}).Check();
    for (const int64_t m : {1, 2, 3, 4, 7, 16, 17}) {
      Problem<TypeParam>({m, 500, 1300, ta, tb}).Check();
      Problem<TypeParam>({m, 2203, 261, ta, tb}).Check();
    }
    Problem<TypeParam>({500, 1, 1300, ta, tb}).Check();
    Problem<TypeParam>({20, 25, 9001, ta, tb}).Check();
  }
}

TYPED_TEST(GemmTest, EmptySizes) {
  Problem<TypeParam>({0, 3, 4}).Check();
  Problem<TypeParam>({3, 0, 4}).Check();
  Problem<TypeParam>({3, 4, 0}).Check();
  Problem<TypeParam>({3, 4, 0, false, false, 1, 0.5, 2}).Check();
}

TYPED_TEST(GemmTest, HasTheSameBitsOnAnyNumberOfThreads) {
  for (int form = 0; form < 4; ++form) {
    for (const int64_t m : {1, 3, 9, 37, 300}) {
      for (const int64_t k : {31, 1000}) {
        for (const int64_t n : {211, 2203}) {
          const Problem<TypeParam> problem(
              {m, n, k, form % 2 == 1, form / 2 == 1, 1, 1});
          const std::vector<TypeParam> one = problem.Run(1);
          EXPECT_EQ(problem.Run(2), one);
          EXPECT_EQ(problem.Run(7), one);
        }
      }
    }
  }
}

// NaN * 0 stays NaN: nothing is skipped for being 0.
TYPED_TEST(GemmTest, KeepsNans) {
  const TypeParam a[] = {0, 0}, b[] = {static_cast<TypeParam>(kNan), 1};
  TypeParam c = 0;
  Gemm<TypeParam>({false, false, 1, 1, 2, 1, a, 2, b, 1, 0, &c, 1});
  EXPECT_TRUE(std::isnan(c));
}

}  // namespace
}  // namespace sluice
