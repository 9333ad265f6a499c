#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void ShuffleChannelShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
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
