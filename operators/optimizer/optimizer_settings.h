#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/optimizer/optimizer_row.h"

namespace sluice {

// The values of a row's settings, as an op has them.
inline OptimizerSettings ReadOptimizerSettings(
    const OptimizerInfo& info, const OpKernelConstruction& construction) {
  OptimizerSettings values = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const OptimizerSetting& setting = info.settings[i];
    if (setting.name == nullptr) continue;
    if (setting.is_bool) {
      values[i] = construction.Attr<bool>(setting.name) ? 1 : 0;
    } else if (setting.choice != nullptr) {
      const auto& choice = construction.Attr<std::string>(setting.name);
      values[i] = choice == setting.choice ? 1 : 0;
    } else {
      values[i] = construction.Attr<double>(setting.name);
    }
  }
  return values;
}

}  // namespace sluice
