#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

const Tensor kTable = Tensor::FromVector<float>({3, 2}, {1, 2, 3, 4, 5, 6});

Tensor Lookup(const DDim& dims,
              const std::vector<int64_t>& ids,
              const AttributeMap& attributes = {}) {
  return RunOp("lookup_table",
               {{"W", kTable}, {"Ids", Tensor::FromVector(dims, ids)}},
               attributes)["Out"];
}

TEST(LookupTable, ALastDimensionOf1IsNoDimensionOfOut) {
  EXPECT_EQ(Lookup({2, 1}, {2, 0}).dims(), DDim({2, 2}));
  EXPECT_EQ(Lookup({1}, {2}).dims(), DDim({1, 2}));
  EXPECT_EQ(Lookup({2, 1}, {2, 0}, {{"drop_last_dim", false}}).dims(),
            DDim({2, 1, 2}));
  EXPECT_EQ(InferOpShapes("lookup_table", {{"W", {9, 4}}, {"Ids", {-1, -1}}})
                .at("Out"),
            DDim({-1, -1, 4}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> LookupTableExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& w, const DDim& ids, DType dtype,
                       int64_t padding = -1) {
    examples.push_back(
        {{{"W", make.Values(w)},
          {"Ids",
           make.Integers(dtype, ids, 0, std::max<int64_t>(w[0], 1) - 1)}},
         {{"padding_idx", padding}}});
  };
  add({5, 3}, {7}, DType::kInt64);
  add({5, 3}, {2, 4, 1}, DType::kInt32, 1);
  add({1, 1}, {1}, DType::kInt64);
  add({4, 3}, {0}, DType::kInt64);
  add({4, 0}, {3}, DType::kInt64);
  add({0, 3}, {0, 2}, DType::kInt64);
  add({101, 65}, {37, 41}, DType::kInt64, 100);
  return examples;
}

DDim OutDims(const Arrays& in) {
  std::vector<int64_t> out(in.at("Ids").dims.begin(), in.at("Ids").dims.end());
  if (out.size() > 1 && out.back() == 1) out.pop_back();
  out.push_back(in.at("W").dims[1]);
  return DDim(out);
}

std::vector<OpExample> LookupTableGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = LookupTableExamples(make);
  for (OpExample& example : examples) {
    example.inputs.emplace_back("Out@GRAD",
                                make.Values(OutDims(InputArrays(example))));
  }
  return examples;
}

// Calls visit(element of Out, element of W) for equal elements.
template <typename Visit>
void LookupTableForEachElement(const Arrays& in,
                               const OpDesc& op,
                               const Visit& visit) {
  const auto width = static_cast<size_t>(in.at("W").dims[1]);
  const Array& ids = in.at("Ids");
  for (size_t i = 0; i < ids.values.size(); ++i) {
    const auto id = static_cast<int64_t>(ids.values[i]);
    if (id == GetAttr<int64_t>(op, "padding_idx")) continue;
    for (size_t j = 0; j < width; ++j) {
      visit(i * width + j, static_cast<size_t>(id) * width + j);
    }
  }
}

Arrays LookupTableReference(const Arrays& in, const OpDesc& op) {
  Array out(OutDims(in));
  LookupTableForEachElement(in, op, [&](size_t i, size_t j) {
    out.values[i] = in.at("W").values[j];
  });
  return {{"Out", out}};
}

Arrays LookupTableGradReference(const Arrays& in, const OpDesc& op) {
  Array grad(in.at("W").dims);
  LookupTableForEachElement(in, op, [&](size_t i, size_t j) {
    grad.values[j] += in.at("Out@GRAD").values[i];
  });
  return {{"W@GRAD", grad}};
}

Arrays LookupTableGradRowsReference(const Arrays& in, const OpDesc& op) {
  const Array& ids = in.at("Ids");
  Array rows(DDim({static_cast<int64_t>(ids.values.size())}));
  for (size_t i = 0; i < ids.values.size(); ++i) {
    const bool padding = static_cast<int64_t>(ids.values[i]) ==
                         GetAttr<int64_t>(op, "padding_idx");
    rows.values[i] = padding ? -1 : ids.values[i];
  }
  Array grad = in.at("Out@GRAD");
  grad.dims = DDim({rows.dims[0], in.at("W").dims[1]});
  return {{"W@GRAD", grad}, {"Rows", rows}};
}

REGISTER_OP_CASE(lookup_table, LookupTableExamples, LookupTableReference);
REGISTER_OP_CASE(lookup_table_grad_rows,
                 LookupTableGradExamples,
                 LookupTableGradRowsReference);
// Sums of some 15 terms.
REGISTER_OP_CASE(lookup_table_grad,
                 LookupTableGradExamples,
                 LookupTableGradReference,
                 16);

}  // namespace
}  // namespace sluice::testing
