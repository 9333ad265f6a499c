#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void IfSchema(OpSchema& op) {
  using Names = std::vector<std::string>;
  op.Doc(
      "Runs one of two blocks: then_block where Cond is true, else_block where "
      "it is false. The other one does not run.");
  op.Input("Cond", "bool", "One element.");
  op.Input("X", "any",
           "What the blocks read of the blocks around them; found when the op "
           "is added.",
           {.optional = true, .variadic = true});
  op.Output("Out", "any",
            "What the block gave. Sizes that the two blocks do not share are "
            "known after it has run.",
            {.variadic = true});
  op.Attr<int64_t>("then_block", "The block for true.");
  op.Attr<int64_t>("else_block", "The block for false.");
  op.Attr<Names>("then_outputs", "The variables of then_block that become Out.")
      .Default(Names());
  op.Attr<Names>("else_outputs", "The variables of else_block that become Out.")
      .Default(Names());
  op.Serves(OpRole::kIf);
}

REGISTER_OPERATOR(if, IfSchema);

}  // namespace
}  // namespace sluice
