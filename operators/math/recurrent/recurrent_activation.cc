#include <cmath>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/recurrent/recurrent.h"

namespace sluice {

std::optional<RecurrentActivation> RecurrentActivation::Find(
    std::string_view name,
    std::optional<double> alpha,
    std::optional<double> beta) {
  RecurrentActivation found;
  if (name == "affine" || name == "scaled_tanh") {
    const bool affine = name == "affine";
    found.kind_ = affine ? Kind::kAffine : Kind::kScaledTanh;
    found.row_ = FindUnaryRow("tanh");
    found.params_ = {alpha.value_or(1), beta.value_or(affine ? 0 : 1)};
    return found;
  }
  found.row_ = FindUnaryRow(name);
  if (found.row_ == nullptr) return {};
  const auto& attributes = found.row_->info.attributes;
  found.params_ = {alpha.value_or(attributes[0].default_value),
                   beta.value_or(attributes[1].default_value)};
  return found;
}

template <typename T>
void RecurrentActivation::Apply(T* x, int64_t count) const {
  const auto alpha = static_cast<T>(params_[0]);
  const auto beta = static_cast<T>(params_[1]);
  switch (kind_) {
    case Kind::kRow:
      return row_->Loops<T>().forward(x, count, params_, x);
    case Kind::kAffine:
      return ScaleContiguous(x, alpha, beta, count, x);
    case Kind::kScaledTanh:
      ScaleContiguous(x, beta, T{0}, count, x);
      row_->Loops<T>().forward(x, count, {}, x);
      return ScaleContiguous(x, alpha, T{0}, count, x);
  }
}

double RecurrentActivation::Of(double x) const {
  const auto [alpha, beta] = params_;
  switch (kind_) {
    case Kind::kAffine:
      return alpha * x + beta;
    case Kind::kScaledTanh:
      return alpha * std::tanh(beta * x);
    default:
      return row_->info.reference(x, params_);
  }
}

int64_t RecurrentLayer::gates() const {
  switch (cell) {
    case RecurrentCell::kGru:
      return 3;
    case RecurrentCell::kLstm:
      return 4;
    default:
      return 1;
  }
}

const RecurrentActivation& RecurrentLayer::activation(int64_t direction,
                                                      int which) const {
  const auto count = static_cast<int64_t>(activations.size()) / directions;
  return activations[static_cast<size_t>(direction * count + which)];
}

template void RecurrentActivation::Apply(float*, int64_t) const;
template void RecurrentActivation::Apply(double*, int64_t) const;

}  // namespace sluice
