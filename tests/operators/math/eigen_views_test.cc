#include "sluice/operators/math/eigen_views.h"

#include <utility>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(EigenViews, HaveTheShapeAndTheMemoryOfTheTensor) {
  Tensor x = Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  TTypes<float>::Matrix matrix = x.matrix<float>();
  EXPECT_EQ(matrix.dimension(0), 2);
  EXPECT_EQ(matrix.dimension(1), 3);
  EXPECT_EQ(matrix(1, 0), 4);
  matrix(1, 2) = 7;
  EXPECT_EQ(x.data<float>()[5], 7);
  TTypes<float>::ConstMatrix read = std::as_const(x).matrix<float>();
  EXPECT_EQ(read(1, 2), 7);
  TTypes<float>::Flat flat = x.flat<float>();
  EXPECT_EQ(flat.size(), 6);
  EXPECT_EQ(flat(4), 5);
  TTypes<float>::Vec row = x.Slice(1, 2).Reshaped({3}).vec<float>();
  EXPECT_EQ(row(0), 4);
  const Tensor cube = x.Reshaped({1, 3, 2});
  TTypes<float, 3>::ConstTensor tensor = cube.tensor<float, 3>();
  EXPECT_EQ(tensor(0, 2, 0), 5);
}

TEST(EigenViews, AWriterChangesTheVersionAndAReaderDoesNot) {
  Tensor x = Tensor::FromVector<double>({2}, {1, 2});
  const auto version = x.storage_version();
  EXPECT_EQ(std::as_const(x).vec<double>()(1), 2);
  EXPECT_EQ(std::as_const(x).flat<double>()(0), 1);
  EXPECT_EQ(x.storage_version(), version);
  x.vec<double>()(0) = 3;
  EXPECT_NE(x.storage_version(), version);
}

TEST(EigenViews, ScalarTakesEveryTensorOfOneElement) {
  for (const DDim& dims : {DDim(), DDim({1}), DDim({1, 1})}) {
    Tensor x = Tensor::FromVector<int64_t>(dims, {5});
    EXPECT_EQ(std::as_const(x).scalar<int64_t>()(), 5);
    x.scalar<int64_t>()() = 6;
    EXPECT_EQ(x.data<int64_t>()[0], 6);
  }
  const Tensor two = Tensor::FromVector<int64_t>({2}, {5, 6});
  ExpectError(ErrorCode::kInvalidArgument, "tensor.reshaped",
              {"[2]", "shape []"}, [&] { two.scalar<int64_t>(); });
}

TEST(EigenViews, EmptyTensorsHaveEmptyViews) {
  const Tensor x = Tensor::FromVector<float>({0, 3}, {});
  EXPECT_EQ(x.matrix<float>().dimension(1), 3);
  EXPECT_EQ(x.matrix<float>().size(), 0);
  EXPECT_EQ(x.flat<float>().size(), 0);
}

TEST(EigenViews, HalvesAreThoseOfEigen) {
  Tensor x = Tensor::FromVector<float16>({1}, {{0x3C00}});
  x.flat<float16>()(0) += Eigen::half(1);
  EXPECT_EQ(x.data<float16>()[0].bits, 0x4000);
  x = Tensor::FromVector<bfloat16>({1}, {{0x3F80}});
  x.flat<bfloat16>()(0) += Eigen::bfloat16(1);
  EXPECT_EQ(x.data<bfloat16>()[0].bits, 0x4000);
}

TEST(EigenViews, AnotherRankOrDTypeIsAnErrorThatNamesBoth) {
  const Tensor x = Tensor::FromVector<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectError(ErrorCode::kInvalidArgument, "tensor.view_rank",
              {"2 dimensions", "float64", "float32", "[1, 2, 3]"},
              [&] { x.matrix<double>(); });
  ExpectError(ErrorCode::kInvalidArgument, "tensor.wrong_dtype",
              {"float64", "float32", "[1, 2, 3]"},
              [&] { x.tensor<double, 3>(); });
  ExpectError(ErrorCode::kInvalidArgument, "tensor.wrong_dtype",
              {"int64", "float32"}, [&] { x.flat<int64_t>(); });
  const Tensor none;
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.unallocated",
              {"float32", "[]"}, [&] { none.scalar<float>(); });
}

}  // namespace
}  // namespace sluice
