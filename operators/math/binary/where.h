#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// Broadcasts three shapes, aligned at the last dimensions, as in NumPy. Returns
// the index of the first operand that does not fit those before it, or -1.
SLUICE_API int WhereShape(const std::array<DDim, 3>& operands, DDim* result);

// Selects elements of one tensor where a condition is true, and elements of
// another elsewhere. All three are broadcast to a common shape. Works on host
// memory through ParallelFor and copies bits. The plan is made once and
// immutable, so that many threads may run it.
class SLUICE_API Where {
 public:
  Where() = default;
  // `operands` are the shapes of the condition and of the tensors for true and
  // false. They are known and fit. Elements have 1, 2, 4 or 8 bytes.
  Where(const std::array<DDim, 3>& operands, size_t element_size);

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

  int rank_ = 0;                           // at least 1 if there are elements
  std::array<Axis, DDim::kMaxRank> axes_;  // outermost first
  int64_t rows_ = 0;
  size_t element_size_ = 1;
};

}  // namespace sluice
