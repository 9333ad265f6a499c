#include "sluice/framework/op_registry.h"
#include "sluice/operators/onednn/sequence.h"

namespace sluice::operators::onednn {
namespace {

using framework::KernelTraits;
using framework::OpKernelConstruction;

int SoftmaxAxis(const framework::KernelQuery& query) {
  const auto axis = static_cast<int>(query.Attr<int64_t>("axis"));
  return axis < 0 ? axis + query.outputs[0].rank() : axis;
}

template <typename T>
class SoftmaxSequence final : public SequenceKernel {
 public:
  explicit SoftmaxSequence(const OpKernelConstruction& /*construction*/) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const framework::KernelQuery& query = builder.query();
    const Desc desc = RowMajor(query.outputs[0], platform::kDTypeOf<T>);
    const auto softmax = Compile<dnnl::softmax_forward>(
        builder.compile_for(), "softmax", dnnl::prop_kind::forward_inference,
        dnnl::algorithm::softmax_accurate, desc, desc, SoftmaxAxis(query));
    builder.Add("softmax", softmax,
                {{DNNL_ARG_SRC, builder.Input("X", desc)},
                 {DNNL_ARG_DST, builder.Output("Out", desc)}});
  }
};

template <typename T>
class SoftmaxGradSequence final : public SequenceKernel {
 public:
  explicit SoftmaxGradSequence(const OpKernelConstruction& /*construction*/) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const framework::KernelQuery& query = builder.query();
    const Desc desc = RowMajor(query.outputs[0], platform::kDTypeOf<T>);
    const int axis = SoftmaxAxis(query);
    const auto softmax = Compile<dnnl::softmax_backward>(
        builder.compile_for(), "softmax_backward",
        dnnl::algorithm::softmax_accurate, desc, desc, desc, axis, [&] {
          return dnnl::softmax_forward::primitive_desc(
              Engine(), dnnl::prop_kind::forward_training,
              dnnl::algorithm::softmax_accurate, desc, desc, axis);
        });
    builder.Add("softmax_backward", softmax,
                {{DNNL_ARG_DST, builder.Input("Out", desc)},
                 {DNNL_ARG_DIFF_DST, builder.Input("Out@GRAD", desc)},
                 {DNNL_ARG_DIFF_SRC, builder.Output("X@GRAD", desc)}});
  }
};

// Below, a call of oneDNN costs more than it saves; gradients are as fast
// without it.
int SoftmaxPriority(const framework::KernelQuery& query) {
  return query.outputs[0].numel() >= 1 << 12 ? 20 : -1;
}

}  // namespace

REGISTER_OP_KERNEL(
    softmax,
    ONEDNN,
    CPUPlace,
    softmax,
    KernelTraits().Priority(20, &SoftmaxPriority).When(&FitsOneDnn),
    SoftmaxSequence<float>,
    SoftmaxSequence<platform::bfloat16>);
REGISTER_OP_KERNEL(softmax_grad,
                   ONEDNN,
                   CPUPlace,
                   softmax,
                   KernelTraits().Priority(-1).When(&FitsOneDnn),
                   SoftmaxGradSequence<float>);

}  // namespace sluice::operators::onednn
