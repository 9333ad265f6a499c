// Ops of one tensor, or of two, one of which may be broadcast.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::wrong_kernels {
namespace {

// The last n % 4 elements are not written.
void Tail(const Call& call, Numbers& out) {
  const int64_t n = call.output.numel();
  Leave(call, out, n - n % 4, n);
}

// They get the vector before them.
void StaleTail(const Call& call, Numbers& out) {
  const int64_t n = call.output.numel();
  for (int64_t i = std::max<int64_t>(n - n % 4, 4); i < n; ++i) {
    out[i] = out[i - 4];
  }
}

// The last element of each thread is not written.
void ShardEnd(const Call& call, Numbers& out) {
  const int64_t n = call.output.numel();
  ParallelFor(n, 1024, [&](int64_t /*begin*/, int64_t end) {
    if (end < n) Leave(call, out, end - 1, end);
  });
}

// The index has 16 bits.
void Wraps(const Call& call, Numbers& out) {
  Leave(call, out, 1 << 16, call.output.numel());
}

// A tensor of one element is not written.
void Single(const Call& call, Numbers& out) {
  if (out.size() == 1) Leave(call, out, 0, 1);
}

void NanIsZero(const Call& /*call*/, Numbers& out) {
  std::replace_if(
      out.begin(), out.end(), [](double y) { return std::isnan(y); }, 0.0);
}

void InfinityIsLargest(const Call& /*call*/, Numbers& out) {
  std::replace_if(
      out.begin(), out.end(), [](double y) { return std::isinf(y); },
      std::numeric_limits<float>::max());
}

// 11 bits of precision.
void Coarse(const Call& /*call*/, Numbers& out) {
  for (double& value : out) {
    int exponent = 0;
    const double digits = std::frexp(value, &exponent);
    value = std::ldexp(std::round(digits * 2048) / 2048, exponent);
  }
}

// Sets an element of `tensor` to 0, which may be out of its bounds.
void SetToZero(const Tensor& tensor, int64_t element) {
  if (tensor.numel() == 0) return;
  const auto size = static_cast<int64_t>(SizeOf(tensor.dtype()));
  auto* const bytes = static_cast<char*>(const_cast<void*>(tensor.raw_data()));
  std::memset(bytes + element * size, 0, SizeOf(tensor.dtype()));
}

void After(Call& call) {
  SetToZero(call.output, call.output.numel());
}

void Before(Call& call) {
  SetToZero(call.output, -1);
}

void Input(Call& call) {
  SetToZero(call.inputs[0], call.inputs[0].numel() - 1);
}

// Every other call changes the last bit.
void SecondCall(Call& call) {
  if (call.number % 2 == 0 || call.output.numel() == 0) return;
  *static_cast<char*>(call.output.raw_data()) ^= 1;
}

// The smaller input is repeated cyclically.
template <typename Function>
void Repeat(const Call& call, Numbers& out, Function function) {
  const Numbers x = ToDoubles(call.inputs[0]);
  const Numbers y = ToDoubles(call.inputs[1]);
  if (x.size() != out.size()) return;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = function(x[i], y[i % y.size()]);
  }
}

void Repeats(const Call& call, Numbers& out) {
  Repeat(call, out, std::plus<>());
}

// The dims of the smaller input are always the last ones.
void IgnoresAxis(const Call& call, Numbers& out) {
  if (call.Attr<int64_t>("axis") >= 0) Repeat(call, out, std::multiplies<>());
}

// The channel is always the last dim.
void LastChannel(const Call& call, Numbers& out) {
  Repeat(call, out, std::plus<>());
}

// A division by a reciprocal of 12 bits.
void Reciprocal(Call& call) {
  call.ChangeInput(1, [](Numbers& y) {
    for (double& value : y) {
      value = 1 / (std::round(4096 / value) / 4096);
    }
  });
}

void AddElementwise(Registry& registry) {
  const DType f = DType::kFloat32;
  const DType d = DType::kFloat64;
  AddWrongKernels(
      registry,
      {{"relu", "tail", f, {.after = &Tail}},
       {"relu", "stale_tail", f, {.after = &StaleTail}},
       {"relu", "shard_end", d, {.after = &ShardEnd}},
       {"relu", "wraps", f, {.after = &Wraps}},
       {"relu", "nan", d, {.after = &NanIsZero}},
       {"relu", "off", f, {.after = &Off}},
       {"relu", "after", f, {.write = &After}},
       {"relu", "before", d, {.write = &Before}},
       {"relu", "input", f, {.write = &Input}},
       {"relu", "second_call", f, {.write = &SecondCall}},
       {"exp", "infinity", f, {.after = &InfinityIsLargest}},
       {"exp", "coarse", f, {.after = &Coarse}},
       {"exp", "nan", f, {.after = &NanIsZero}},
       {"sqrt", "off", d, {.after = &Off}},
       {"square", "single", f, {.after = &Single}},
       {"elementwise_add", "repeats", f, {.after = &Repeats}},
       {"elementwise_mul", "ignores_axis", d, {.after = &IgnoresAxis}},
       {"elementwise_div", "reciprocal", f, {.before = &Reciprocal}},
       {"scale",
        "bias_first",
        f,
        {.attributes = {{"bias_after_scale", false}}}},
       {"bias_add", "last_channel", f, {.after = &LastChannel}}});
}

}  // namespace

REGISTER_TABLE(wrong_elementwise_kernels, AddElementwise);

}  // namespace sluice::wrong_kernels
