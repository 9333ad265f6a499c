// Products of matrices and distances.
#include <algorithm>
#include <cmath>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/values/tensor_values.h"

namespace sluice::wrong_kernels {
namespace {

// The rows of a matrix Y of `mul`, and the columns, which are the output's.
int64_t Rows(const Call& call) {
  return Product(call.inputs[1].dims(), 0,
                 static_cast<int>(call.Attr<int64_t>("y_num_col_dims")));
}
int64_t Columns(const Call& call) {
  const DDim& y = call.inputs[1].dims();
  return Product(y, static_cast<int>(call.Attr<int64_t>("y_num_col_dims")),
                 y.rank());
}

// The last k % 4 terms are not added.
void SumTail(Call& call) {
  const int64_t k = Rows(call);
  call.ChangeInput(1, [&](Numbers& y) {
    std::fill(y.begin() + (k - k % 4) * Columns(call), y.end(), 0.0);
  });
}

// The last n % 4 columns are not written.
void ColumnTail(const Call& call, Numbers& out) {
  const int64_t n = Columns(call);
  for (int64_t i = 0; i < call.output.numel(); ++i) {
    if (i % n >= n - n % 4) Leave(call, out, i, i + 1);
  }
}

// Each row after the last full block of 8 repeats the row before it.
void RowBlock(const Call& call, Numbers& out) {
  const int64_t n = Columns(call);
  const int64_t m = n == 0 ? 0 : call.output.numel() / n;
  for (int64_t row = m - 1; row >= std::max<int64_t>(m - m % 8, 1); --row) {
    std::copy_n(out.begin() + (row - 1) * n, n, out.begin() + row * n);
  }
}

// Rows of a transposed Y are as many elements apart as there are columns.
void StrideOfY(Call& call) {
  const DDim dims = call.inputs[1].dims();
  if (!call.Attr<bool>("transpose_Y") || dims.rank() < 2) return;
  const int64_t n = dims[dims.rank() - 2];
  const int64_t k = dims[dims.rank() - 1];
  call.ChangeInput(1, [&](Numbers& y) {
    const Numbers right = y;
    for (int64_t i = 0; i < dims.numel(); ++i) {
      const int64_t row = i / k % n;
      y[i] = right[i - row * k + row * std::min(n, k)];
    }
  });
}

// The batch stride of Y is the output's.
void BatchStride(Call& call) {
  const DDim dims = call.inputs[1].dims();
  const DDim& out = call.output.dims();
  if (dims.rank() < 3 || dims.numel() == 0) return;
  const int64_t matrix = Product(dims, dims.rank() - 2, dims.rank());
  const int64_t stride =
      std::min(Product(out, out.rank() - 2, out.rank()), matrix);
  call.ChangeInput(1, [&](Numbers& y) {
    const Numbers right = y;
    for (int64_t i = 0; i < dims.numel(); ++i) {
      y[i] = right[i / matrix * stride + i % matrix];
    }
  });
}

// The last k % 4 differences are not added.
void DistanceTail(Call& call) {
  const int64_t k = call.inputs[0].dims()[1];
  for (const size_t input : {0, 1}) {
    call.ChangeInput(input, [&](Numbers& values) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (static_cast<int64_t>(i) % k >= k - k % 4) values[i] = 0;
      }
    });
  }
}

// A difference that is NaN is left out.
void DistanceNan(const Call& call, Numbers& out) {
  const Numbers x = ToDoubles(call.inputs[0]);
  const Numbers y = ToDoubles(call.inputs[1]);
  const int64_t k = call.inputs[0].dims()[1];
  const int64_t n = call.inputs[1].dims()[0];
  for (int64_t i = 0; i < call.output.numel(); ++i) {
    if (!std::isnan(out[i])) continue;
    out[i] = 0;
    for (int64_t p = 0; p < k; ++p) {
      const double difference = std::abs(x[i / n * k + p] - y[i % n * k + p]);
      if (!std::isnan(difference)) out[i] += difference;
    }
  }
}

void AddProducts(Registry& registry) {
  const DType f = DType::kFloat32;
  const DType d = DType::kFloat64;
  AddWrongKernels(
      registry,
      {{"mul", "sum_tail", f, {.before = &SumTail}},
       {"mul", "column_tail", d, {.after = &ColumnTail}},
       {"mul", "row_block", f, {.after = &RowBlock}},
       {"mul", "off", f, {.after = &Off}},
       {"mul", "race", f, {.write = &Race}},
       {"matmul", "stride", f, {.before = &StrideOfY}},
       {"matmul", "batch_stride", d, {.before = &BatchStride}},
       {"matmul", "alpha", f, {.attributes = {{"alpha", 1.0}}}},
       {"manhattan_distance", "sum_tail", f, {.before = &DistanceTail}},
       {"manhattan_distance", "nan", f, {.after = &DistanceNan}}});
}

}  // namespace

REGISTER_TABLE(wrong_product_kernels, AddProducts);

}  // namespace sluice::wrong_kernels
