#include <limits>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using TriluNumbers = std::vector<int32_t>;

TriluNumbers Triangle(bool upper, int64_t k) {
  const Tensor x = Tensor::FromVector<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  return RunOp("trilu", {{"X", x}}, {{"upper", upper}, {"k", k}})["Out"]
      .ToVector<int32_t>();
}

TEST(Trilu, KeepsATriangle) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Triangle(true, 0), (TriluNumbers{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(Triangle(false, 0), (TriluNumbers{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(Triangle(true, 1), (TriluNumbers{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(Triangle(false, -1), (TriluNumbers{0, 0, 0, 4, 0, 0}));
  EXPECT_EQ(Triangle(true, kMin), (TriluNumbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Triangle(true, kMax), TriluNumbers(6, 0));
  EXPECT_EQ(Triangle(false, kMin), TriluNumbers(6, 0));
  EXPECT_EQ(Triangle(false, kMax), (TriluNumbers{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

std::vector<OpExample> TriluExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const bool upper : {true, false}) {
    const auto add = [&](const DDim& dims, int64_t k) {
      examples.push_back(
          {{{"X", make.Values(dims)}}, {{"upper", upper}, {"k", k}}});
    };
    add({3, 5}, 0);
    add({5, 3}, 1);
    add({2, 1, 3, 4}, -2);
    add({3, 3}, 99);
    add({0, 3, 3}, 0);
    add({3, 191, 173}, 7);
  }
  return examples;
}

Arrays TriluReference(const Arrays& in, const OpDesc& op) {
  Array out = in.at("X");
  const int rank = out.dims.rank();
  for (size_t i = 0; i < out.values.size(); ++i) {
    const auto index = out.IndexOf(static_cast<int64_t>(i));
    const int64_t diagonal = index[rank - 2] + GetAttr<int64_t>(op, "k");
    const bool kept = GetAttr<bool>(op, "upper") ? index[rank - 1] >= diagonal
                                                 : index[rank - 1] <= diagonal;
    if (!kept) out.values[i] = 0;
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(trilu, TriluExamples, TriluReference);

}  // namespace
}  // namespace sluice::testing
