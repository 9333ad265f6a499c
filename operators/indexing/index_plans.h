#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/indexing/index_plan.h"
#include "sluice/operators/math/indexing/indexed_slices.h"
#include "sluice/platform/export.h"

// gather_elements, gather_nd, scatter_elements, scatter_nd and their gradients:
// what their kernels make of shapes and attributes.
namespace sluice::operators {

// How Index names slices of a tensor of shape `x`: by elements along attribute
// axis, or by coordinates of the dims after the first batch_dims. Both shapes
// are those that the shape function has agreed to.
SLUICE_API math::IndexPlan IndexPlanOf(const framework::KernelQuery& query,
                                       const framework::DDim& x,
                                       const framework::DDim& index);

// Attribute reduction.
SLUICE_API math::ScatterReduction ScatterReductionOf(
    const framework::KernelQuery& query);

// Whether no element of X that has an update counts.
SLUICE_API bool ScatterReplaces(const framework::KernelQuery& query);

}  // namespace sluice::operators
