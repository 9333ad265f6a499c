#include "sluice/operators/registration.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

// The maximum number of inputs that one launch adds up.
constexpr int kMost = 8;

template <typename T>
struct Terms {
  int count = 0;
  const T* x[kMost] = {};

  // Sums in the order of the inputs. An integer T wraps around.
  __device__ T At(int64_t i) const {
    T sum = x[0][i];
    for (int term = 1; term < count; ++term) {
      sum += x[term][i];
    }
    return sum;
  }
};

template <typename T>
class SumCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    inputs_ = static_cast<int>(preparation.query.inputs.size());
    dims_ = preparation.query.outputs[0];
  }

  // Out may share the memory of the first input.
  void Compute(OpKernelContext& context) const override {
    T* out = context.AllocateOutput(0, dims_).data<T>();
    for (int next = 0; next < inputs_;) {
      Terms<T> terms;
      if (next > 0) terms.x[terms.count++] = out;
      while (next < inputs_ && terms.count < kMost) {
        terms.x[terms.count++] = context.Input(next++).data<T>();
      }
      ForEach(context.device_context<CUDADeviceContext>(), dims_.numel(),
              [=] __device__(int64_t i) { out[i] = terms.At(i); });
    }
  }

 private:
  int inputs_ = 0;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(sum, SumCUDAKernel<FloatTypes>);

}  // namespace sluice
