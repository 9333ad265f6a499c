#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/op_example.h"

// Shapes inferred from unknown ranks or sizes must not contradict those
// inferred from known ones.
namespace sluice::testing {
namespace {

using OutputShapes = std::vector<std::vector<DDim>>;

// An example as the description of an op, with the shapes of its inputs.
struct DescribedExample {
  DescribedExample(const OpSchema& op_schema, const sluice::OpExample& example)
      : schema(op_schema) {
    const DType own =
        example.dtypes.empty() ? DType::kFloat32 : example.dtypes[0];
    op.type = example.op;
    op.attributes = example.attributes;
    for (const std::string& name : example.dtype_attributes) {
      op.attributes[name] = own;
    }
    for (const ArgDef& def : schema.inputs()) {
      ArgVars vars;
      for (const ExampleInput& input : example.inputs) {
        if (input.argument != def.name) continue;
        vars.push_back(def.name + std::to_string(vars.size()));
        dims.push_back(input.dims);
        dtypes.push_back(input.of_kernel ? own : input.dtype);
      }
      if (!vars.empty()) op.inputs.emplace_back(def.name, vars);
    }
    for (const ArgDef& def : schema.outputs()) {
      op.outputs.push_back({def.name, {def.name}});
    }
    CompleteOp(schema, &op);
  }

  OutputShapes Outputs(const std::vector<DDim>& inputs) const {
    return InferShapes(schema, op, inputs, dtypes);
  }

  const OpSchema& schema;
  OpDesc op;
  std::vector<DDim> dims;
  std::vector<DType> dtypes;
};

bool MayBeEqual(const DDim& a, const DDim& b) {
  if (!a.rank_known() || !b.rank_known()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] >= 0 && b[i] >= 0 && a[i] != b[i]) return false;
  }
  return true;
}

void ExpectNoContradiction(const DescribedExample& example,
                           const std::vector<DDim>& inputs,
                           const OutputShapes& known) {
  std::string shapes;
  for (const DDim& dims : inputs) {
    shapes += " " + ToString(dims);
  }
  OutputShapes outputs;
  ASSERT_NO_THROW(outputs = example.Outputs(inputs)) << shapes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < outputs[i].size(); ++k) {
      EXPECT_TRUE(MayBeEqual(outputs[i][k], known[i][k]))
          << example.schema.outputs()[i].name << " of" << shapes << " is "
          << ToString(outputs[i][k]) << ", known it is "
          << ToString(known[i][k]);
    }
  }
}

DDim WithoutSizes(const DDim& dims) {
  return DDim(
      std::vector<int64_t>(static_cast<size_t>(dims.rank()), kUnknownDim));
}

// All ops except lookup_table: by default it drops a last dim of Ids that is 1
// at run time, but programs are built with the rank for other sizes.
std::vector<std::string> OpsOfOneRank() {
  std::vector<std::string> ops = OpsWithExamples();
  std::erase_if(ops, [](const std::string& op) {
    return op.starts_with("lookup_table");
  });
  return ops;
}

class UnknownShapes : public ::testing::TestWithParam<std::string> {};

// Makes each input unknown alone, and all of them.
TEST_P(UnknownShapes, ContradictNoKnownOnes) {
  const OpSchema& schema = Registry::Global().Schema(GetParam());
  for (const sluice::OpExample& one : BuiltinExamples(GetParam())) {
    const DescribedExample example(schema, one);
    const OutputShapes known = example.Outputs(example.dims);
    std::vector<DDim> no_ranks, no_sizes;
    for (size_t i = 0; i < example.dims.size(); ++i) {
      std::vector<DDim> changed = example.dims;
      changed[i] = DDim::UnknownRank();
      ExpectNoContradiction(example, changed, known);
      no_ranks.push_back(changed[i]);
      changed[i] = WithoutSizes(example.dims[i]);
      ExpectNoContradiction(example, changed, known);
      no_sizes.push_back(changed[i]);
    }
    ExpectNoContradiction(example, no_ranks, known);
    ExpectNoContradiction(example, no_sizes, known);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         UnknownShapes,
                         ::testing::ValuesIn(OpsOfOneRank()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
