#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/diagnostics/counters.h"
#include "sluice/platform/parallel_for.h"

// The plain kernels of products with what follows them, and the one that packs
// a constant matrix.
namespace sluice {
namespace {

Tensor MatmulRamp(const DDim& dims, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(dims.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<int64_t>(i) + seed;
    values[i] = static_cast<float>(number * 7919 % 101 - 50) / 37;
  }
  return Tensor::FromVector<float>(dims, values);
}

struct Product {
  int64_t rows, depth, columns;
  bool transposed = false;
};

class FusedMatmul : public ::testing::TestWithParam<const char*> {
 protected:
  // Appends relu(X Y + bias) * gate, or without what follows the product.
  void Build(const Product& p, bool fused) {
    program_ = Program();
    feeds_.clear();
    const Ints y =
        p.transposed ? Ints{p.columns, p.depth} : Ints{p.depth, p.columns};
    Set("y", MatmulRamp(DDim(y), 5));
    Set("bias", MatmulRamp({p.columns}, 3));
    Feed("x", {p.rows, p.depth});
    Feed("gate", {p.rows, p.columns});
    out_ = Append("matmul", {{"X", {"x"}}, {"Y", {"y"}}},
                  {{"transpose_Y", p.transposed}});
    if (!fused) return;
    out_ = Append("elementwise_add", {{"X", {out_}}, {"Y", {"bias"}}});
    out_ = Append("relu", {{"X", {out_}}});
    out_ = Append("elementwise_mul", {{"X", {out_}}, {"Y", {"gate"}}});
  }

  std::vector<float> Run(int threads = 1) {
    const ThreadCountGuard guard(threads);
    const std::string hint = std::string(
                                 "matmul: require library=PLAIN, "
                                 "variant=") +
                             GetParam();
    const KernelHintGuard only(hint);
    const auto plan = executor_.Prepare(program_, feeds_, {out_});
    ops_ = plan->decisions().size();
    return plan->Run(feeds_, &scope_)[0].ToVector<float>();
  }

  std::vector<float> Expected() {
    const KernelHintGuard plain("matmul: require library=PLAIN, variant=plain");
    Executor as_written({}, {.passes = false});
    return as_written.Prepare(program_, feeds_, {out_})
        ->Run(feeds_, &scope_)[0]
        .ToVector<float>();
  }

  void ExpectRight(int64_t depth) {
    const auto got = Run(), want = Expected();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
      } else if (got[i] != want[i]) {  // equal infinities are right
        ASSERT_NEAR(got[i], want[i], 2e-6 * static_cast<double>(depth + 4))
            << i;
      }
    }
  }

  using Ints = std::vector<int64_t>;

  void Set(const std::string& name, const Tensor& value) {
    program_.Persistable(name, value.dtype(), value.dims());
    *scope_.Var(name).GetMutable<Tensor>() = value;
  }
  void Feed(const std::string& name, const DDim& dims) {
    program_.Data(name, DType::kFloat32, dims);
    feeds_.emplace_back(name, MatmulRamp(dims, 1));
  }
  std::string Append(const std::string& type,
                     Program::ArgList inputs,
                     AttributeMap attributes = {}) {
    const std::string out = "v" + std::to_string(made_++);
    program_.AppendOp(type, std::move(inputs), std::move(attributes),
                      SourceLocation::Here(), {{"Out", {out}}});
    return out;
  }

  Program program_;
  Feeds feeds_;
  Scope scope_;
  Executor executor_;
  std::string out_;
  size_t ops_ = 0;
  int made_ = 0;
};

TEST_P(FusedMatmul, IsTheProductAndWhatFollows) {
  for (const int64_t rows : {0, 1, 2, 7, 50}) {
    for (const int64_t depth : {0, 1, 17, 300, 600}) {
      for (const int64_t columns : {1, 5, 16, 33, 150}) {
        for (const bool transposed : {false, true}) {
          for (const bool fused : {false, true}) {
            SCOPED_TRACE(::testing::Message()
                         << rows << "x" << depth << "x" << columns << " "
                         << transposed << fused);
            Build({rows, depth, columns, transposed}, fused);
            ASSERT_NO_FATAL_FAILURE(ExpectRight(depth));
          }
        }
      }
    }
  }
}

TEST_P(FusedMatmul, IsOneOp) {
  Build({8, 24, 40}, true);
  Run();
  EXPECT_EQ(ops_, 1U);
}

TEST_P(FusedMatmul, KeepsNaNAndInfinity) {
  Build({9, 20, 70}, true);
  feeds_[0].second.data<float>()[25] = std::nanf("");
  feeds_[0].second.data<float>()[85] = INFINITY;
  ExpectRight(20);
}

TEST_P(FusedMatmul, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t rows : {1, 3, 200}) {
    Build({rows, 700, 900}, true);
    const auto one = Run(1);
    for (const int threads : {2, 3, 7}) {
      const auto many = Run(threads);
      ASSERT_EQ(
          0, std::memcmp(one.data(), many.data(), one.size() * sizeof(float)))
          << rows << " rows, " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants,
                         FusedMatmul,
                         ::testing::Values("plain", "panels"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(MatmulPanels, PackOnceForEachVersionOfTheMatrix) {
  Program program;
  Scope scope;
  program.Data("x", DType::kFloat32, {3, 40});
  program.Persistable("y", DType::kFloat32, {40, 20});
  Tensor& y = *scope.Var("y").GetMutable<Tensor>();
  y = MatmulRamp({40, 20}, 2);
  program.AppendOp("matmul", {{"X", {"x"}}, {"Y", {"y"}}}, {},
                   SourceLocation::Here(), {{"Out", {"out"}}});
  const KernelHintGuard only("matmul: require variant=panels");
  Executor executor;
  const Feeds feeds = {{"x", MatmulRamp({3, 40}, 1)}};
  const auto run = [&] {
    return executor.Prepare(program, feeds, {"out"})
        ->Run(feeds, &scope)[0]
        .ToVector<float>();
  };
  const int64_t before = Counter("weights.packed");
  const auto first = run();
  EXPECT_EQ(run(), first);
  EXPECT_EQ(Counter("weights.packed"), before + 1);
  y.data<float>()[7] += 1;
  EXPECT_NE(run(), first);
  EXPECT_EQ(Counter("weights.packed"), before + 2);
}

}  // namespace
}  // namespace sluice
