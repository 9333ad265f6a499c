#include <map>
#include <vector>

#include "tests/operators/harness/op_case.h"

namespace sluice::testing {
namespace {

using Rows = std::vector<int64_t>;

Tensor RowNumbers(const Rows& rows) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(rows.size())}, rows);
}

std::vector<OpExample> MergeRowsExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& dims, const Tensor& rows) {
    examples.push_back({{{"X", make.Values(dims)}, {"Rows", rows}}, {}});
  };
  add({5, 3}, RowNumbers({7, 2, 7, -1, 2}));
  add({3}, RowNumbers({0, 0, 1}));
  add({1, 1}, RowNumbers({4}));
  add({2, 2}, RowNumbers({-1, -1}));
  add({0, 3}, RowNumbers({}));
  add({2, 0}, RowNumbers({1, 0}));
  // More than one digit of the sort, and two threads.
  add({1501, 2, 33}, make.Integers(DType::kInt64, {1501}, -1, 9'000'000));
  return examples;
}

Arrays MergeRowsReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  const Array& rows = in.at("Rows");
  const size_t width =
      rows.values.empty() ? 0 : x.values.size() / rows.values.size();
  std::map<double, std::vector<double>> sums;
  for (size_t i = 0; i < rows.values.size(); ++i) {
    if (rows.values[i] < 0) continue;
    std::vector<double>& sum = sums[rows.values[i]];
    sum.resize(width);
    for (size_t j = 0; j < width; ++j) {
      sum[j] += x.values[i * width + j];
    }
  }
  Array out(x.dims);
  Array rows_out(rows.dims);
  rows_out.values.assign(rows.values.size(), -1);
  size_t at = 0;
  for (const auto& [row, sum] : sums) {
    rows_out.values[at] = row;
    std::copy(sum.begin(), sum.end(),
              out.values.begin() + static_cast<int64_t>(at * width));
    ++at;
  }
  return {{"Out", out}, {"RowsOut", rows_out}};
}

std::vector<OpExample> RowsToDenseExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& dims, const Tensor& rows, const DDim& like) {
    examples.push_back({{{"X", make.Values(dims)},
                         {"Rows", rows},
                         {"Like", make.Values(like)}},
                        {}});
  };
  add({5, 3}, RowNumbers({7, 2, 7, -1, 2}), {8, 3});
  add({3}, RowNumbers({0, 0, 1}), {2});
  add({1, 1}, RowNumbers({0}), {1, 1});
  add({0, 3}, RowNumbers({}), {4, 3});
  add({2, 0}, RowNumbers({-1, -1}), {0, 0});
  add({301, 2, 33}, make.Integers(DType::kInt64, {301}, -1, 2499),
      {2500, 2, 33});
  return examples;
}

Arrays RowsToDenseReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& rows = in.at("Rows");
  Array out(in.at("Like").dims);
  const size_t count = rows.values.size();
  const size_t width = count == 0 ? 0 : in.at("X").values.size() / count;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; rows.values[i] >= 0 && j < width; ++j) {
      out.values[static_cast<size_t>(rows.values[i]) * width + j] +=
          in.at("X").values[i * width + j];
    }
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(merge_rows, MergeRowsExamples, MergeRowsReference, 4);
REGISTER_OP_CASE(rows_to_dense, RowsToDenseExamples, RowsToDenseReference, 4);

}  // namespace
}  // namespace sluice::testing
