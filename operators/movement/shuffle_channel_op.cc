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

}  // namespace

REGISTER_OPERATOR(shuffle_channel, ShuffleChannelSchema);

}  // namespace sluice
