#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/operators/recurrent/recurrent.h"
#include "sluice/operators/recurrent/recurrent_options.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Returns the index of the op's input `name`.
size_t IndexOf(const KernelQuery& query, std::string_view name) {
  size_t at = 0;
  for (const auto& [argument, vars] : query.op.inputs) {
    if (argument == name) break;
    at += vars.size();
  }
  return at;
}

const DDim& DimsOf(const KernelQuery& query, std::string_view name) {
  return query.inputs[IndexOf(query, name)];
}

RecurrentLayer LayerOf(const KernelQuery& query) {
  const DDim& x = DimsOf(query, "X");
  RecurrentLayer layer = ReadRecurrentLayer(query.op.type, query);
  layer.hidden = DimsOf(query, "R")[2];
  layer.projected = query.op.Input("W").empty();
  layer.packed = !query.op.Input("Offsets").empty();
  if (layer.packed) {
    layer.batch = DimsOf(query, "Offsets")[0] - 1;
    layer.rows = x[0];
    layer.input = x[1];
    return layer;
  }
  layer.steps = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  layer.rows = layer.steps * layer.batch;
  layer.input = x[2];
  return layer;
}

// Whether X and all results but zeros are empty, however many steps or rows
// there seem to be.
bool ComputesNothing(const RecurrentLayer& layer, const DDim& x) {
  return x.numel() == 0 && (layer.batch == 0 || layer.hidden == 0);
}

// A layer in a run, whose ragged rows are cut by the offsets that are fed.
class BoundLayer {
 public:
  BoundLayer(const OpKernelContext& context, const RecurrentLayer& layer)
      : layer_(&layer) {
    if (!layer.packed) return;
    const Sequences cut =
        CheckedSequences(context, context.Input("Offsets"), layer.rows);
    SLUICE_ENFORCE(cut.rows() <= std::numeric_limits<int32_t>::max(),
                   ErrorCode::kOutOfRange, "recurrent.too_many_rows",
                   "{}: input X has {} ragged rows; expected at most 2^31 - 1",
                   context.op(), cut.rows());
    steps_.emplace(cut);
    own_ = layer;
    own_.ragged = &*steps_;
    own_.steps = steps_->count();
    layer_ = &own_;
  }
  BoundLayer(const BoundLayer&) = delete;
  BoundLayer& operator=(const BoundLayer&) = delete;
  const RecurrentLayer& operator*() const { return *layer_; }
  const RecurrentLayer* operator->() const { return layer_; }

  // Sets the padding of y to its last true row.
  template <typename T>
  void RepeatLast(T* y) const {
    if (y == nullptr || !steps_.has_value()) return;
    const auto width = static_cast<size_t>(own_.directions * own_.hidden);
    RepeatLastRow(y, own_.true_rows(), own_.rows, width * sizeof(T));
  }
  // Sets padding to 0, in each of `parts`.
  template <typename T>
  void ClearPadding(T* rows, int64_t parts, int64_t width) const {
    if (rows == nullptr || !steps_.has_value()) return;
    for (int64_t part = 0; part < parts; ++part) {
      std::fill(rows + (part * own_.rows + own_.true_rows()) * width,
                rows + (part + 1) * own_.rows * width, T{0});
    }
  }

 private:
  const RecurrentLayer* layer_;
  std::optional<RecurrentSteps> steps_;
  RecurrentLayer own_;
};

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

// Returns the inputs that the op and its gradient op have.
template <typename T>
RecurrentArgs<T> Inputs(const OpKernelContext& context,
                        const RecurrentLayer& layer) {
  RecurrentArgs<T> args;
  args.x = context.Input("X").data<T>();
  args.w = Given<T>(context, "W");
  args.r = context.Input("R").data<T>();
  args.bias = Given<T>(context, "Bias");
  args.lens =
      layer.packed ? layer.ragged->lengths() : Lengths(context, layer.steps);
  args.first_h = Given<T>(context, "InitialH");
  args.first_c = Given<T>(context, "InitialC");
  args.peephole = Given<T>(context, "Peephole");
  return args;
}

// Keeps R transposed where it is constant.
template <typename T>
class TurnedPacking final : public Packing {
 public:
  explicit TurnedPacking(const RecurrentLayer& layer)
      : Packing(Format("R transposed, {} times {} by {} of {} bytes",
                       layer.directions,
                       layer.gate_rows(),
                       layer.hidden,
                       sizeof(T))),
        layer_(layer) {}

  Tensor Make(std::span<const Tensor* const> parameters,
              int /*threads*/) const override {
    Tensor turned = PackedBytes(parameters[0]->numel() * sizeof(T));
    TurnRecurrent(layer_, parameters[0]->data<T>(),
                  static_cast<T*>(turned.raw_data()));
    return turned;
  }

 private:
  RecurrentLayer layer_;
};

// How a kernel computes the layer, and the elements of its scratch.
struct Plain {
  static constexpr bool kTurns = false;
  template <typename T>
  using Element = double;
  static constexpr auto* kScratch = RecurrentPlainScratch;
  static constexpr auto* kGradScratch = RecurrentGradPlainScratch;
  template <typename T>
  static void Run(const RecurrentLayer& layer,
                  const RecurrentArgs<T>& args,
                  double* scratch) {
    RecurrentPlain(layer, args, scratch);
  }
  template <typename T>
  static void RunGrad(const RecurrentLayer& layer,
                      const RecurrentGradArgs<T>& args,
                      double* scratch) {
    RecurrentGradPlain(layer, args, scratch);
  }
};

struct Blocked {
  static constexpr bool kTurns = true;
  template <typename T>
  using Element = T;
  static constexpr auto* kScratch = RecurrentScratch;
  static constexpr auto* kGradScratch = RecurrentGradScratch;
  template <typename T>
  static void Run(const RecurrentLayer& layer,
                  const RecurrentArgs<T>& args,
                  T* scratch) {
    Recurrent(layer, args, scratch);
  }
  template <typename T>
  static void RunGrad(const RecurrentLayer& layer,
                      const RecurrentGradArgs<T>& args,
                      T* scratch) {
    RecurrentGrad(layer, args, scratch);
  }
};

DDim StateDims(const RecurrentLayer& l) {
  return l.batch_first ? DDim{l.batch, l.directions, l.hidden}
                       : DDim{l.directions, l.batch, l.hidden};
}

DDim YDims(const RecurrentLayer& l) {
  if (l.packed) return {l.rows, l.directions, l.hidden};
  DDim y = StateDims(l);
  y.InsertDim(l.batch_first ? 1 : 0, l.steps);
  return y;
}

DDim ReserveDims(const RecurrentLayer& l) {
  if (l.packed) return {l.directions, l.rows, l.reserve_row()};
  return l.batch_first ? DDim{l.directions, l.batch, l.steps, l.reserve_row()}
                       : DDim{l.directions, l.steps, l.batch, l.reserve_row()};
}

int64_t ReserveCount(const RecurrentLayer& l) {
  return l.directions * l.rows * l.reserve_row();
}

template <typename Way, typename T>
class RecurrentKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    layer_ = LayerOf(query);
    nothing_ = ComputesNothing(layer_, DimsOf(query, "X"));
    if (nothing_) return;
    const auto& constant = query.input_constant;
    const size_t r = IndexOf(query, "R");
    if (Way::kTurns && r < constant.size() && constant[r] != 0) {
      layer_.has_turned = true;
      turned_.emplace(std::make_shared<const TurnedPacking<T>>(layer_),
                      preparation.num_threads);
    }
    count_ = Way::kScratch(layer_);
    const bool kept = !query.op.Output("Reserve").empty();
    preparation.scratch_bytes =
        sizeof(Element) * static_cast<size_t>(count_) +
        sizeof(T) * static_cast<size_t>(kept ? 0 : ReserveCount(layer_));
  }

  void Compute(OpKernelContext& context) const override {
    const auto wanted = [&](const char* name, const DDim& dims) -> T* {
      if (!context.HasOutput(name)) return nullptr;
      return context.AllocateOutput(name, dims).template data<T>();
    };
    if (nothing_) {
      for (const char* name : {"Y", "Cells"}) {
        wanted(name, YDims(layer_));
      }
      for (const char* name : {"LastH", "LastC"}) {
        wanted(name, StateDims(layer_));
      }
      wanted("Reserve", ReserveDims(layer_));
      return;
    }
    const BoundLayer layer(context, layer_);
    auto* scratch = static_cast<Element*>(context.scratch());
    const DDim state = StateDims(layer_);
    RecurrentArgs<T> args = Inputs<T>(context, *layer);
    std::shared_ptr<const PackedWeights> turned;
    if (turned_.has_value()) {
      turned = turned_->Get(std::array{&context.Input("R")});
      args.turned = static_cast<const T*>(turned->data());
    }
    args.y = wanted("Y", YDims(layer_));
    args.reserve = wanted("Reserve", ReserveDims(layer_));
    layer.ClearPadding(args.reserve, layer_.directions, layer_.reserve_row());
    if (args.reserve == nullptr) {
      args.reserve = reinterpret_cast<T*>(scratch + count_);
    }
    args.last_h = wanted("LastH", state);
    args.last_c = wanted("LastC", state);
    args.cells = wanted("Cells", YDims(layer_));
    Way::Run(*layer, args, scratch);
    layer.RepeatLast(args.y);
    layer.RepeatLast(args.cells);
  }

 private:
  using Element = typename Way::template Element<T>;

  RecurrentLayer layer_;
  bool nothing_ = false;
  std::optional<KeptWeights> turned_;
  int64_t count_ = 0;  // elements of the scratch, before the reserve
};

// Computes the forward op again if its Reserve is left out.
template <typename Way, typename T>
class RecurrentGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const RecurrentLayer& l = layer_ = LayerOf(preparation.query);
    nothing_ = ComputesNothing(l, DimsOf(preparation.query, "X"));
    if (nothing_) return;
    count_ = Way::kGradScratch(l);
    int64_t again = 0;
    if (preparation.query.op.Input("Reserve").empty()) {
      count_ = std::max(count_, Way::kScratch(l));
      again = ReserveCount(l) + l.rows * l.directions * l.hidden;
    }
    preparation.scratch_bytes = sizeof(Element) * static_cast<size_t>(count_) +
                                sizeof(T) * static_cast<size_t>(again);
  }

  void Compute(OpKernelContext& context) const override {
    const auto wanted = [&](const char* name, const DDim& dims) -> T* {
      if (!context.HasOutput(name)) return nullptr;
      Tensor& grad = context.AllocateOutput(name, dims);
      if (nothing_) FillZero(grad.raw_data(), grad.bytes());
      return grad.template data<T>();
    };
    const int64_t directions = layer_.directions;
    const DDim state = StateDims(layer_);
    auto* scratch = static_cast<Element*>(context.scratch());
    RecurrentGradArgs<T> args;
    args.y_grad = Given<T>(context, "Y@GRAD");
    args.last_h_grad = Given<T>(context, "LastH@GRAD");
    args.last_c_grad = Given<T>(context, "LastC@GRAD");
    args.cells_grad = Given<T>(context, "Cells@GRAD");
    args.x_grad = wanted("X@GRAD", context.Input("X").dims());
    if (layer_.projected) {
      wanted("W@GRAD", DDim{0});  // there is no W
    } else {
      args.w_grad = wanted("W@GRAD", context.Input("W").dims());
    }
    args.r_grad = wanted("R@GRAD", context.Input("R").dims());
    args.bias_grad = wanted("Bias@GRAD", {directions, 2 * layer_.gate_rows()});
    args.first_h_grad = wanted("InitialH@GRAD", state);
    args.first_c_grad = wanted("InitialC@GRAD", state);
    args.peephole_grad =
        wanted("Peephole@GRAD", {directions, 3 * layer_.hidden});
    if (nothing_) return;
    const BoundLayer layer(context, layer_);
    args.forward = Inputs<T>(context, *layer);
    if (context.HasInput("Reserve")) {
      // Only read here.
      args.forward.y = const_cast<T*>(context.Input("Y").data<T>());
      args.forward.reserve = const_cast<T*>(context.Input("Reserve").data<T>());
    } else {
      args.forward.reserve = reinterpret_cast<T*>(scratch + count_);
      args.forward.y = args.forward.reserve + ReserveCount(layer_);
      Way::Run(*layer, args.forward, scratch);
    }
    Way::RunGrad(*layer, args, scratch);
    layer.ClearPadding(args.x_grad, 1, layer_.input);
  }

 private:
  using Element = typename Way::template Element<T>;

  RecurrentLayer layer_;
  bool nothing_ = false;
  int64_t count_ = 0;  // elements of the scratch, before what is computed again
};

KernelWork Work(const KernelQuery& query) {
  const RecurrentLayer l = LayerOf(query);
  const auto rows = static_cast<double>(l.directions * l.gate_rows());
  const auto vectors = static_cast<double>(l.rows);
  const double products = query.op.type.ends_with("_grad") ? 4 : 2;
  KernelWork work = DefaultKernelWork(query);
  work.flops = products * vectors * rows *
               static_cast<double>((l.projected ? 0 : l.input) + l.hidden);
  return work;
}

KernelWork BlockedWork(const KernelQuery& query) {
  const RecurrentLayer l = LayerOf(query);
  KernelWork work = Work(query);
  work.costs = l.batch < 4 ? "recurrent_few_rows" : "recurrent";
  // Activations are computed, and R is read from the caches, at each step.
  work.terms = static_cast<double>(l.rows * l.directions * l.gate_rows());
  // Ragged rows: as many as if all sequences were as long.
  const int64_t steps = l.rows / std::max<int64_t>(1, l.batch);
  work.parallel_loops = 1 + static_cast<double>(steps);
  return work;
}

KernelWork PlainWork(const KernelQuery& query) {
  KernelWork work = Work(query);
  work.moves = work.flops;
  return work;
}

void AddRecurrentKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const std::string op : {"simple_rnn", "gru", "lstm"}) {
    AddPlainKernels<EstimatedBy<&PlainWork>,
                    RecurrentKernel<Plain, FloatTypes>>(registry, op, cpu);
    AddPlainKernels<EstimatedBy<&PlainWork>,
                    RecurrentGradKernel<Plain, FloatTypes>>(registry,
                                                            op + "_grad", cpu);
    const KernelTraits blocked = KernelTraits().Estimate(&BlockedWork);
    internal::AddKernels<RecurrentKernel<Blocked, FloatTypes>>(
        registry, op, cpu, "PLAIN", "blocked", blocked);
    internal::AddKernels<RecurrentGradKernel<Blocked, FloatTypes>>(
        registry, op + "_grad", cpu, "PLAIN", "blocked", blocked);
  }
}

}  // namespace

REGISTER_TABLE(recurrent_kernels, AddRecurrentKernels);

}  // namespace sluice
