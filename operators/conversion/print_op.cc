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

}  // namespace

REGISTER_OPERATOR(print, PrintSchema);

}  // namespace sluice
