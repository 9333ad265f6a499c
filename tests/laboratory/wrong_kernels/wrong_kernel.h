#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/parallel_for.h"

// Kernels with one planted mistake each, for benchmarks/lab/mutant_rows.cc.
// Each class is a template over the mistake, and is also registered without
// one, as variant `right`, which must pass all checks.
namespace sluice::wrong_kernels {

using Ints = std::vector<int64_t>;

// A kernel that knows the shapes of its outputs.
class ShapedKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    outputs_.assign(query.outputs.begin(), query.outputs.end());
  }

 protected:
  const DDim& dims(int output = 0) const { return outputs_[output]; }

  template <typename T>
  T* Out(OpKernelContext& context, int output = 0) const {
    return context.AllocateOutput(output, outputs_[output]).template data<T>();
  }

 private:
  std::vector<DDim> outputs_;
};

inline int64_t Product(const DDim& dims, int begin, int end) {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) {
    product *= dims[axis];
  }
  return product;
}

// A predicate for kernels that support only this format.
inline std::string NeedsNchw(const KernelQuery& query) {
  return query.Attr<std::string>("data_format") == "NCHW" ? "" : "needs NCHW";
}

}  // namespace sluice::wrong_kernels
