#include "sluice/framework/inspect/finite_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

enum class Find { kNaN, kNotFinite };

// Returns the first element that is NaN, or an infinity if asked for, or -1.
template <typename T>
int64_t First(Find find, const Tensor& tensor) {
  const T* values = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (std::isnan(values[i])) return i;
    if (find == Find::kNotFinite && std::isinf(values[i])) return i;
  }
  return -1;
}

int64_t First(Find find, const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return First<float>(find, tensor);
  if (tensor.dtype() == DType::kFloat64) return First<double>(find, tensor);
  const bool is_bfloat16 = tensor.dtype() == DType::kBFloat16;
  if (!is_bfloat16 && tensor.dtype() != DType::kFloat16) return -1;
  // The bits of infinity; those of a NaN without its sign are more.
  const uint16_t infinity = is_bfloat16 ? 0x7f80 : 0x7c00;
  const uint16_t least = find == Find::kNaN ? infinity + 1 : infinity;
  const auto* bits = static_cast<const uint16_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if ((bits[i] & 0x7fff) >= least) return i;
  }
  return -1;
}

// The elements of a tensor by kind.
struct Elements {
  explicit Elements(const Tensor& tensor) : all(tensor.numel()) {
    if (all == 0) return;
    for (const double value : ToDoubles(tensor)) {
      if (std::isnan(value)) {
        ++nan;
      } else if (std::isinf(value)) {
        ++(value > 0 ? plus : minus);
      } else {
        least = std::min(least, value);
        most = std::max(most, value);
      }
    }
  }

  // "2 NaN and 1 +Inf of 8 elements".
  std::string CountsText() const {
    std::string text;
    for (const auto& [count, kind] :
         {std::pair(nan, "NaN"), std::pair(plus, "+Inf"),
          std::pair(minus, "-Inf")}) {
      if (count == 0) continue;
      text += Format("{}{} {}", text.empty() ? "" : " and ", count, kind);
    }
    return Format("{} of {} element{}", text, all, all == 1 ? "" : "s");
  }

  // "from 0 to 1.5", "all 0", "from 0 to 1.5 and 1 -Inf of 8 elements".
  std::string RangeText() const {
    if (all == 0) return "without elements";
    std::string text = least > most ? ""
                       : least == most
                           ? Format("all {:.3g}", least)
                           : Format("from {:.3g} to {:.3g}", least, most);
    if (nan + plus + minus == 0) return text;
    return Format("{}{}{}", text, text.empty() ? "" : " and ", CountsText());
  }

  int64_t all;
  int64_t nan = 0;
  int64_t plus = 0;  // infinities
  int64_t minus = 0;
  double least = std::numeric_limits<double>::infinity();  // of the finite ones
  double most = -std::numeric_limits<double>::infinity();
};

// "x from 0 to 1.5, mask all 0".
std::string RangesText(const Plan& plan,
                       const PlannedOp& op,
                       const Tensor* tensors) {
  constexpr size_t kShown = 6;
  std::string text;
  size_t count = 0;
  for (const int slot : op.inputs) {
    if (plan.slots()[slot].kind == SlotKind::kShape) continue;
    if (++count > kShown) continue;
    text += Format("{}{} {}", count == 1 ? "" : ", ", plan.slots()[slot].var,
                   Elements(OnHost(tensors[slot])).RangeText());
  }
  return count <= kShown ? text : text + Format(" and {} more", count - kShown);
}

// "element 59 at [3, 11]"; "element 59" of a vector.
std::string ElementText(int64_t element, const DDim& dims) {
  const std::string text = Format("element {}", element);
  return dims.rank() < 2 ? text
                         : Format("{} at {}", text, IndexText(dims, element));
}

// A NaN that no op of the run computed would be found in no output.
void RequireNotGiven(const PlannedOp& op,
                     const Slot& slot,
                     const Tensor& input,
                     int64_t nan) {
  const bool fed = slot.kind == SlotKind::kFeed;
  SLUICE_ENFORCE(!fed && slot.kind != SlotKind::kPersistable,
                 ErrorCode::kInternal, "run.nan_given",
                 "{}: input {} ({} {}) has {} already, the first NaN is "
                 "{}: {}",
                 op.arguments.op, slot.var, slot.dtype, slot.dims,
                 Elements(input).CountsText(), ElementText(nan, input.dims()),
                 fed ? "it was fed"
                     : "it was stored in the scope, perhaps by a run "
                       "that was not checked");
}

}  // namespace

void FiniteCheck::Before(const Plan& plan,
                         const Instruction& instruction,
                         const Tensor* tensors) {
  WriteCheck::Before(plan, instruction, tensors);
  if (&plan == &plan_) op_index_ = instruction.op_index;
}

void FiniteCheck::After(const Plan& plan,
                        const Instruction& instruction,
                        const Tensor* tensors) {
  WriteCheck::After(plan, instruction, tensors);
  if (instruction.kernel == nullptr) return;
  const PlannedOp& op = plan.ops()[instruction.context];
  Find find = Find::kNotFinite;
  for (const int slot : op.inputs) {
    if (plan.slots()[slot].kind == SlotKind::kShape) continue;
    const Tensor input = OnHost(tensors[slot]);
    if (First(Find::kNotFinite, input) < 0) continue;
    const int64_t nan = First(Find::kNaN, input);
    if (nan >= 0) {
      return RequireNotGiven(op, plan.slots()[slot], input, nan);
    }
    find = Find::kNaN;
  }
  for (const int slot : op.outputs) {
    const Tensor output = OnHost(tensors[slot]);
    const int64_t element = First(find, output);
    SLUICE_ENFORCE(
        element < 0, ErrorCode::kInternal, "run.not_finite",
        "{}: output {} ({} {} at {}) has {}, the first{} is {}, "
        "although {}: {}",
        op.arguments.op, plan.slots()[slot].var, output.dtype(), output.dims(),
        op.place, Elements(output).CountsText(),
        find == Find::kNaN ? " NaN" : "", ElementText(element, output.dims()),
        find == Find::kNaN ? "no input has a NaN" : "all inputs are finite",
        RangesText(plan, op, tensors));
  }
}

}  // namespace sluice
