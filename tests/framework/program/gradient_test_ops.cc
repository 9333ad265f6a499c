#include "tests/framework/program/gradient_test_ops.h"

#include <string>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"

namespace sluice::testing {

namespace {

constexpr ArgTraits kOptional{.optional = true};

// Every output has the shape of the first input.
void LikeFirst(InferShapeContext& context) {
  for (size_t i = 0; i < context.output_shapes().size(); ++i) {
    for (size_t j = 0; j < context.output_shapes()[i].size(); ++j) {
      context.SetOutput(static_cast<int>(i), context.input(0),
                        static_cast<int>(j));
    }
  }
}

void Define(OpSchema& op,
            const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs,
            ArgTraits input_traits = {},
            ArgTraits output_traits = {}) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  for (const std::string& name : inputs) {
    op.Input(name, "T", "", input_traits);
  }
  for (const std::string& name : outputs) {
    op.Output(name, "T", "", output_traits);
  }
  op.InferShape(LikeFirst);
}

std::vector<OpDesc> OneGradient(const OpDesc& op, const GradOpArgs& arguments) {
  return {MakeGradOp(op, op.type + "_grad", arguments)};
}

void Square(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{"X"}, {}, {"Out"}, {"X"}});
  });
}
void SquareGrad(OpSchema& op) {
  Define(op, {"X", "Out@GRAD"}, {"X@GRAD"});
}

void Product(OpSchema& op) {
  Define(op, {"X", "Y"}, {"Out"});
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{"X", "Y"}, {}, {"Out"}, {"X", "Y"}});
  });
}
void ProductGrad(OpSchema& op) {
  Define(op, {"X", "Y", "Out@GRAD"}, {"X@GRAD", "Y@GRAD"}, {}, kOptional);
}

void Total(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.InferShape(
      [](InferShapeContext& context) { context.SetOutput("Out", DDim({1})); });
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{"X"}, {}, {"Out"}, {"X"}});
  });
}
void TotalGrad(OpSchema& op) {
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "", {.shape_only = true}).Input("Out@GRAD", "T", "");
  op.Output("X@GRAD", "T", "").InferShape(LikeFirst);
}

void Keep(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{}, {"Out"}, {"Out"}, {"X"}});
  });
}
void KeepGrad(OpSchema& op) {
  Define(op, {"Out", "Out@GRAD"}, {"X@GRAD"});
}

void Halves(OpSchema& op) {
  Define(op, {"X"}, {"Low", "High"});
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{}, {}, {"Low", "High"}, {"X"}});
  });
}
void HalvesGrad(OpSchema& op) {
  Define(op, {"Low@GRAD", "High@GRAD"}, {"X@GRAD"});
}
void PartsGrad(OpSchema& op) {
  Define(op, {"Low@GRAD", "High@GRAD"}, {"X@GRAD"}, kOptional);
}

void Stack(OpSchema& op) {
  Define(op, {"Xs"}, {"Out"}, {.variadic = true});
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{}, {}, {"Out"}, {"Xs"}});
  });
}
void StackGrad(OpSchema& op) {
  Define(op, {"Out@GRAD"}, {"Xs@GRAD"}, {}, {.variadic = true});
}

// Gradient ops: X@GRAD = keep_grad(Out, Out@GRAD); Y@GRAD = square(X@GRAD).
void Minus(OpSchema& op) {
  Define(op, {"X", "Y"}, {"Out"});
  op.Gradient([](const OpDesc& forward) {
    OpDesc first =
        MakeGradOp(forward, "test_keep_grad", {{}, {"Out"}, {"Out"}, {"X"}});
    OpDesc second;
    second.type = "test_square";
    second.inputs = {{"X", {GradName(forward.Input("X")[0])}}};
    second.outputs = {{"Out", {GradName(forward.Input("Y")[0])}}};
    return std::vector<OpDesc>{first, second};
  });
}

void Each(OpSchema& op) {
  Define(op, {"X", "Y"}, {"Low", "High"});
  op.Gradient([](const OpDesc& forward) {
    OpDesc low;
    low.type = "test_square";
    low.inputs = {{"X", {GradName(forward.Output("Low")[0])}}};
    low.outputs = {{"Out", {GradName(forward.Input("X")[0])}}};
    OpDesc high;
    high.type = "test_square";
    high.inputs = {{"X", {GradName(forward.Output("High")[0])}}};
    high.outputs = {{"Out", {GradName(forward.Input("Y")[0])}}};
    return std::vector<OpDesc>{low, high};
  });
}

void Like(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.Input("Like", "T", "", {.shape_only = true});
  op.Gradient([](const OpDesc& forward) {
    return std::vector<OpDesc>{
        MakeGradOp(forward, "test_square_grad", {{"X"}, {}, {"Out"}, {"X"}})};
  });
}

void Stuck(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.Gradient([](const OpDesc&) { return std::vector<OpDesc>(); });
}

// Operand K gives attribute k, which the gradient op has, too.
void Power(OpSchema& op) {
  Define(op, {"X"}, {"Out"});
  op.Attr<int64_t>("k", "").Default(int64_t{1});
  op.Operand("K", "k", "int64", "");
  op.Gradient([](const OpDesc& forward) {
    return OneGradient(forward, {{"X"}, {}, {"Out"}, {"X"}});
  });
}
void PowerGrad(OpSchema& op) {
  Define(op, {"X", "Out@GRAD"}, {"X@GRAD"});
  op.Attr<int64_t>("k", "").Default(int64_t{1});
  op.Operand("K", "k", "int64", "");
}
void RootGrad(OpSchema& op) {  // without the operand
  Define(op, {"X", "Out@GRAD"}, {"X@GRAD"});
  op.Attr<int64_t>("k", "").Default(int64_t{1});
}

}  // namespace

void UseGradientTestOps() {
  static const bool kDone = [] {
    Registry& registry = Registry::Global();
    registry.AddOperator("test_square", &Square);
    registry.AddOperator("test_square_grad", &SquareGrad);
    registry.AddOperator("test_product", &Product);
    registry.AddOperator("test_product_grad", &ProductGrad);
    registry.AddOperator("test_total", &Total);
    registry.AddOperator("test_total_grad", &TotalGrad);
    registry.AddOperator("test_keep", &Keep);
    registry.AddOperator("test_keep_grad", &KeepGrad);
    registry.AddOperator("test_halves", &Halves);
    registry.AddOperator("test_halves_grad", &HalvesGrad);
    registry.AddOperator("test_parts", &Halves);
    registry.AddOperator("test_parts_grad", &PartsGrad);
    registry.AddOperator("test_stack", &Stack);
    registry.AddOperator("test_stack_grad", &StackGrad);
    registry.AddOperator("test_minus", &Minus);
    registry.AddOperator("test_each", &Each);
    registry.AddOperator("test_like", &Like);
    registry.AddOperator("test_stuck", &Stuck);
    registry.AddOperator("test_power", &Power);
    registry.AddOperator("test_power_grad", &PowerGrad);
    registry.AddOperator("test_root", &Power);
    registry.AddOperator("test_root_grad", &RootGrad);
    return true;
  }();
  static_cast<void>(kDone);
}

}  // namespace sluice::testing
