#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice::operators::math {

// The common shape of three operands that are repeated to it, the last
// dimensions under each other, as in numpy. Returns the index of the first
// operand that does not fit those before it, or -1.
SLUICE_API int WhereShape(const std::array<framework::DDim, 3>& operands,
                          framework::DDim* result);

// Takes the elements of one tensor where a condition is true, and those of
// another elsewhere, each of the three repeated to a common shape: over raw
// memory on the CPU, through ParallelFor. Bits are kept. Planned once,
// immutable afterwards, so many threads may run one.
class SLUICE_API Where {
 public:
  Where() = default;
  // The shapes of the condition, of what is taken where it is true, and of what
  // is elsewhere; all known, and fitting. Elements are of 1, 2, 4 or 8 bytes.
  Where(const std::array<framework::DDim, 3>& operands, size_t element_size);

  void Run(const bool* condition,
           const void* yes,
           const void* no,
           void* out) const;

 private:
  struct Axis {
    int64_t size = 1;
    std::array<int64_t, 3> steps{};  // of the operands, in elements
  };

  template <typename T>
  void RunAs(const bool* condition, const T* yes, const T* no, T* out) const;

  int rank_ = 0;  // at least 1 where there are elements
  std::array<Axis, framework::DDim::kMaxRank> axes_;  // the outermost first
  int64_t rows_ = 0;
  size_t element_size_ = 1;
};

}  // namespace sluice::operators::math
