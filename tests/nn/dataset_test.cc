#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include "tests/testing/temp_folder.h"
#include <gtest/gtest.h>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Ints = std::vector<int64_t>;

// `rows` rows: x is [2 i, 2 i + 1], y is i.
nn::TensorDataset Counting(int64_t rows) {
  Ints x(static_cast<size_t>(2 * rows));
  Ints y(static_cast<size_t>(rows));
  std::iota(x.begin(), x.end(), 0);
  std::iota(y.begin(), y.end(), 0);
  return nn::TensorDataset({{"x", Tensor::FromVector<int64_t>({rows, 2}, x)},
                            {"y", Tensor::FromVector<int64_t>({rows}, y)}});
}

Ints Values(const Feeds& feeds, size_t column) {
  return feeds[column].second.ToVector<int64_t>();
}

// The rows of all batches, in order.
Ints RowsOf(const nn::Batches& batches) {
  Ints rows;
  for (int64_t i = 0; i < batches.size(); ++i) {
    for (const int64_t row : Values(batches[i], 1)) {
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(TensorDatasetTest, GathersAndSplits) {
  const nn::TensorDataset all = Counting(5);
  EXPECT_EQ(all.size(), 5);
  const Feeds rows = all.Gather({4, 0, 4});
  EXPECT_EQ(rows[0].first, "x");
  EXPECT_EQ(Values(rows, 0), Ints({8, 9, 0, 1, 8, 9}));
  EXPECT_EQ(Values(rows, 1), Ints({4, 0, 4}));
  const auto [first, rest] = all.Split(2);
  EXPECT_EQ(first.size(), 2);
  EXPECT_EQ(Values(rest.feeds(), 1), Ints({2, 3, 4}));
  EXPECT_EQ(Values(rest.Gather({0}), 0), Ints({4, 5}));
  const nn::TensorDataset empty({{"x", Tensor::FromVector<float>({2, 0}, {})}});
  EXPECT_EQ(empty.Gather({1, 1, 0})[0].second.dims(), DDim({3, 0}));
  EXPECT_EQ(all.Split(5).second.size(), 0);
  EXPECT_EQ(all.Split(5).second.Gather({})[0].second.dims(), DDim({0, 2}));
}

TEST(TensorDatasetTest, RefusesWhatHasNoRows) {
  const Tensor three = Tensor::FromVector<float>({3}, {1, 2, 3});
  ExpectError(ErrorCode::kInvalidArgument, "nn.dataset_empty", {"at least one"},
              [] { nn::TensorDataset({}); });
  ExpectError(ErrorCode::kInvalidArgument, "nn.dataset_rows", {"x", "rows"},
              [] {
                nn::TensorDataset({{"x", Tensor()}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "nn.dataset_rows", {"float32 []"},
              [&] {
                nn::TensorDataset({{"x", three.Slice(0, 1).Reshaped({})}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "nn.dataset_sizes",
              {"y has 2 rows, but x has 3"}, [&] {
                nn::TensorDataset({{"x", three}, {"y", three.Slice(0, 2)}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "nn.dataset_place", {"fpga:0"}, [&] {
    nn::TensorDataset({{"x", three.CopyTo(FPGAPlace{0})}});
  });
  const nn::TensorDataset data({{"x", three}});
  for (const auto& [begin, end] :
       {std::pair<int64_t, int64_t>{-1, 2}, {2, 1}, {0, 4}}) {
    ExpectError(ErrorCode::kOutOfRange, "nn.dataset_slice", {"in 3 rows"},
                [&] { (void)data.Slice(begin, end); });
  }
  for (const int64_t row : {-1, 3}) {
    ExpectError(ErrorCode::kOutOfRange, "nn.dataset_row", {"in 3 rows"}, [&] {
      (void)data.Gather({0, row});
    });
  }
}

TEST(BatchesTest, SeedsAndEpochsGiveOrders) {
  const nn::TensorDataset data = Counting(100);
  const nn::BatchOptions options = {.batch_size = 32, .seed = 5};
  const nn::Batches batches(data, options, 1);
  EXPECT_EQ(batches.size(), 4);
  EXPECT_EQ(batches[3][0].second.dims(), DDim({4, 2}));
  const Ints rows = RowsOf(batches);
  EXPECT_EQ(std::set<int64_t>(rows.begin(), rows.end()).size(), 100u);
  EXPECT_EQ(RowsOf(nn::Batches(data, options, 1)), rows);
  EXPECT_NE(RowsOf(nn::Batches(data, options, 2)), rows);
  EXPECT_NE(RowsOf(nn::Batches(data, {.batch_size = 32, .seed = 6}, 1)), rows);
  // The same on every machine.
  EXPECT_EQ(RowsOf(nn::Batches(Counting(6), {.seed = 1}, 2)),
            Ints({1, 3, 4, 0, 5, 2}));
}

TEST(BatchesTest, KeepsTheOrderAndDropsTheRest) {
  const nn::TensorDataset data = Counting(7);
  EXPECT_EQ(RowsOf(nn::Batches(data, {.batch_size = 3, .shuffle = false})),
            Ints({0, 1, 2, 3, 4, 5, 6}));
  const nn::Batches whole(
      data, {.batch_size = 3, .shuffle = false, .drop_last = true});
  EXPECT_EQ(whole.size(), 2);
  EXPECT_EQ(RowsOf(whole), Ints({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(nn::Batches(data, {.batch_size = 8, .drop_last = true}).size(), 0);
  EXPECT_EQ(nn::Batches(Counting(0)).size(), 0);
  ExpectError(ErrorCode::kInvalidArgument, "nn.batch_size", {"got 0"},
              [&] { nn::Batches(data, {.batch_size = 0}); });
  for (const int64_t batch : {-1, 2}) {
    ExpectError(ErrorCode::kOutOfRange, "nn.batch", {"in 2 batches"},
                [&] { (void)whole[batch]; });
  }
}

class ReadNpyTest : public ::testing::Test {
 protected:
  // A file of this header and these bytes after it.
  Tensor Read(const std::string& header,
              const std::string& bytes,
              int version = 1) {
    std::string start("\x93NUMPY");
    start += static_cast<char>(version);
    start += '\0';
    start += static_cast<char>(header.size());
    start += std::string(version == 1 ? 1 : 3, '\0');
    return nn::ReadNpy(folder_.Write("x.npy", start + header + bytes));
  }

  testing::TempFolder folder_;
};

TEST_F(ReadNpyTest, ReadsTheDigits) {
  const Tensor images = nn::ReadNpy("examples/data/digits_images.npy");
  EXPECT_EQ(images.dims(), DDim({1797, 8, 8}));
  const uint8_t* pixels = images.data<uint8_t>();
  EXPECT_EQ(std::vector<int>(pixels, pixels + 8),
            std::vector<int>({0, 0, 5, 13, 9, 1, 0, 0}));
}

TEST_F(ReadNpyTest, ReadsDTypesAndVersions) {
  const std::string kind = "'fortran_order': False, 'shape': ";
  const Tensor one = Read("{'descr': '<i2', " + kind + "(2,), }",
                          std::string("\x01\x02\xff\xff", 4), 2);
  EXPECT_EQ(one.ToVector<int16_t>(), std::vector<int16_t>({513, -1}));
  const Tensor scalar =
      Read("{'descr': '<f4', " + kind + "()}", std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(scalar.dims(), DDim({}));
  EXPECT_EQ(scalar.data<float>()[0], 1);
  const Tensor bools =
      Read("{'descr': '|b1', " + kind + "(3,)}", std::string("\0\x02\x01", 3));
  EXPECT_EQ(bools.ToVector<bool>(), std::vector<bool>({false, true, true}));
  EXPECT_EQ(static_cast<const uint8_t*>(bools.raw_data())[1], 1);
  EXPECT_EQ(Read("{'descr': '<f8', " + kind + "(0, 3)}", "").dims(),
            DDim({0, 3}));
}

TEST_F(ReadNpyTest, RefusesOtherFiles) {
  EXPECT_THROW((void)nn::ReadNpy("examples/data/none.npy"), Error);
  ExpectError(ErrorCode::kDataLoss, "nn.npy_magic",
              {"examples/data/README.md is no .npy file"},
              [] { (void)nn::ReadNpy("examples/data/README.md"); });
  const auto refused = [&](ErrorCode code, const char* check,
                           const std::string& header) {
    ExpectError(code, check, {"x.npy"},
                [&] { (void)Read(header, "12345678"); });
  };
  const std::string floats = "{'descr': '<f4', 'fortran_order': ";
  refused(ErrorCode::kUnimplemented, "nn.npy_kind",
          floats + "True, 'shape': (2,)}");
  refused(ErrorCode::kUnimplemented, "nn.npy_kind",
          "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}");
  refused(ErrorCode::kUnimplemented, "nn.npy_kind", "{}");
  for (const char* shape : {"", "2", "(2, -1)", "(1, 1, 1, 1, 1, 1, 1, 1, 1)",
                            "(a,)", "(99999999999999999999,)", "(2"}) {
    refused(ErrorCode::kDataLoss, "nn.npy_shape",
            floats + "False, 'shape': " + shape);
  }
  refused(ErrorCode::kDataLoss, "nn.npy_size",
          floats + "False, 'shape': (100000,)}");
  EXPECT_THROW(
      (void)Read(floats + "False, 'shape': (9999999, 999999999999)}", ""),
      Error);
  ExpectError(ErrorCode::kDataLoss, "nn.npy_header", {"x.npy"}, [&] {
    (void)nn::ReadNpy(
        folder_.Write("x.npy", std::string("\x93NUMPY\x01\x00\xff\xff{}", 12)));
  });
  // It ends within the values.
  EXPECT_THROW((void)Read(floats + "False, 'shape': (9,)}", "1234"), Error);
}

}  // namespace
}  // namespace sluice
