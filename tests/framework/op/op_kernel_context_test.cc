#include "sluice/framework/op/op_kernel_context.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/device_context_pool.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class OpKernelContextTest : public ::testing::Test {
 protected:
  OpKernelContextTest() {
    table_.op = "op";
    table_.inputs = {{"X", 0, 1}, {"Ys", 1, 2}, {"Left", 3, 0}};
    table_.outputs = {{"Out", 0, 1}, {"Extra", 1, 0}};
    table_.output_dims = {DDim({2, -1})};
    table_.output_dtypes = {DType::kFloat32};
  }
  OpKernelContext Make() {
    return OpKernelContext(table_, CPUPlace(),
                           DeviceContextPool::Instance().Get(CPUPlace()),
                           inputs_, outputs_, nullptr, &run_);
  }

  ArgTable table_;
  Tensor x_ = sluice::testing::Iota({2});
  Tensor y_ = sluice::testing::Iota({3});
  Tensor z_ = sluice::testing::Iota({4});
  Tensor out_;
  Tensor* inputs_[3] = {&x_, &y_, &z_};
  Tensor* outputs_[1] = {&out_};
  RunState run_;
};

TEST_F(OpKernelContextTest, FindsArguments) {
  const OpKernelContext context = Make();
  EXPECT_EQ(&context.Input("X"), &x_);
  EXPECT_EQ(&context.Input(2), &z_);
  EXPECT_EQ(context.Inputs("Ys"), (std::vector<const Tensor*>{&y_, &z_}));
  EXPECT_TRUE(context.HasInput("Ys"));
  EXPECT_FALSE(context.HasInput("Left"));
  EXPECT_FALSE(context.HasInput("Q"));
  EXPECT_TRUE(context.HasOutput("Out"));
  EXPECT_FALSE(context.HasOutput("Extra"));
}

TEST_F(OpKernelContextTest, NamesAnArgumentThatIsNotThere) {
  OpKernelContext context = Make();
  ExpectError(ErrorCode::kNotFound, "kernel.no_such_argument", {"Left"},
              [&] { static_cast<void>(context.Input("Left")); });
  ExpectError(ErrorCode::kNotFound, "kernel.no_such_argument", {"Extra"},
              [&] { context.AllocateOutput("Extra", {1}); });
}

TEST_F(OpKernelContextTest, AllocatesWhatThePlanLeavesOpen) {
  OpKernelContext context = Make();
  Tensor& out = context.AllocateOutput("Out", {2, 5});
  EXPECT_EQ(&out, &out_);
  EXPECT_EQ(out.dims(), DDim({2, 5}));
  EXPECT_EQ(out.dtype(), DType::kFloat32);
  const void* memory = out.raw_data();
  EXPECT_EQ(context.AllocateOutput(0, {2, 5}).raw_data(), memory);
}

TEST_F(OpKernelContextTest, RefusesAnotherShapeThanPlanned) {
  OpKernelContext context = Make();
  for (const DDim& dims : {DDim({3, 5}), DDim({2}), DDim({2, 5, 1})}) {
    ExpectError(ErrorCode::kInternal, "kernel.unplanned_shape",
                {"op", ToString(dims), "[2, ?]"},
                [&] { context.AllocateOutput("Out", dims); });
  }
}

TEST_F(OpKernelContextTest, AllocatesTemporaries) {
  OpKernelContext context = Make();
  const Tensor temporary = context.AllocateTemp(DType::kInt32, {7});
  EXPECT_EQ(temporary.bytes(), 28u);
  EXPECT_EQ(temporary.place(), PlaceKey(CPUPlace()));
}

TEST_F(OpKernelContextTest, AKernelRunsAnotherOneWithItsOwnTensors) {
  OpKernelContext context = Make();
  ArgTable table = table_;
  table.output_dtypes = {DType::kFloat64};
  Tensor out;
  Tensor* inputs[] = {&z_, &y_, &x_};
  Tensor* outputs[] = {&out};
  OpKernelContext inner(context, table, inputs, outputs);
  EXPECT_EQ(&inner.Input("X"), &z_);
  EXPECT_EQ(inner.AllocateOutput("Out", {2, 1}).dtype(), DType::kFloat64);
  EXPECT_EQ(&inner.PlannedOutput(0), &out);
  EXPECT_FALSE(context.PlannedOutput(0).allocated());
  EXPECT_EQ(&context.Input("X"), &x_);
}

}  // namespace
}  // namespace sluice
