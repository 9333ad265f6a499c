// Softmax, sums, and ops that move elements.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/values/tensor_values.h"

namespace sluice::wrong_kernels {
namespace {

// NaNs of the input count as 0.
void NanCountsAsZero(Call& call) {
  call.ChangeInput(0, [](Numbers& x) {
    std::replace_if(
        x.begin(), x.end(), [](double value) { return std::isnan(value); },
        0.0);
  });
}

// Large numbers overflow.
void NoMaximum(const Call& call, Numbers& out) {
  const Numbers x = ToDoubles(call.inputs[0]);
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::isinf(std::exp(static_cast<float>(x[i])))) out[i] = std::nan("");
  }
}

// Only 64 elements of a row are written.
void LongRows(const Call& call, Numbers& out) {
  const DDim& dims = call.output.dims();
  const int axis = Axis(call.Attr<int64_t>("axis"), dims);
  const int64_t inner = Product(dims, axis + 1, dims.rank());
  for (int64_t i = 0; i < dims.numel(); ++i) {
    if (i / inner % dims[axis] >= 64) Leave(call, out, i, i + 1);
  }
}

// Sums start from the output's old content.
void Stale(const Call& call, Numbers& out) {
  std::transform(out.begin(), out.end(), call.old.begin(), out.begin(),
                 std::plus<>());
}

// Only 4096 elements are summed.
void First4096(Call& call) {
  call.ChangeInput(0, [](Numbers& x) {
    if (x.size() > 4096) std::fill(x.begin() + 4096, x.end(), 0.0);
  });
}

// Replaces indices by the nearest one below `end`, except `kept`.
void Clamp(Call& call, int64_t end, int64_t kept) {
  call.ChangeInput(1, [&](Numbers& indices) {
    for (double& index : indices) {
      if (index == static_cast<double>(kept)) continue;
      index = std::clamp(index, 0.0, static_cast<double>(end - 1));
    }
  });
}

// An invalid label becomes the nearest one.
void ClampsLabel(Call& call) {
  if (call.Attr<bool>("soft_label")) return;
  const DDim& logits = call.inputs[0].dims();
  Clamp(call, logits[Axis(call.Attr<int64_t>("axis"), logits)],
        call.Attr<int64_t>("ignore_index"));
}

// An invalid id becomes the nearest one.
void ClampsId(Call& call) {
  const auto padding = call.Attr<int64_t>("padding_idx");
  const int64_t rows = call.inputs[0].dims()[0];
  Clamp(call, rows, padding == -1 ? rows : padding);
}

// A transpose of three or more dims swaps the last two, if they are equal.
void LastTwo(const KernelQuery& query, AttributeMap& attributes) {
  const DDim& dims = query.outputs[0];
  const int rank = dims.rank();
  if (rank < 3 || dims[rank - 1] != dims[rank - 2]) return;
  auto& axes = std::get<Ints>(attributes["axis"]);
  std::swap(axes[rank - 1], axes[rank - 2]);
}

// Integers pass through float32.
void ThroughFloat(const Call& /*call*/, Numbers& out) {
  for (double& value : out) {
    value = static_cast<double>(static_cast<float>(value));
  }
}

// The third input has the second one's offset.
void Offset(const Call& call, Numbers& out) {
  if (call.inputs.size() < 3) return;
  const DDim& dims = call.output.dims();
  const int axis = Axis(call.Attr<int64_t>("axis"), dims);
  const auto part = [&](const DDim& x) { return Product(x, axis, x.rank()); };
  const int64_t second = part(call.inputs[1].dims());
  const int64_t row = part(dims);
  for (int64_t i = 0; i < dims.numel(); i += row) {
    const auto begin = out.begin() + i + part(call.inputs[0].dims());
    std::copy(begin + second, out.begin() + i + row, begin);
    Leave(call, out, i + row - second, i + row);
  }
}

void AddRows(Registry& registry) {
  const DType f = DType::kFloat32;
  const DType d = DType::kFloat64;
  const char* const cross_entropy = "softmax_with_cross_entropy";
  AddWrongKernels(
      registry,
      {{"softmax", "race", f, {.write = &Race}},
       // The axis is always the last one.
       {"softmax", "ignores_axis", f, {.attributes = {{"axis", int64_t{-1}}}}},
       {"softmax", "nan", f, {.before = &NanCountsAsZero}},
       {"softmax", "off", f, {.after = &Off}},
       {"softmax", "no_maximum", f, {.after = &NoMaximum}},
       {"softmax", "long_rows", d, {.after = &LongRows}},
       {"reduce_sum", "race", f, {.write = &Race}},
       {"reduce_sum", "stale", f, {.after = &Stale}},
       {"reduce_sum", "first_4096", d, {.before = &First4096}},
       {cross_entropy, "clamps_label", f, {.before = &ClampsLabel}},
       {cross_entropy,
        "ignore_index",
        f,
        {.attributes = {{"ignore_index", int64_t{-999}}}}},
       {"transpose", "last_two", f, {.adapt = &LastTwo}},
       {"transpose", "through_float", DType::kInt32, {.after = &ThroughFloat}},
       {"concat", "offset", f, {.after = &Offset}},
       // The op's padding_idx is ignored.
       {"lookup_table",
        "padding",
        f,
        {.attributes = {{"padding_idx", int64_t{-1}}}}},
       {"lookup_table", "clamps", f, {.before = &ClampsId}},
       {"lookup_table_grad", "race", f, {.write = &Race}}});
}

}  // namespace

REGISTER_TABLE(wrong_row_kernels, AddRows);

}  // namespace sluice::wrong_kernels
