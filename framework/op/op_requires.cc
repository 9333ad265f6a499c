#include "sluice/framework/op/op_requires.h"

#include <string_view>

namespace sluice {

Status OpKernelContext::Input(std::string_view name,
                              const Tensor** tensor) const {
  return Try([&] { *tensor = &Input(name); });
}

Status OpKernelContext::AllocateOutput(std::string_view name,
                                       const DDim& dims,
                                       Tensor** tensor) {
  return Try([&] { *tensor = &AllocateOutput(name, dims); });
}

Status OpKernelContext::AllocateOutput(int index,
                                       const DDim& dims,
                                       Tensor** tensor) {
  return Try([&] { *tensor = &AllocateOutput(index, dims); });
}

Status OpKernelContext::AllocateTemp(DType dtype,
                                     const DDim& dims,
                                     Tensor* tensor) {
  return Try([&] { *tensor = AllocateTemp(dtype, dims); });
}

namespace internal {

void FailOp(const OpKernelContext& context, const Status& status) {
  const Error& error = status.error();
  const std::string_view text = error.what();
  const std::string& op = context.op();
  if (text.starts_with(op) && text.substr(op.size()).starts_with(": ")) {
    throw error;
  }
  throw Error(error.code(), error.check_id(), Format("{}: {}", op, text));
}

}  // namespace internal
}  // namespace sluice
