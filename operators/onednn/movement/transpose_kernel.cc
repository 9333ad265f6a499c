#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {
namespace {

// Describes both tensors with the dims of Out, the input with X's strides.
template <typename T>
class TransposeKernel final : public SequenceKernel {
 public:
  explicit TransposeKernel(const OpKernelConstruction& construction)
      : axes_(construction.Attr<Ints>("axis")) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const Desc x = RowMajor(query.inputs[0], kDTypeOf<T>);
    std::vector<int> order(axes_.size());
    for (size_t i = 0; i < axes_.size(); ++i) {
      order[static_cast<size_t>(axes_[i])] = static_cast<int>(i);
    }
    const Desc permuted = axes_.empty() ? x : x.permute_axes(order);
    const Desc out = RowMajor(query.outputs[0], kDTypeOf<T>);
    const auto from = builder.Input("X", permuted);
    const auto to = builder.Output("Out", out);
    builder.Add("reorder", CompileReorder(builder.compile_for(), permuted, out),
                {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
  }

  Ints axes_;
};

// oneDNN transposes small squares in vectors. It copies contiguous runs with a
// little more than memcpy.
KernelWork MoveWork(const KernelQuery& query) {
  const auto& axes = query.Attr<Ints>("axis");
  const auto elements = static_cast<double>(query.inputs[0].numel());
  const bool runs =
      axes.empty() || axes.back() == static_cast<int64_t>(axes.size()) - 1;
  KernelWork work = DefaultKernelWork(query);
  work.library_calls = 1;
  work.prepare_seconds = kPrimitiveSeconds;
  (runs ? work.copies : work.moves) = elements;
  return work;
}

}  // namespace

// oneDNN reorders integers as float, which cannot represent all int32, and
// makes signalling NaNs of bfloat16 quiet.
REGISTER_OP_KERNEL(transpose,
                   ONEDNN,
                   CPUPlace,
                   reorder,
                   KernelTraits().Estimate(&MoveWork).When(&FitsOneDnn),
                   TransposeKernel<float>,
                   TransposeKernel<ByteTypes>);

}  // namespace sluice::onednn
