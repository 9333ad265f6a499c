#pragma once

#include <cstdint>
#include <string>

namespace sluice::bench {

// The rule for the elements of a tensor: element i is a function of i and of
// `seed`, see FillTensor.
struct Fill {
  enum class Kind : uint8_t {
    kUniform,  // numbers from [low, high)
    kIndex,    // integers from [low, high)
    kRuns,  // integers: starts in [0, high / 2), then ends in [high / 2, high)
  };
  Kind kind = Kind::kUniform;
  double low = -1;
  double high = 1;
  uint32_t seed = 1;
};
std::string ToString(Fill::Kind kind);

}  // namespace sluice::bench
