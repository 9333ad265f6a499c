#include <algorithm>
#include <array>

#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/binary/where.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

int WhereShape(const std::array<DDim, 3>& operands, DDim* result) {
  *result = operands[0];
  for (int i = 1; i < 3; ++i) {
    const DDim before = *result;
    if (BroadcastShape(before, operands[i], -1, result) >= 0) return i;
  }
  return -1;
}

namespace {

// Returns the broadcast shape of Condition, X and Y.
DDim WhereDims(const InferShapeContext& context) {
  static constexpr std::array kNames = {"Condition", "X", "Y"};
  std::array<DDim, 3> dims;
  for (size_t i = 0; i < 3; ++i) {
    dims[i] = context.input(kNames[i]);
    if (!dims[i].rank_known()) return DDim::UnknownRank();
  }
  DDim out;
  const int misfit = WhereShape(dims, &out);
  context.Require(misfit < 0, "where.shapes",
                  "Condition of shape {}, X of shape {} and Y of shape {}: {} "
                  "does not fit, expected equal sizes or a 1",
                  dims[0], dims[1], dims[2], kNames[misfit < 0 ? 0 : misfit]);
  return out;
}

void WhereSchema(OpSchema& op) {
  op.Doc(
      "Out = X where Condition is true, Y elsewhere, element by element. Sizes "
      "of 1, and dimensions that one of the three lacks, are repeated, the "
      "last dimensions under each other, as in numpy.");
  op.TypeVar("T", AllDTypes());
  op.Input("Condition", "bool", "What decides, of any shape.");
  op.Input("X", "T", "What is taken where it is true.");
  op.Input("Y", "T", "What is taken where it is false.");
  op.Output("Out", "T", "The result, in the common shape.");
  op.InferShape(OutShape<WhereDims>).Elementwise();
  op.Onnx({"Where", {}}).Torch("torch.where(Condition, X, Y)");
}

constexpr GradientOp kWhereGrad = {
    .forward = WhereSchema,
    .doc =
        "The gradients of where: Out@GRAD where the element came from that "
        "operand, 0 elsewhere; each is summed over the dimensions in which "
        "that operand was repeated.",
    .inputs = {"Condition", ShapeOf("X"), ShapeOf("Y")},
    .wanted = {"X", "Y"},
    .dims = WhereDims};

// Selects elements of one tensor where a condition is true, and elements of
// another elsewhere. All three are broadcast to a common shape. Works on host
// memory through ParallelFor and copies bits. The plan is made once and
// immutable, so that many threads may run it.
class Where {
 public:
  Where() = default;
  // `operands` are the shapes of the condition and of the tensors for true and
  // false. They are known and fit. Elements have 1, 2, 4 or 8 bytes.
  Where(const std::array<DDim, 3>& operands, size_t element_size);

  void Run(const bool* condition,
           const void* yes,
           const void* no,
           void* out) const;

 private:
  struct Axis {
    int64_t size = 1;
    std::array<int64_t, 3> steps{};  // of the operands, in elements
  };

  template <typename T>
  void RunAs(const bool* condition, const T* yes, const T* no, T* out) const;

  int rank_ = 0;                           // at least 1 if there are elements
  std::array<Axis, DDim::kMaxRank> axes_;  // outermost first
  int64_t rows_ = 0;
  size_t element_size_ = 1;
};

// Both elements are loaded in any case, and the condition is a byte, so that
// g++ vectorizes the loop. A repeated element has a step of 0.
template <bool kYes, bool kNo, typename T>
void Choose(const uint8_t* condition,
            const T* yes,
            const T* no,
            int64_t count,
            T* out) {
  for (int64_t i = 0; i < count; ++i) {
    const T first = yes[kYes ? i : 0];
    const T second = no[kNo ? i : 0];
    out[i] = condition[i] != 0 ? first : second;
  }
}

template <typename T>
void Row(const bool* condition,
         const T* yes,
         const T* no,
         const std::array<int64_t, 3>& steps,
         int64_t count,
         T* out) {
  if (steps[0] == 0) {
    const int64_t step = steps[*condition ? 1 : 2];
    const T* from = *condition ? yes : no;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = from[i * step];
    }
    return;
  }
  const auto choose = steps[1] != 0 && steps[2] != 0 ? &Choose<true, true, T>
                      : steps[1] != 0                ? &Choose<true, false, T>
                      : steps[2] != 0                ? &Choose<false, true, T>
                                                     : &Choose<false, false, T>;
  choose(reinterpret_cast<const uint8_t*>(condition), yes, no, count, out);
}

Where::Where(const std::array<DDim, 3>& operands, size_t element_size)
    : element_size_(element_size) {
  DDim dims;
  WhereShape(operands, &dims);
  std::array<int64_t, 3> next = {1, 1, 1};
  // Axes are collected innermost first and reversed at the end.
  for (int i = dims.rank() - 1; i >= 0; --i) {
    if (dims[i] == 1) continue;
    Axis axis = {dims[i], {}};
    bool fuses = rank_ > 0;
    for (int k = 0; k < 3; ++k) {
      const int own = i - (dims.rank() - operands[k].rank());
      if (own >= 0 && operands[k][own] != 1) {
        axis.steps[k] = next[k];
        next[k] *= operands[k][own];
      }
      fuses = fuses && axis.steps[k] ==
                           axes_[rank_ - 1].steps[k] * axes_[rank_ - 1].size;
    }
    if (fuses) {
      axes_[rank_ - 1].size *= axis.size;
    } else {
      axes_[rank_++] = axis;
    }
  }
  if (rank_ == 0) axes_[rank_++] = {1, {1, 1, 1}};
  std::reverse(axes_.begin(), axes_.begin() + rank_);
  rows_ = dims.numel() == 0 ? 0 : dims.numel() / axes_[rank_ - 1].size;
}

void Where::Run(const bool* condition,
                const void* yes,
                const void* no,
                void* out) const {
  const auto run = [&]<typename T>(T /*element*/) {
    RunAs(condition, static_cast<const T*>(yes), static_cast<const T*>(no),
          static_cast<T*>(out));
  };
  switch (element_size_) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

template <typename T>
void Where::RunAs(const bool* condition,
                  const T* yes,
                  const T* no,
                  T* out) const {
  if (rows_ == 0) return;
  const Axis& last = axes_[rank_ - 1];
  if (rows_ == 1) {
    return ParallelFor(last.size, kGrain, [&](int64_t begin, int64_t end) {
      Row(condition + begin * last.steps[0], yes + begin * last.steps[1],
          no + begin * last.steps[2], last.steps, end - begin, out + begin);
    });
  }
  ParallelFor(rows_, std::max<int64_t>(1, kGrain / last.size),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  std::array<int64_t, 3> at{};
                  int64_t rest = row;
                  for (int i = rank_ - 2; i >= 0; --i) {
                    const int64_t index = rest % axes_[i].size;
                    rest /= axes_[i].size;
                    for (int k = 0; k < 3; ++k) {
                      at[k] += index * axes_[i].steps[k];
                    }
                  }
                  Row(condition + at[0], yes + at[1], no + at[2], last.steps,
                      last.size, out + row * last.size);
                }
              });
}

class WhereKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    where_ = Where({inputs[0], inputs[1], inputs[2]},
                   SizeOf(preparation.query.input_dtypes[1]));
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput("Out", dims_);
    if (out.numel() == 0) return;
    where_.Run(context.Input("Condition").data<bool>(),
               context.Input("X").raw_data(), context.Input("Y").raw_data(),
               out.raw_data());
  }

 private:
  Where where_;
  DDim dims_;
};

template <typename T>
class WhereGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& condition = preparation.query.inputs[0];
    const DDim& x = preparation.query.inputs[1];
    const DDim& y = preparation.query.inputs[2];
    DDim out;
    WhereShape({condition, x, y}, &out);
    x_terms_ = Where({condition, out, DDim()}, sizeof(T));
    y_terms_ = Where({condition, DDim(), out}, sizeof(T));
    x_grad_ = OperandGradient<T>(x, out, -1);
    y_grad_ = OperandGradient<T>(y, out, -1);
    preparation.scratch_bytes =
        std::max(x_grad_.scratch_bytes(/*with_terms=*/true),
                 y_grad_.scratch_bytes(/*with_terms=*/true));
  }

  void Compute(OpKernelContext& context) const override {
    const bool* condition = context.Input("Condition").data<bool>();
    const T* out_grad = context.Input("Out@GRAD").data<T>();
    const T zero{};
    const auto compute = [&](const char* output,
                             const OperandGradient<T>& gradient,
                             const Where& where, const T* yes, const T* no) {
      if (!context.HasOutput(output)) return;
      T* grad =
          context.AllocateOutput(output, gradient.dims()).template data<T>();
      T* terms = gradient.Terms(grad, context.scratch());
      where.Run(condition, yes, no, terms);
      gradient.Finish(terms, grad, context.scratch());
    };
    compute("X@GRAD", x_grad_, x_terms_, out_grad, &zero);
    compute("Y@GRAD", y_grad_, y_terms_, &zero, out_grad);
  }

 private:
  Where x_terms_;
  Where y_terms_;
  OperandGradient<T> x_grad_;
  OperandGradient<T> y_grad_;
};

}  // namespace

REGISTER_OPERATOR(where, WithGradient<kWhereGrad>);
REGISTER_OPERATOR(where_grad, GradientSchema<kWhereGrad>);
REGISTER_OP_CPU_KERNEL(where, WhereKernel);
REGISTER_OP_CPU_KERNEL(where_grad, WhereGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
