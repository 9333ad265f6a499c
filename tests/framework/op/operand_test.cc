#include "sluice/framework/op/operand.h"

#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ExpectError;

Attribute Value(AttrType type, const Tensor& tensor) {
  ArgDef def;
  def.name = "Sizes";
  def.attribute = "sizes";
  AttrDef attr;
  attr.name = "sizes";
  attr.type = type;
  return OperandValue("resize", def, attr, tensor);
}

TEST(Operand, IsWhatTheAttributeWouldBe) {
  const Tensor ints = Tensor::FromVector<int32_t>({2}, {3, -4});
  EXPECT_EQ(Value(AttrType::kInts, ints),
            Attribute(std::vector<int64_t>{3, -4}));
  EXPECT_EQ(Value(AttrType::kFloats, ints),
            Attribute(std::vector<double>{3, -4}));
  const Tensor one = Tensor::FromVector<int64_t>({1}, {7});
  EXPECT_EQ(Value(AttrType::kInt, one), Attribute(int64_t{7}));
  const Tensor half = Tensor::FromVector<float>({}, {0.5F});
  EXPECT_EQ(Value(AttrType::kFloat, half), Attribute(0.5));
  EXPECT_EQ(Value(AttrType::kInts, Tensor::FromVector<int64_t>({0}, {})),
            Attribute(std::vector<int64_t>()));
}

TEST(Operand, OfAnotherShapeOrDTypeIsRefused) {
  ExpectError(
      ErrorCode::kInvalidArgument, "op.operand_shape",
      {"resize", "Sizes", "sizes", "one dimension", "[1, 2]"}, [] {
        Value(AttrType::kInts, Tensor::FromVector<int64_t>({1, 2}, {1, 2}));
      });
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_shape",
              {"one element", "[2]"}, [] {
                Value(AttrType::kInt, Tensor::FromVector<int64_t>({2}, {1, 2}));
              });
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_dtype",
              {"int32 or int64", "float32"}, [] {
                Value(AttrType::kInts, Tensor::FromVector<float>({1}, {1}));
              });
  ExpectError(
      ErrorCode::kInvalidArgument, "op.operand_dtype", {"of numbers", "bool"},
      [] { Value(AttrType::kFloat, Tensor::FromVector<bool>({1}, {true})); });
}

TEST(Operand, ShapesAreCheckedAsFarAsTheyAreKnown) {
  const auto check = [](AttrType type, const DDim& dims) {
    ArgDef def;
    AttrDef attr;
    attr.type = type;
    CheckOperandShape("range", def, attr, dims);
  };
  for (const DDim& dims : {DDim(), DDim{1}, DDim{1, -1}, DDim::UnknownRank()}) {
    check(AttrType::kFloat, dims);
  }
  check(AttrType::kInts, DDim{-1});
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_shape",
              {"range", "one element", "[?, 7]"}, [&] {
                check(AttrType::kFloat, {-1, 7});
              });
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_shape", {"[?, ?]"}, [&] {
    check(AttrType::kInts, {-1, -1});
  });
}

TEST(Operand, NumbersMayBeHalves) {
  const Tensor half = Tensor::FromVector<float16>({1}, {float16{0x3e00}});
  EXPECT_EQ(std::get<double>(Value(AttrType::kFloat, half)), 1.5);
}

TEST(Operand, AnIntegerThatNoFloatIsExactlyIsRefused) {
  const int64_t even = int64_t{1} << 60;
  EXPECT_EQ(Value(AttrType::kFloat, Tensor::FromVector<int64_t>({}, {even})),
            Attribute(0x1p60));
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_exact",
              {"Sizes", "int64", "sizes", "beyond 2^53"}, [&] {
                Value(AttrType::kFloats,
                      Tensor::FromVector<int64_t>({2}, {1, even + 1}));
              });
  ExpectError(ErrorCode::kInvalidArgument, "op.operand_exact", {"uint64"}, [] {
    Value(AttrType::kFloat, Tensor::FromVector<uint64_t>({}, {UINT64_MAX}));
  });
}

TEST(Operand, ForAnAttributeOfAnotherTypeIsAnErrorOfTheSchema) {
  ExpectError(ErrorCode::kInternal, "op.operand_type", {"resize", "Sizes"}, [] {
    Value(AttrType::kString, Tensor::FromVector<int64_t>({1}, {1}));
  });
}

}  // namespace
}  // namespace sluice
