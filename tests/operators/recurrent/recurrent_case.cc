#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/recurrent/recurrent_reference.h"

#include "sluice/framework/run/run_op.h"

// The cases of the harness for every kernel of simple_rnn, gru and lstm.
namespace sluice::testing {
namespace {

using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

struct Sizes {
  int64_t steps, batch, input, hidden;
};

struct Options {
  const char* direction = "forward";
  bool batch_first = false, bias = false, lens = false, states = false;
  bool own = false;  // the attribute that only this op has
  double clip = 0;
  bool activations = false;  // those below
  bool ragged = false;       // sequences of 0 to `steps` rows
  bool projected = false;    // without W
  bool fluid = false;        // gates in Fluid's order, and its update gate
};

// Weights are small: states stay about 1.
Tensor Scaled(ExampleMaker& make, const DDim& dims) {
  Array values = ToArray(make.Values(dims));
  for (double& value : values.values) {
    value /= 8;
  }
  return ToTensor(values, make.dtype());
}

int64_t GatesOf(const std::string& op) {
  if (op == "lstm") return 4;
  return op == "gru" ? 3 : 1;
}

void AddActivations(const std::string& op,
                    int64_t directions,
                    AttributeMap* attributes) {
  // A GRU's gates are bounded, because large states would grow with every step.
  const bool gru = op == "gru";
  const Names names =
      gru ? Names{"scaled_tanh", "softsign", "hard_sigmoid", "affine"}
          : Names{"scaled_tanh",  "affine",   "leaky_relu",
                  "hard_sigmoid", "softsign", "elu"};
  const Doubles alpha = gru ? Doubles{0.75, 0, 0.25, 0.5}
                            : Doubles{0.75, 0.5, 0.125, 0.25, 0, 0.5};
  const Doubles beta =
      gru ? Doubles{1.25, 0, 0.375, 0.25} : Doubles{1.25, 0.25, 0, 0.375, 0, 0};
  const int64_t each = op == "lstm" ? 3 : op == "gru" ? 2 : 1;
  const int64_t count = each * directions;
  (*attributes)["activations"] = Names(names.begin(), names.begin() + count);
  (*attributes)["activation_alpha"] =
      Doubles(alpha.begin(), alpha.begin() + count);
  (*attributes)["activation_beta"] =
      Doubles(beta.begin(), beta.begin() + count);
}

// The lengths are 0 to `steps`, in no order.
std::vector<int64_t> OffsetsOf(const Sizes& sizes) {
  std::vector<int64_t> offsets = {0};
  for (int64_t b = 0; b < sizes.batch; ++b) {
    offsets.push_back(offsets.back() +
                      (3 * b + sizes.steps) % (sizes.steps + 1));
  }
  return offsets;
}

OpExample Example(ExampleMaker& make,
                  const std::string& op,
                  const Sizes& sizes,
                  const Options& options) {
  const int64_t directions =
      std::string(options.direction) == "bidirectional" ? 2 : 1;
  const int64_t rows = GatesOf(op) * sizes.hidden;
  const bool first = options.batch_first;
  const int64_t columns = options.projected ? directions * rows : sizes.input;
  const auto offsets = OffsetsOf(sizes);
  const DDim x = options.ragged ? DDim{offsets.back(), columns}
                 : first        ? DDim{sizes.batch, sizes.steps, columns}
                                : DDim{sizes.steps, sizes.batch, columns};
  const DDim state = first ? DDim{sizes.batch, directions, sizes.hidden}
                           : DDim{directions, sizes.batch, sizes.hidden};
  OpExample example;
  auto& inputs = example.inputs;
  inputs.emplace_back("X", make.Values(x));
  if (!options.projected) {
    inputs.emplace_back("W", Scaled(make, {directions, rows, sizes.input}));
  }
  inputs.emplace_back("R", Scaled(make, {directions, rows, sizes.hidden}));
  if (options.bias) {
    inputs.emplace_back("Bias", Scaled(make, {directions, 2 * rows}));
  }
  if (options.lens) {
    inputs.emplace_back(
        "SequenceLens",
        make.Integers(DType::kInt32, {sizes.batch}, 0, sizes.steps));
  }
  if (options.states) inputs.emplace_back("InitialH", Scaled(make, state));
  if (options.states && op == "lstm") {
    inputs.emplace_back("InitialC", Scaled(make, state));
    inputs.emplace_back("Peephole",
                        Scaled(make, {directions, 3 * sizes.hidden}));
  }
  if (options.ragged) {
    inputs.emplace_back(
        "Offsets", Tensor::FromVector<int64_t>({sizes.batch + 1}, offsets));
  }
  example.attributes = {{"direction", std::string(options.direction)},
                        {"batch_first", first},
                        {"clip", options.clip}};
  if (op == "lstm") example.attributes["input_forget"] = options.own;
  if (op == "gru") example.attributes["linear_before_reset"] = options.own;
  if (options.fluid && op == "lstm") {
    example.attributes["gate_order"] = std::string("cifo");
  }
  if (options.fluid && op == "gru") {
    example.attributes["update_takes_new"] = true;
  }
  if (options.activations) {
    AddActivations(op, directions, &example.attributes);
  }
  return example;
}

std::vector<OpExample> Examples(ExampleMaker& make, const std::string& op) {
  const Options all = {"bidirectional", true, true, true, true, true, 0.75};
  const Options bias = {.bias = true};
  Options both = bias;
  both.own = true;
  Options reverse = {"reverse", false, false, true, true};
  std::vector<OpExample> examples;
  const auto add = [&](const Sizes& sizes, const Options& options) {
    examples.push_back(Example(make, op, sizes, options));
  };
  add({3, 4, 3, 7}, all);
  add({4, 3, 2, 5}, {});
  add({3, 5, 2, 3}, reverse);
  add({3, 2, 3, 6}, both);
  add({3, 1, 1, 1}, {.direction = "bidirectional", .bias = true, .lens = true});
  add({4, 3, 3, 2},
      {.direction = "bidirectional", .states = true, .activations = true});
  add({2, 70, 1, 2}, {.lens = true});  // the batch is computed in pieces
  Options ragged = {.bias = true, .states = true, .ragged = true};
  add({4, 6, 3, 5}, ragged);
  add({3, 70, 2, 3}, ragged);  // two pieces
  add({3, 4, 1, 2}, {.projected = true, .fluid = true});
  ragged.direction = "bidirectional";
  ragged.own = ragged.activations = true;
  ragged.clip = 0.75;
  add({3, 5, 2, 2}, ragged);
  add({4, 3, 1, 3}, {.direction = "reverse",
                     .bias = true,
                     .states = true,
                     .ragged = true,
                     .projected = true,
                     .fluid = true});
  add({4, 5, 1, 2}, {.direction = "bidirectional",
                     .own = true,
                     .ragged = true,
                     .projected = true,
                     .fluid = true});
  add({0, 3, 2, 2}, ragged);
  add({2, 0, 2, 2}, ragged);
  add({2, 0, 3, 4}, all);
  add({0, 2, 3, 2}, all);
  add({2, 3, 0, 2}, bias);
  add({2, 3, 2, 0}, all);
  return examples;
}

Arrays ForwardReference(const Arrays& inputs, const OpDesc& op) {
  return RecurrentReference<double>(inputs, op).Outputs();
}

// Inputs that are left out are 0; they have gradients as well.
Arrays GradReference(const Arrays& inputs, const OpDesc& op) {
  Arrays all = inputs;
  const DDim r = inputs.at("R").dims;
  const bool first = GetAttr<bool>(op, "batch_first");
  const int64_t batch = inputs.contains("Offsets")
                            ? inputs.at("Offsets").dims[0] - 1
                            : inputs.at("X").dims[first ? 0 : 1];
  const DDim state = first ? DDim{batch, r[0], r[2]} : DDim{r[0], batch, r[2]};
  all.emplace("Bias", Array({r[0], 2 * r[1]}));
  all.emplace("InitialH", Array(state));
  if (op.type == "lstm_grad") {
    all.emplace("InitialC", Array(state));
    all.emplace("Peephole", Array({r[0], 3 * r[2]}));
  }
  Traced::tape.clear();
  return RecurrentReference<Traced>(all, op).Gradients();
}

// The examples of the forward op with gradients of its outputs.
std::vector<OpExample> GradExamples(ExampleMaker& make, const std::string& op) {
  std::vector<OpExample> examples = Examples(make, op);
  for (size_t i = 0; i < examples.size(); ++i) {
    OpExample& example = examples[i];
    RunOpOptions options;
    options.outputs = {"Y", "Reserve", "LastH"};
    const auto out = RunOp(op, example.inputs, example.attributes, options);
    const auto add = [&](const char* name, const Tensor& tensor) {
      example.inputs.emplace_back(name, tensor);
    };
    add("Y", out.at("Y"));
    if (i % 3 != 2) add("Reserve", out.at("Reserve"));
    // One of them is left out in most examples.
    if (i % 4 != 1) add("Y@GRAD", make.Values(out.at("Y").dims()));
    const DDim& last = out.at("LastH").dims();
    if (i % 4 != 2) add("LastH@GRAD", make.Values(last));
    if (op == "lstm" && i % 4 != 3) add("LastC@GRAD", make.Values(last));
    if (op == "lstm" && i % 2 == 1) {
      add("Cells@GRAD", make.Values(out.at("Y").dims()));
    }
  }
  return examples;
}

std::vector<OpExample> SimpleRnnExamples(ExampleMaker& make) {
  return Examples(make, "simple_rnn");
}
std::vector<OpExample> GruExamples(ExampleMaker& make) {
  return Examples(make, "gru");
}
std::vector<OpExample> LstmExamples(ExampleMaker& make) {
  return Examples(make, "lstm");
}

std::vector<OpExample> SimpleRnnGradExamples(ExampleMaker& make) {
  return GradExamples(make, "simple_rnn");
}
std::vector<OpExample> GruGradExamples(ExampleMaker& make) {
  return GradExamples(make, "gru");
}
std::vector<OpExample> LstmGradExamples(ExampleMaker& make) {
  return GradExamples(make, "lstm");
}

}  // namespace

REGISTER_OP_CASE(simple_rnn, SimpleRnnExamples, ForwardReference, 4);
REGISTER_OP_CASE(simple_rnn_grad, SimpleRnnGradExamples, GradReference, 16);
REGISTER_OP_CASE(gru, GruExamples, ForwardReference, 4);
REGISTER_OP_CASE(gru_grad, GruGradExamples, GradReference, 16);
REGISTER_OP_CASE(lstm, LstmExamples, ForwardReference, 4);
REGISTER_OP_CASE(lstm_grad, LstmGradExamples, GradReference, 16);

}  // namespace sluice::testing
