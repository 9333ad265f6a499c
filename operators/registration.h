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
namespace sluice::operators {

using framework::AddPlainKernels;
using framework::ArgVars;
using framework::AttributeMap;
using framework::DDim;
using framework::DimHandle;
using framework::EstimatedBy;
using framework::GradName;
using framework::Graph;
using framework::InferShapeContext;
using framework::KernelPreparation;
using framework::KernelQuery;
using framework::KernelTraits;
using framework::KernelWork;
using framework::kUnknownDim;
using framework::MakeGradOp;
using framework::OpDesc;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::OpSchema;
using framework::Registry;
using framework::ShapeHandle;
using framework::TakenWhen;
using framework::Tensor;
using platform::bfloat16;
using platform::Bytes;
using platform::CPUDeviceContext;
using platform::CUDADeviceContext;
using platform::DType;
using platform::DTypeSet;
using platform::ErrorCode;
using platform::float16;
using platform::Floats;
using platform::FloatsAndHalves;
using platform::FloatsAndIntegers;
using platform::Halves;
using platform::Indices;
using platform::Integers;
using platform::Join;
using platform::Numbers;
using platform::NumbersAndBool;
using Ints = std::vector<int64_t>;

}  // namespace sluice::operators
