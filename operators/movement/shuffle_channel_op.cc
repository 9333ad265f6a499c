#include "sluice/operators/math/movement/interleave.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void ShuffleChannelShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRank(context.input("X"), 4);
  const bool last = context.Attr<std::string>("data_format") == "NHWC";
  const auto group = context.Attr<int64_t>("group");
  const int64_t channels = context.Dim(x, last ? 3 : 1).size;
  context.Require(channels < 0 || channels % group == 0,
                  "shuffle_channel.group",
                  "group = {} does not divide the {} channels of input X {}",
                  group, channels, x.dims);
  context.SetOutput("Out", x);
}

void ShuffleChannelSchema(OpSchema& op) {
  op.Doc(
      "Images whose channels take turns: with `group` groups of k channels, "
      "channel j of Out is channel j / group of group j % group.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Images; their channels are a multiple of `group`.");
  op.Output("Out", "T", "In the shape of X.");
  op.Attr<int64_t>("group", "Groups of channels.").AtLeast(1);
  op.Attr<std::string>("data_format", "NCHW, or NHWC for channels last.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(ShuffleChannelShape).Internal();
}

bool ChannelsLast(const KernelQuery& query) {
  return query.Attr<std::string>("data_format") == "NHWC";
}

// Views X as [outer, group, channels of a group, inner] and swaps the middle
// dims.
class ShuffleChannelKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    dims_ = query.inputs[0];
    if (dims_.numel() == 0) return;
    const bool last = ChannelsLast(query);
    const int64_t channels = dims_[last ? 3 : 1];
    group_ = query.Attr<int64_t>("group");
    of_group_ = channels / group_;
    outer_ = last ? dims_.numel() / channels : dims_[0];
    const size_t element = SizeOf(query.input_dtypes[0]);
    interleaves_ = last && element == sizeof(uint32_t);
    const int64_t inner = last ? 1 : dims_[2] * dims_[3];
    const DDim out = {outer_, of_group_, group_, inner};
    const StridedCopy::Strides from = {channels * inner, inner,
                                       of_group_ * inner, 1};
    copy_ = StridedCopy(out, from, RowMajorStrides(out), element);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const void* x = context.Input(0).raw_data();
    if (interleaves_) {
      Interleave(static_cast<const uint32_t*>(x), outer_, group_, of_group_,
                 static_cast<uint32_t*>(out.raw_data()));
    } else {
      copy_(x, out.raw_data());
    }
  }

 private:
  DDim dims_;
  int64_t outer_ = 0, group_ = 1, of_group_ = 0;
  bool interleaves_ = false;  // for contiguous channels of 4 bytes
  StridedCopy copy_;          // otherwise
};

// Planes are copied whole. Channels of a pixel are moved in vectors if that is
// implemented, otherwise one by one.
KernelWork ShuffleWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  if (ChannelsLast(query)) {
    const bool vectors = query.Attr<int64_t>("group") <= 4 &&
                         SizeOf(query.input_dtypes[0]) == sizeof(uint32_t);
    (vectors ? work.copies : work.moves) =
        static_cast<double>(query.inputs[0].numel());
  }
  return work;
}

}  // namespace

REGISTER_OPERATOR(shuffle_channel, ShuffleChannelSchema);
REGISTER_OP_CPU_KERNEL(shuffle_channel,
                       EstimatedBy<&ShuffleWork>,
                       ShuffleChannelKernel);

}  // namespace sluice
