#include "sluice/framework/values/tensor.h"

#include <limits>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/memory/memory.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(TensorTest, ResizeSetsTheShapeOnly) {
  const size_t before = Used(CPUPlace());
  Tensor tensor;
  EXPECT_EQ(&tensor.Resize({2, 3}), &tensor);
  EXPECT_EQ(tensor.dims(), DDim({2, 3}));
  EXPECT_EQ(tensor.numel(), 6);
  EXPECT_FALSE(tensor.allocated());
  EXPECT_EQ(Used(CPUPlace()), before);
}

TEST(TensorTest, MutableDataAllocatesAlignedMemoryAndFreesIt) {
  const size_t before = Used(CPUPlace());
  {
    Tensor tensor;
    float* data = tensor.Resize({3, 5}).mutable_data<float>(CPUPlace());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_EQ(tensor.place(), PlaceKey(CPUPlace()));
    EXPECT_EQ(tensor.bytes(), 60u);
    EXPECT_EQ(Used(CPUPlace()), before + 60);
  }
  EXPECT_EQ(Used(CPUPlace()), before);
}

TEST(TensorTest, MutableDataKeepsABufferThatIsLargeEnough) {
  Tensor tensor;
  const void* first = tensor.mutable_data<float>({8}, CPUPlace());
  EXPECT_EQ(tensor.mutable_data<float>({2, 2}, CPUPlace()), first);
  EXPECT_EQ(static_cast<void*>(tensor.mutable_data<double>({4}, CPUPlace())),
            first);
  EXPECT_EQ(tensor.dtype(), DType::kFloat64);
  tensor.mutable_data<double>({5}, CPUPlace());
  EXPECT_EQ(tensor.holder()->bytes(), 40u);
}

TEST(TensorTest, MutableDataOfASliceStaysInsideTheBuffer) {
  Tensor tensor;
  tensor.mutable_data<int8_t>({64}, CPUPlace());
  Tensor tail = tensor.Slice(60, 64);
  EXPECT_EQ(tail.Resize({4}).mutable_data<int8_t>(CPUPlace()),
            tensor.data<int8_t>() + 60);
  EXPECT_NE(tail.Resize({5}).mutable_data<int8_t>(CPUPlace()),
            tensor.data<int8_t>() + 60);
}

TEST(TensorTest, MutableDataNoticesThatOffsetAndSizeOverflow) {
  Tensor tensor;
  tensor.mutable_data<double>({8}, CPUPlace());
  Tensor tail = tensor.Slice(1, 8);
  // 2^64 - 8 bytes, and 8 of the slice: 0.
  tail.Resize({(int64_t{1} << 61) - 1});
  EXPECT_THROW(tail.mutable_data<double>(CPUPlace()), Error);
}

TEST(TensorTest, RefusesSizesThatOverflow) {
  Tensor tensor;
  tensor.Resize({int64_t{1} << 62});
  ExpectError(ErrorCode::kOutOfRange, "tensor.bytes_overflow", {"64 bits"},
              [&] { tensor.mutable_data<float>(CPUPlace()); });
}

TEST(TensorTest, RefusesDataBeforeItIsAllocated) {
  Tensor tensor;
  tensor.Resize({2});
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.unallocated",
              {"data<float32>()", "[2]"}, [&] { tensor.data<float>(); });
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.place", {"[2]"},
              [&] { static_cast<void>(tensor.place()); });
}

TEST(TensorTest, RefusesDataOfAnotherDType) {
  const Tensor tensor = Tensor::FromVector<float>({2}, {1, 2});
  ExpectError(ErrorCode::kInvalidArgument, "tensor.wrong_dtype",
              {"data<int32>()", "float32"}, [&] { tensor.data<int32_t>(); });
}

TEST(TensorTest, CopiesShareMemory) {
  Tensor tensor = Tensor::FromVector<float>({2}, {1, 2});
  Tensor copy = tensor;
  copy.data<float>()[0] = 9;
  EXPECT_EQ(tensor.data<float>()[0], 9);
  Tensor other;
  other.ShareDataWith(tensor);
  EXPECT_EQ(other.raw_data(), tensor.raw_data());
  EXPECT_EQ(other.dims(), tensor.dims());
}

TEST(TensorTest, RefusesToShareNothing) {
  Tensor tensor;
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.share_unallocated", {},
              [&] { tensor.ShareDataWith(Tensor()); });
}

TEST(TensorTest, SlicesRows) {
  Tensor tensor = Tensor::FromVector<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor slice = tensor.Slice(1, 3);
  EXPECT_EQ(slice.dims(), DDim({2, 2}));
  EXPECT_EQ(slice.ToVector<int32_t>(), (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(slice.raw_data(), tensor.data<int32_t>() + 2);
  EXPECT_EQ(tensor.Slice(3, 3).numel(), 0);
}

TEST(TensorTest, RefusesRowsOutsideAndSlicesOfNothing) {
  const Tensor tensor = Tensor::FromVector<int32_t>({3}, {1, 2, 3});
  ExpectError(ErrorCode::kOutOfRange, "tensor.slice_range", {"[1, 4)"},
              [&] { tensor.Slice(1, 4); });
  ExpectError(ErrorCode::kOutOfRange, "tensor.slice_range", {},
              [&] { tensor.Slice(2, 1); });
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.slice_state", {},
              [&] { Tensor().Resize({3}).Slice(0, 1); });
}

TEST(TensorTest, ReshapesWithoutCopying) {
  const Tensor tensor = Tensor::FromVector<int32_t>({2, 2}, {1, 2, 3, 4});
  const Tensor flat = tensor.Reshaped({4});
  EXPECT_EQ(flat.raw_data(), tensor.raw_data());
  EXPECT_EQ(flat.dims(), DDim({4}));
  ExpectError(ErrorCode::kInvalidArgument, "tensor.reshaped",
              {"4 elements", "[3]", "has 3"}, [&] { tensor.Reshaped({3}); });
}

TEST(TensorTest, CopyToHasMemoryOfItsOwn) {
  Tensor tensor = Tensor::FromVector<int64_t>({2}, {7, 8});
  const Tensor copy = tensor.CopyTo(CPUPlace());
  tensor.data<int64_t>()[0] = 0;
  EXPECT_EQ(copy.ToVector<int64_t>(), (std::vector<int64_t>{7, 8}));
}

TEST(TensorTest, MovesVectorsOfEveryDTypeInAndOut) {
  const std::vector<bool> bits = {true, false, true};
  EXPECT_EQ(Tensor::FromVector<bool>({3}, bits).ToVector<bool>(), bits);
  const std::vector<double> values = {0.5, -1};
  EXPECT_EQ(Tensor::FromVector(DDim({2}), values).ToVector<double>(), values);
  EXPECT_TRUE(Tensor::FromVector<float>({0}, {}).ToVector<float>().empty());
}

TEST(TensorTest, RefusesVectorsThatDoNotFit) {
  ExpectError(ErrorCode::kInvalidArgument, "tensor.value_count",
              {"[3]", "takes 3", "got 2"}, [] {
                Tensor::FromVector<float>({3}, {1, 2});
              });
  const Tensor tensor = Tensor::FromVector<float>({1}, {1});
  ExpectError(ErrorCode::kInvalidArgument, "tensor.to_vector_dtype",
              {"float32", "int64"}, [&] { tensor.ToVector<int64_t>(); });
  ExpectError(ErrorCode::kFailedPrecondition, "tensor.to_vector_unallocated",
              {}, [] { Tensor().Resize({1}).ToVector<float>(); });
}

TEST(TensorTest, BorrowsMemory) {
  float values[] = {1, 2, 3};
  const size_t before = Used(CPUPlace());
  const Tensor tensor =
      Tensor::Borrow(CPUPlace(), DType::kFloat32, {3}, values);
  EXPECT_EQ(tensor.data<float>(), values);
  EXPECT_EQ(Used(CPUPlace()), before);
}

TEST(TensorTest, BorrowsNoAddressForNoElementsOnly) {
  const Tensor empty =
      Tensor::Borrow(CPUPlace(), DType::kFloat32, {0, 3}, nullptr);
  // Not null, because kernels may pass it to memcpy.
  EXPECT_NE(empty.data<float>(), nullptr);
  EXPECT_TRUE(empty.allocated());
  EXPECT_TRUE(empty.ToVector<float>().empty());
  ExpectError(ErrorCode::kInvalidArgument, "tensor.borrow_null", {"[2]"}, [] {
    Tensor::Borrow(CPUPlace(), DType::kFloat32, {2}, nullptr);
  });
}

TEST(TensorTest, ReleasesLentMemoryOnceWithTheLastUser) {
  int released = 0;
  float value = 4;
  {
    Tensor tensor;
    tensor.Bind(
        std::make_shared<Placeholder>(
            CPUPlace(), &value, sizeof(value),
            [](void* owner) { ++*static_cast<int*>(owner); }, &released),
        0, DType::kFloat32, DDim());
    const Tensor copy = tensor;
    tensor.Reset();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(copy.data<float>()[0], 4);
  }
  EXPECT_EQ(released, 1);
}

TEST(TensorTest, PrintsItself) {
  EXPECT_EQ(ToString(Tensor::FromVector<float>({2}, {1, 2})),
            "float32 [2] at cpu");
  EXPECT_EQ(ToString(Tensor().Resize({2})), "float32 [2] at no place yet");
}

TEST(TensorValuesTest, WidensEveryDType) {
  EXPECT_EQ(ToDoubles(Tensor::FromVector<bool>({2}, {true, false})),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(ToDoubles(Tensor::FromVector<uint8_t>({1}, {200})),
            (std::vector<double>{200}));
  EXPECT_EQ(ToDoubles(Tensor::FromVector<int64_t>({1}, {-5})),
            (std::vector<double>{-5}));
  uint16_t half = 0x3e00;  // 1.5
  EXPECT_EQ(ToDoubles(Tensor::Borrow(CPUPlace(), DType::kFloat16, {1}, &half)),
            (std::vector<double>{1.5}));
  uint16_t brain = 0xc020;  // -2.5
  EXPECT_EQ(
      ToDoubles(Tensor::Borrow(CPUPlace(), DType::kBFloat16, {1}, &brain)),
      (std::vector<double>{-2.5}));
}

TEST(TensorTest, TheStorageVersionRisesWithEachAccessForWriting) {
  Tensor tensor = Tensor::FromVector<float>({2}, {1, 2});
  const auto before = tensor.storage_version();
  const Tensor& reader = tensor;
  reader.data<float>();
  EXPECT_EQ(tensor.storage_version(), before);
  tensor.data<float>()[0] = 3;
  const auto after = tensor.storage_version();
  EXPECT_EQ(after.first, before.first);
  EXPECT_GT(after.second, before.second);
  tensor.mutable_data<float>(CPUPlace());
  EXPECT_GT(tensor.storage_version().second, after.second);
  EXPECT_NE(tensor.CopyTo(CPUPlace()).storage_version().first, before.first);
  EXPECT_EQ(Tensor().storage_version().first, 0u);
}

}  // namespace
}  // namespace sluice
