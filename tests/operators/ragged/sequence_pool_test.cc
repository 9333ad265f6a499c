#include <cmath>

#include "tests/operators/ragged/ragged_examples.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(SequencePool, TakesNaNForTheMaximum) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::FromVector<float>({4, 1}, {1, nan, 3, nan});
  const auto got = RunOp(
      "sequence_pool", {{"X", x}, {"Offsets", testing::OffsetsTensor({3, 0})}},
      {{"pooltype", std::string("MAX")}, {"pad_value", -1.0}});
  EXPECT_TRUE(std::isnan(got.at("Out").ToVector<float>()[0]));
  EXPECT_EQ(got.at("Out").ToVector<float>()[1], -1);
  EXPECT_EQ(got.at("MaxIndex").ToVector<int64_t>(),
            (std::vector<int64_t>{1, -1}));
}

TEST(SequenceReduce, LeavesPaddingOut) {
  const Tensor x = Tensor::FromVector<float>({4, 1}, {1, 2, 3, 100});
  const auto got =
      RunOp("sequence_reduce",
            {{"X", x}, {"Offsets", testing::OffsetsTensor({2, 1})}});
  EXPECT_EQ(got.at("Out").ToVector<float>(), std::vector<float>{6});
}

}  // namespace
}  // namespace sluice

namespace sluice::testing {
namespace {

// The rows that make each row of Out, for sequence_reduce those of all.
RowLists PooledRows(const Arrays& in, const OpDesc& op) {
  RowLists lists = RowsOfSequences(in);
  if (!op.type.starts_with("sequence_reduce")) return lists;
  RowLists all(1);
  for (const auto& list : lists) {
    all[0].insert(all[0].end(), list.begin(), list.end());
  }
  return all;
}

// How much each of the rows of column `c` counts, in a list of rows.
std::vector<double> Weights(const std::string& type,
                            const std::vector<int64_t>& rows,
                            const std::vector<double>& column) {
  std::vector<double> weights(rows.size(), type == "SUM" ? 1.0 : 0.0);
  const auto count = static_cast<double>(rows.size());
  if (type == "AVERAGE") weights.assign(rows.size(), 1 / count);
  if (type == "SQRT") weights.assign(rows.size(), 1 / std::sqrt(count));
  if (type == "FIRST") weights.front() = 1;
  if (type == "LAST") weights.back() = 1;
  if (type == "MAX") {
    size_t best = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
      const bool is_nan = std::isnan(column[i]) && !std::isnan(column[best]);
      if (column[i] > column[best] || is_nan) best = i;
    }
    weights[best] = 1;
  }
  return weights;
}

Arrays PoolReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const auto& type = GetAttr<std::string>(op, "pooltype");
  const RowLists lists = PooledRows(in, op);
  const int64_t width = WidthOf(x.dims);
  DDim dims = x.dims;
  dims[0] = static_cast<int64_t>(lists.size());
  if (op.type == "sequence_reduce") dims.RemoveDimRange(0, 1);
  Array out(dims);
  Array index(type == "MAX" ? dims : DDim{0});
  for (size_t b = 0; b < lists.size(); ++b) {
    for (int64_t c = 0; c < width; ++c) {
      const size_t at = b * width + c;
      out.values[at] = lists[b].empty() ? GetAttr<double>(op, "pad_value") : 0;
      if (type == "MAX") index.values[at] = -1;
      if (lists[b].empty()) continue;
      std::vector<double> column;
      for (const int64_t row : lists[b]) {
        column.push_back(x.values[row * width + c]);
      }
      const auto weights = Weights(type, lists[b], column);
      for (size_t i = 0; i < column.size(); ++i) {
        if (weights[i] == 0) continue;
        out.values[at] += weights[i] * column[i];
        if (type == "MAX") index.values[at] = static_cast<double>(lists[b][i]);
      }
    }
  }
  return {{"Out", out}, {"MaxIndex", index}};
}

Arrays PoolGradReference(const Arrays& in, const OpDesc& op) {
  const auto& type = GetAttr<std::string>(op, "pooltype");
  const RowLists lists = PooledRows(in, op);
  Array grad(in.at("X").dims);
  const int64_t width = WidthOf(grad.dims);
  for (size_t b = 0; b < lists.size(); ++b) {
    for (int64_t c = 0; c < width && !lists[b].empty(); ++c) {
      std::vector<double> column(lists[b].size(), 0);
      if (type == "MAX") {
        const double best = in.at("MaxIndex").values[b * width + c];
        column[static_cast<size_t>(best) - lists[b][0]] = 1;
      }
      const auto weights = Weights(type, lists[b], column);
      for (size_t i = 0; i < column.size(); ++i) {
        grad.values[lists[b][i] * width + c] =
            weights[i] * in.at("Out@GRAD").values[b * width + c];
      }
    }
  }
  return {{"X@GRAD", grad}};
}

std::vector<OpExample> PooledExamples(ExampleMaker& make,
                                      const std::vector<std::string>& types) {
  std::vector<OpExample> examples;
  for (const std::string& type : types) {
    for (const Lengths& lengths : ManyLengths()) {
      examples.push_back({{{"X", make.Values({OffsetsOf(lengths).back(), 3})},
                           {"Offsets", OffsetsTensor(lengths)}},
                          {{"pooltype", type}, {"pad_value", -2.0}}});
    }
  }
  return examples;
}

std::vector<OpExample> PoolExamples(ExampleMaker& make) {
  const bool floats = IsFloating(make.dtype());
  return PooledExamples(
      make, floats ? std::vector<std::string>{"SUM", "AVERAGE", "SQRT", "MAX",
                                              "FIRST", "LAST"}
                   : std::vector<std::string>{"SUM", "MAX", "FIRST", "LAST"});
}

std::vector<OpExample> ReduceExamples(ExampleMaker& make) {
  const bool floats = IsFloating(make.dtype());
  return PooledExamples(
      make, floats ? std::vector<std::string>{"SUM", "AVERAGE", "MAX"}
                   : std::vector<std::string>{"SUM", "MAX"});
}

std::vector<OpExample> WithGradients(std::vector<OpExample> examples,
                                     const std::string& op,
                                     ExampleMaker& make) {
  for (OpExample& example : examples) {
    Arrays in;
    for (const auto& [name, tensor] : example.inputs) {
      in[name] = ToArray(tensor);
    }
    OpDesc forward;
    forward.type = op;
    forward.attributes = example.attributes;
    Arrays out = PoolReference(in, forward);
    example.inputs.emplace_back("MaxIndex",
                                ToTensor(out["MaxIndex"], DType::kInt64));
    example.inputs.emplace_back("Out@GRAD", make.Values(out["Out"].dims));
  }
  return examples;
}

std::vector<OpExample> PoolGradExamples(ExampleMaker& make) {
  return WithGradients(PoolExamples(make), "sequence_pool", make);
}
std::vector<OpExample> ReduceGradExamples(ExampleMaker& make) {
  return WithGradients(ReduceExamples(make), "sequence_reduce", make);
}

REGISTER_OP_CASE(sequence_pool, PoolExamples, PoolReference, 8);
REGISTER_OP_CASE(sequence_pool_grad, PoolGradExamples, PoolGradReference, 8);
REGISTER_OP_CASE(sequence_reduce, ReduceExamples, PoolReference, 8);
REGISTER_OP_CASE(sequence_reduce_grad,
                 ReduceGradExamples,
                 PoolGradReference,
                 8);

}  // namespace
}  // namespace sluice::testing
