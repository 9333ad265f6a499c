#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

// A tensor as several, and several as one: functions that append a few ops, for
// programs in C++. `dim` and `axis` count from the end if they are negative.
// The gradients of all parts are joined by one copy.
namespace sluice {

// Cuts `x` along `dim` into parts of these sizes, which must add up to it if it
// is known. Raises InvalidArgument, naming what does not fit.
SLUICE_API std::vector<Var> Split(
    const Var& x,
    const std::vector<int64_t>& sections,
    int64_t dim = -1,
    const SourceLocation& location = SourceLocation::Here());

// Cuts `x` into `count` equal parts.
SLUICE_API std::vector<Var> Split(
    const Var& x,
    int64_t count,
    int64_t dim = -1,
    const SourceLocation& location = SourceLocation::Here());

// Takes `x` apart along `axis`, which its parts lack. Its size must be known.
SLUICE_API std::vector<Var> Unstack(
    const Var& x,
    int64_t axis = 0,
    const SourceLocation& location = SourceLocation::Here());

// Joins tensors of one shape along a new dim, `axis` of the result.
SLUICE_API Var Stack(const std::vector<Var>& parts,
                     int64_t axis = 0,
                     const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice
