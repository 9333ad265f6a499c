#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

// The numbers of gates and of activations of an op.
struct Cell {
  int64_t gates;
  size_t activations;  // per direction
};

// Requires `count` numbers for each unit; sets `hidden` if it is unknown.
void MergeUnits(const InferShapeContext& context,
                const char* input,
                int axis,
                int64_t count,
                DimHandle* hidden) {
  const DimHandle dim = context.Dim(context.input(input), axis);
  if (dim.size < 0) return;
  const bool fits = dim.size % count == 0 &&
                    (hidden->size < 0 || dim.size / count == hidden->size);
  if (hidden->size < 0) {
    context.Require(fits, "recurrent.units_multiple",
                    "dim {} of input {} is {}; expected a multiple of {}", axis,
                    input, dim.size, count);
    hidden->size = dim.size / count;
    return;
  }
  context.Require(fits, "recurrent.units",
                  "dim {} of input {} is {}; expected {} for each of the {} "
                  "hidden units",
                  axis, input, dim.size, count, hidden->size);
}

void CheckActivations(const InferShapeContext& context,
                      size_t expected,
                      int64_t directions) {
  const auto& names = context.Attr<Names>("activations");
  const size_t all = expected * static_cast<size_t>(directions);
  context.Require(names.empty() || names.size() == all,
                  "recurrent.activation_count",
                  "attribute activations has {} names; expected {}, {} for "
                  "each direction",
                  names.size(), all, expected);
  for (const std::string& name : names) {
    context.Require(RecurrentActivation::Find(name).has_value(),
                    "recurrent.activation",
                    "attribute activations names {}, which is neither a unary "
                    "op nor affine or scaled_tanh",
                    name);
  }
  for (const char* values : {"activation_alpha", "activation_beta"}) {
    const size_t given = context.Attr<Doubles>(values).size();
    context.Require(given == 0 || given == names.size(),
                    "recurrent.activation_values",
                    "attribute {} has {} numbers; expected one for each of the "
                    "{} names in attribute activations",
                    values, given, names.size());
  }
}

void Shape(InferShapeContext& context, const Cell& cell) {
  const bool batch_first = context.Attr<bool>("batch_first");
  const int64_t directions =
      context.Attr<std::string>("direction") == "bidirectional" ? 2 : 1;
  CheckActivations(context, cell.activations, directions);
  const ShapeHandle x = context.WithRank(context.input("X"), 3);
  const ShapeHandle w = context.WithRank(context.input("W"), 3);
  const ShapeHandle r = context.WithRank(context.input("R"), 3);
  DimHandle batch = context.Dim(x, batch_first ? 0 : 1);
  DimHandle hidden = context.Dim(r, 2);
  context.Merge(context.Dim(x, 2), context.Dim(w, 2));
  context.WithValue(context.Dim(w, 0), directions);
  context.WithValue(context.Dim(r, 0), directions);
  MergeUnits(context, "R", 1, cell.gates, &hidden);
  MergeUnits(context, "W", 1, cell.gates, &hidden);
  const auto of_units = [&](const char* input, int64_t count) {
    if (!context.HasInput(input)) return;
    const ShapeHandle given = context.WithRank(context.input(input), 2);
    context.WithValue(context.Dim(given, 0), directions);
    MergeUnits(context, input, 1, count, &hidden);
  };
  of_units("Bias", 2 * cell.gates);
  if (cell.gates == 4) of_units("Peephole", 3);
  if (context.HasInput("SequenceLens")) {
    const ShapeHandle lens = context.WithRank(context.input("SequenceLens"), 1);
    batch = context.Merge(batch, context.Dim(lens, 0));
  }
  const auto state = [&](const char* input) {
    if (!context.HasInput(input)) return;
    const ShapeHandle given = context.WithRank(context.input(input), 3);
    batch = context.Merge(batch, context.Dim(given, batch_first ? 0 : 1));
    context.WithValue(context.Dim(given, batch_first ? 1 : 0), directions);
    MergeUnits(context, input, 2, 1, &hidden);
  };
  state("InitialH");
  if (cell.gates == 4) state("InitialC");
  const int64_t steps = context.Dim(x, batch_first ? 1 : 0);
  const DDim last = batch_first ? DDim{batch.size, directions, hidden.size}
                                : DDim{directions, batch.size, hidden.size};
  DDim y = last;
  y.InsertDim(batch_first ? 1 : 0, steps);
  context.SetOutput("Y", y);
  context.SetOutput("LastH", last);
  if (cell.gates == 4) context.SetOutput("LastC", last);
}

void SimpleShape(InferShapeContext& context) {
  Shape(context, {.gates = 1, .activations = 1});
}
void GruShape(InferShapeContext& context) {
  Shape(context, {.gates = 3, .activations = 2});
}
void LstmShape(InferShapeContext& context) {
  Shape(context, {.gates = 4, .activations = 3});
}

constexpr const char* kAll =
    " T steps, batch B, I inputs, H hidden units, D directions: 2 for "
    "bidirectional, else 1. With batch_first B is the first dim of X, Y and "
    "the states. Steps from a row's SequenceLens on give 0 in Y and leave the "
    "states as they are; reverse starts from the last step before it. It has "
    "no gradient.";

void Inputs(OpSchema& op, const std::string& gates, int count) {
  const std::string rows = count == 1 ? "H" : std::to_string(count) + " * H";
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[T, B, I].");
  op.Input("W", "T", "[D, " + rows + ", I]: weights of X" + gates + ".");
  op.Input("R", "T",
           "[D, " + rows + ", H]: weights of the state" + gates + ".");
  op.Input("Bias", "T",
           "[D, " + std::to_string(2 * count) +
               " * H]: the biases of W, then those of R; 0 if left out.",
           {.optional = true});
  op.Input("SequenceLens", "int32",
           "[B]: the steps of each row, from 0 to T; T if left out.",
           {.optional = true});
  op.Input("InitialH", "T", "[D, B, H]: the state before; 0 if left out.",
           {.optional = true});
}

void Outputs(OpSchema& op) {
  op.Output("Y", "T", "[T, D, B, H]: the state after each step.");
  op.Output("LastH", "T", "[D, B, H]: the state after the last step.",
            {.optional = true});
}

void Attributes(OpSchema& op, const char* activations) {
  op.Attr<std::string>("direction",
                       "Which way the steps are taken; bidirectional: both, "
                       "each with weights of its own.")
      .Default(std::string("forward"))
      .OneOf({"forward", "reverse", "bidirectional"});
  op.Attr<Names>("activations", activations).Default(Names{});
  op.Attr<Doubles>("activation_alpha",
                   "The first attribute of each activation; empty: defaults.")
      .Default(Doubles{});
  op.Attr<Doubles>("activation_beta",
                   "The second attribute of each activation; empty: defaults.")
      .Default(Doubles{});
  op.Attr<double>(
        "clip",
        "What gates are computed of is cut to [-clip, clip]; 0: it is "
        "not.")
      .Default(0.0)
      .AtLeast(0);
  op.Attr<bool>("batch_first", "Whether the batch is the first dim.")
      .Default(false);
}

void SimpleRnnSchema(OpSchema& op) {
  op.Doc(std::string("A recurrent layer: h = f(x W' + h R' + bias), where ' "
                     "transposes. ONNX's RNN.") +
         kAll);
  Inputs(op, "", 1);
  Outputs(op);
  Attributes(op,
             "f for each direction: unary ops, affine (alpha x + beta) or "
             "scaled_tanh (alpha tanh(beta x)); empty: tanh.");
  op.InferShape(SimpleShape);
}

void GruSchema(OpSchema& op) {
  op.Doc(
      std::string(
          "A layer of gated recurrent units. z = f(x Wz' + h Rz' + bias), r = "
          "f(x Wr' + h Rr' + bias), g = g(x Wh' + (r * h) Rh' + bias), h = (1 "
          "- z) * g + z * h, where ' transposes. With linear_before_reset g = "
          "g(x Wh' + bias + r * (h Rh' + bias)). ONNX's GRU.") +
      kAll);
  Inputs(op, ": z, r and h", 3);
  Outputs(op);
  Attributes(op,
             "f and g for each direction: unary ops, affine (alpha x + beta) "
             "or scaled_tanh (alpha tanh(beta x)); empty: sigmoid and tanh.");
  op.Attr<bool>("linear_before_reset",
                "Whether r multiplies the product with the state, as in "
                "PyTorch and cuDNN.")
      .Default(false);
  op.InferShape(GruShape);
}

void LstmSchema(OpSchema& op) {
  op.Doc(
      std::string(
          "A layer of long short-term memory. i = f(x Wi' + h Ri' + Pi * c + "
          "bias), f = f(x Wf' + h Rf' + Pf * c + bias), c = f * c + i * g(x "
          "Wc' + h Rc' + bias), o = f(x Wo' + h Ro' + Po * c + bias) of the "
          "new c, h = o * h(c), where ' transposes. ONNX's LSTM.") +
      kAll);
  Inputs(op, ": i, o, f and c", 4);
  op.Input("InitialC", "T", "[D, B, H]: the cells before; 0 if left out.",
           {.optional = true});
  op.Input("Peephole", "T",
           "[D, 3 * H]: weights of the cells in i, o and f; 0 if left out.",
           {.optional = true});
  Outputs(op);
  op.Output("LastC", "T", "[D, B, H]: the cells after the last step.",
            {.optional = true});
  Attributes(op,
             "f, g and h for each direction: unary ops, affine (alpha x + "
             "beta) or scaled_tanh (alpha tanh(beta x)); empty: sigmoid, tanh "
             "and tanh.");
  op.Attr<bool>("input_forget", "Whether the forget gate f is 1 - i.")
      .Default(false);
  op.InferShape(LstmShape);
}

}  // namespace

REGISTER_OPERATOR(simple_rnn, SimpleRnnSchema);
REGISTER_OPERATOR(gru, GruSchema);
REGISTER_OPERATOR(lstm, LstmSchema);

}  // namespace sluice
