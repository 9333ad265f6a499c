#include <vector>

#include "tests/operators/contraction/matmul_reference.h"
#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

Tensor Mul(const Tensor& x,
           const Tensor& y,
           const AttributeMap& attributes = {}) {
  return RunOp("mul", {{"X", x}, {"Y", y}}, attributes)["Out"];
}

TEST(Mul, InfersWhatIsKnown) {
  EXPECT_EQ(
      InferOpShapes("mul", {{"X", {-1, 20, 4, 4}}, {"Y", {320, 10}}}).at("Out"),
      DDim({-1, 10}));
  EXPECT_EQ(InferOpShapes("mul", {{"X", {-1, -1}}, {"Y", {320, -1}}})["Out"],
            DDim({-1, -1}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> MulExamples(ExampleMaker& make) {
  const auto example = [&](const DDim& x, const DDim& y, int64_t x_rows = 1,
                           int64_t y_rows = 1) {
    return OpExample{{{"X", make.Values(x)}, {"Y", make.Values(y)}},
                     {{"x_num_col_dims", x_rows}, {"y_num_col_dims", y_rows}}};
  };
  return {example({3, 5}, {5, 7}),
          example({1, 1}, {1, 1}),
          example({4, 0}, {0, 3}),
          example({0, 2}, {2, 3}),
          example({4, 2, 3}, {6, 5}),
          example({2, 3, 5}, {5, 1, 3}, 2),
          example({3, 2, 3}, {3, 2, 1, 4}, 1, 2),
          example({77, 131}, {131, 93})};
}

DDim Flat(const DDim& dims, int64_t rows) {
  const auto split = static_cast<int>(rows);
  return {dims.Product(0, split), dims.Product(split, dims.rank())};
}

// The product as one of matrices.
struct FlatMul {
  FlatMul(const Arrays& in, const OpDesc& op) {
    const int64_t x_rows = GetAttr<int64_t>(op, "x_num_col_dims");
    const int64_t y_rows = GetAttr<int64_t>(op, "y_num_col_dims");
    x = in.at("X");
    y = in.at("Y");
    out = x.dims.Subshape(0, static_cast<int>(x_rows));
    for (int axis = static_cast<int>(y_rows); axis < y.dims.rank(); ++axis) {
      out.InsertDim(out.rank(), y.dims[axis]);
    }
    x.dims = Flat(x.dims, x_rows);
    y.dims = Flat(y.dims, y_rows);
    form = {x.dims, y.dims};
    if (in.count("Out@GRAD") > 0) {
      grad = in.at("Out@GRAD");
      grad.dims = MatmulOutDims(form);
    }
  }
  Array x, y, grad;
  MatmulCase form;
  DDim out;
};

std::vector<OpExample> MulGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = MulExamples(make);
  for (OpExample& example : examples) {
    const FlatMul flat(InputArrays(example), DescribeExample("mul", example));
    example.inputs.emplace_back("Out@GRAD", make.Values(flat.out));
  }
  return examples;
}

Arrays Reshaped(const char* name, Array array, const DDim& dims) {
  array.dims = dims;
  return {{name, array}};
}

Arrays MulReference(const Arrays& in, const OpDesc& op) {
  const FlatMul flat(in, op);
  return Reshaped("Out", MatmulOut(flat.form, flat.x, flat.y), flat.out);
}
Arrays MulGradXReference(const Arrays& in, const OpDesc& op) {
  const FlatMul flat(in, op);
  return Reshaped("X@GRAD", MatmulXGrad(flat.form, flat.grad, flat.y),
                  in.at("X").dims);
}
Arrays MulGradYReference(const Arrays& in, const OpDesc& op) {
  const FlatMul flat(in, op);
  return Reshaped("Y@GRAD", MatmulYGrad(flat.form, flat.grad, flat.x),
                  in.at("Y").dims);
}

// Up to 131 terms.
REGISTER_OP_CASE(mul, MulExamples, MulReference, 16);
REGISTER_OP_CASE(mul_grad_x, MulGradExamples, MulGradXReference, 16);
REGISTER_OP_CASE(mul_grad_y, MulGradExamples, MulGradYReference, 16);

}  // namespace
}  // namespace sluice::testing
