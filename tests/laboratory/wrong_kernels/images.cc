// Convolution and pooling of images.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

#include "sluice/framework/op/op_registry.h"

namespace sluice::wrong_kernels {
namespace {

// [vertical, horizontal] parameters of a convolution.
struct Windows {
  Ints strides;
  Ints paddings;  // at the top and at the left
  Ints dilations;
};

// Changes the windows of NCHW images, and the paddings at the bottom and at the
// right such that the output keeps its size.
template <void (*kChange)(Windows& windows)>
void Adapt(const KernelQuery& query, AttributeMap& attributes) {
  if (query.Attr<std::string>("data_format") != "NCHW") return;
  const Ints& paddings = query.Attr<Ints>("paddings");
  Windows w = {query.Attr<Ints>("strides"),
               {paddings[0], paddings[paddings.size() / 2]},
               query.Attr<Ints>("dilations")};
  kChange(w);
  Ints four;
  for (const int axis : {0, 1}) {
    const int64_t window =
        (query.inputs[1][axis + 2] - 1) * w.dilations[axis] + 1;
    const int64_t end =
        (query.outputs[0][axis + 2] - 1) * w.strides[axis] + window;
    four.push_back(w.paddings[axis]);
    four.push_back(end - query.inputs[0][axis + 2] - w.paddings[axis]);
  }
  attributes["strides"] = w.strides;
  attributes["paddings"] = four;
  attributes["dilations"] = w.dilations;
}

// The left padding equals the top one.
void LeftIsTop(Windows& windows) {
  windows.paddings[1] = windows.paddings[0];
}

// The dilation is ignored.
void Dilation(Windows& windows) {
  windows.dilations = {1, 1};
}

// The vertical stride is used for both.
void OneStride(Windows& windows) {
  windows.strides[1] = windows.strides[0];
}

// Every group reads the first one's channels.
void Group(Call& call) {
  const DDim dims = call.inputs[0].dims();
  const int axis = call.Attr<std::string>("data_format") == "NCHW" ? 1 : 3;
  const int64_t inner = Product(dims, axis + 1, dims.rank());
  const int64_t channels = dims[axis] / call.Attr<int64_t>("groups");
  call.ChangeInput(0, [&](Numbers& x) {
    for (int64_t i = 0; i < dims.numel(); ++i) {
      const int64_t channel = i / inner % dims[axis];
      x[i] = x[i - (channel - channel % channels) * inner];
    }
  });
}

// All channels get the first channel's bias.
void FirstBias(Call& call) {
  if (call.inputs.size() < 3) return;
  call.ChangeInput(2, [](Numbers& bias) {
    std::fill(bias.begin(), bias.end(), bias.front());
  });
}

// The last of an odd number of channels is left out.
void ChannelTail(Call& call) {
  const DDim dims = call.inputs[1].dims();
  if (dims[1] == 1 || dims[1] % 2 == 0) return;
  call.ChangeInput(1, [&](Numbers& filter) {
    for (int64_t i = 0; i < dims.numel(); ++i) {
      if (i / dims[3] / dims[2] % dims[1] == dims[1] - 1) filter[i] = 0;
    }
  });
}

bool IsMaximum(const Call& call) {
  return call.Attr<std::string>("pooling_type") == "max";
}

// A maximum is at least 0.
void FromZero(const Call& call, Numbers& out) {
  for (double& value : out) {
    if (IsMaximum(call) && value < 0) value = 0;
  }
}

// A NaN is no maximum.
void NanIsNoMaximum(Call& call) {
  if (!IsMaximum(call)) return;
  call.ChangeInput(0, [](Numbers& x) {
    std::replace_if(
        x.begin(), x.end(), [](double value) { return std::isnan(value); },
        -std::numeric_limits<double>::infinity());
  });
}

void AddImages(Registry& registry) {
  const DType f = DType::kFloat32;
  const DType d = DType::kFloat64;
  AddWrongKernels(registry,
                  {{"conv2d", "left_is_top", f, {.adapt = &Adapt<&LeftIsTop>}},
                   {"conv2d", "dilation", f, {.adapt = &Adapt<&Dilation>}},
                   {"conv2d", "stride", d, {.adapt = &Adapt<&OneStride>}},
                   {"conv2d", "group", f, {.before = &Group}},
                   {"conv2d", "first_bias", f, {.before = &FirstBias}},
                   {"conv2d", "channel_tail", f, {.before = &ChannelTail}},
                   {"conv2d", "off", f, {.after = &Off}},
                   {"pool2d", "from_zero", f, {.after = &FromZero}},
                   {"pool2d", "nan", f, {.before = &NanIsNoMaximum}},
                   // A mean divides by the whole window.
                   {"pool2d",
                    "counts_padding",
                    d,
                    {.attributes = {{"exclusive", false}}}}});
}

}  // namespace

REGISTER_TABLE(wrong_image_kernels, AddImages);

}  // namespace sluice::wrong_kernels
