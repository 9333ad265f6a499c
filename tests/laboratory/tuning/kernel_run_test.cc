#include "sluice/laboratory/tuning/kernel_run.h"

#include <cmath>

#include "tests/laboratory/lab_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/plan/run_observer.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

// The last op of a plan, isolated while the plan ran.
class IsolateLast : public RunObserver {
 public:
  explicit IsolateLast(const Plan& plan)
      : last_(static_cast<int>(plan.ops().size()) - 1) {}
  void After(const Plan& plan,
             const Instruction& instruction,
             const Tensor* tensors) override {
    if (instruction.kernel == nullptr || instruction.context != last_) return;
    op = Isolate(plan, last_, tensors);
  }

  IsolatedOp op;

 private:
  int last_;
};

class KernelRunTest : public ::testing::Test {
 protected:
  KernelRunTest() {
    Executor executor;
    const auto plan = executor.Prepare(lab_.program, lab_.feeds, lab_.fetches);
    IsolateLast last(*plan);
    plan->RunObserved(lab_.feeds, nullptr, last);
    op_ = last.op;
    // The frame's memory is reused, so the inputs need copies.
    for (Tensor& input : op_.inputs) {
      input = input.CopyTo(CPUPlace());
    }
  }

  KernelRun Make(const std::string& variant) {
    const KernelDef* kernel = FindKernel("test_lab", variant, DType::kFloat32);
    return KernelRun(op_, *kernel, CPUPlace(), 1);
  }

  LabProgram lab_{NewSize(), 2};
  IsolatedOp op_;
};

TEST_F(KernelRunTest, ComputesTheOpOnTheValuesOfThePlan) {
  KernelRun run = Make("fast");
  run.Run();
  const std::vector<float> x = lab_.feeds[0].second.ToVector<float>();
  const std::vector<float> out = run.outputs()[0].ToVector<float>();
  ASSERT_EQ(out.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(out[i], 2 * (2 * x[i] + 1) + 1) << i;
  }
}

TEST_F(KernelRunTest, IsolatesAnOpWithItsShapesAndDtypes) {
  EXPECT_EQ(op_.facts.desc.type, "test_lab");
  EXPECT_EQ(op_.facts.dtype, DType::kFloat32);
  EXPECT_EQ(op_.facts.id, 1);
  ASSERT_EQ(op_.facts.outputs.size(), 1u);
  EXPECT_EQ(op_.facts.outputs[0], lab_.feeds[0].second.dims());
}

TEST_F(KernelRunTest, SpoiledElementsThatAKernelLeavesOutShow) {
  KernelRun run = Make("skips");
  run.Spoil(false);
  run.Run();
  EXPECT_TRUE(std::isnan(run.outputs()[0].ToVector<float>()[2]));
  run.Spoil(true);
  run.Run();
  EXPECT_GT(run.outputs()[0].ToVector<float>()[2], 1e6f);
  EXPECT_LT(run.outputs()[0].ToVector<float>()[3], 1e6f);
}

TEST_F(KernelRunTest, WritingAfterAnOutputIsNoticed) {
  KernelRun right = Make("fast");
  right.Run();
  EXPECT_EQ(right.WrittenOutside(), "");
  KernelRun wrong = Make("overruns");
  wrong.Run();
  EXPECT_THAT(wrong.WrittenOutside(), HasSubstr("after the memory of Out"));
}

TEST_F(KernelRunTest, RaisesWhatTheKernelRaises) {
  KernelRun run = Make("raises");
  ExpectError(ErrorCode::kInternal, "test_lab.raises", {"a planted failure"},
              [&] { run.Run(); });
}

}  // namespace
}  // namespace sluice::testing
