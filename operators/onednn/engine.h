#pragma once

#include <string_view>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/onednn/late_functions.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/function_ref.h"

// Functions of the oneDNN library that all of its kernels use.
namespace sluice::onednn {

using Memory = dnnl::memory;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

// The approximate time to create a primitive: 60 to 300 us on an EPYC of 2021.
inline constexpr double kPrimitiveSeconds = 1e-4;

// Returns the CPU, never destroyed: primitives may run until the process ends.
const dnnl::engine& Engine();

// Returns `undef`, which primitives reject, for types that oneDNN lacks.
Memory::data_type ToDnnl(DType dtype);

inline Dims ToDims(const DDim& dims) {
  return {dims.begin(), dims.end()};
}
// Returns the descriptor of a row-major tensor. A scalar becomes one dimension.
Desc RowMajor(const DDim& dims, DType dtype);
// Describes [n, c, h, w] with channels before or after the pixels.
Desc Image(const Dims& nchw, DType dtype, bool channels_last);

// Calls `work`. Converts oneDNN's exceptions to an Error that names `op` and
// `what`: Unimplemented for unsupported cases, ResourceExhausted, or Internal.
void Guarded(std::string_view op,
             std::string_view what,
             FunctionRef<void()> work);
// Raises an error that says why a primitive is not available or failed.
[[noreturn]] void RaiseFailure(ErrorCode code,
                               std::string_view op,
                               std::string_view what,
                               std::string_view reason);
// Raises the error for a status of oneDNN's C functions.
[[noreturn]] void RaiseStatus(std::string_view op,
                              std::string_view what,
                              dnnl_status_t status);

// Raises ResourceExhausted if less stack is left than oneDNN may need: its code
// would write past the end.
void CheckStack(std::string_view op);
inline constexpr size_t kStackBytes = 128 << 10;

}  // namespace sluice::onednn
