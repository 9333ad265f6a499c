#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/op_dtypes.h"
#include "sluice/platform/cpu_device_context.h"
#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/error.h"

// Sources of ops and kernels include this: the registration macros, and the
// names of the framework that nearly all of them use.
namespace sluice {

using Ints = std::vector<int64_t>;

}  // namespace sluice
