#include "sluice/framework/op/infer_shape_context.h"

#include <map>
#include <stdexcept>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class InferShapeContextTest : public ::testing::Test {
 protected:
  InferShapeContextTest() : schema_("shaper") {
    schema_.Input("X", "float32", "");
    schema_.Input("Ys", "float32", "", {.variadic = true});
    schema_.Input("Z", "float32", "", {.optional = true});
    schema_.Output("Out", "float32", "").Output("Other", "float32", "");
    schema_.Attr<int64_t>("axis", "");
    op_.type = "shaper";
    op_.inputs = {{"X", {"x"}}, {"Ys", {"y0", "y1"}}};
    op_.outputs = {{"Out", {"o"}}, {"Other", {"p"}}};
    op_.attributes["axis"] = int64_t{2};
  }

  // X is [2, 3, 4]; Ys are [?, 3] and of unknown rank.
  InferShapeContext Make() const {
    return InferShapeContext(
        schema_, op_, {DDim({2, 3, 4}), DDim({-1, 3}), DDim::UnknownRank()},
        {DType::kFloat32, DType::kFloat64, DType::kInt8});
  }

  OpSchema schema_;
  OpDesc op_;
};

TEST_F(InferShapeContextTest, FindsInputsByNameAndIndex) {
  const InferShapeContext context = Make();
  EXPECT_EQ(context.num_inputs(), 3);
  EXPECT_EQ(context.input("X").dims, DDim({2, 3, 4}));
  EXPECT_EQ(context.input(1).dims, DDim({-1, 3}));
  EXPECT_EQ(context.inputs("Ys").size(), 2u);
  EXPECT_EQ(context.input_dtype("Ys"), DType::kFloat64);
  EXPECT_TRUE(context.HasInput("X"));
  EXPECT_FALSE(context.HasInput("Z"));
  EXPECT_EQ(context.Attr<int64_t>("axis"), 2);
}

TEST_F(InferShapeContextTest, NamesMistakesOfTheShapeFunction) {
  InferShapeContext context = Make();
  ExpectError(ErrorCode::kInternal, "infer_shape.no_such_input",
              {"shaper", "W"}, [&] { context.input("W"); });
  ExpectError(ErrorCode::kInternal, "infer_shape.input_index", {"3 of 3"},
              [&] { context.input(3); });
  ExpectError(ErrorCode::kInternal, "infer_shape.input_left_out", {"Z"},
              [&] { context.input("Z"); });
  ExpectError(ErrorCode::kInternal, "infer_shape.no_such_attribute", {"axes"},
              [&] { context.Attr<int64_t>("axes"); });
  ExpectError(ErrorCode::kInternal, "infer_shape.no_such_output", {"Up"},
              [&] { context.SetOutput("Up", DDim()); });
  ExpectError(ErrorCode::kInternal, "infer_shape.output_index", {"2 of 2"},
              [&] { context.SetOutput(2, DDim()); });
}

TEST_F(InferShapeContextTest, ChecksRanks) {
  const InferShapeContext context = Make();
  EXPECT_EQ(context.WithRank(context.input("X"), 3).rank(), 3);
  EXPECT_EQ(context.WithRank(context.input(2), 2).dims, DDim({-1, -1}));
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"shaper: input X [2, 3, 4] must have rank 2, got rank 3"},
              [&] { context.WithRank(context.input("X"), 2); });
  EXPECT_EQ(context.WithRankAtLeast(context.input("X"), 3).rank(), 3);
  EXPECT_FALSE(context.WithRankAtLeast(context.input(2), 3).dims.rank_known());
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank_at_least",
              {"input Ys[0] [?, 3]", "rank 3 or more"},
              [&] { context.WithRankAtLeast(context.input(1), 3); });
}

TEST_F(InferShapeContextTest, ChecksSizes) {
  const InferShapeContext context = Make();
  const DimHandle unknown = context.Dim(context.input(1), 0);
  EXPECT_EQ(context.WithValue(unknown, 7).size, 7);
  const DimHandle last = context.Dim(context.input("X"), -1);
  EXPECT_EQ(last.size, 4);
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.value",
              {"dim 2 of input X [2, 3, 4] must be 5, got 4"},
              [&] { context.WithValue(last, 5); });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.axis",
              {"input X [2, 3, 4] has no dim 3"},
              [&] { context.Dim(context.input("X"), 3); });
  EXPECT_EQ(context.Dim(context.input(2), 9).size, kUnknownDim);
}

TEST_F(InferShapeContextTest, CutsSubshapes) {
  const InferShapeContext context = Make();
  const ShapeHandle x = context.input("X");
  EXPECT_EQ(context.Subshape(x, 1).dims, DDim({3, 4}));
  EXPECT_EQ(context.Subshape(x, -2, -1).dims, DDim({3}));
  EXPECT_EQ(context.Subshape(x, 0, 9).dims, x.dims);
  EXPECT_FALSE(context.Subshape(context.input(2), 1).dims.rank_known());
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.subshape",
              {"input X", "[2, 1)"}, [&] { context.Subshape(x, 2, 1); });
}

TEST_F(InferShapeContextTest, MergesWhatIsKnownOfTwoShapes) {
  const InferShapeContext context = Make();
  const ShapeHandle pair = context.Matrix(5, -1);
  EXPECT_EQ(context.Merge(context.input(1), pair).dims, DDim({5, 3}));
  EXPECT_EQ(context.Merge(context.input(2), pair).dims, pair.dims);
  EXPECT_EQ(context.Merge(pair, context.input(2)).dims, pair.dims);
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_rank",
              {"input X [2, 3, 4]", "shape [5, ?]"},
              [&] { context.Merge(context.input("X"), pair); });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"dim 1 of input Ys[0] [?, 3]", "got 3 and 8"},
              [&] { context.Merge(context.input(1), context.Matrix(2, 8)); });
}

TEST_F(InferShapeContextTest, Concatenates) {
  const InferShapeContext context = Make();
  const ShapeHandle x = context.input("X");
  EXPECT_EQ(context.Concatenate(x, context.Vector(9)).dims, DDim({2, 3, 4, 9}));
  EXPECT_FALSE(context.Concatenate(x, context.input(2)).dims.rank_known());
  const ShapeHandle six = context.Concatenate(x, x);
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.concatenate_rank",
              {"have 9 dimensions, at most 8"},
              [&] { context.Concatenate(six, x); });
}

TEST_F(InferShapeContextTest, TheFormsThatReturnAStatusGiveTheSame) {
  const InferShapeContext c = Make();
  const ShapeHandle x = c.input("X");
  const ShapeHandle y = c.input(1);
  const DimHandle last = c.Dim(x, 2);
  ShapeHandle shape;
  DimHandle dim;
  const auto expect = [&](const Status& status, const DDim& dims) {
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(shape.dims, dims);
  };
  expect(c.WithRank(c.input(2), 2, &shape), {-1, -1});
  expect(c.WithRankAtLeast(x, 3, &shape), {2, 3, 4});
  expect(c.Subshape(x, 1, &shape), {3, 4});
  expect(c.Subshape(x, 0, -1, &shape), {2, 3});
  expect(c.Merge(y, c.Matrix(5, -1), &shape), {5, 3});
  expect(c.Concatenate(y, c.Vector(2), &shape), {-1, 3, 2});
  EXPECT_TRUE(c.WithValue(c.Dim(y, 0), 7, &dim).ok());
  EXPECT_EQ(dim.size, 7);
  EXPECT_TRUE(c.Merge(c.Dim(y, 0), last, &dim).ok());
  EXPECT_EQ(dim.size, 4);

  shape = c.Scalar();
  const auto fails = [&](const Status& status, std::string_view id) {
    ASSERT_FALSE(status.ok()) << id;
    EXPECT_EQ(status.error().check_id(), id);
    // A failed call does not change its result.
    EXPECT_EQ(shape.dims, DDim());
    EXPECT_EQ(dim.size, 4);
  };
  fails(c.WithRank(x, 2, &shape), "infer_shape.rank");
  fails(c.WithRankAtLeast(x, 4, &shape), "infer_shape.rank_at_least");
  fails(c.Subshape(x, 4, &shape), "infer_shape.subshape");
  fails(c.Subshape(x, 2, 1, &shape), "infer_shape.subshape");
  fails(c.Merge(x, y, &shape), "infer_shape.merge_rank");
  fails(c.WithValue(last, 5, &dim), "infer_shape.value");
  fails(c.Merge(c.Dim(x, 0), last, &dim), "infer_shape.merge_dim");
  const ShapeHandle long_one =
      c.MakeShape(std::vector<int64_t>(DDim::kMaxRank, 1));
  fails(c.Concatenate(x, long_one, &shape), "infer_shape.concatenate_rank");
}

TEST_F(InferShapeContextTest, AnErrorsTextIsInFmtsOrInTensorFlowsForm) {
  EXPECT_STREQ(errors::InvalidArgument("got {} of {}", 2, 3).error().what(),
               "got 2 of 3");
  EXPECT_STREQ(errors::InvalidArgument("got ", 2, " of ", 3).error().what(),
               "got 2 of 3");
}

TEST_F(InferShapeContextTest, AnExceptionOfAShapeFunctionIsAnErrorOfTheOp) {
  schema_.InferShape([](InferShapeContext* c) {
    const int64_t size = c->Dim(c->input(0), 0).size;
    if (size == 1) throw std::runtime_error("boom");
    return errors::InvalidArgument("{} and {}", size);
  });
  for (const auto& [size, what] : std::map<int64_t, const char*>{
           {1, "\"boom\""}, {2, "argument not found"}}) {
    ExpectError(ErrorCode::kInternal, "error.foreign",
                {"shaper: its shape function raised", what}, [&, size = size] {
                  InferShapes(
                      schema_, op_, {DDim({size}), DDim({3}), DDim({3})},
                      {DType::kFloat32, DType::kFloat32, DType::kFloat32});
                });
  }
}

TEST_F(InferShapeContextTest, AStatusEndsAShapeFunctionAsAnErrorOfTheOp) {
  schema_.InferShape([](InferShapeContext* c) {
    ShapeHandle x;
    SLUICE_RETURN_IF_ERROR(c->WithRank(c->input(0), 3, &x));
    if (c->Dim(x, 0) == 2) return errors::InvalidArgument("two is too few");
    return Status::OK();
  });
  const auto infer = [&](const DDim& x) {
    InferShapes(schema_, op_, {x, DDim({3}), DDim({3})},
                {DType::kFloat32, DType::kFloat32, DType::kFloat32});
  };
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"shaper: input X [2] must have rank 3"}, [&] { infer({2}); });
  ExpectError(ErrorCode::kInvalidArgument, "kernel.op_requires",
              {"two is too few", "in the shapes of shaper"}, [&] {
                infer({2, 3, 4});
              });
  ExpectError(ErrorCode::kInternal, "infer_shape.output_left_out", {"Out"},
              [&] {
                infer({1, 3, 4});
              });
}

TEST_F(InferShapeContextTest, RequiresWhatAnOpWants) {
  const InferShapeContext context = Make();
  context.Require(true, "shaper.never", "not raised");
  ExpectError(ErrorCode::kInvalidArgument, "shaper.odd", {"shaper: 3 is odd"},
              [&] { context.Require(false, "shaper.odd", "{} is odd", 3); });
}

TEST_F(InferShapeContextTest, CollectsOutputs) {
  InferShapeContext context = Make();
  context.SetOutput("Out", DDim({7}));
  context.SetOutput(1, DDim());
  context.SetOutput(1, DDim({3}), 1);  // a second output was not requested
  context.CheckOutputsSet();
  EXPECT_EQ(context.output_shapes()[0][0], DDim({7}));
  EXPECT_EQ(context.output_shapes()[1], std::vector<DDim>{DDim()});
}

TEST_F(InferShapeContextTest, NoticesAnOutputThatWasForgotten) {
  InferShapeContext context = Make();
  context.SetOutput("Out", DDim({7}));
  ExpectError(ErrorCode::kInternal, "infer_shape.output_left_out",
              {"shaper", "Other"}, [&] { context.CheckOutputsSet(); });
}

}  // namespace
}  // namespace sluice
