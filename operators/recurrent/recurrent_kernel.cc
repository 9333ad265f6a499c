#include <optional>

#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

RecurrentCell CellOf(const std::string& op) {
  if (op == "lstm") return RecurrentCell::kLstm;
  return op == "gru" ? RecurrentCell::kGru : RecurrentCell::kSimple;
}

std::vector<RecurrentActivation> Activations(const KernelQuery& query,
                                             const RecurrentLayer& layer) {
  auto names = query.Attr<Names>("activations");
  if (names.empty()) {
    const Names all = {"sigmoid", "tanh", "tanh"};
    for (int64_t i = 0; i < layer.directions; ++i) {
      const bool simple = layer.cell == RecurrentCell::kSimple;
      const bool lstm = layer.cell == RecurrentCell::kLstm;
      names.insert(names.end(), all.begin() + (simple ? 1 : 0),
                   all.begin() + (lstm ? 3 : 2));
    }
  }
  const auto& alpha = query.Attr<Doubles>("activation_alpha");
  const auto& beta = query.Attr<Doubles>("activation_beta");
  std::vector<RecurrentActivation> found;
  for (size_t i = 0; i < names.size(); ++i) {
    std::optional<double> first, second;
    if (!alpha.empty()) first = alpha[i];
    if (!beta.empty()) second = beta[i];
    found.push_back(*RecurrentActivation::Find(names[i], first, second));
  }
  return found;
}

RecurrentLayer LayerOf(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const auto& direction = query.Attr<std::string>("direction");
  RecurrentLayer layer;
  layer.cell = CellOf(query.op.type);
  layer.batch_first = query.Attr<bool>("batch_first");
  layer.steps = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  layer.input = x[2];
  layer.hidden = query.inputs[2][2];
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.reverse = direction == "reverse";
  layer.clip = query.Attr<double>("clip");
  if (layer.cell == RecurrentCell::kLstm) {
    layer.input_forget = query.Attr<bool>("input_forget");
  }
  if (layer.cell == RecurrentCell::kGru) {
    layer.linear_before_reset = query.Attr<bool>("linear_before_reset");
  }
  layer.activations = Activations(query, layer);
  return layer;
}

// Returns nullptr if there is no such input.
template <typename T>
const T* Given(const OpKernelContext& context, const char* name) {
  return context.HasInput(name) ? context.Input(name).data<T>() : nullptr;
}

const int32_t* Lengths(const OpKernelContext& context, int64_t steps) {
  const auto* lens = Given<int32_t>(context, "SequenceLens");
  if (lens == nullptr) return nullptr;
  const int64_t count = context.Input("SequenceLens").numel();
  for (int64_t b = 0; b < count; ++b) {
    SLUICE_ENFORCE(lens[b] >= 0 && lens[b] <= steps, ErrorCode::kOutOfRange,
                   "recurrent.sequence_lens",
                   "element {} of input SequenceLens is {}; expected 0 to {}, "
                   "the steps of input X",
                   b, lens[b], steps);
  }
  return lens;
}

template <typename T>
RecurrentArgs<T> ArgsOf(OpKernelContext& context,
                        const RecurrentLayer& layer,
                        const DDim& y,
                        const DDim& state) {
  const auto wanted = [&](const char* name) -> T* {
    if (!context.HasOutput(name)) return nullptr;
    return context.AllocateOutput(name, state).template data<T>();
  };
  const bool lstm = layer.cell == RecurrentCell::kLstm;
  RecurrentArgs<T> args;
  args.x = context.Input("X").data<T>();
  args.w = context.Input("W").data<T>();
  args.r = context.Input("R").data<T>();
  args.bias = Given<T>(context, "Bias");
  args.lens = Lengths(context, layer.steps);
  args.first_h = Given<T>(context, "InitialH");
  args.y = context.AllocateOutput("Y", y).template data<T>();
  args.last_h = wanted("LastH");
  if (lstm) {
    args.first_c = Given<T>(context, "InitialC");
    args.peephole = Given<T>(context, "Peephole");
    args.last_c = wanted("LastC");
  }
  return args;
}

// How a kernel computes the layer, and the elements of its scratch.
struct Plain {
  template <typename T>
  using Element = double;
  static int64_t Scratch(const RecurrentLayer& layer) {
    return RecurrentPlainScratch(layer);
  }
  template <typename T>
  static void Run(const RecurrentLayer& layer,
                  const RecurrentArgs<T>& args,
                  double* scratch) {
    RecurrentPlain(layer, args, scratch);
  }
};

struct Blocked {
  template <typename T>
  using Element = T;
  static int64_t Scratch(const RecurrentLayer& layer) {
    return RecurrentScratch(layer);
  }
  template <typename T>
  static void Run(const RecurrentLayer& layer,
                  const RecurrentArgs<T>& args,
                  T* scratch) {
    Recurrent(layer, args, scratch);
  }
};

template <typename Way, typename T>
class RecurrentKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    layer_ = LayerOf(preparation.query);
    y_ = preparation.query.outputs[0];
    const int64_t batch = layer_.batch, directions = layer_.directions;
    state_ = layer_.batch_first ? DDim{batch, directions, layer_.hidden}
                                : DDim{directions, batch, layer_.hidden};
    preparation.scratch_bytes =
        sizeof(Element) * static_cast<size_t>(Way::Scratch(layer_));
  }

  void Compute(OpKernelContext& context) const override {
    Way::Run(layer_, ArgsOf<T>(context, layer_, y_, state_),
             static_cast<Element*>(context.scratch()));
  }

 private:
  using Element = typename Way::template Element<T>;

  RecurrentLayer layer_;
  DDim y_;
  DDim state_;
};

KernelWork Work(const KernelQuery& query) {
  const RecurrentLayer l = LayerOf(query);
  const auto rows = static_cast<double>(l.directions * l.gate_rows());
  const auto vectors = static_cast<double>(l.steps * l.batch);
  KernelWork work = DefaultKernelWork(query);
  work.flops = 2 * vectors * rows * static_cast<double>(l.input + l.hidden);
  return work;
}

KernelWork BlockedWork(const KernelQuery& query) {
  const RecurrentLayer l = LayerOf(query);
  KernelWork work = Work(query);
  work.costs = l.batch < 4 ? "recurrent_few_rows" : "recurrent";
  // Activations are computed, and R is read from the caches, at each step.
  work.terms =
      static_cast<double>(l.steps * l.batch * l.directions * l.gate_rows());
  work.parallel_loops = 1 + static_cast<double>(l.steps);
  return work;
}

KernelWork PlainWork(const KernelQuery& query) {
  KernelWork work = Work(query);
  work.moves = work.flops;
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(simple_rnn,
                       EstimatedBy<&PlainWork>,
                       RecurrentKernel<Plain, FloatTypes>);
REGISTER_OP_CPU_KERNEL(gru,
                       EstimatedBy<&PlainWork>,
                       RecurrentKernel<Plain, FloatTypes>);
REGISTER_OP_CPU_KERNEL(lstm,
                       EstimatedBy<&PlainWork>,
                       RecurrentKernel<Plain, FloatTypes>);
REGISTER_OP_KERNEL(simple_rnn,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   RecurrentKernel<Blocked, FloatTypes>);
REGISTER_OP_KERNEL(gru,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   RecurrentKernel<Blocked, FloatTypes>);
REGISTER_OP_KERNEL(lstm,
                   PLAIN,
                   CPUPlace,
                   blocked,
                   KernelTraits().Estimate(&BlockedWork),
                   RecurrentKernel<Blocked, FloatTypes>);

}  // namespace sluice
