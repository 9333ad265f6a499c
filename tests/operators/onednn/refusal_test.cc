#include <cstdlib>
#include <optional>
#include <string>

#include "tests/operators/onednn/onednn_fixture.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class RefusalTest : public testing::OneDnnTest {
 protected:
  RefusalTest() {
    Data("x", Ramp({4, 5}));
    Data("few", Ramp({2, 4}));
    Data("many", Ramp({3, 4, 5}));
    Data("grad", Ramp({3, 2, 5}));
    out_ = Append("matmul_grad_x",
                  {{"X", {"few"}}, {"Y", {"many"}}, {"Out@GRAD", {"grad"}}},
                  "X@GRAD");
  }
  std::string out_;
};

// oneDNN's matmul does not sum over repeated matrices.
TEST_F(RefusalTest, WhatCannotBeCompiledGoesToTheNextKernel) {
  hint_.reset();
  const KernelHintGuard guard("prefer library=ONEDNN; allow library=ONEDNN");
  const auto plan = executor_.Prepare(program_, feeds_, {out_});
  const Decision& decision = plan->decisions()[0];
  EXPECT_EQ(decision.kernel->key.library, "PLAIN");
  EXPECT_THAT(ExplainText(*plan),
              ::testing::HasSubstr("does not sum over repeated matrices"));
}

TEST_F(RefusalTest, WhatIsRequiredIsAnError) {
  SCOPED_TRACE("onednn.matmul_sum");
  ExpectError(
      ErrorCode::kNotFound, "resolver.no_kernel",
      {"matmul_grad_x", "ONEDNN", "does not sum over repeated matrices"},
      [&] { executor_.Prepare(program_, feeds_, {out_}); });
}

TEST_F(RefusalTest, EmptyArgumentsGoToPlainKernels) {
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"transpose", "takes no empty arguments"}, [&] {
                RunOp("transpose", {{"X", Ramp({0, 5})}},
                      {{"axis", std::vector<int64_t>{1, 0}}},
                      {.hint = testing::kOneDnnOnly});
              });
}

// oneDNN would divide by 0 for this.
TEST_F(RefusalTest, SizesPast32BitsGoToPlainKernels) {
  float nothing = 0;
  const auto borrow = [&](const DDim& dims) {
    return Tensor::Borrow(CPUPlace(), DType::kFloat32, dims, &nothing);
  };
  Data("large", borrow({2, int64_t{1} << 40}));
  const auto out = Append("transpose", {{"X", {"large"}}}, "Out",
                          {{"axis", std::vector<int64_t>{1, 0}}});
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"takes no sizes past 32 bits"},
              [&] { executor_.Prepare(program_, feeds_, {out}); });
  Data("image", borrow({1, 1, 8, 8}));
  Data("filter", borrow({1, 1, 1, 1}));
  const std::vector<int64_t> strides = {int64_t{1} << 33, 1};
  const auto conv =
      Append("conv2d", {{"Input", {"image"}}, {"Filter", {"filter"}}}, "Output",
             {{"strides", strides}});
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel",
              {"takes no attributes past 32 bits"},
              [&] { executor_.Prepare(program_, feeds_, {conv}); });
}

TEST_F(RefusalTest, RecordsOfItsKernelsAreOfTheLibrarysVersion) {
  executor_.Prepare(program_, feeds_, {});  // loads it
  for (const auto* kernel : Registry::Global().Kernels("transpose")) {
    const bool onednn = kernel->key.library == "ONEDNN";
    EXPECT_THAT(kernel->recorded_version,
                ::testing::MatchesRegex(
                    onednn ? "[0-9a-f]+, oneDNN [0-9]+[.][0-9]+[.][0-9]+"
                           : "[0-9a-f]+"));
  }
}

TEST_F(RefusalTest, AHintExcludesTheLibrary) {
  Data("y", Ramp({5, 2}));
  const auto out = Append("matmul", {{"X", {"x"}}, {"Y", {"y"}}}, "Out");
  const KernelHintGuard guard("exclude library=ONEDNN");
  ExpectError(ErrorCode::kNotFound, "resolver.no_kernel", {"excluded by hint"},
              [&] { executor_.Prepare(program_, feeds_, {out}); });
}

// Restores SLUICE_ENABLE_ONEDNN at the end.
class LibrarySwitch {
 public:
  LibrarySwitch() {
    if (const char* value = std::getenv(kName)) before_ = value;
  }
  ~LibrarySwitch() {
    if (before_) {
      Set(before_->c_str());
    } else {
      unsetenv(kName);
    }
  }
  static void Set(const char* value) { setenv(kName, value, 1); }

 private:
  static constexpr const char* kName = "SLUICE_ENABLE_ONEDNN";
  std::optional<std::string> before_;
};

TEST_F(RefusalTest, TheSwitchTurnsTheLibraryOff) {
  hint_.reset();
  Data("y", Ramp({5, 2}));
  const auto out = Append("matmul", {{"X", {"x"}}, {"Y", {"y"}}}, "Out");
  const KernelHintGuard guard("prefer library=ONEDNN");
  const LibrarySwitch restored;
  const auto plan_with = [&](const char* value) {
    LibrarySwitch::Set(value);
    return Executor().Prepare(program_, feeds_, {out});
  };
  const auto library = [](const Plan& plan) {
    return plan.decisions()[0].kernel->key.library;
  };
  EXPECT_EQ(library(*plan_with("1")), "ONEDNN");
  const auto plan = plan_with("0");
  EXPECT_EQ(library(*plan), "PLAIN");
  EXPECT_THAT(ExplainText(*plan), ::testing::HasSubstr("SLUICE_ENABLE_ONEDNN"));
}

}  // namespace
}  // namespace sluice
