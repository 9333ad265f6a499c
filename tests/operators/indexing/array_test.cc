#include <cstdint>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;

Tensor Number(int64_t value) {
  return Tensor::FromVector<int64_t>({1}, {value});
}
Tensor Pairs(const DDim& dims, const std::vector<float>& values) {
  return Tensor::FromVector<float>(dims, values);
}
const AttributeMap kThree = {{"capacity", int64_t{3}}};

TEST(Array, WritesOneElementAndKeepsTheOthers) {
  const Tensor array = Pairs({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor x = Pairs({2}, {7, 8});
  EXPECT_EQ(RunOp("array_write", {{"Array", array}, {"X", x}, {"I", Number(1)}},
                  kThree)["Out"]
                .ToVector<float>(),
            (std::vector<float>{1, 2, 7, 8, 5, 6}));
  EXPECT_EQ(RunOp("array_write", {{"X", x}, {"I", Number(2)}}, kThree)["Out"]
                .ToVector<float>(),
            (std::vector<float>{0, 0, 0, 0, 7, 8}));
  EXPECT_EQ(
      RunOp("array_write", {{"Array", array}, {"I", Number(0)}}, kThree)["Out"]
          .ToVector<float>(),
      (std::vector<float>{0, 0, 3, 4, 5, 6}));
}

// Elements of 2 numbers and different numbers of rows.
TEST(Array, GrowsToTheRowsOfTheLargestElement) {
  const AttributeMap grows = {{"capacity", int64_t{2}}, {"grows", true}};
  const Tensor array = Pairs({2, 1, 2}, {1, 2, 3, 4});
  const auto write = [&](const Tensor& to, const Tensor& x, int64_t i) {
    return RunOp("array_write", {{"Array", to}, {"X", x}, {"I", Number(i)}},
                 grows)["Out"];
  };
  const Tensor larger = write(array, Pairs({3, 2}, {5, 6, 7, 8, 9, 0}), 1);
  EXPECT_EQ(larger.dims(), (DDim{2, 3, 2}));
  EXPECT_EQ(larger.ToVector<float>(),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 5, 6, 7, 8, 9, 0}));
  const Tensor smaller = write(larger, Pairs({2, 2}, {3, 3, 4, 4}), 0);
  EXPECT_EQ(smaller.ToVector<float>(),
            (std::vector<float>{3, 3, 4, 4, 4, 4, 5, 6, 7, 8, 9, 0}));
  const Tensor empty = write(larger, Pairs({0, 2}, {}), 1);
  EXPECT_EQ(empty.ToVector<float>(),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0}));
  // An array without rows gets its first ones.
  const Tensor first = write(Pairs({2, 0, 2}, {}), Pairs({1, 2}, {1, 2}), 1);
  EXPECT_EQ(first.ToVector<float>(), (std::vector<float>{0, 0, 1, 2}));
  ExpectError(ErrorCode::kInvalidArgument, "array_write.shape", {"[3, 3]"},
              [&] {
                write(array, Pairs({3, 3}, std::vector<float>(9)), 0);
              });
}

TEST(Array, DoesNotReadAnElementThatHadFewerRows) {
  const Tensor array = Pairs({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = Tensor::FromVector<int64_t>({3}, {1, 2, 2});
  const auto read = [&](int64_t i) {
    return RunOp("array_read",
                 {{"Array", array}, {"Rows", rows}, {"I", Number(i)}},
                 kThree)["Out"];
  };
  EXPECT_EQ(read(1).ToVector<float>(), (std::vector<float>{3, 4}));
  ExpectError(ErrorCode::kFailedPrecondition, "array_read.fewer_rows",
              {"element 0", "with 1 rows", "with 2"}, [&] { read(0); });
  ExpectError(ErrorCode::kInvalidArgument, "array_read.rows", {"[3]", "[1]"},
              [&] {
                RunOp("array_read",
                      {{"Array", array}, {"Rows", Number(1)}, {"I", Number(1)}},
                      kThree);
              });
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel.
namespace sluice::testing {
namespace {

Tensor NumberOf(DType dtype, int64_t value) {
  Array number(DDim{1});
  number.values[0] = static_cast<double>(value);
  return ToTensor(number, dtype);
}

DDim StackOf(int64_t capacity, const DDim& element) {
  DDim dims = element;
  dims.InsertDim(0, capacity);
  return dims;
}

std::vector<OpExample> ArrayWriteExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](int64_t capacity, const DDim& element, int64_t number,
                       DType dtype, bool has_array, bool has_x) {
    OpExample& example = examples.emplace_back();
    if (has_array) {
      example.inputs.emplace_back("Array",
                                  make.Values(StackOf(capacity, element)));
    }
    if (has_x) example.inputs.emplace_back("X", make.Values(element));
    example.inputs.emplace_back("I", NumberOf(dtype, number));
    example.attributes = {{"capacity", capacity}};
  };
  add(3, {2, 5}, 1, DType::kInt64, true, true);
  add(1, {7}, 0, DType::kInt32, false, true);
  add(5, {3}, 4, DType::kInt32, true, false);
  add(2, {0, 3}, 1, DType::kInt64, true, true);
  add(3, {}, 2, DType::kInt64, true, true);
  add(3, {149, 331}, 0, DType::kInt64, true, true);
  return examples;
}

Arrays ArrayWriteReference(const Arrays& in, const OpDesc& op) {
  const auto capacity = GetAttr<int64_t>(op, "capacity");
  Array out;
  if (in.count("Array") > 0) {
    out = in.at("Array");
  } else {
    out = Array(StackOf(capacity, in.at("X").dims));
  }
  const size_t size = out.values.size() / static_cast<size_t>(capacity);
  const size_t first = static_cast<size_t>(in.at("I").values[0]) * size;
  for (size_t k = 0; k < size; ++k) {
    out.values[first + k] = in.count("X") > 0 ? in.at("X").values[k] : 0;
  }
  return {{"Out", out}};
}

std::vector<OpExample> ArrayReadExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& array, int64_t number, int64_t length) {
    OpExample& example = examples.emplace_back();
    example.inputs = {{"Array", make.Values(array)}};
    if (length > 0) {
      example.inputs.emplace_back("Length", NumberOf(DType::kInt64, length));
    }
    example.inputs.emplace_back(
        "I", NumberOf(length > 0 ? DType::kInt64 : DType::kInt32, number));
    example.attributes = {{"capacity", array[0]}};
  };
  add({3, 2, 5}, 1, 2);
  add({1, 7}, 0, 0);
  add({4}, 3, 4);
  add({2, 0}, 1, 2);
  add({3, 149, 331}, 2, 3);
  return examples;
}

Arrays ArrayReadReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& array = in.at("Array");
  Array out(array.dims.Subshape(1, array.dims.rank()));
  const size_t size = out.values.size();
  const size_t first = static_cast<size_t>(in.at("I").values[0]) * size;
  for (size_t k = 0; k < size; ++k) {
    out.values[k] = array.values[first + k];
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(array_write, ArrayWriteExamples, ArrayWriteReference);
REGISTER_OP_CASE(array_read, ArrayReadExamples, ArrayReadReference);

}  // namespace
}  // namespace sluice::testing
