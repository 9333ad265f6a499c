#pragma once

#include <string_view>

#include <dnnl.hpp>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/function_ref.h"

// What every oneDNN kernel needs of the library.
namespace sluice::operators::onednn {

using Memory = dnnl::memory;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

// The CPU. Never destroyed, as primitives may be used until the process ends.
const dnnl::engine& Engine();

// `undef`, which no primitive takes, for types that oneDNN does not have.
Memory::data_type ToDnnl(platform::DType dtype);

inline Dims ToDims(const framework::DDim& dims) {
  return {dims.begin(), dims.end()};
}
// A row-major tensor; a scalar has one dimension.
Desc RowMajor(const framework::DDim& dims, platform::DType dtype);
// [n, c, h, w] with the channels before or after the pixels.
Desc Image(const Dims& nchw, platform::DType dtype, bool channels_last);

// Calls `work`; what oneDNN throws becomes an Error that names `op` and `what`:
// Unimplemented for what it does not offer, ResourceExhausted, or Internal.
void Guarded(std::string_view op,
             std::string_view what,
             platform::FunctionRef<void()> work);
// Raises what says why a primitive cannot be had, or failed.
[[noreturn]] void RaiseFailure(platform::ErrorCode code,
                               std::string_view op,
                               std::string_view what,
                               std::string_view reason);
// The same for a status of oneDNN's C functions.
[[noreturn]] void RaiseStatus(std::string_view op,
                              std::string_view what,
                              dnnl_status_t status);

// Raises ResourceExhausted when this thread has less stack left than oneDNN may
// need: its code would write past the end.
void CheckStack(std::string_view op);
inline constexpr size_t kStackBytes = 128 << 10;

}  // namespace sluice::operators::onednn
