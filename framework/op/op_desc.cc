#include "sluice/framework/op/op_desc.h"

namespace sluice {

namespace {
const ArgVars& Find(
    const std::vector<std::pair<std::string, ArgVars>>& arguments,
    std::string_view name) {
  static const ArgVars* const kNone = new ArgVars();
  for (const auto& [argument, vars] : arguments) {
    if (argument == name) return vars;
  }
  return *kNone;
}
}  // namespace

const ArgVars& OpDesc::Input(std::string_view argument) const {
  return Find(inputs, argument);
}

const ArgVars& OpDesc::Output(std::string_view argument) const {
  return Find(outputs, argument);
}

}  // namespace sluice
