#include "sluice/framework/inspect/write_check.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "sluice/framework/choice/hint_names.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/device_context_pool.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

bool ShareMemory(const Tensor& a, const Tensor& b) {
  if (!a.allocated() || !b.allocated() || a.place() != b.place()) return false;
  const auto* a_begin = static_cast<const char*>(a.raw_data());
  const auto* b_begin = static_cast<const char*>(b.raw_data());
  return a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
}

bool IsChecked(const Plan& plan,
               const PlannedOp& op,
               int output,
               const Tensor* tensors) {
  const SlotKind kind = plan.slots()[output].kind;
  return kind != SlotKind::kLate && kind != SlotKind::kShape &&
         tensors[output].allocated() && tensors[output].bytes() > 0 &&
         std::none_of(op.inputs.begin(), op.inputs.end(), [&](int input) {
           return ShareMemory(tensors[input], tensors[output]);
         });
}

void Poison(Tensor output) {
  const size_t bytes = output.bytes();
  if (output.place().kind == PlaceKind::kCPU) {
    return internal::FillWithPoison(output.raw_data(), bytes);
  }
  Tensor host;
  host.Resize({static_cast<int64_t>(bytes)});
  void* const from = host.mutable_data(DType::kUInt8, CPUPlace());
  internal::FillWithPoison(from, bytes);
  const auto context = DeviceContextPool::Instance().Acquire(output.place());
  context->CopyFromHost(output.raw_data(), from, bytes);
  context->Wait();
}

// The bytes that count as left together: those of one element, where no result
// has these.
size_t Width(DType dtype) {
  const size_t size = SizeOf(dtype);
  const bool certain = size >= 4 || dtype == DType::kBool || IsFloating(dtype);
  return certain ? size : sizeof(kPoison);
}

void RequireWritten(const Plan& plan,
                    const PlannedOp& op,
                    int output,
                    const Tensor& host) {
  const auto* data = static_cast<const char*>(host.raw_data());
  const auto* poison = reinterpret_cast<const char*>(&kPoison);
  const size_t width = Width(host.dtype());
  size_t left = 0;
  size_t first = 0;
  for (size_t at = 0; at + width <= host.bytes(); at += width) {
    const size_t phase = at % sizeof(kPoison);
    if (std::memcmp(data + at, poison + phase, width) != 0) continue;
    if (left == 0) first = at;
    left += width;
  }
  if (left == 0) return;
  const auto decision = std::find_if(
      plan.decisions().begin(), plan.decisions().end(),
      [&](const Decision& each) { return each.op_index == op.op_index; });
  const size_t size = SizeOf(host.dtype());
  const Slot& slot = plan.slots()[output];
  Raise(ErrorCode::kInternal, "run.unwritten",
        "{}: kernel {} left {} of {} elements of output {} ({} {} at {}) "
        "unwritten, the first is element {}",
        op.arguments.op,
        decision == plan.decisions().end() ? "of a library"
                                           : KernelName(*decision->kernel),
        left / size, host.numel(), slot.var, slot.dtype, slot.dims, op.place,
        first / size);
}

}  // namespace

Tensor OnHost(const Tensor& tensor) {
  return tensor.place().kind == PlaceKind::kCPU ? tensor
                                                : tensor.CopyTo(CPUPlace());
}

void WriteCheck::Before(const Plan& plan,
                        const Instruction& instruction,
                        const Tensor* tensors) {
  if (instruction.kernel == nullptr) return;
  const PlannedOp& op = plan.ops()[instruction.context];
  for (const int output : op.outputs) {
    if (IsChecked(plan, op, output, tensors)) Poison(tensors[output]);
  }
}

void WriteCheck::After(const Plan& plan,
                       const Instruction& instruction,
                       const Tensor* tensors) {
  if (instruction.kernel == nullptr) return;
  const PlannedOp& op = plan.ops()[instruction.context];
  for (const int output : op.outputs) {
    if (!IsChecked(plan, op, output, tensors)) continue;
    RequireWritten(plan, op, output, OnHost(tensors[output]));
  }
}

}  // namespace sluice
