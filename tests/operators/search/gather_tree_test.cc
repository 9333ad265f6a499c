#include <cstdint>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

Tensor Tree(const Ints& values) {
  return Tensor::FromVector<int64_t>({2, 1, 2}, values);
}

TEST(GatherTree, FollowsParentsBackwards) {
  const Tensor ids = Tree({1, 2, 3, 4});
  EXPECT_EQ(RunOp("gather_tree",
                  {{"Ids", ids}, {"Parents", Tree({-7, 99, 1, 0})}})["Out"]
                .ToVector<int64_t>(),
            (Ints{2, 1, 3, 4}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> GatherTreeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 2, 5}, DDim{1, 1, 1}, DDim{0, 2, 3},
                           DDim{4, 0, 3}, DDim{9, 71, 101}}) {
    const DType dtype = make.dtype();
    examples.push_back(
        {{{"Ids", make.Integers(dtype, dims, -50, 50)},
          {"Parents", make.Integers(dtype, dims, 0, dims[2] - 1)}},
         {}});
  }
  return examples;
}

Arrays GatherTreeReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& ids = in.at("Ids");
  Array out(ids.dims);
  for (int64_t b = 0; b < out.dims[1]; ++b) {
    for (int64_t k = 0; k < out.dims[2]; ++k) {
      int64_t beam = k;
      for (int64_t t = out.dims[0] - 1; t >= 0; --t) {
        out(t, b, k) = ids(t, b, beam);
        beam = static_cast<int64_t>(in.at("Parents")(t, b, beam));
      }
    }
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(gather_tree, GatherTreeExamples, GatherTreeReference);

}  // namespace
}  // namespace sluice::testing
