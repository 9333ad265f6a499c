// A kernel that loses the device: later errors, and the op that an error names.
// See loss.h.
#include <optional>
#include <thread>

#include "tests/platform/cuda/cuda_test.h"
#include "tests/platform/cuda/loss.h"
#include "tests/platform/cuda/stray_op.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>

#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/cuda/launch.h"
#include "sluice/platform/device.h"

namespace sluice {
namespace {

using testing::ExpectError;
using ::testing::HasSubstr;

__global__ void WriteTo(float* out) {
  *out = 1;
}

// Expects the loss to be raised; with CUDA_LAUNCH_BLOCKING by the launch.
void LoseDevice(CUDADeviceContext& context) {
  Launch<WriteTo>({context, dim3(1), dim3(1)},
                  reinterpret_cast<float*>(uintptr_t{16}));
  context.Wait();
}

class CUDALossOfContexts : public testing::CUDATest {};

TEST_F(CUDALossOfContexts, RefusesEverything) {
  if (testing::RanAlone()) return;
  const testing::DeviceArray<float> out(context(), std::vector<float>(10));
  static_cast<void>(context().cublas());
  const auto refused = [](const auto& call) {
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"the device is lost until the process ends"}, call);
  };
  refused([&] { LoseDevice(context()); });
  refused([&] { context().Wait(); });
  refused([&] { context().CopyOnDevice(out.get(), out.get() + 4, 16); });
  refused([&] { Launch<WriteTo>({context(), dim3(1), dim3(1)}, out.get()); });
  refused([] { CUDADeviceContext another(kPlace); });
  refused(
      [] { DeviceManager::Instance().Get(kPlace).Allocate(size_t{1} << 20); });
  refused([] { RaiseEigenError("a launch"); });
  refused([] { RaiseCublasError(CUBLAS_STATUS_EXECUTION_FAILED, "gemm"); });
  // Freeing, as the test ends, is no error.
}

TEST_F(CUDALossOfContexts, IsForOtherContextsAndThreads) {
  if (testing::RanAlone()) return;
  CUDADeviceContext other(kPlace);
  EXPECT_THROW(LoseDevice(context()), Error);
  std::thread([&] {
    ExpectError(ErrorCode::kDeviceLost, "cuda.call",
                {"cuda:0", "waiting for the stream"}, [&] { other.Wait(); });
    ExpectError(ErrorCode::kDeviceLost, "cuda.call", {"gemm"}, [] {
      RaiseCublasError(CUBLAS_STATUS_EXECUTION_FAILED, "gemm");
    });
  }).join();
}

class CUDALossInARun : public testing::CUDATest {
 protected:
  CUDALossInARun() {
    testing::RegisterStrayOp();
    program_.Data("x", DType::kFloat32, {3});
    value_ = "x";
  }
  ~CUDALossInARun() override { testing::Stray() = false; }

  void Append(const char* op) {
    program_.AppendOp(op, {{"X", {value_}}});
    value_ = program_.Output("Out").name();
  }
  std::shared_ptr<const Plan> Prepare() {
    executor_.emplace(kPlace);
    return executor_->Prepare(program_, feeds_, {value_});
  }
  // The error message of an ordinary run.
  std::string Loss(const Plan& plan) {
    try {
      plan.Run(feeds_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
      return error.what();
    }
    return "no error";
  }

  Program program_;
  std::string value_;
  std::optional<Executor> executor_;
  const Feeds feeds_ = {{"x", Tensor::FromVector<float>({3}, {1, 4, 9})}};
};

TEST_F(CUDALossInARun, NamesTheOpAndItsLineWhenSynchronised) {
  if (testing::RanAlone()) return;
  for (const char* op : {"sqrt", "test_stray", "square", "sqrt"}) {
    Append(op);
  }
  const auto plan = Prepare();
  testing::Stray() = true;
  ExpectError(ErrorCode::kDeviceLost, "cuda.call",
              {"in op 1 (test_stray)", "lost_device_test.cu",
               "the device is lost until the process ends"},
              [&] { RunSynchronised(*plan, feeds_); });
}

// A GPU may be quicker to fault than the host to enqueue the next op.
TEST_F(CUDALossInARun, SaysWhichOpsItMayHaveBeen) {
  if (testing::RanAlone()) return;
  for (const char* op : {"sqrt", "test_stray", "square", "sqrt"}) {
    Append(op);
  }
  const auto plan = Prepare();
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(),
            (std::vector<float>{1, 2, 3}));
  testing::Stray() = true;
  EXPECT_THAT(
      Loss(*plan),
      ::testing::AllOf(HasSubstr("it was one of "),
                       HasSubstr(" ops, from 0 (sqrt) to "),
                       ::testing::AnyOf(HasSubstr("2 ops"), HasSubstr("3 ops"),
                                        HasSubstr("4 ops")),
                       HasSubstr("run_checked")));
}

TEST_F(CUDALossInARun, NamesTheOnlyOp) {
  if (testing::RanAlone()) return;
  Append("test_stray");
  const auto plan = Prepare();
  testing::Stray() = true;
  EXPECT_THAT(Loss(*plan), HasSubstr("in op 0 (test_stray)"));
}

TEST_F(CUDALossInARun, BlamesNoOpThatTheHostWaitedFor) {
  if (testing::RanAlone()) return;
  Append("sqrt");
  Append("square");
  program_.Hint("require place=cpu");
  Append("test_stray");
  const auto plan = Prepare();
  testing::Stray() = true;
  EXPECT_THAT(Loss(*plan), HasSubstr("in op 2 (test_stray)"));
}

TEST_F(CUDALossInARun, BlamesNoOpOfALaterRun) {
  if (testing::RanAlone()) return;
  Append("test_stray");
  const auto plan = Prepare();
  plan->Run(feeds_);
  testing::Stray() = true;
  Loss(*plan);
  EXPECT_THAT(Loss(*plan), HasSubstr("no kernel of this run was at work"));
}

}  // namespace
}  // namespace sluice
