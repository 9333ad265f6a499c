#include "sluice/framework/values/scope.h"

#include <utility>

#include <gtest/gtest.h>

#include "sluice/platform/device.h"

namespace sluice {
namespace {

TEST(VariableTest, KeepsACopyUntilTheValueChanges) {
  const PlaceKey device = FPGAPlace{0};
  DeviceManager::Instance().Get(device);
  Variable variable;
  *variable.GetMutable<Tensor>() = Tensor::FromVector<float>({2}, {1, 2});
  const auto address = [&](const PlaceKey& place) {
    return std::as_const(variable).TensorAt(place).raw_data();
  };
  EXPECT_EQ(std::as_const(variable).TensorAt(CPUPlace()).raw_data(),
            std::as_const(*variable.Get<Tensor>()).raw_data());
  const Tensor copy = variable.TensorAt(device);
  EXPECT_EQ(copy.place(), device);
  EXPECT_EQ(copy.ToVector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(address(device), std::as_const(copy).raw_data());
  // Another handle of the same memory, which writes.
  Tensor handle = *variable.Get<Tensor>();
  handle.data<float>()[1] = 5;
  EXPECT_EQ(variable.TensorAt(device).ToVector<float>(),
            (std::vector<float>{1, 5}));
  variable.GetMutable<Tensor>()->Resize({1});
  EXPECT_EQ(variable.TensorAt(device).dims(), DDim({1}));
}

TEST(ScopeTest, MakesAVariableOnce) {
  Scope scope;
  Variable& variable = scope.Var("w");
  EXPECT_EQ(&scope.Var("w"), &variable);
  EXPECT_EQ(scope.FindVar("w"), &variable);
  EXPECT_EQ(scope.FindVar("v"), nullptr);
  EXPECT_EQ(scope.LocalVarNames(), (std::vector<std::string>{"w"}));
}

TEST(ScopeTest, LooksIntoItsParent) {
  Scope scope;
  Scope& child = scope.NewScope();
  Variable& outer = scope.Var("w");
  EXPECT_EQ(child.FindVar("w"), &outer);
  Variable& inner = child.Var("w");
  EXPECT_NE(&inner, &outer);
  EXPECT_EQ(child.FindVar("w"), &inner);
  EXPECT_EQ(scope.FindVar("w"), &outer);
}

TEST(ScopeTest, ErasesItsOwnVariablesOnly) {
  Scope scope;
  Scope& child = scope.NewScope();
  scope.Var("w");
  EXPECT_FALSE(child.EraseVar("w"));
  EXPECT_TRUE(scope.EraseVar("w"));
  EXPECT_FALSE(scope.EraseVar("w"));
  EXPECT_EQ(child.FindVar("w"), nullptr);
}

TEST(VariableTest, HoldsAValueOfOneType) {
  Variable variable;
  EXPECT_EQ(variable.Get<int>(), nullptr);
  *variable.GetMutable<int>() = 3;
  EXPECT_EQ(*variable.Get<int>(), 3);
  EXPECT_EQ(*variable.GetMutable<int>(), 3);
  EXPECT_TRUE(variable.IsType<int>());
  EXPECT_EQ(variable.Get<Tensor>(), nullptr);
  EXPECT_FALSE(variable.GetMutable<Tensor>()->allocated());
  EXPECT_FALSE(variable.IsType<int>());
}

}  // namespace
}  // namespace sluice
