#include "sluice/framework/scope.h"

#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

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
}  // namespace sluice::framework
