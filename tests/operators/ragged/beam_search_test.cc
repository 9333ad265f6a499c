#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Ints = std::vector<int64_t>;
const AttributeMap kTwoBeams = {{"beam_size", int64_t{2}},
                                {"end_id", int64_t{0}}};

// Two steps of one source: row 0 of step 1 goes on from row 1 of step 0.
testing::OpExample Steps(const Ints& offsets) {
  return {
      {{"Ids", Tensor::FromVector<int64_t>({2, 2, 1}, {1, 2, 3, 0})},
       {"Scores", Tensor::FromVector<float>({2, 2, 1}, {1, 2, 3, 4})},
       {"Offsets", Tensor::FromVector<int64_t>({2, 3}, offsets)},
       {"SourceOffsets", Tensor::FromVector<int64_t>({2, 2}, {0, 1, 0, 2})}},
      kTwoBeams};
}

TEST(BeamSearchDecode, RefusesStepsThatDoNotFollowEachOther) {
  const testing::OpExample steps = Steps({0, 1, 1, 0, 0, 2});
  ExpectError(ErrorCode::kOutOfRange, "beam_search_decode.parent",
              {"row 1 of step 1", "goes on from row 1"}, [&] {
                RunOp("beam_search_decode", steps.inputs, steps.attributes);
              });
  testing::OpExample one = Steps({0, 2, 2, 0, 0, 2});
  one.attributes["beam_size"] = int64_t{1};
  ExpectError(ErrorCode::kInvalidArgument, "beam_search_decode.beams",
              {"source 0 has 2 hypotheses in step 1", "at most 1"},
              [&] { RunOp("beam_search_decode", one.inputs, one.attributes); });
  testing::OpExample longer = Steps({0, 2, 2, 0, 0, 2});
  longer.inputs.emplace_back("Length", Tensor::FromVector<int64_t>({1}, {3}));
  ExpectError(ErrorCode::kOutOfRange, "beam_search_decode.steps_there",
              {"Length = 3", "0 to 2"}, [&] {
                RunOp("beam_search_decode", longer.inputs, longer.attributes);
              });
}

}  // namespace
}  // namespace sluice
