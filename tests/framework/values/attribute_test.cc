#include "sluice/framework/values/attribute.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(AttributeTest, KnowsItsType) {
  EXPECT_EQ(TypeOf(Attribute(true)), AttrType::kBool);
  EXPECT_EQ(TypeOf(Attribute(int64_t{1})), AttrType::kInt);
  EXPECT_EQ(TypeOf(Attribute(std::string("a"))), AttrType::kString);
  EXPECT_EQ(AttrTypeOf<std::vector<double>>(), AttrType::kFloats);
  EXPECT_EQ(AttrTypeOf<DType>(), AttrType::kDType);
  EXPECT_EQ(ToString(AttrType::kStrings), "strings");
}

TEST(AttributeTest, ReadsAsInAProgram) {
  EXPECT_EQ(ToString(Attribute(true)), "true");
  EXPECT_EQ(ToString(Attribute(int64_t{-3})), "-3");
  EXPECT_EQ(ToString(Attribute(0.5)), "0.5");
  EXPECT_EQ(ToString(Attribute(std::string("NCHW"))), "\"NCHW\"");
  EXPECT_EQ(ToString(Attribute(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(ToString(Attribute(std::vector<std::string>{"a"})), "[\"a\"]");
  EXPECT_EQ(ToString(Attribute(DType::kInt8)), "int8");
}

TEST(AttributeTest, ConvertsWhereNothingIsLost) {
  Attribute number = int64_t{3};
  EXPECT_TRUE(ConvertAttribute(AttrType::kFloat, &number));
  EXPECT_EQ(std::get<double>(number), 3.0);
  Attribute list = std::vector<int64_t>{1, 2};
  EXPECT_TRUE(ConvertAttribute(AttrType::kFloats, &list));
  EXPECT_EQ(std::get<std::vector<double>>(list), (std::vector<double>{1, 2}));
  Attribute least = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(ConvertAttribute(AttrType::kFloat, &least));
  EXPECT_EQ(std::get<double>(least), -0x1p63);
  Attribute empty = std::vector<int64_t>{};
  EXPECT_TRUE(ConvertAttribute(AttrType::kStrings, &empty));
  EXPECT_TRUE(std::get<std::vector<std::string>>(empty).empty());
}

TEST(AttributeTest, RefusesEverythingElse) {
  Attribute fraction = 0.5;
  EXPECT_FALSE(ConvertAttribute(AttrType::kInt, &fraction));
  EXPECT_EQ(std::get<double>(fraction), 0.5);
  Attribute odd = (int64_t{1} << 53) + 1;
  EXPECT_FALSE(ConvertAttribute(AttrType::kFloat, &odd));
  Attribute odds = std::vector<int64_t>{1, -(int64_t{1} << 53) - 1};
  EXPECT_FALSE(ConvertAttribute(AttrType::kFloats, &odds));
  Attribute largest = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(ConvertAttribute(AttrType::kFloat, &largest));
  Attribute flag = true;
  EXPECT_FALSE(ConvertAttribute(AttrType::kInt, &flag));
  Attribute ints = std::vector<int64_t>{1};
  EXPECT_FALSE(ConvertAttribute(AttrType::kStrings, &ints));
}

}  // namespace
}  // namespace sluice
