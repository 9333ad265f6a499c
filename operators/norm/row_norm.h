#pragma once

#include "sluice/operators/math/norm/row_norm.h"
#include "sluice/operators/registration.h"

// The rows that the ops normalize, for kernels of all places. Input 0 is X.
namespace sluice {

using NormQuery = KernelQuery;

// Each struct has the rows of an op and the shape of its output with a number
// for each row. In layer_norm and rms_norm a row is the dims from
// begin_norm_axis on; each of its elements has a scale and a bias.
template <bool kCentered>
struct RowsFromAxis {
  static RowNormGeometry Of(const NormQuery& query) {
    const DDim& x = query.inputs[0];
    const auto axis = query.Attr<int64_t>("begin_norm_axis");
    const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    return {.rows = x.Product(0, at),
            .channels = x.Product(at, x.rank()),
            .centered = kCentered,
            .epsilon = query.Attr<double>("epsilon")};
  }
  static DDim MomentDims(const NormQuery& query) { return {Of(query).rows}; }
};
using LayerNorm = RowsFromAxis<true>;
using RmsNorm = RowsFromAxis<false>;

// A row of group_norm, for [N, C, ...], is C / groups channels.
struct GroupNorm {
  static RowNormGeometry Of(const NormQuery& query) {
    return Of(query, query.Attr<int64_t>("groups"));
  }

  static RowNormGeometry Of(const NormQuery& query, int64_t groups) {
    const DDim& x = query.inputs[0];
    return {.rows = x[0] * groups,
            .channels = groups == 0 ? 0 : x[1] / groups,
            .run = x.Product(2, x.rank()),
            .groups = groups,
            .epsilon = query.Attr<double>("epsilon")};
  }
  static DDim MomentDims(const NormQuery& query) {
    return {query.inputs[0][0], query.Attr<int64_t>("groups")};
  }
};

// A row of instance_norm is one channel.
struct InstanceNorm {
  static RowNormGeometry Of(const NormQuery& query) {
    return GroupNorm::Of(query, query.inputs[0][1]);
  }
  static DDim MomentDims(const NormQuery& query) {
    return {query.inputs[0][0], query.inputs[0][1]};
  }
};

}  // namespace sluice
