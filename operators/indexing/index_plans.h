#pragma once

#include "sluice/operators/indexing/indexed_slices.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/export.h"

// The plans that gather_elements, gather_nd, scatter_elements, scatter_nd and
// their gradients derive from shapes and attributes.
namespace sluice {

// Returns how Index names slices of a tensor of shape `x`: by elements along
// attribute axis, or by coordinates of the dims after the first batch_dims. The
// shape function has already checked both shapes.
SLUICE_API IndexPlan IndexPlanOf(const KernelQuery& query,
                                 const DDim& x,
                                 const DDim& index);

// Returns attribute reduction.
SLUICE_API ScatterReduction ScatterReductionOf(const KernelQuery& query);

// Whether the elements of X that have an update do not count in Out.
SLUICE_API bool ScatterReplaces(const KernelQuery& query);

}  // namespace sluice
