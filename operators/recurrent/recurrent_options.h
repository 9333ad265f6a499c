#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/operators/recurrent/recurrent.h"

namespace sluice {

// Returns the layer of an op or a gradient op `op`, without the sizes of its
// tensors. Source has Attr<T>(name); the attributes are valid.
template <typename Source>
RecurrentLayer ReadRecurrentLayer(std::string_view op, const Source& source) {
  using Doubles = std::vector<double>;
  RecurrentLayer layer;
  const bool lstm = op.starts_with("lstm"), gru = op.starts_with("gru");
  layer.cell = lstm  ? RecurrentCell::kLstm
               : gru ? RecurrentCell::kGru
                     : RecurrentCell::kSimple;
  const auto& direction = source.template Attr<std::string>("direction");
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reverse = direction == "reverse";
  layer.batch_first = source.template Attr<bool>("batch_first");
  layer.clip = source.template Attr<double>("clip");
  if (lstm) {
    layer.input_forget = source.template Attr<bool>("input_forget");
    if (source.template Attr<std::string>("gate_order") == "cifo") {
      layer.order = {.in = 1, .out = 3, .forget = 2, .candidate = 0};
    }
  }
  if (gru) {
    layer.update_takes_new = source.template Attr<bool>("update_takes_new");
    layer.linear_before_reset =
        source.template Attr<bool>("linear_before_reset");
  }
  auto names = source.template Attr<std::vector<std::string>>("activations");
  const int64_t unnamed = names.empty() ? layer.directions : 0;
  for (int64_t i = 0; i < unnamed; ++i) {
    if (lstm || gru) names.emplace_back("sigmoid");
    names.emplace_back("tanh");
    if (lstm) names.emplace_back("tanh");
  }
  const auto& alpha = source.template Attr<Doubles>("activation_alpha");
  const auto& beta = source.template Attr<Doubles>("activation_beta");
  for (size_t i = 0; i < names.size(); ++i) {
    std::optional<double> first, second;
    if (!alpha.empty()) first = alpha[i];
    if (!beta.empty()) second = beta[i];
    layer.activations.push_back(
        *RecurrentActivation::Find(names[i], first, second));
  }
  return layer;
}

}  // namespace sluice
