#include "sluice/operators/registration.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;

void LoopAttributes(OpSchema& op) {
  const auto name = [&](const char* attribute, const char* doc) {
    op.Attr<std::string>(attribute, doc).Default(std::string());
  };
  const auto names = [&](const char* attribute, const char* doc) {
    op.Attr<Names>(attribute, doc).Default(Names());
  };
  const auto ints = [&](const char* attribute, const char* doc) {
    op.Attr<Ints>(attribute, doc).Default(Ints());
  };
  op.Attr<int64_t>("block", "The block that runs again and again.");
  name("iteration",
       "The data variable (int64) of the block that gets the number of the "
       "iteration, from 0; \"\" for none.");
  name("condition_in",
       "The data variable (bool) that gets the condition; \"\" for none.");
  names("carried", "The data variables that get the carried values.");
  names("slices", "The data variables that get the elements of Sequences.");
  name("condition_out",
       "The variable (bool, one element) that says whether there is another "
       "iteration; \"\": always.");
  names("carried_out", "The variables carried on to the next iteration.");
  names("stacked", "The variables whose values become Stacked.");
  ints("sequence_axes",
       "Along which axis each of Sequences is taken apart; empty: 0.");
  ints("sequence_reversed",
       "1 for a sequence that is read from its end, 2 for one that is read "
       "from the element of the last iteration that MaxTrips allows.");
  ints("stacked_axes",
       "Which axis of each of Stacked counts iterations; empty: 0.");
  ints("stacked_reversed",
       "1 for one that is filled from its end, the first iteration last.");
  constexpr int64_t kLimit = 10'000'000;
  op.Attr<int64_t>("limit",
                   "More iterations than these are an error, so that a loop "
                   "that never ends is found.")
      .Default(kLimit)
      .AtLeast(0);
  op.Attr<int64_t>("max_trips",
                   "If above 0, more iterations than these are an error, and "
                   "Stacked have so many elements, zeros after the last "
                   "iteration: what a gradient needs of a loop that runs until "
                   "a condition fails.")
      .Default(int64_t{0})
      .AtLeast(0);
  op.Attr<bool>("recompute",
                "Whether the gradient computes each iteration again, of what "
                "was carried to it, instead of keeping all that it reads.")
      .Default(false);
}

void LoopSchema(OpSchema& op) {
  op.Doc(
      "Runs a block again and again: MaxTrips times, once for each element of "
      "Sequences, and no longer than the condition is true. What one iteration "
      "computes can be carried on to the next, and be stacked.");
  op.Input("MaxTrips", "int64", "One element: the most iterations.",
           {.optional = true});
  op.Input("Cond", "bool", "One element: whether there is a first iteration.",
           {.optional = true});
  op.Input("Carried", "any", "What the first iteration gets as carried.",
           {.optional = true, .variadic = true});
  op.Input("Sequences", "any",
           "Each iteration gets one element of each of them, along "
           "sequence_axes; they have as many.",
           {.optional = true, .variadic = true});
  op.Input("X", "any",
           "What the block reads of the blocks around it; found when the op is "
           "added.",
           {.optional = true, .variadic = true});
  op.Output("Out", "any",
            "What the last iteration carried on; Carried where there was none.",
            {.variadic = true});
  op.Output("Stacked", "any",
            "The stacked variables of all iterations; without any the new axis "
            "has size 0, and so have sizes that are not known.",
            {.variadic = true});
  op.Output("Trips", "int64", "[1]: the iterations; if max_trips is above 0.",
            {.variadic = true});
  LoopAttributes(op);
  op.Serves(OpRole::kLoop);
}

REGISTER_OPERATOR(loop, LoopSchema);

}  // namespace
}  // namespace sluice
