#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;

Tensor Index(const DDim& dims, const std::vector<int64_t>& values) {
  return Tensor::FromVector<int64_t>(dims, values);
}

Tensor Gather(const Tensor& x, const Tensor& index, int64_t axis = 0) {
  return RunOp("gather", {{"X", x}, {"Index", index}}, {{"axis", axis}})["Out"];
}

TEST(GatherTest, RefusesAnIndexPastTheEnd) {
  const Tensor x = Tensor::FromVector<float>({3, 1}, {1, 2, 3});
  ExpectError(ErrorCode::kOutOfRange, "gather.index_range_at_run",
              {"gather: input Index[1] = 3", "[-3, 3)", "dim 0", "[3, 1]"},
              [&] {
                Gather(x, Index({3}, {0, 3, 9}));
              });
  ExpectError(ErrorCode::kOutOfRange, "gather.index_range_at_run",
              {"Index[1, 0] = -4"}, [&] {
                Gather(x, Index({2, 1}, {0, -4}));
              });
  const Tensor none = Tensor::FromVector<float>({0, 1}, {});
  ExpectError(ErrorCode::kOutOfRange, "gather.index_range_at_run",
              {"Index[0] = 0", "outside of a dim that has no elements"},
              [&] { Gather(none, Index({1}, {0})); });
}

TEST(GatherTest, RefusesAnAxisThatXDoesNotHave) {
  for (int64_t axis : {2, -3}) {
    ExpectError(ErrorCode::kInvalidArgument, "gather.axis",
                {"gather: axis = ", "[3, 2]", "rank 2"}, [&] {
                  Gather(Tensor::FromVector<float>({3, 2}, {0, 0, 0, 0, 0, 0}),
                         Index({1}, {0}), axis);
                });
  }
}

TEST(GatherTest, RefusesAResultOfTooManyDims) {
  ExpectError(ErrorCode::kInvalidArgument, "gather.rank", {"rank 9"}, [] {
    InferOpShapes("gather",
                  {{"X", {1, 1, 1, 1, 1}}, {"Index", {1, 1, 1, 1, 1}}});
  });
}

TEST(GatherGradTest, RefusesIndicesAndShapesThatDoNotFit) {
  const Tensor x = Tensor::FromVector<float>({3}, {0, 0, 0});
  const auto run = [&](const Tensor& index, const Tensor& grad) {
    RunOp("gather_grad", {{"X", x}, {"Index", index}, {"Out@GRAD", grad}});
  };
  ExpectError(ErrorCode::kOutOfRange, "gather.index_range_at_run",
              {"gather_grad: input Index[0] = 3", "[-3, 3)"},
              [&] { run(Index({1}, {3}), Tensor(x).Slice(0, 1)); });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"gather_grad", "Out@GRAD"}, [&] { run(Index({1}, {1}), x); });
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> GatherExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, const DDim& index, int64_t axis,
                       DType dtype) {
    const int64_t size = x[static_cast<int>(axis < 0 ? axis + x.rank() : axis)];
    examples.push_back(
        {{{"X", make.Values(x)},
          {"Index", make.Integers(dtype, index, size > 1 ? -size : 0,
                                  std::max<int64_t>(size - 1, 0))}},
         {{"axis", axis}}});
  };
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    add({5, 3}, {7}, 0, dtype);
    add({9}, {2, 3}, 0, dtype);
    add({2, 5, 3}, {4}, 1, dtype);
    add({2, 5, 3}, {2, 2}, -1, dtype);
    add({1, 1}, {}, 0, dtype);
    add({4, 0}, {3}, 0, dtype);
    add({0, 3}, {0}, 0, dtype);
    add({4, 3}, {0}, 1, dtype);
    add({97, 31}, {2101}, 0, dtype);
  }
  return examples;
}

Arrays GatherReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& picked = in.at("Index");
  int64_t axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += x.dims.rank();
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), picked.dims.begin(), picked.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  Array out{DDim(dims)};
  for (size_t i = 0; i < out.values.size(); ++i) {
    std::vector<int64_t> index = out.IndexOf(static_cast<int64_t>(i));
    const auto first = index.begin() + axis;
    const auto last = first + picked.dims.rank();
    double at = picked.values[picked.Offset({first, last})];
    if (at < 0) at += static_cast<double>(x.dims[static_cast<int>(axis)]);
    index.insert(index.erase(first, last), static_cast<int64_t>(at));
    out.values[i] = x.values[x.Offset(index)];
  }
  return {{"Out", out}};
}

std::vector<OpExample> GatherGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = GatherExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("gather", example);
    const Arrays out = GatherReference(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out.at("Out").dims));
  }
  return examples;
}

Arrays GatherGradReference(const Arrays& in, const OpDesc& op) {
  // Gathering the offsets in X shows the target of each gradient.
  Array offsets = in.at("X");
  std::iota(offsets.values.begin(), offsets.values.end(), 0.0);
  const Array picked =
      GatherReference({{"X", offsets}, {"Index", in.at("Index")}}, op)
          .at("Out");
  Array x_grad(offsets.dims);
  for (size_t i = 0; i < picked.values.size(); ++i) {
    x_grad.values[static_cast<size_t>(picked.values[i])] +=
        in.at("Out@GRAD").values[i];
  }
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(gather, GatherExamples, GatherReference);
// Sums of some twenty numbers, in float32.
REGISTER_OP_CASE(gather_grad, GatherGradExamples, GatherGradReference, 8);

}  // namespace
}  // namespace sluice::testing
