#include "tests/bad_input/bad_input.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/missing_device.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

// A program with data variable x, and nearest = top_k(x).
class BadNames : public ::testing::Test {
 protected:
  BadNames() {
    program_.Data("x", DType::kFloat32, {-1, 3});
    program_.AppendOp("top_k", {{"X", {"x"}}}, {}, {}, {{"Out", {"best"}}});
  }

  // The program still runs, with the same result.
  void ExpectUnharmed() {
    const auto best =
        executor_.Run(program_, {{"x", Floats({2, 3})}}, {"best"});
    EXPECT_EQ(best[0].ToVector<float>(), std::vector<float>({2, 5}));
  }

  Program program_;
  Executor executor_;
};

TEST_F(BadNames, AnUnknownOp) {
  const std::string before = ToString(program_);
  ExpectRefusedInput(
      ErrorCode::kNotFound, "registry.unknown_op",
      {"manhatan_distance", "manhattan_distance", "created at user.cc:3"}, [&] {
        program_.AppendOp("manhatan_distance", {{"X", {"x"}}}, {},
                          {"user.cc", 3});
      });
  EXPECT_EQ(ToString(program_), before);
  ExpectUnharmed();
}

TEST_F(BadNames, AnUnknownAttribute) {
  ExpectRefusedInput(
      ErrorCode::kNotFound, "op.unknown_attribute",
      {"top_k: ", "attribute smallest", "largest"}, [&] {
        program_.AppendOp("top_k", {{"X", {"x"}}}, {{"smallest", true}});
      });
  ExpectUnharmed();
}

TEST_F(BadNames, AnAttributeOfAnotherTypeOrMissing) {
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "op.attribute_type",
                  {"top_k: ", "attribute k", "must be int", "got string"},
                  "top_k", {{"X", Floats({2, 3})}},
                  {{"k", std::string("two")}});
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "op.attribute_missing",
                  {"maxout: ", "attribute groups", "missing"}, "maxout",
                  {{"X", Floats({1, 2, 1, 1})}});
  ExpectRefusedOp(
      ErrorCode::kInvalidArgument, "op.attribute_choice",
      {"bias_add: ", "attribute data_format", "NCHW", "NHWC", "got \"CHWN\""},
      "bias_add", {{"X", Floats({1, 2})}, {"Bias", Floats({2})}},
      {{"data_format", std::string("CHWN")}});
}

TEST_F(BadNames, AnUnknownVariable) {
  ExpectRefusedInput(ErrorCode::kNotFound, "program.unknown_var",
                     {"variable y"}, [&] {
                       program_.AppendOp("top_k", {{"X", {"y"}}});
                     });
  ExpectRefusedInput(
      ErrorCode::kNotFound, "program.unknown_var", {"variable worst"}, [&] {
        executor_.Run(program_, {{"x", Floats({2, 3})}}, {"worst"});
      });
  ExpectRefusedInput(
      ErrorCode::kNotFound, "feed.unknown", {"feed z", "there are x"}, [&] {
        executor_.Run(program_, {{"x", Floats({2, 3})}, {"z", Floats({2, 3})}},
                      {"best"});
      });
  ExpectUnharmed();
}

TEST_F(BadNames, AnUnknownOrMissingArgument) {
  ExpectRefusedOp(ErrorCode::kNotFound, "op.unknown_argument",
                  {"top_k: ", "input x"}, "top_k",
                  {{"X", Floats({2, 3})}, {"x", Floats({2, 3})}});
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "op.argument_missing",
                  {"manhattan_distance: ", "input Y is missing"},
                  "manhattan_distance", {{"X", Floats({2, 3})}});
}

TEST_F(BadNames, AnUnknownDType) {
  ExpectRefusedInput(ErrorCode::kInvalidArgument, "dtype.name",
                     {"float31", "float32"}, [] { ParseDType("float31"); });
  // A dtype that the op rejects, and two dtypes that must be equal.
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "op.dtype",
                  {"manhattan_distance: ", "X must be one of float32, float64",
                   "got int32"},
                  "manhattan_distance",
                  {{"X", Tensor::FromVector<int32_t>({1, 1}, {1})},
                   {"Y", Tensor::FromVector<int32_t>({1, 1}, {1})}});
  ExpectRefusedOp(
      ErrorCode::kInvalidArgument, "op.dtype_mismatch",
      {"manhattan_distance: ", "input Y", "must be float32", "got float64"},
      "manhattan_distance",
      {{"X", Floats({1, 1})}, {"Y", Tensor::FromVector<double>({1, 1}, {1})}});
}

TEST_F(BadNames, FeedsThatAreNotWhatTheProgramSays) {
  const auto refused = [&](ErrorCode code, const char* check_id,
                           std::initializer_list<std::string_view> fragments,
                           const Feeds& feeds) {
    ExpectRefusedInput(code, check_id, fragments,
                       [&] { executor_.Run(program_, feeds, {"best"}); });
    ExpectUnharmed();
  };
  refused(ErrorCode::kNotFound, "feed.missing", {"x", "must be fed"}, {});
  refused(ErrorCode::kInvalidArgument, "feed.shape",
          {"feed x", "[?, 3]", "[2, 4]"}, {{"x", Floats({2, 4})}});
  refused(ErrorCode::kInvalidArgument, "feed.dtype",
          {"feed x", "must be float32", "got float64"},
          {{"x", Tensor::FromVector<double>({1, 3}, {1, 2, 3})}});
  refused(ErrorCode::kFailedPrecondition, "feed.unallocated", {"feed x"},
          {{"x", Tensor()}});
  refused(ErrorCode::kInvalidArgument, "feed.twice", {"feed x"},
          {{"x", Floats({2, 3})}, {"x", Floats({2, 3})}});
}

TEST_F(BadNames, AKernelRequiredWhereNoneIsRegistered) {
  const OpArguments x = {{"X", Floats({2, 3})}};
  const auto refused = [&](const char* hint,
                           std::initializer_list<std::string_view> fragments) {
    ExpectRefusedInput(ErrorCode::kNotFound, "resolver.no_kernel", fragments,
                       [&] { RunOp("top_k", x, {}, {.hint = hint}); });
  };
  refused("require place=fpga:0",
          {"no kernel of top_k is at fpga:0; there are at cpu"});
  refused("require library=ONEDNN", {"top_k: ", "top_k/plain", "ONEDNN"});
}

TEST_F(BadNames, AKernelThatNoOpHas) {
  ExpectRefusedInput(
      ErrorCode::kNotFound, "hint.unknown_variant",
      {"require variant=magic", "no kernel of top_k is called magic"}, [] {
        RunOp("top_k", {{"X", Floats({2, 3})}}, {},
              {.hint = "require variant=magic"});
      });
}

TEST_F(BadNames, APlaceThatIsNotThere) {
  const auto refusal = RefusalOfMissingDevice();
  ExpectRefusedInput(refusal.code, refusal.check_id, {"cuda:40"},
                     [] { Executor executor(kMissingDevice); });
  ExpectRefusedInput(
      ErrorCode::kInvalidArgument, "hint.form", {"variant plain"}, [] {
        RunOp("top_k", {{"X", Floats({2, 3})}}, {}, {.hint = "variant plain"});
      });
}

}  // namespace
}  // namespace sluice::testing
