#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/values/tensor.h"

// What the harness (harness_test.cc) must know about an op to test all its
// kernels: example inputs and expected outputs. Each op has a case, most of
// them in NumPy (tests/operators/cases); a registered op without one fails the
// build.
namespace sluice {
struct OpExample;  // laboratory/op_example.h
}  // namespace sluice

namespace sluice::testing {

// A dense array of numbers that any dtype converts to. int64 values stay
// within 2^53 in cases.
struct Array {
  DDim dims;
  std::vector<double> values;     // row-major
  DType dtype = DType::kFloat64;  // where it came from

  Array() = default;
  explicit Array(const DDim& shape)
      : dims(shape), values(static_cast<size_t>(shape.numel())) {}

  template <typename... Index>
  double& operator()(Index... index) {
    return values[Offset({static_cast<int64_t>(index)...})];
  }
  template <typename... Index>
  double operator()(Index... index) const {
    return values[Offset({static_cast<int64_t>(index)...})];
  }
  // The indices of element `offset` of the row-major order, and the reverse,
  // which raises std::out_of_range.
  std::vector<int64_t> IndexOf(int64_t offset) const;
  size_t Offset(const std::vector<int64_t>& index) const;
};
// By argument name, without omitted optional inputs; further variables of a
// variadic input X are X[1], X[2].
using Arrays = std::map<std::string, Array>;

Array ToArray(const Tensor& tensor);
// Rounds to `dtype`: to nearest even for floats.
Tensor ToTensor(const Array& array, DType dtype);

// One way to run the op. A variadic argument is repeated.
struct OpExample {
  std::vector<std::pair<std::string, Tensor>> inputs;
  AttributeMap attributes;
};

// Makes inputs for kernels of one dtype, equal in every process.
class ExampleMaker {
 public:
  explicit ExampleMaker(DType dtype) : dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  // Numbers around 0 of the kernel's dtype. float64: all different, at least
  // kSpacing apart, over all arrays of one maker, so that numerical gradients
  // meet no kink. Others: small, exact in every dtype, with many equal ones.
  Tensor Values(const DDim& dims);
  // Integers from `low` to `high`, as `dtype`.
  Tensor Integers(DType dtype, const DDim& dims, int64_t low, int64_t high);
  int64_t Integer(int64_t low, int64_t high);

  static constexpr double kSpacing = 4e-4;

 private:
  Tensor Codes(const DDim& dims);

  DType dtype_;
  uint32_t state_ = 20261121;
  int64_t distinct_ = 0;
};

struct OpCase {
  // There must be an empty input, a size of 1, an odd size, and an example
  // large enough that two threads share the work.
  std::function<std::vector<OpExample>(ExampleMaker& make)> examples = nullptr;
  // The outputs, computed naively, not like the kernels do. All attributes of
  // `op` are set.
  std::function<Arrays(const Arrays& inputs, const OpDesc& op)> reference =
      nullptr;
  // The slack of NaiveBound (laboratory/tuning/reference.h), more than 1 if the
  // formula itself loses digits.
  double slack = 1;
  // If the op allows two results for a NaN or an infinity: the outputs by the
  // other rule. Each element may be as here or as in `reference`.
  std::function<Arrays(const Arrays& inputs, const OpDesc& op)> alternative =
      nullptr;
  // Factors of `slack` for variants that round more than others.
  std::map<std::string, double> more_slack = {};
  // The examples without their tensors but with the ranges of these, if the
  // case makes that faster; all dtypes are those of this kernel.
  std::function<std::vector<sluice::OpExample>(DType)> descriptions = nullptr;

  double SlackOf(const KernelDef& kernel) const {
    const auto more = more_slack.find(kernel.variant);
    return more == more_slack.end() ? slack : slack * more->second;
  }
};

const std::map<std::string, OpCase>& OpCases();
bool AddOpCase(const std::string& op, OpCase op_case);
// The examples of the case of `op`, kept until another op's are asked for.
const std::vector<OpExample>& ExamplesOf(const std::string& op, DType dtype);

template <typename T>
const T& GetAttr(const OpDesc& op, std::string_view name) {
  return std::get<T>(op.attributes.find(name)->second);
}

}  // namespace sluice::testing

// REGISTER_OP_CASE(crop, CropExamples, CropReference), in namespace scope of a
// file *_case.cc, without GoogleTest. A fourth argument is the slack, a fifth
// the alternative, a sixth more_slack.
#define REGISTER_OP_CASE(op, ...)                \
  [[maybe_unused]] static const bool op##_case = \
      ::sluice::testing::AddOpCase(#op, {__VA_ARGS__})
