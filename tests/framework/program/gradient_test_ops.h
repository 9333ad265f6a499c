#pragma once

// Ops without kernels, whose gradients have all possible forms of gradient
// makers. Inputs and outputs are T: float32 or float64; Out has the shape of
// the first input unless said otherwise.
//   test_square    X -> Out; its gradient reads X.
//   test_product   X, Y -> Out; one gradient op, each output optional.
//   test_total     X -> Out, of shape [1]; its gradient needs X's shape only.
//   test_keep      X -> Out; its gradient reads Out, may be in place.
//   test_halves    X -> Low, High; its gradient needs both gradients.
//   test_parts     X -> Low, High; its gradient accepts either.
//   test_stack     Xs (variadic) -> Out; its gradient computes all of them.
//   test_minus     X, Y -> Out; two gradient ops: the second reads the
//                  first's output.
//   test_each      X, Y -> Low, High: X makes Low, Y makes High; two gradient
//                  ops.
//   test_like      X, Like (shape only) -> Out.
//   test_stuck     X -> Out; its gradient op has no outputs.
namespace sluice::testing {

// Registers them, once.
void UseGradientTestOps();

}  // namespace sluice::testing
