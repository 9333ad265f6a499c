#include "sluice/laboratory/example_op.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/resource_limit.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

TEST(ExampleOp, OfOutputsWhoseShapeNobodyKnowsIsRefused) {
  sluice::testing::UseTestOps();
  OpExample example;
  example.op = "test_some";
  example.inputs = {{.argument = "X", .dims = {5}}};
  ExpectError(ErrorCode::kInvalidArgument, "example_op.unknown_size",
              {"test_some", "the shape of Out follows from data"},
              [&] { const ExampleOp op(example, DType::kFloat32); });
}

TEST(ExampleOp, SaysThatThereIsNoMemoryForIt) {
  if (!sluice::testing::AddressSpaceCanBeLimited()) {
    GTEST_SKIP() << "the address sanitizer needs address space of its own";
  }
  // Each input has its own pages, but its values are few.
  constexpr int kInputs = 2048;
  OpExample example;
  example.op = "concat";
  example.inputs.assign(kInputs, {.argument = "X", .dims = {1}});
  ExpectError(ErrorCode::kResourceExhausted, "example_op.memory",
              {"no room", "bytes"}, [&] {
                const sluice::testing::ResourceLimit limit(
                    RLIMIT_AS, sluice::testing::AddressSpace() +
                                   kInputs * rlim_t{1 << 12});
                const ExampleOp op(example, DType::kFloat32);
              });
}

}  // namespace
}  // namespace sluice
