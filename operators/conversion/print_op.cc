#include <algorithm>
#include <atomic>
#include <cstdio>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

std::vector<OpDesc> PrintGradient(const OpDesc& forward) {
  const auto phase = forward.attributes.find("print_phase");
  const std::string value = phase == forward.attributes.end()
                                ? "both"
                                : std::get<std::string>(phase->second);
  const std::string& x = forward.Input("X")[0];
  if (value == "forward") return {GradientThrough(forward, x, "assign", {})};
  AttributeMap attributes = forward.attributes;
  attributes["print_phase"] = std::string("forward");
  return {GradientThrough(forward, x, "print", attributes)};
}

void PrintSchema(OpSchema& op) {
  op.Doc(
      "Out = X, and a line about X on standard error whenever it runs: "
      "message, "
      "name, dtype, shape and first values. An op whose output nothing fetched "
      "depends on does not run. The gradient passes through, and is printed "
      "the "
      "same way.");
  op.TypeVar("T", ListOf(NumberAndBoolTypes()));
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "The same elements.");
  op.Attr<std::string>("message", "The beginning of the line.")
      .Default(std::string());
  op.Attr<int64_t>("first_n",
                   "How often to print; -1: always. Each plan counts for "
                   "itself; there is one for each set of shapes.")
      .Default(int64_t{-1})
      .AtLeast(-1);
  op.Attr<int64_t>("summarize", "How many values to print; -1: all.")
      .Default(int64_t{20})
      .AtLeast(-1);
  op.Attr<bool>("print_tensor_name", "Print the variable's name.")
      .Default(true);
  op.Attr<bool>("print_tensor_type", "Print the dtype.").Default(true);
  op.Attr<bool>("print_tensor_shape", "Print the shape.").Default(true);
  op.Attr<std::string>("print_phase",
                       "Whether to print the value, its gradient, or both.")
      .Default(std::string("both"))
      .OneOf({"forward", "backward", "both"});
  op.InferShape(SameShape).Gradient(PrintGradient).Overwrite("Out", "X");
}

template <typename T>
class PrintKernel final : public CopyKernel<0> {
 public:
  explicit PrintKernel(const OpKernelConstruction& construction)
      : CopyKernel<0>(construction),
        message_(construction.Attr<std::string>("message")),
        left_(construction.Attr<int64_t>("first_n")),
        most_(construction.Attr<int64_t>("summarize")),
        name_(construction.Attr<bool>("print_tensor_name")),
        type_(construction.Attr<bool>("print_tensor_type")),
        shape_(construction.Attr<bool>("print_tensor_shape")) {
    if (construction.Attr<std::string>("print_phase") == "backward") left_ = 0;
  }

  void Prepare(KernelPreparation& preparation) override {
    CopyKernel<0>::Prepare(preparation);
    variable_ = preparation.query.op.Input("X")[0];
  }

  void Compute(OpKernelContext& context) const override {
    CopyKernel<0>::Compute(context);
    int64_t left = left_;
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 0) return;
    const std::string line = Line(context.Input(0));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  std::string Line(const Tensor& x) const {
    std::string line = message_;
    const auto add = [&](const std::string& word) {
      line += (line.empty() ? "" : " ") + word;
    };
    if (name_) add(variable_);
    if (type_) add(std::string(ToString(x.dtype())));
    if (shape_) add(ToString(x.dims()));
    const int64_t count = most_ < 0 ? x.numel() : std::min(most_, x.numel());
    std::string values;
    for (int64_t i = 0; i < count; ++i) {
      const T value = x.data<T>()[i];
      values += i > 0 ? ", " : "";
      if constexpr (sizeof(T) == 2) {  // a half
        values += Format("{}", Widen(value));
      } else if constexpr (sizeof(T) == 1 && !std::is_same_v<T, bool>) {
        values += Format("{}", static_cast<int>(value));
      } else {
        values += Format("{}", value);
      }
    }
    if (count < x.numel()) values += count > 0 ? ", ..." : "...";
    return line + (line.empty() ? "" : ": ") + "[" + values + "]\n";
  }

  std::string message_;
  mutable std::atomic<int64_t> left_;
  int64_t most_;
  bool name_, type_, shape_;
  std::string variable_;
};

}  // namespace

REGISTER_OPERATOR(print, PrintSchema);
REGISTER_OP_CPU_KERNEL(print, PrintKernel<NumberAndBoolTypes>);

}  // namespace sluice
