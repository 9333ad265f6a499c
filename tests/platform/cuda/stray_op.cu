#include "tests/platform/cuda/stray_op.h"

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {

void StraySchema(OpSchema& op) {
  op.Doc("Out = X.");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput("Out", context.input("X"));
  });
}

template <typename T>
class StrayKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    // Aligned, and in a page that no process has. An address far after `out`
    // might be valid memory.
    if (testing::Stray()) out = reinterpret_cast<T*>(uintptr_t{16});
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) { out[i] = x[i]; });
  }
};

}  // namespace

REGISTER_OPERATOR(test_stray, StraySchema);
REGISTER_OP_CUDA_KERNEL(test_stray, StrayKernel<float>);

namespace testing {

bool& Stray() {
  static bool stray = false;
  return stray;
}

void RegisterStrayOp() {
  [[maybe_unused]] static const bool registered = [] {
    auto& registry = Registry::Global();
    SLUICE_USE_OPERATOR(test_stray);
    SluiceRegisterKernel_test_stray_CUDAPlace_PLAIN_plain(registry);
    return true;
  }();
}

}  // namespace testing
}  // namespace sluice
