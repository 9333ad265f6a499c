#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// The op that gives a parameter its first values. It has no inputs; attributes
// `shape` and `dtype` are added to these.
struct InitialOp {
  std::string type;
  AttributeMap attributes;
};

// Returns that op for a parameter of shape `dims`. An op with seed 0 draws
// other numbers in each process; equal seeds give equal numbers, also in
// Python.
using Initializer = std::function<InitialOp(const DDim& dims)>;

SLUICE_API Initializer Constant(double value = 0);
// Uniform numbers from [low, high).
SLUICE_API Initializer Uniform(double low = -1,
                               double high = 1,
                               int64_t seed = 0);
SLUICE_API Initializer Normal(double mean = 0,
                              double deviation = 1,
                              int64_t seed = 0);
// These numbers, in row-major order. They become a part of the program.
SLUICE_API Initializer Values(std::vector<double> values);

struct XavierOptions {
  bool uniform = true;  // or normal
  // Inputs and outputs of one neuron; 0: by the shape, [in, out] or [out, in,
  // height, width].
  int64_t fan_in = 0;
  int64_t fan_out = 0;
  int64_t seed = 0;
};
// Variance 2 / (fan_in + fan_out): Glorot, Bengio, Understanding the difficulty
// of training deep feedforward neural networks, AISTATS 2010. Raises
// InvalidArgument for fans below 0.
SLUICE_API Initializer Xavier(const XavierOptions& options = {});

struct MsraOptions {
  bool uniform = true;  // or normal
  int64_t fan_in = 0;   // 0: by the shape
  int64_t seed = 0;
};
// Variance 2 / fan_in, for layers with relu: He et al., Delving deep into
// rectifiers, ICCV 2015. Raises InvalidArgument for a fan below 0.
SLUICE_API Initializer Msra(const MsraOptions& options = {});

}  // namespace sluice::nn
