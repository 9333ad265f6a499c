#pragma once

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/framework/op/status.h"
#include "sluice/platform/export.h"

// TensorFlow's style of reporting errors from Compute, for ported kernels:
//   const Tensor* x = nullptr;
//   OP_REQUIRES_OK(context, context.Input("x", &x));
//   OP_REQUIRES(context, x->dims().rank() == 2,
//               errors::InvalidArgument("x must be a matrix"));
// A failure ends Compute with an Error that begins with the op's name, as
// SLUICE_ENFORCE does. `context` may be an OpKernelContext or a pointer to one.

namespace sluice::internal {

[[noreturn]] SLUICE_API void FailOp(const OpKernelContext& context,
                                    const Status& status);
[[noreturn]] inline void FailOp(const OpKernelContext* context,
                                const Status& status) {
  FailOp(*context, status);
}

}  // namespace sluice::internal

// The error is only constructed when the condition is false.
#define OP_REQUIRES(context, condition, ...)            \
  do {                                                  \
    if (!(condition)) [[unlikely]]                      \
      ::sluice::internal::FailOp(context, __VA_ARGS__); \
  } while (false)

#define OP_REQUIRES_OK(context, ...)                       \
  do {                                                     \
    if (const ::sluice::Status sluice_status(__VA_ARGS__); \
        !sluice_status.ok()) [[unlikely]]                  \
      ::sluice::internal::FailOp(context, sluice_status);  \
  } while (false)
