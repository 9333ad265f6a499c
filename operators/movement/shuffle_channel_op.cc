#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Interleaves whole vectors of kGroup runs; returns the elements done of each.
template <int kGroup>
HWY_INLINE int64_t InterleaveVectors(const uint32_t* HWY_RESTRICT from,
                                     int64_t count,
                                     uint32_t* HWY_RESTRICT to) {
  const hn::ScalableTag<uint32_t> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    const auto a = hn::LoadU(d, from + k);
    const auto b = hn::LoadU(d, from + count + k);
    if constexpr (kGroup == 2) {
      hn::StoreInterleaved2(a, b, d, to + 2 * k);
    } else {
      const auto c = hn::LoadU(d, from + 2 * count + k);
      if constexpr (kGroup == 3) {
        hn::StoreInterleaved3(a, b, c, d, to + 3 * k);
      } else {
        hn::StoreInterleaved4(a, b, c, hn::LoadU(d, from + 3 * count + k), d,
                              to + 4 * k);
      }
    }
  }
  return k;
}

void InterleaveRow(const uint32_t* HWY_RESTRICT from,
                   int64_t group,
                   int64_t count,
                   uint32_t* HWY_RESTRICT to) {
  int64_t k = 0;
  if (group == 2) k = InterleaveVectors<2>(from, count, to);
  if (group == 3) k = InterleaveVectors<3>(from, count, to);
  if (group == 4) k = InterleaveVectors<4>(from, count, to);
  for (; k < count; ++k) {
    for (int64_t i = 0; i < group; ++i) {
      to[k * group + i] = from[i * count + k];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
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

HWY_EXPORT(InterleaveRow);

// Interleaves `group` consecutive runs of `count` 4-byte elements: to[k * group
// + i] = from[i * count + k]. There are `rows` such blocks. Runs through
// ParallelFor.
void Interleave(const uint32_t* from,
                int64_t rows,
                int64_t group,
                int64_t count,
                uint32_t* to) {
  constexpr int64_t kShard = int64_t{1} << 15;  // elements
  const int64_t size = group * count;
  const int64_t grain = 1 + kShard / (1 + size);
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(InterleaveRow)
      (from + row * size, group, count, to + row * size);
    }
  });
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
#endif  // HWY_ONCE
