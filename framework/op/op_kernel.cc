#include "sluice/framework/op/op_kernel.h"

#include "sluice/platform/error.h"

namespace sluice::framework {

using platform::ErrorCode;

std::string_view ToString(Layout layout) {
  switch (layout) {
    case Layout::kAny:
      return "any";
    case Layout::kNCHW:
      return "NCHW";
    case Layout::kNHWC:
      return "NHWC";
  }
  return "unknown";
}

std::string ToString(const OpKernelType& key) {
  return platform::Format("{} {} {} {}", key.place, key.dtype, key.layout,
                          key.library);
}

OpKernel::~OpKernel() = default;

const Attribute& OpKernelConstruction::FindAttr(std::string_view name) const {
  const auto found = op_.attributes.find(name);
  SLUICE_ENFORCE(found != op_.attributes.end(), ErrorCode::kInternal,
                 "kernel.no_such_attribute",
                 "{}: the kernel asks for attribute {}, which the schema does "
                 "not have",
                 op(), name);
  return found->second;
}

void OpKernelConstruction::FailAttr(std::string_view name,
                                    AttrType type) const {
  platform::Raise(ErrorCode::kInternal, "kernel.attribute_type",
                  "{}: the kernel asks for attribute {} as {}, the schema "
                  "says {}",
                  op(), name, type, TypeOf(FindAttr(name)));
}

}  // namespace sluice::framework
