#include "sluice/nn/initializer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sluice/platform/error.h"

namespace sluice::nn {

namespace {

struct Fans {
  int64_t in;
  int64_t out;
};

// The fans of [in, out] or [out, in, kernel...].
Fans FansOf(const DDim& dims) {
  if (dims.rank() == 0) return {1, 1};
  if (dims.rank() == 1) return {dims[0], dims[0]};
  if (dims.rank() == 2) return {dims[0], dims[1]};
  const int64_t window = dims.Product(2, dims.rank());
  return {dims[1] * window, dims[0] * window};
}

// In the order of operations of Python's initializers, for equal bits.
InitialOp Spread(bool uniform, int64_t fans, int64_t seed) {
  const double deviation =
      std::sqrt(2.0 / static_cast<double>(std::max<int64_t>(fans, 1)));
  if (!uniform) return Normal(0, deviation, seed)({});
  const double limit = std::sqrt(3.0) * deviation;
  return Uniform(-limit, limit, seed)({});
}

}  // namespace

Initializer Constant(double value) {
  return [=](const DDim&) -> InitialOp {
    return {"fill_constant", {{"value", value}}};
  };
}

Initializer Uniform(double low, double high, int64_t seed) {
  return [=](const DDim&) -> InitialOp {
    return {"uniform_random", {{"min", low}, {"max", high}, {"seed", seed}}};
  };
}

Initializer Normal(double mean, double deviation, int64_t seed) {
  return [=](const DDim&) -> InitialOp {
    return {"gaussian_random",
            {{"mean", mean}, {"std", deviation}, {"seed", seed}}};
  };
}

Initializer Values(std::vector<double> values) {
  return [values = std::move(values)](const DDim&) -> InitialOp {
    return {"assign_value", {{"values", values}}};
  };
}

Initializer Xavier(const XavierOptions& options) {
  SLUICE_ENFORCE(options.fan_in >= 0 && options.fan_out >= 0,
                 ErrorCode::kInvalidArgument, "nn.xavier_fans",
                 "Xavier: expected fan_in and fan_out of at least 0, got {} "
                 "and {}",
                 options.fan_in, options.fan_out);
  return [options](const DDim& dims) {
    const Fans fans = FansOf(dims);
    const int64_t in = options.fan_in > 0 ? options.fan_in : fans.in;
    const int64_t out = options.fan_out > 0 ? options.fan_out : fans.out;
    return Spread(options.uniform, in + out, options.seed);
  };
}

Initializer Msra(const MsraOptions& options) {
  SLUICE_ENFORCE(options.fan_in >= 0, ErrorCode::kInvalidArgument,
                 "nn.msra_fan", "Msra: expected fan_in of at least 0, got {}",
                 options.fan_in);
  return [options](const DDim& dims) {
    const int64_t in = options.fan_in > 0 ? options.fan_in : FansOf(dims).in;
    return Spread(options.uniform, in, options.seed);
  };
}

}  // namespace sluice::nn
