// A kernel that loses the device: which op an error names.
#include "tests/platform/cuda/cuda_test.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>

#include "sluice/framework/executor.h"
#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

using framework::Executor;
using framework::OpKernelContext;
using framework::OpSchema;
using framework::Program;
using framework::Tensor;
using platform::CUDADeviceContext;
using platform::CUDAPlace;
using platform::DType;
using platform::ErrorCode;

// Out = X; writes far behind Out while Stray() says so.
bool& Stray() {
  static bool stray = false;
  return stray;
}

void StraySchema(OpSchema& op) {
  op.Doc("Out = X.");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](framework::InferShapeContext& context) {
    context.SetOutput("Out", context.input("X"));
  });
}

template <typename T>
class StrayKernel final : public framework::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    const int64_t shift = Stray() ? int64_t{1} << 30 : 0;
    platform::ForEach(context.device_context<CUDADeviceContext>(),
                      input.numel(),
                      [=] __device__(int64_t i) { out[i + shift] = x[i]; });
  }
};

}  // namespace

REGISTER_OPERATOR(test_stray, StraySchema);
REGISTER_OP_CUDA_KERNEL(test_stray, StrayKernel<float>);

namespace {

using testing::ExpectError;

class LostDeviceTest : public testing::CUDATest {
 protected:
  LostDeviceTest() {
    static const bool kRegistered = [] {
      auto& registry = framework::Registry::Global();
      SLUICE_USE_OPERATOR(test_stray);
      SluiceRegisterKernel_test_stray_CUDAPlace_PLAIN_plain(registry);
      return true;
    }();
    static_cast<void>(kRegistered);
    program_.Data("x", DType::kFloat32, {3});
    value_ = "x";
  }
  ~LostDeviceTest() override { Stray() = false; }

  void Append(const char* op) {
    program_.AppendOp(op, {{"X", {value_}}});
    value_ = program_.Output("Out").name();
  }
  std::shared_ptr<const framework::Plan> Prepare() {
    return executor_.Prepare(program_, feeds_, {value_});
  }
  // What the error of an ordinary run says.
  std::string Loss(const framework::Plan& plan) {
    try {
      plan.Run(feeds_);
    } catch (const platform::Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
      return error.what();
    }
    return "no error";
  }

  Program program_;
  std::string value_;
  Executor executor_{CUDAPlace{0}};
  const framework::Feeds feeds_ = {
      {"x", Tensor::FromVector<float>({3}, {1, 4, 9})}};
};

TEST_F(LostDeviceTest, ASynchronisedRunNamesTheOpAndItsLine) {
  for (const char* op : {"sqrt", "test_stray", "square", "sqrt"}) {
    Append(op);
  }
  const auto plan = Prepare();
  Stray() = true;
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"in op 1 (test_stray)", "lost_device_test.cu", "illegal write"},
              [&] { framework::RunSynchronised(*plan, feeds_); });
}

TEST_F(LostDeviceTest, AnOrdinaryRunSaysWhichOpsItMayHaveBeen) {
  for (const char* op : {"sqrt", "test_stray", "square", "sqrt"}) {
    Append(op);
  }
  const auto plan = Prepare();
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(),
            (std::vector<float>{1, 2, 3}));
  Stray() = true;
  EXPECT_THAT(Loss(*plan),
              ::testing::AllOf(
                  ::testing::HasSubstr("noticed after the last op; it was one "
                                       "of 4 ops, from 0 (sqrt) to 3 (sqrt)"),
                  ::testing::HasSubstr("run_checked")));
}

TEST_F(LostDeviceTest, TheOnlyOpIsNamed) {
  Append("test_stray");
  const auto plan = Prepare();
  Stray() = true;
  EXPECT_THAT(Loss(*plan), ::testing::HasSubstr("in op 0 (test_stray)"));
}

TEST_F(LostDeviceTest, OpsThatTheHostWaitedForAreNotBlamed) {
  Append("sqrt");
  Append("square");
  program_.Hint("require place=cpu");
  Append("test_stray");
  const auto plan = Prepare();
  Stray() = true;
  EXPECT_THAT(Loss(*plan), ::testing::HasSubstr("in op 2 (test_stray)"));
}

TEST_F(LostDeviceTest, ALossBeforeTheRunBlamesNoOp) {
  Append("test_stray");
  const auto plan = Prepare();
  plan->Run(feeds_);
  Stray() = true;
  Loss(*plan);
  EXPECT_THAT(Loss(*plan),
              ::testing::HasSubstr("no kernel of this run was at work"));
}

}  // namespace
}  // namespace sluice
