#include <cmath>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/recurrent/recurrent.h"

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

template <typename T>
void RecurrentActivation::Gradient(const T* x,
                                   const T* out,
                                   int64_t count,
                                   T* grad) const {
  const auto alpha = static_cast<T>(params_[0]);
  const auto beta = static_cast<T>(params_[1]);
  switch (kind_) {
    case Kind::kRow:
      return row_->Loops<T>().gradient(reads_input() ? x : out, grad, count,
                                       params_, grad);
    case Kind::kAffine:
      return ScaleContiguous(grad, alpha, T{0}, count, grad);
    case Kind::kScaledTanh:
      for (int64_t j = 0; j < count; ++j) {
        const T tanh = std::tanh(beta * x[j]);
        grad[j] *= alpha * beta * (1 - tanh * tanh);
      }
  }
}

bool RecurrentActivation::reads_input() const {
  return kind_ == Kind::kScaledTanh ||
         (kind_ == Kind::kRow &&
          row_->info.gradient_reads == GradientReads::kX);
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

bool RecurrentLayer::keeps_inputs() const {
  if (clip > 0) return true;
  const int count = cell == RecurrentCell::kSimple ? 1 : 2;
  for (int64_t direction = 0; direction < directions; ++direction) {
    for (int which = 0; which < count; ++which) {
      if (activation(direction, which).reads_input()) return true;
    }
  }
  return false;
}

int64_t RecurrentLayer::inputs_block() const {
  const bool lstm = cell == RecurrentCell::kLstm;
  return gates() + (lstm ? 2 : resets_product() ? 1 : 0);
}

int64_t RecurrentLayer::reserve_blocks() const {
  return inputs_block() + (keeps_inputs() ? gates() : 0);
}

template void RecurrentActivation::Apply(float*, int64_t) const;
template void RecurrentActivation::Apply(double*, int64_t) const;
template void RecurrentActivation::Gradient(const float*,
                                            const float*,
                                            int64_t,
                                            float*) const;
template void RecurrentActivation::Gradient(const double*,
                                            const double*,
                                            int64_t,
                                            double*) const;

}  // namespace sluice
