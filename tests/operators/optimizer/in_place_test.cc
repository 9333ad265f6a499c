// Optimizers write to the memory of the scope, to the same bits as elsewhere.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/operators/optimizer/optimizer_row.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::testing {
namespace {

// More than a shard of each thread, and no whole vectors.
constexpr int64_t kCount = 3 * (1 << 13) + 5;

// A step of a row of the table over variables of a scope.
class Steps {
 public:
  explicit Steps(const OptimizerInfo& info) {
    Add("Param", {kCount}, 0.25F);
    program_.Data("g", DType::kFloat32, {kCount});
    inputs_.push_back({"Grad", {"g"}});
    for (const OptimizerState& state : info.states) {
      if (state.name != nullptr) Add(state.name, {kCount}, 0.75F);
    }
    for (const OptimizerPower& power : info.powers) {
      if (power.name != nullptr) Add(power.name, {1}, 0.5F);
    }
    Add("LearningRate", {1}, 0.125F);
    program_.Data("skip", DType::kBool, {1});
    inputs_.push_back({"SkipUpdate", {"skip"}});
    AttributeMap attributes;
    for (const OptimizerSetting& setting : info.settings) {
      const bool number = setting.name != nullptr && !setting.is_bool &&
                          setting.choice == nullptr;
      if (number && !setting.default_value) attributes[setting.name] = 0.5;
    }
    program_.AppendOp(info.name, inputs_, attributes);
  }

  void Run(bool skip) {
    std::vector<float> grad;
    for (int64_t i = 0; i < kCount; ++i) {
      grad.push_back(static_cast<float>(i % 11) - 4.5F);
    }
    Executor().Run(program_,
                   {{"g", Tensor::FromVector<float>({kCount}, grad)},
                    {"skip", Tensor::FromVector<bool>({1}, {skip})}},
                   {}, &scope_);
  }
  // By variable, those that a step changes.
  std::map<std::string, Tensor> Values() const {
    std::map<std::string, Tensor> values;
    for (const auto& [argument, vars] : inputs_) {
      const Variable* variable = scope_.FindVar(vars[0]);
      if (variable == nullptr || argument == "LearningRate") continue;
      values[argument] = *variable->Get<Tensor>();
    }
    return values;
  }
  std::map<std::string, const void*> Memory() const {
    std::map<std::string, const void*> memory;
    for (const auto& [name, tensor] : Values()) {
      memory[name] = tensor.raw_data();
    }
    return memory;
  }

 private:
  void Add(const std::string& name, const DDim& dims, float value) {
    program_.Persistable(name, DType::kFloat32, dims);
    inputs_.push_back({name, {name}});
    Tensor& tensor = *scope_.Var(name).GetMutable<Tensor>();
    float* values = tensor.mutable_data<float>(dims, CPUPlace());
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      values[i] = value + static_cast<float>(i % 5) / 16;
    }
  }

  Program program_;
  Program::ArgList inputs_;
  Scope scope_;
};

TEST(InPlace, StepsGiveTheBitsOfStepsElsewhere) {
  const ThreadCountGuard threads(2);
  for (const OptimizerRow& row : OptimizerRows()) {
    for (const bool skip : {false, true}) {
      SCOPED_TRACE(row.info.name + std::string(skip ? ", skipped" : ""));
      Steps here(row.info);
      Steps elsewhere(row.info);
      const auto memory = here.Memory();
      const auto held = elsewhere.Values();
      here.Run(skip);
      elsewhere.Run(skip);
      EXPECT_EQ(here.Memory(), memory);
      const auto got = here.Values();
      for (const auto& [name, expected] : elsewhere.Values()) {
        EXPECT_NE(std::as_const(expected).raw_data(), held.at(name).raw_data());
        const auto values = got.at(name).ToVector<float>();
        EXPECT_TRUE(values == expected.ToVector<float>()) << name;
        EXPECT_EQ(values == held.at(name).ToVector<float>(), skip) << name;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::testing
