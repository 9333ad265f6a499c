#include "sluice/operators/contraction/einsum.h"

#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"
#include "sluice/framework/run/executor.h"

// Errors of einsum, and the ops that it appends.
// tests/python/formulas/test_einsum.py compares its results with NumPy.
namespace sluice {
namespace {

using testing::ExpectError;
using Shapes = std::vector<DDim>;

// Data of these shapes, and the ops that einsum appended.
struct EinsumFixture {
  explicit EinsumFixture(const Shapes& shapes) {
    for (const DDim& shape : shapes) {
      inputs.push_back(
          program.Data(std::string(1, static_cast<char>('a' + inputs.size())),
                       DType::kFloat32, shape));
    }
  }
  std::string Ops() const {
    std::string types;
    for (const OpDesc& op : program.block().ops) {
      types += (types.empty() ? "" : " ") + op.type;
    }
    return types;
  }

  Program program;
  std::vector<Var> inputs;
};

void ExpectRefused(const Shapes& shapes,
                   const char* equation,
                   const char* part) {
  EinsumFixture e(shapes);
  ExpectError(ErrorCode::kInvalidArgument, "einsum.equation",
              {equation, part, "created at", "einsum_test.cc"},
              [&] { Einsum(equation, e.inputs); });
  EXPECT_TRUE(e.program.block().ops.empty());
}

TEST(EinsumTest, ProductsOfMatricesAreMatmuls) {
  EinsumFixture e({{2, 3, 4}, {2, 4, 5}});
  EXPECT_EQ(Einsum("bij,bjk->bik", e.inputs).dims(), (DDim{2, 3, 5}));
  EXPECT_EQ(e.Ops(), "matmul");
}

TEST(EinsumTest, ADimOfSizeOneIsRepeated) {
  EinsumFixture e({{2, 1}, {3, 4}});
  EXPECT_EQ(Einsum("ij,jk->ik", e.inputs).dims(), (DDim{2, 4}));
  EinsumFixture both({{2, 1}, {1, 4}});
  EXPECT_EQ(Einsum("ij,jk->ijk", both.inputs).dims(), (DDim{2, 1, 4}));
}

TEST(EinsumTest, UnknownSizesStayUnknown) {
  EinsumFixture e({{-1, 3}, {3, 5}});
  EXPECT_EQ(Einsum("ij,jk->ki", e.inputs).dims(), (DDim{5, -1}));
}

TEST(EinsumTest, AGradientIsThatOfItsOps) {
  EinsumFixture e({{2, 2}, {2}});
  const Var y = Einsum("ii,i->", e.inputs);
  e.program.SetStopGradient("a", false);
  e.program.SetStopGradient("b", false);
  const auto grads = AppendBackward(e.program, y.name(), {{"a", "b"}});
  ASSERT_EQ(grads.size(), 2U);
  const auto values =
      Executor().Run(e.program,
                     {{"a", Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4})},
                      {"b", Tensor::FromVector<float>({2}, {5, 6})}},
                     {y, grads[0].grad, grads[1].grad});
  EXPECT_EQ(values[0].ToVector<float>(), std::vector<float>{29});
  EXPECT_EQ(values[1].ToVector<float>(), (std::vector<float>{5, 0, 0, 6}));
  EXPECT_EQ(values[2].ToVector<float>(), (std::vector<float>{1, 4}));
}

TEST(EinsumTest, EquationsThatDoNotFitNameTheTerm) {
  const Shapes two = {{2, 3}, {3, 2}};
  ExpectRefused(two, "ij->ij", "the number of terms is 1, that of inputs is 2");
  ExpectRefused(two, "ij,j->i",
                "in the term j is 1, that of dims of its input is 2");
  ExpectRefused(two, "ij,...jki->i", "in the term ...jki is 3");
  ExpectRefused(two, "i1,jk->i", "1 in the term i1 is no letter");
  ExpectRefused(two, "i.j,jk->i", ". in the term i.j is no letter");
  ExpectRefused(two, "ij,jk->i->k", "- in the term i->k is no letter");
  ExpectRefused(two, "ij,jk->ii", "the output ii has i more than once");
  ExpectRefused(two, "ij,jk->iz", "the output iz has z, which no term has");
  ExpectRefused(two, "ij,kj->ik",
                "j is 3 in the term ij, and 2 in the term kj");
  ExpectRefused(two, "ii,jk->i", "i stands for 2 and for 3 in the term ii");
  ExpectRefused(
      {{4, 2}, {3, 2}}, "...i,...i",
      "dim -1 of \"...\" is 4 in the term ...i, and 3 in the term ...i");
}

TEST(EinsumTest, InputsOfSeveralDTypesNameTheTerm) {
  EinsumFixture e(Shapes{{2, 3}});
  e.inputs.push_back(e.program.Data("n", DType::kInt64, {3}));
  ExpectError(ErrorCode::kInvalidArgument, "einsum.equation",
              {"the term ij is float32, and the term j is int64"},
              [&] { Einsum("ij,j", e.inputs); });
}

TEST(EinsumTest, WhatIsUnknownIsNamed) {
  EinsumFixture ranks(Shapes{DDim::UnknownRank()});
  ExpectError(ErrorCode::kUnimplemented, "einsum.rank",
              {"the rank of input 0 is unknown", "einsum_test.cc"},
              [&] { Einsum("ij", ranks.inputs); });
  EinsumFixture sizes(Shapes{{-1, -1}});
  ExpectError(ErrorCode::kUnimplemented, "einsum.diagonal", {"[?, ?]"},
              [&] { Einsum("ii", sizes.inputs); });
}

TEST(EinsumTest, InputsBelongToOneProgram) {
  EinsumFixture e(Shapes{{2}}), other(Shapes{{2}, {2}});
  ExpectError(ErrorCode::kInvalidArgument, "einsum.program", {"input b"}, [&] {
    Einsum("i,i", {e.inputs[0], other.inputs[1]});
  });
  ExpectError(ErrorCode::kInvalidArgument, "einsum.no_inputs", {"at least one"},
              [&] { Einsum("", {}); });
}

TEST(EinsumTest, TheResultIsANewVariable) {
  EinsumFixture e(Shapes{{2, 3}});
  EXPECT_NE(Einsum("ij->ij", e.inputs).name(), "a");
  EXPECT_EQ(e.Ops(), "assign");
}

}  // namespace
}  // namespace sluice
