#pragma once

// Includes everything that a program needs to build graphs and run them.
#include "sluice/framework/checkpoint/parameters_io.h"
#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/inspect/debug_run.h"
#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/program/backward.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/program/einsum.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/memory/memory.h"
#include "sluice/ops.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/place_key.h"

namespace sluice {

using platform::CPUPlace;
using platform::CUDAPlace;
using platform::CustomPlace;
using platform::DType;
using platform::Error;
using platform::ErrorCode;
using platform::FPGAPlace;
using platform::PlaceKey;
using platform::SetNumThreads;

using framework::AppendBackward;
using framework::AttributeMap;
using framework::BackwardOptions;
using framework::Cond;
using framework::DDim;
using framework::Einsum;
using framework::Executor;
using framework::ExplainDot;
using framework::ExplainJson;
using framework::ExplainText;
using framework::Feeds;
using framework::Fetches;
using framework::KernelHintGuard;
using framework::LoadKernelLibrary;
using framework::LoadParameters;
using framework::LoadProgram;
using framework::ParamGrad;
using framework::Plan;
using framework::Program;
using framework::RunOp;
using framework::SaveParameters;
using framework::SaveProgram;
using framework::Scan;
using framework::ScanOptions;
using framework::ScanResult;
using framework::ScanStep;
using framework::Scope;
using framework::Tensor;
using framework::Var;
using framework::Vars;
using framework::WhileLoop;
using framework::WhileOptions;

}  // namespace sluice
