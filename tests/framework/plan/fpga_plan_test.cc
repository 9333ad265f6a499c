// Plans with a device whose memory the host cannot read, and whose queue runs
// only when a caller waits.
#include <algorithm>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/device.h"
#include "sluice/platform/plugin/plugin_device.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using sluice::testing::Iota;

using Values = std::vector<float>;

class FpgaPlanTest : public ::testing::Test {
 protected:
  FpgaPlanTest()
      : device_(static_cast<PluginDevice&>(
            DeviceManager::Instance().Get(FPGAPlace{0}))) {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2, 2});
  }
  // Square, so that distances can be inputs of distances.
  std::string Distance(const std::string& x,
                       const std::string& y,
                       std::string_view hint = "require place=fpga:0") {
    return Append(&program_, "manhattan_distance", {{"X", {x}}, {"Y", {y}}}, {},
                  hint);
  }
  std::string Add(const std::string& x, const std::string& y) {
    return Append(&program_, "test_add", {{"X", {x}}, {"Y", {y}}});
  }
  static int Waits(const Plan& plan) {
    return static_cast<int>(std::count_if(
        plan.instructions().begin(), plan.instructions().end(), [](auto& step) {
          return step.kind == InstructionKind::kWait ||
                 step.kind == InstructionKind::kQueueWait;
        }));
  }

  PluginDevice& device_;
  Program program_;
  const Feeds feeds_ = {{"x", Floats({2, 2}, {1, 2, 4, 8})}};
};

TEST_F(FpgaPlanTest, FallsToTheCpuWithTransfersAndSaysSo) {
  const std::string distance = Distance("x", "x", "");
  const std::string sum = Add(distance, "x");
  Executor executor(FPGAPlace{0});
  const auto plan = executor.Prepare(program_, feeds_, {sum});
  EXPECT_EQ(plan->decisions()[0].place, PlaceKey(FPGAPlace{0}));
  EXPECT_EQ(plan->decisions()[1].place, PlaceKey(CPUPlace()));
  EXPECT_EQ(plan->decisions()[1].reason,
            "no kernel that fits at fpga:0; 16 input bytes move");
  ASSERT_EQ(plan->transfers().size(), 2u);
  EXPECT_EQ(plan->transfers()[0].var, "x");
  EXPECT_EQ(plan->transfers()[0].bytes, 16u);
  EXPECT_EQ(plan->transfers()[1].var, distance);
  EXPECT_EQ(plan->transfers()[1].to, PlaceKey(CPUPlace()));
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(), (Values{1, 11, 13, 8}));
}

TEST_F(FpgaPlanTest, AValueMovesOnceInEachRun) {
  const std::string first = Distance("x", "x");
  const std::string second = Distance(first, "x");
  const std::string sum = Add(first, second);
  const std::string again = Add(sum, first);
  Executor executor;
  const auto plan = executor.Prepare(program_, feeds_, {again, first, "x"});
  plan->Run(feeds_);  // its fresh memory is filled on the way
  const SluiceDeviceCounters before = device_.Counters();
  const auto results = plan->Run(feeds_);
  const SluiceDeviceCounters after = device_.Counters();
  // Copies x to the device; first and second back, and first again as a fetch.
  EXPECT_EQ(after.bytes_to_device - before.bytes_to_device, 16u);
  EXPECT_EQ(after.copies_from_device - before.copies_from_device, 2u);
  EXPECT_EQ(plan->transfers().size(), 3u);
  EXPECT_EQ(results[1].ToVector<float>(), (Values{0, 9, 9, 0}));
  EXPECT_EQ(results[0].ToVector<float>(), (Values{8, 23, 28, 13}));
}

TEST_F(FpgaPlanTest, WaitsOnlyBeforeTheHostReads) {
  std::string value = Distance("x", "x");
  for (int i = 0; i < 4; ++i)
    value = Distance(value, "x");
  Executor executor;
  EXPECT_EQ(Waits(*executor.Prepare(program_, feeds_, {value})), 1);
  const std::string sum = Add(value, "x");
  EXPECT_EQ(Waits(*executor.Prepare(program_, feeds_, {sum})), 1);
  const std::string end = Distance(sum, value);
  EXPECT_EQ(Waits(*executor.Prepare(program_, feeds_, {end})), 2);
  EXPECT_EQ(Waits(*executor.Prepare(program_, feeds_, {"x"})), 0);
}

// The planted bug: for each wait of the plan, a plan without it. The device
// must detect each one every time.
TEST_F(FpgaPlanTest, EveryMissingWaitIsNoticedEveryTime) {
  const std::string first = Distance("x", "x");
  const std::string sum = Add(first, "x");
  const std::string second = Distance(sum, "x");
  const std::string other = Distance(sum, second, "require place=fpga:1");
  const std::string end = Add(second, other);
  const Fetches fetches = {end, other, first, Distance(end, other)};
  Executor executor;
  const auto whole = executor.Prepare(program_, feeds_, fetches);
  const auto right = whole->Run(feeds_);
  const int waits = Waits(*whole);
  ASSERT_GE(waits, 4);
  for (int dropped = 0; dropped < waits; ++dropped) {
    Executor broken({}, {.drop_wait_for_testing = dropped});
    const auto plan = broken.Prepare(program_, feeds_, fetches);
    ASSERT_EQ(Waits(*plan), waits - 1);
    for (int round = 0; round < 20; ++round) {
      bool noticed = false;
      try {
        const auto results = plan->Run(feeds_);
        for (size_t i = 0; i < right.size(); ++i) {
          noticed |= results[i].ToVector<float>() != right[i].ToVector<float>();
        }
      } catch (const Error&) {
        noticed = true;
      }
      EXPECT_TRUE(noticed) << "wait " << dropped << " of " << waits
                           << ", round " << round;
    }
    // Whatever failed before, the next correct run succeeds.
    EXPECT_EQ(whole->Run(feeds_)[0].ToVector<float>(),
              right[0].ToVector<float>());
  }
}

TEST_F(FpgaPlanTest, ValuesGoFromDeviceToDeviceOverTheHost) {
  const std::string first = Distance("x", "x", "require place=fpga:0");
  const std::string second = Distance(first, "x", "require place=fpga:1");
  Executor executor;
  const auto plan = executor.Prepare(program_, feeds_, {second});
  EXPECT_EQ(plan->queues().size(), 2u);
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(), (Values{8, 5, 10, 13}));
}

TEST_F(FpgaPlanTest, PersistablesLiveAtTheExecutorsPlace) {
  program_.Persistable("w", DType::kFloat32, {2, 2});
  program_.AppendOp("manhattan_distance", {{"X", {"w"}}, {"Y", {"x"}}}, {}, {},
                    {{"Out", {"w"}}});
  Executor executor(FPGAPlace{0});
  *executor.scope().Var("w").GetMutable<Tensor>() = Iota({2, 2});
  for (int run = 0; run < 2; ++run)
    executor.Run(program_, feeds_, {});
  const Tensor& w = *executor.scope().FindVar("w")->Get<Tensor>();
  EXPECT_EQ(w.place(), PlaceKey(FPGAPlace{0}));
  // First [[2, 11], [2, 7]], then the distances of that to x.
  EXPECT_EQ(w.ToVector<float>(), (Values{10, 5, 6, 3}));
}

TEST_F(FpgaPlanTest, APersistableStaysWhereItsLastWriterRuns) {
  program_.Persistable("w", DType::kFloat32, {2, 2});
  program_.AppendOp("manhattan_distance", {{"X", {"x"}}, {"Y", {"x"}}}, {}, {},
                    {{"Out", {"w"}}});
  for (const PlaceKey place :
       {PlaceKey(CPUPlace()), PlaceKey(FPGAPlace{0}), PlaceKey(FPGAPlace{1})}) {
    for (const PlaceKey writer : {PlaceKey(CPUPlace()), PlaceKey(FPGAPlace{0}),
                                  PlaceKey(FPGAPlace{1})}) {
      program_.Hint("require place=" + ToString(writer));
      Executor executor(place);
      const auto results = executor.Run(program_, feeds_, {"w"});
      EXPECT_EQ(results[0].ToVector<float>(), (Values{0, 9, 9, 0}))
          << ToString(place) << " " << ToString(writer);
      const Tensor& w = *executor.scope().FindVar("w")->Get<Tensor>();
      EXPECT_EQ(w.place(), writer);
      EXPECT_EQ(w.ToVector<float>(), (Values{0, 9, 9, 0}))
          << ToString(place) << " " << ToString(writer);
    }
  }
}

TEST_F(FpgaPlanTest, AParameterIsCopiedOnceToWhereItIsRead) {
  program_.Persistable("w", DType::kFloat32, {2, 2});
  const std::string on_device = Distance("x", "w");
  program_.Hint("require place=fpga:0");
  const std::string on_host = Distance("w", "x");
  program_.Hint("require place=cpu");
  for (const PlaceKey place : {PlaceKey(CPUPlace()), PlaceKey(FPGAPlace{0})}) {
    Executor executor(place);
    auto* variable = &executor.scope().Var("w");
    *variable->GetMutable<Tensor>() = feeds_[0].second;
    const auto run = [&] {
      return executor.Run(program_, feeds_, {on_device, on_host});
    };
    const auto first = run();
    const Tensor copy = variable->TensorAt(FPGAPlace{0});
    EXPECT_EQ(run()[0].ToVector<float>(), first[0].ToVector<float>());
    EXPECT_EQ(std::as_const(copy).raw_data(),
              std::as_const(*variable).TensorAt(FPGAPlace{0}).raw_data());
    const auto plan = executor.Prepare(program_, feeds_, {on_device, on_host});
    for (const auto& transfer : plan->transfers()) {
      EXPECT_NE(transfer.var, "w") << ToString(place);
    }
    EXPECT_TRUE(std::any_of(plan->slots().begin(), plan->slots().end(),
                            [](const Slot& slot) {
                              return slot.kind == SlotKind::kPersistable &&
                                     slot.place == PlaceKey(FPGAPlace{0});
                            }));
    // A new value reaches both places.
    *variable->GetMutable<Tensor>() =
        Tensor::FromVector<float>({2, 2}, {100, 100, 100, 100});
    const auto changed = run();
    EXPECT_NE(changed[0].ToVector<float>(), first[0].ToVector<float>());
    EXPECT_NE(changed[1].ToVector<float>(), first[1].ToVector<float>());
    // A value that is written in place changes, too.
    variable->GetMutable<Tensor>()->data<float>()[0] = -100;
    EXPECT_NE(run()[0].ToVector<float>(), changed[0].ToVector<float>());
  }
}

TEST_F(FpgaPlanTest, AFeedMayLieOnTheDevice) {
  const std::string distance = Distance("x", "x");
  const std::string sum = Add("x", distance);
  Executor executor;
  const Feeds feeds = {{"x", feeds_[0].second.CopyTo(FPGAPlace{0})}};
  const auto plan = executor.Prepare(program_, feeds, {sum});
  EXPECT_EQ(plan->transfers().size(), 2u);
  EXPECT_EQ(plan->Run(feeds)[0].ToVector<float>(), (Values{1, 11, 13, 8}));
}

TEST_F(FpgaPlanTest, AFailingKernelIsNamedAndTheNextRunIsRight) {
  const std::string first = Distance("x", "x");
  const std::string end = Add(first, "x");
  Executor executor;
  const auto plan = executor.Prepare(program_, feeds_, {end});
  device_.SetOption("fail_kernel", "1");
  try {
    plan->Run(feeds_);
    ADD_FAILURE() << "the kernel should have failed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("op 0"), std::string::npos)
        << error.what();
  }
  device_.SetOption("fail_kernel", "0");
  EXPECT_EQ(plan->Run(feeds_)[0].ToVector<float>(), (Values{1, 11, 13, 8}));
}

TEST_F(FpgaPlanTest, EmptyValuesMoveToo) {
  Program program;
  program.Data("x", DType::kFloat32, {-1, 3});
  program.AppendOp("manhattan_distance", {{"X", {"x"}}, {"Y", {"x"}}});
  program.Hint("require place=fpga:0");
  Executor executor;
  const auto results =
      executor.Run(program, {{"x", Iota({0, 3})}}, {program.Output("Out")});
  EXPECT_EQ(results[0].dims(), DDim({0, 0}));
}

}  // namespace
}  // namespace sluice
