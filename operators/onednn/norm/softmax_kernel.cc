#include <algorithm>

#include "sluice/framework/op/op_registry.h"
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

// Two passes over each row, which its caches hold, and steps at its ends.
framework::KernelWork Work(const framework::KernelQuery& query) {
  const framework::DDim& x = query.outputs[0];
  framework::KernelWork work = framework::DefaultKernelWork(query);
  work.library_calls = 1;
  work.flops *= 4;
  const int64_t size = std::max<int64_t>(x[SoftmaxAxis(query)], 1);
  const int64_t rows = x.numel() / size;
  work.moves = 15 * static_cast<double>(rows);
  return work;
}

}  // namespace

// No kernel for softmax itself: oneDNN's loses NaN and inf, a row with one of
// them comes back as numbers.
REGISTER_OP_KERNEL(softmax_grad,
                   ONEDNN,
                   CPUPlace,
                   softmax,
                   KernelTraits().Estimate(&Work).When(&FitsOneDnn),
                   SoftmaxGradSequence<float>);

}  // namespace sluice::operators::onednn
