#include "sluice/operators/op_gradients.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/operators/recurrent/recurrent_options.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

// An op, with the numbers of its gates and activations.
struct Cell {
  const char* op;
  int64_t gates;
  size_t activations;  // per direction

  constexpr bool lstm() const { return gates == 4; }
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

// The shapes of the outputs.
struct Shapes {
  DDim y, last, reserve;
};

void CheckRagged(const InferShapeContext& context) {
  context.Require(!context.HasInput("SequenceLens"),
                  "recurrent.offsets_and_lens",
                  "input X is ragged: its offsets are the lengths, so leave "
                  "out input SequenceLens");
  context.Require(!context.Attr<bool>("batch_first"),
                  "recurrent.ragged_batch_first",
                  "input X is ragged: attribute batch_first must be false");
}

// Checks what has `hidden` units, which it sets if it can, and the batch.
void MergeSizes(InferShapeContext& context,
                const Cell& cell,
                int64_t directions,
                DimHandle* batch,
                DimHandle* hidden) {
  const bool first = context.Attr<bool>("batch_first");
  const auto of_units = [&](const char* input, int64_t count) {
    if (!context.HasInput(input)) return;
    const ShapeHandle given = context.WithRank(context.input(input), 2);
    context.WithValue(context.Dim(given, 0), directions);
    MergeUnits(context, input, 1, count, hidden);
  };
  of_units("Bias", 2 * cell.gates);
  if (cell.lstm()) of_units("Peephole", 3);
  if (context.HasInput("SequenceLens")) {
    const ShapeHandle lens = context.WithRank(context.input("SequenceLens"), 1);
    *batch = context.Merge(*batch, context.Dim(lens, 0));
  }
  const auto state = [&](const char* input) {
    if (!context.HasInput(input)) return;
    const ShapeHandle given = context.WithRank(context.input(input), 3);
    *batch = context.Merge(*batch, context.Dim(given, first ? 0 : 1));
    context.WithValue(context.Dim(given, first ? 1 : 0), directions);
    MergeUnits(context, input, 2, 1, hidden);
  };
  state("InitialH");
  if (cell.lstm()) state("InitialC");
}

Shapes CheckShapes(InferShapeContext& context, const Cell& cell) {
  const bool batch_first = context.Attr<bool>("batch_first");
  const bool ragged = context.HasInput("Offsets");
  const int64_t directions =
      context.Attr<std::string>("direction") == "bidirectional" ? 2 : 1;
  CheckActivations(context, cell.activations, directions);
  if (ragged) CheckRagged(context);
  const int last = ragged ? 1 : 2;
  const ShapeHandle x = context.WithRank(context.input("X"), last + 1);
  const ShapeHandle r = context.WithRank(context.input("R"), 3);
  DimHandle batch = ragged ? DimHandle{SequenceCount(context)}
                           : context.Dim(x, batch_first ? 0 : 1);
  DimHandle hidden = context.Dim(r, 2);
  context.WithValue(context.Dim(r, 0), directions);
  MergeUnits(context, "R", 1, cell.gates, &hidden);
  if (context.HasInput("W")) {
    const ShapeHandle w = context.WithRank(context.input("W"), 3);
    context.Merge(context.Dim(x, last), context.Dim(w, 2));
    context.WithValue(context.Dim(w, 0), directions);
    MergeUnits(context, "W", 1, cell.gates, &hidden);
  } else {
    MergeUnits(context, "X", last, directions * cell.gates, &hidden);
  }
  MergeSizes(context, cell, directions, &batch, &hidden);
  const RecurrentLayer layer = ReadRecurrentLayer(cell.op, context);
  const int64_t row =
      hidden.size < 0 ? -1 : layer.reserve_blocks() * hidden.size;
  Shapes shapes;
  shapes.last = batch_first ? DDim{batch.size, directions, hidden.size}
                            : DDim{directions, batch.size, hidden.size};
  if (ragged) {
    const int64_t rows = context.Dim(x, 0);
    shapes.y = {rows, directions, hidden.size};
    shapes.reserve = {directions, rows, row};
    return shapes;
  }
  const int64_t steps = context.Dim(x, batch_first ? 1 : 0);
  shapes.y = shapes.last;
  shapes.y.InsertDim(batch_first ? 1 : 0, steps);
  shapes.reserve = batch_first ? DDim{directions, batch.size, steps, row}
                               : DDim{directions, steps, batch.size, row};
  return shapes;
}

void Shape(InferShapeContext& context, const Cell& cell) {
  const Shapes shapes = CheckShapes(context, cell);
  context.SetOutput("Y", shapes.y);
  context.SetOutput("LastH", shapes.last);
  if (cell.lstm()) {
    context.SetOutput("LastC", shapes.last);
    context.SetOutput("Cells", shapes.y);
  }
  context.SetOutput("Reserve", shapes.reserve);
}

void GradShape(InferShapeContext& context, const Cell& cell) {
  const Shapes shapes = CheckShapes(context, cell);
  context.Merge(context.input("Y"), {shapes.y, -1});
  const auto check = [&](const char* grad, const DDim& dims) {
    if (context.HasInput(grad)) context.Merge(context.input(grad), {dims, -1});
  };
  check("Reserve", shapes.reserve);
  check("Y@GRAD", shapes.y);
  check("LastH@GRAD", shapes.last);
  if (cell.lstm()) {
    check("LastC@GRAD", shapes.last);
    check("Cells@GRAD", shapes.y);
  }
  for (const char* name : {"X", "R"}) {
    context.SetOutput(std::string(name) + "@GRAD", context.input(name));
  }
  const bool given = context.HasInput("W");
  context.SetOutput("W@GRAD",
                    given ? context.input("W") : ShapeHandle{DDim{0}, -1});
  const int64_t directions = shapes.reserve[0];
  const int64_t hidden = shapes.last[2];
  const auto of_units = [&](const char* grad, int64_t count) {
    context.SetOutput(grad, {directions, hidden < 0 ? -1 : count * hidden});
  };
  of_units("Bias@GRAD", 2 * cell.gates);
  context.SetOutput("InitialH@GRAD", shapes.last);
  if (!cell.lstm()) return;
  context.SetOutput("InitialC@GRAD", shapes.last);
  of_units("Peephole@GRAD", 3);
}

constexpr Cell kSimple{.op = "simple_rnn", .gates = 1, .activations = 1};
constexpr Cell kGru{.op = "gru", .gates = 3, .activations = 2};
constexpr Cell kLstm{.op = "lstm", .gates = 4, .activations = 3};

template <const Cell& kCell>
void CellShape(InferShapeContext& context) {
  Shape(context, kCell);
}
template <const Cell& kCell>
void CellGradShape(InferShapeContext& context) {
  GradShape(context, kCell);
}

constexpr const char* kAll =
    " T steps, batch B, I inputs, H hidden units, D directions: 2 for "
    "bidirectional, else 1. With batch_first B is the first dim of X, Y and "
    "the states. Steps from a row's SequenceLens on give 0 in Y and leave the "
    "states as they are; reverse starts from the last step before it. X may be "
    "N ragged rows of B sequences instead. Without W, X is the products with "
    "it.";

void Inputs(OpSchema& op, const Cell& cell, const std::string& gates) {
  const auto count = [](int64_t times) {
    return times == 1 ? "H" : std::to_string(times) + " * H";
  };
  const std::string rows = count(cell.gates);
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T",
           "[T, B, I]; or ragged [N, I]. Without W, I is D * " + rows +
               ": the products for each direction" + gates + ".");
  op.Input("W", "T", "[D, " + rows + ", I]: weights of X" + gates + ".",
           {.optional = true});
  op.Input("R", "T",
           "[D, " + rows + ", H]: weights of the state" + gates + ".");
  op.Input("Bias", "T",
           "[D, " + count(2 * cell.gates) +
               "]: the biases of W, then those of R; 0 if left out.",
           {.optional = true});
  op.Input("SequenceLens", "int32",
           "[B]: the steps of each row, from 0 to T; T if left out.",
           {.optional = true});
  op.Input("InitialH", "T", "[D, B, H]: the state before; 0 if left out.",
           {.optional = true});
  if (cell.lstm()) {
    op.Input("InitialC", "T", "[D, B, H]: the cells before; 0 if left out.",
             {.optional = true});
    op.Input("Peephole", "T",
             "[D, 3 * H]: weights of the cells in i, o and f; 0 if left out.",
             {.optional = true});
  }
  OffsetsInput(op);
}

void Outputs(OpSchema& op, const Cell& cell) {
  op.Output("Y", "T",
            "[T, D, B, H], or ragged [N, D, H]: the state after each step.");
  op.Output("LastH", "T", "[D, B, H]: the state after the last step.",
            {.optional = true});
  if (cell.lstm()) {
    op.Output("LastC", "T", "[D, B, H]: the cells after the last step.",
              {.optional = true});
  }
  op.Output("Reserve", "T",
            "[D, T, B, n * H], T and B as in X, or [D, N, n * H]: what the "
            "gradient needs of each step, for ragged rows those of all "
            "sequences' first steps, the longest sequence's first, then those "
            "of the second steps. The gates; " +
                std::string(cell.lstm() ? "c and h(c); " : "") +
                std::string(cell.gates == 3 ? "with linear_before_reset h Rh' "
                                              "+ bias; "
                                            : "") +
                "and where clip or an activation needs them the gates before "
                "their activations. 0 for padding. Left out, the "
                "gradient op computes the layer again. Nothing is "
                "differentiated through it.",
            {.optional = true});
  op.Ragged("Y", "Offsets");
  if (!cell.lstm()) return;
  op.Output("Cells", "T", "Like Y: the cells after each step.",
            {.optional = true});
  op.Ragged("Cells", "Offsets");
}

void Attributes(OpSchema& op, const Cell& cell) {
  const std::string which[] = {"f", "f and g", "f, g and h"};
  const std::string defaults[] = {"tanh", "sigmoid and tanh",
                                  "sigmoid, tanh and tanh"};
  op.Attr<std::string>("direction",
                       "Which way the steps are taken; bidirectional: both, "
                       "each with weights of its own.")
      .Default(std::string("forward"))
      .OneOf({"forward", "reverse", "bidirectional"});
  op.Attr<Names>("activations",
                 which[cell.activations - 1] +
                     " for each direction: unary ops, affine (alpha x + beta) "
                     "or scaled_tanh (alpha tanh(beta x)); empty: " +
                     defaults[cell.activations - 1] + ".")
      .Default(Names{});
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
  if (cell.gates == 3) {
    op.Attr<bool>("linear_before_reset",
                  "Whether r multiplies the product with the state, as in "
                  "PyTorch and cuDNN.")
        .Default(false);
    op.Attr<bool>("update_takes_new",
                  "Whether h = z * g + (1 - z) * h, as in Fluid.")
        .Default(false);
  }
  if (cell.lstm()) {
    op.Attr<std::string>("gate_order",
                         "The order of the gates in W, R, Bias and Reserve, "
                         "and in X without W: i, o, f, c as in ONNX, or c, i, "
                         "f, o as in Fluid.")
        .Default(std::string("iofc"))
        .OneOf({"iofc", "cifo"});
    op.Attr<bool>("input_forget", "Whether the forget gate f is 1 - i.")
        .Default(false);
  }
}

void SimpleRnnSchema(OpSchema& op) {
  op.Doc(std::string("A recurrent layer: h = f(x W' + h R' + bias), where ' "
                     "transposes. ONNX's RNN.") +
         kAll);
  Inputs(op, kSimple, "");
  Outputs(op, kSimple);
  Attributes(op, kSimple);
  op.InferShape(CellShape<kSimple>);
}

void GruSchema(OpSchema& op) {
  op.Doc(
      std::string(
          "A layer of gated recurrent units. z = f(x Wz' + h Rz' + bias), r = "
          "f(x Wr' + h Rr' + bias), g = g(x Wh' + (r * h) Rh' + bias), h = (1 "
          "- z) * g + z * h, where ' transposes. With linear_before_reset g = "
          "g(x Wh' + bias + r * (h Rh' + bias)). ONNX's GRU.") +
      kAll);
  Inputs(op, kGru, ": z, r and h");
  Outputs(op, kGru);
  Attributes(op, kGru);
  op.InferShape(CellShape<kGru>);
}

void LstmSchema(OpSchema& op) {
  op.Doc(
      std::string(
          "A layer of long short-term memory. i = f(x Wi' + h Ri' + Pi * c + "
          "bias), f = f(x Wf' + h Rf' + Pf * c + bias), c = f * c + i * g(x "
          "Wc' + h Rc' + bias), o = f(x Wo' + h Ro' + Po * c + bias) of the "
          "new c, h = o * h(c), where ' transposes. ONNX's LSTM.") +
      kAll);
  Inputs(op, kLstm, ": i, o, f and c");
  Outputs(op, kLstm);
  Attributes(op, kLstm);
  op.InferShape(CellShape<kLstm>);
}

template <const Cell& kCell>
constexpr GradientOp GradientOf(void (*forward)(OpSchema& op)) {
  GradientOp gradient = {
      .forward = forward,
      .doc =
          "The gradients of the layer, from the last step to the first: 0 for "
          "what is past the end of a row, and where clip cuts.",
      .inputs = {"X", "W", "R", "Bias", "SequenceLens", "InitialH", "Offsets"},
      .outputs = {"Y", "Reserve"},
      .output_grads = {"Y", "LastH"},
      .wanted = {"X", "W", "R", "Bias", "InitialH"},
      .shape = CellGradShape<kCell>};
  if (kCell.lstm()) {
    gradient.inputs = {
        "X",        "W",        "R",        "Bias",   "SequenceLens",
        "InitialH", "InitialC", "Peephole", "Offsets"};
    gradient.output_grads = {"Y", "LastH", "LastC", "Cells"};
    gradient.wanted = {"X",        "W",        "R",       "Bias",
                       "InitialH", "InitialC", "Peephole"};
  }
  return gradient;
}

constexpr GradientOp kSimpleGrad = GradientOf<kSimple>(SimpleRnnSchema);
constexpr GradientOp kGruGrad = GradientOf<kGru>(GruSchema);
constexpr GradientOp kLstmGrad = GradientOf<kLstm>(LstmSchema);

}  // namespace

REGISTER_OPERATOR(simple_rnn, WithGradient<kSimpleGrad>);
REGISTER_OPERATOR(simple_rnn_grad, GradientSchema<kSimpleGrad>);
REGISTER_OPERATOR(gru, WithGradient<kGruGrad>);
REGISTER_OPERATOR(gru_grad, GradientSchema<kGruGrad>);
REGISTER_OPERATOR(lstm, WithGradient<kLstmGrad>);
REGISTER_OPERATOR(lstm_grad, GradientSchema<kLstmGrad>);

}  // namespace sluice
