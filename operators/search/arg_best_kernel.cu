#include "sluice/operators/math/device_rows.cuh"
#include "sluice/operators/registration.h"
#include "sluice/operators/search/arg_best.h"

// arg_max and arg_min.
namespace sluice {
namespace {

// An element and its index; an index of -1 means that there is none.
template <typename T>
struct Candidate {
  T value;
  int64_t index;
};

// Returns the better of two: NaN before numbers, equal elements by index.
struct BetterOf {
  bool largest, last;

  template <typename T>
  __device__ bool IsBetter(T a, T b) const {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return a_nan && !b_nan;
    return largest ? a > b : a < b;
  }

  template <typename T>
  __device__ Candidate<T> operator()(Candidate<T> a, Candidate<T> b) const {
    if (a.index < 0) return b;
    if (b.index < 0 || IsBetter(a.value, b.value)) return a;
    if (IsBetter(b.value, a.value)) return b;
    return (a.index < b.index) != last ? a : b;
  }
};

template <typename T>
class ArgBestCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ArgBestPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    int64_t* out =
        context.AllocateOutput(0, out_dims_).template data<int64_t>();
    const int64_t size = plan_.size, inner = plan_.inner;
    const BetterOf better{plan_.largest, plan_.last};
    ForEachRow(context.device_context<CUDADeviceContext>(), plan_.outer * inner,
               size, [=] __device__(auto team, int64_t row) {
                 const T* line = x + row / inner * size * inner + row % inner;
                 Candidate<T> best{T{}, -1};
                 for (int64_t i = team.First(); i < size; i += team.kSize) {
                   best = better(best, Candidate<T>{line[i * inner], i});
                 }
                 best = team.All(best, better);
                 if (team.Leads()) out[row] = best.index;
               });
  }

 private:
  ArgBestPlan plan_;
  DDim out_dims_;
};

void AddArgBestKernels(Registry& registry) {
  for (const char* op : {"arg_max", "arg_min"}) {
    AddPlainKernels<ArgBestCUDAKernel<FloatAndIntegerTypes>>(registry, op,
                                                             CUDAPlace());
  }
}

}  // namespace

REGISTER_TABLE(cuda_arg_best, AddArgBestKernels);

}  // namespace sluice
