#include "sluice/framework/op/op_kernel.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/error.h"

namespace sluice {

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

Layout LayoutOf(const OpDesc& op) {
  const auto found = op.attributes.find("data_format");
  if (found == op.attributes.end()) return Layout::kAny;
  const auto* name = std::get_if<std::string>(&found->second);
  if (name == nullptr) return Layout::kAny;
  return *name == "NCHW"   ? Layout::kNCHW
         : *name == "NHWC" ? Layout::kNHWC
                           : Layout::kAny;
}

std::string ToString(const OpKernelType& key) {
  return Format("{} {} {}", key.place, key.dtype, key.library);
}

OpKernel::~OpKernel() = default;

ArgTable MakeArgTable(const KernelQuery& query) {
  const auto fill = [](const std::vector<ArgDef>& defs, auto get,
                       std::vector<ArgTable::Entry>* entries) {
    int begin = 0;
    for (const ArgDef& def : defs) {
      const int count = static_cast<int>(get(def.name).size());
      entries->push_back({def.name, begin, count});
      begin += count;
    }
  };
  const OpDesc& op = query.op;
  ArgTable table;
  table.op = op.type;
  fill(
      query.schema.inputs(),
      [&](auto& name) -> auto& { return op.Input(name); }, &table.inputs);
  fill(
      query.schema.outputs(),
      [&](auto& name) -> auto& { return op.Output(name); }, &table.outputs);
  table.output_dims.assign(query.outputs.begin(), query.outputs.end());
  table.output_dtypes.assign(query.output_dtypes.begin(),
                             query.output_dtypes.end());
  return table;
}

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
  Raise(ErrorCode::kInternal, "kernel.attribute_type",
        "{}: the kernel asks for attribute {} as {}, the schema "
        "says {}",
        op(), name, type, TypeOf(FindAttr(name)));
}

}  // namespace sluice
