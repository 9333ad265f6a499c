#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/framework/small_digits.h"
#include "tests/testing/allocation_sweep.h"
#include "tests/testing/counting_new.h"
#include <gtest/gtest.h>

#include "sluice/platform/plugin/plugin_loader.h"

// Every allocation of a task fails once, and then all from there on: the error
// is named, nothing leaks, and the next run is right.
namespace sluice::testing {
namespace {

// Lists and strings in the caller's line may also fail to allocate.
template <typename Lines>
void UserLines(const Lines& lines) {
  try {
    lines();
  } catch (const std::bad_alloc&) {
    RaiseOutOfMemory();
  }
}

class FailAllocation : public ::testing::Test {
 protected:
  std::vector<Tensor> Run(Executor& executor) const {
    return executor.Run(program_, feeds_, fetches_);
  }
  std::shared_ptr<const Plan> Prepare() const {
    return Executor().Prepare(program_, feeds_, fetches_);
  }

  Program program_;
  SmallDigits vars_ = BuildSmallDigits(&program_);
  Feeds feeds_ = SmallDigitsFeeds();
  Fetches fetches_ = {vars_.distance, vars_.correct};
};

TEST_F(FailAllocation, WhileAProgramIsBuilt) {
  Sweep([] {
    Program program;
    UserLines([&] { BuildSmallDigits(&program); });
    RequireTrue(program.block().ops.size() == 8);
  });
}

// However far adding the op came, the program must not change.
TEST_F(FailAllocation, WhileAnOpIsAdded) {
  const std::string before = ToString(program_);
  int64_t k = 0;
  for (bool added = false; !added;) {
    OpDesc op;
    op.type = "top_k";
    op.inputs = {{"X", {vars_.distance.name()}}};
    op.location = {"a/path/that/is/too/long/for/a/short/string.cc", 1};
    try {
      const ScopedFailAllocation fail(++k, FailMode::kFromKOn);
      program_.AppendOp(std::move(op));
      added = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
      EXPECT_EQ(ToString(program_), before) << "allocation " << k;
    }
  }
  EXPECT_GT(k, 10);
  EXPECT_EQ(program_.Output("Out").name(), "top_k_2.Out");
}

TEST_F(FailAllocation, WhileAVariableIsAdded) {
  const std::string before = ToString(program_);
  for (int64_t k = 1; k <= 3; ++k) {
    try {
      const ScopedFailAllocation fail(k, FailMode::kFromKOn);
      program_.Data("a_name_that_is_too_long_for_a_short_string", DType::kInt8,
                    {1});
      ADD_FAILURE() << "allocation " << k << " was not missed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
      EXPECT_EQ(ToString(program_), before) << "allocation " << k;
    }
  }
}

TEST_F(FailAllocation, WhileAProgramIsPreparedAndRun) {
  Sweep([&] {
    Executor executor;
    const auto results = Run(executor);
    CheckSmallDigits(results[0], results[1]);
  });
}

TEST_F(FailAllocation, FromTheFirstLineToTheLast) {
  Sweep([&] {
    UserLines([&] {
      Program program;
      const SmallDigits vars = BuildSmallDigits(&program);
      Executor executor;
      const auto results =
          executor.Run(program, feeds_, {vars.distance, vars.correct});
      CheckSmallDigits(results[0], results[1]);
    });
  });
}

TEST_F(FailAllocation, InTheRunsOfOnePlan) {
  const auto plan = Prepare();
  Sweep([&] {
    const auto results = plan->Run(feeds_);
    CheckSmallDigits(results[0], results[1]);
  });
}

TEST_F(FailAllocation, WithMemoryOfItsOwnForEveryValue) {
  Sweep([&] {
    Executor executor({}, PlanOptions{.isolate = true});
    const auto results = Run(executor);
    CheckSmallDigits(results[0], results[1]);
  });
}

TEST_F(FailAllocation, WithTheDistancesOnTheFPGA) {
  if (FindPlugin("fpga").empty()) GTEST_SKIP() << "no FPGA stub";
  const KernelHintGuard guard("manhattan_distance: require place=fpga:0");
  Sweep([&] {
    Executor executor(FPGAPlace{0});
    const auto results = Run(executor);
    CheckSmallDigits(results[0], results[1]);
  });
}

TEST_F(FailAllocation, UnderAHint) {
  Sweep([&] {
    const KernelHintGuard guard("manhattan_distance: require variant=plain");
    Executor executor;
    const auto results = Run(executor);
    CheckSmallDigits(results[0], results[1]);
  });
}

// An addition to a persistable is complete or does not happen.
TEST_F(FailAllocation, WhileAPersistableIsWritten) {
  Program program;
  const Var x = program.Data("x", DType::kFloat32, {2});
  program.Persistable("sum", DType::kFloat32, {2});
  program.AppendOp("elementwise_add", {{"X", {"sum"}}, {"Y", {"x"}}}, {},
                   {"here.cc", 1}, {{"Out", {"sum"}}});
  const Feeds feeds = {{"x", Tensor::FromVector<float>({2}, {1, 2})}};
  Scope scope;
  Tensor& sum = *scope.Var("sum").GetMutable<Tensor>();
  sum = Tensor::FromVector<float>({2}, {0, 0});
  Sweep([&] {
    const float before = sum.data<float>()[0];
    Executor executor;
    try {
      executor.Run(program, feeds, {}, &scope);
    } catch (const Error&) {
      RequireTrue(sum.data<float>()[0] == before);
      RequireTrue(sum.data<float>()[1] == 2 * before);
      throw;
    }
    RequireTrue(sum.data<float>()[0] == before + 1);
    RequireTrue(sum.data<float>()[1] == 2 * before + 2);
  });
}

// A step in place happens for the parameter and all of its state, or not.
TEST_F(FailAllocation, WhileAParameterIsUpdated) {
  Program program;
  Scope scope;
  program.Data("g", DType::kFloat32, {1});
  Program::ArgList inputs = {{"Grad", {"g"}}};
  std::vector<Tensor*> tensors;
  for (const char* name : {"LearningRate", "Param", "Moment1", "Moment2",
                           "Beta1Pow", "Beta2Pow"}) {
    program.Persistable(name, DType::kFloat32, {1});
    inputs.push_back({name, {name}});
    tensors.push_back(scope.Var(name).GetMutable<Tensor>());
    *tensors.back() = Tensor::FromVector<float>({1}, {0.5F});
  }
  program.AppendOp("adam", inputs);
  const Feeds feeds = {{"g", Tensor::FromVector<float>({1}, {2})}};
  const void* const memory = std::as_const(*tensors[1]).raw_data();
  const auto changed = [&] {
    return std::count_if(tensors.begin(), tensors.end(), [](Tensor* tensor) {
      return tensor->data<float>()[0] != 0.5F;
    });
  };
  Sweep([&] {
    for (Tensor* tensor : tensors) {
      tensor->data<float>()[0] = 0.5F;
    }
    try {
      Executor().Run(program, feeds, {}, &scope);
    } catch (const Error&) {
      RequireTrue(changed() == 0);
      throw;
    }
    RequireTrue(changed() == 5);
    RequireTrue(std::as_const(*tensors[1]).raw_data() == memory);
  });
}

TEST_F(FailAllocation, WhileOneOpRunsByItself) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 5});
  const std::string op = "manhattan_distance";
  const std::vector<std::pair<std::string, Tensor>> inputs = {{"X", x},
                                                              {"Y", x}};
  Sweep([&] {
    const auto out = RunOp(op, inputs);
    RequireTrue(out.at("Out").data<float>()[1] == 5);
  });
}

TEST_F(FailAllocation, WhileAPlanIsExplained) {
  const auto plan = Prepare();
  Sweep([&] {
    RequireTrue(!ExplainText(*plan).empty());
    RequireTrue(!ExplainJson(*plan).empty());
  });
}

TEST_F(FailAllocation, WhileARunIsDebugged) {
  const auto plan = Prepare();
  Sweep([&] {
    RunSynchronised(*plan, feeds_);
    RunNanChecked(*plan, feeds_);
    const auto values = RunKeepingAll(*plan, feeds_);
    CheckSmallDigits(values.at(vars_.distance.name()),
                     values.at(vars_.correct.name()));
  });
}

TEST_F(FailAllocation, WhileAProgramIsPrinted) {
  Sweep([&] { RequireTrue(!ToString(program_).empty()); });
}

}  // namespace
}  // namespace sluice::testing
