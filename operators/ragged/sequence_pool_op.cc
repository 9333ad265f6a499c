#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

bool IsMax(const InferShapeContext& context) {
  return context.Attr<std::string>("pooltype") == "MAX";
}

bool Reduces(const InferShapeContext& context) {
  return context.op().starts_with("sequence_reduce");
}

// A row for each sequence, or one without its dim.
DDim OutDims(const InferShapeContext& context) {
  const int64_t count = SequenceCount(context);
  DDim out = RowsOf(context);
  if (!Reduces(context)) return WithRowCount(out, count);
  if (out.rank_known()) out.RemoveDimRange(0, 1);
  return out;
}

void PoolShape(InferShapeContext& context) {
  const DDim out = OutDims(context);
  context.SetOutput("Out", out);
  context.SetOutput("MaxIndex", IsMax(context) ? out : DDim{0});
}

void PoolGradShape(InferShapeContext& context) {
  const DDim out = OutDims(context);
  context.Merge(context.input("Out@GRAD"), {out, -1});
  if (IsMax(context)) context.Merge(context.input("MaxIndex"), {out, -1});
  context.SetOutput("X@GRAD", context.input("X"));
}

void PoolSchema(OpSchema& op) {
  op.Family("pool");
  op.Doc(
      "One row for each sequence, of its rows, column by column. Sums are "
      "added in double precision, from the first row to the last. NaN is the "
      "maximum.");
  op.TypeVar("T",
             {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "[N, ...]: ragged rows; AVERAGE and SQRT of floats only.");
  OffsetsInput(op);
  op.Output("Out", "T", "[B, ...].");
  op.Output("MaxIndex", "int64",
            "[B, ...] for MAX: the first row that has it; -1 for an empty "
            "sequence. Else [0].");
  op.Attr<std::string>("pooltype",
                       "SUM, AVERAGE; SQRT: the sum over the square root of "
                       "the length; MAX; FIRST, LAST: a row.")
      .Default("AVERAGE")
      .OneOf({"SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"});
  op.Attr<double>("pad_value", "Out for an empty sequence.").Default(0.0);
  op.PerSequence("Out", "Offsets").PerSequence("MaxIndex", "Offsets");
  op.InferShape(PoolShape);
}

void ReduceSchema(OpSchema& op) {
  op.Family("reduction");
  op.Doc(
      "All rows of all sequences as one, as sequence_pool does it: a reduction "
      "over dim 0 that leaves padding out.");
  op.TypeVar("T",
             {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "[N, ...]: ragged rows; AVERAGE of floats only.");
  OffsetsInput(op);
  op.Output("Out", "T", "[...].");
  op.Output("MaxIndex", "int64", "[...] for MAX: the first row. Else [0].");
  op.Attr<std::string>("pooltype", "SUM, AVERAGE or MAX.")
      .Default("SUM")
      .OneOf({"SUM", "AVERAGE", "MAX"});
  op.Attr<double>("pad_value", "Out without rows.").Default(0.0);
  op.InferShape(PoolShape);
}

constexpr GradientOp kSequencePoolGrad = {
    .forward = PoolSchema,
    .doc =
        "The gradient of sequence_pool; 0 for padding, and of MAX for all but "
        "the row that MaxIndex says.",
    .inputs = {ShapeOf("X"), "Offsets"},
    .outputs = {"MaxIndex"},
    .shape = PoolGradShape};

constexpr GradientOp kSequenceReduceGrad = {
    .forward = ReduceSchema,
    .doc = "The gradient of sequence_reduce; 0 for padding.",
    .inputs = {ShapeOf("X"), "Offsets"},
    .outputs = {"MaxIndex"},
    .shape = PoolGradShape};

constexpr int64_t kGrainElements = 8192;

// Calls work(b) for each sequence, about kGrainElements of X at a time.
template <typename Work>
void ForEachSequenceOf(const Sequences& cut, int64_t width, const Work& work) {
  const int64_t each =
      cut.count == 0 ? 1 : cut.rows() * width / cut.count + width + 1;
  ParallelFor(cut.count, std::max<int64_t>(1, kGrainElements / each),
              [&](int64_t begin, int64_t end) {
                for (int64_t b = begin; b < end; ++b) {
                  work(b);
                }
              });
}

// The sequences of an op, or for sequence_reduce all as one, whose offsets are
// `all`.
Sequences CutOf(const OpKernelContext& context,
                int64_t capacity,
                std::array<int64_t, 2>* all) {
  const Sequences cut =
      CheckedSequences(context, context.Input("Offsets"), capacity);
  if (!context.op().starts_with("sequence_reduce")) return cut;
  *all = {0, cut.rows()};
  return {all->data(), 1};
}

template <typename T>
bool IsNaN(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// What a sum is multiplied by.
double FactorOf(const std::string& type, int64_t length) {
  const auto rows = static_cast<double>(std::max<int64_t>(length, 1));
  if (type == "AVERAGE") return 1 / rows;
  return type == "SQRT" ? 1 / std::sqrt(rows) : 1;
}

template <typename T>
class SequencePoolKernel final : public OpKernel {
 public:
  explicit SequencePoolKernel(const OpKernelConstruction& construction)
      : type_(construction.Attr<std::string>("pooltype")),
        pad_value_(static_cast<T>(construction.Attr<double>("pad_value"))) {
    const bool divides = type_ == "AVERAGE" || type_ == "SQRT";
    SLUICE_ENFORCE(!divides || std::is_floating_point_v<T>,
                   ErrorCode::kInvalidArgument, "sequence_pool.integers",
                   "{}: pooltype {} needs floats, got {}; SUM, MAX, FIRST and "
                   "LAST take integers",
                   construction.op(), type_, kDTypeOf<T>);
  }

  void Prepare(KernelPreparation& preparation) override {
    out_ = preparation.query.outputs[0];
    indices_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    std::array<int64_t, 2> all;
    const Sequences cut = CutOf(context, x.dims()[0], &all);
    Tensor& out = context.AllocateOutput(0, out_);
    Tensor& indices = context.AllocateOutput(1, indices_);
    if (out.numel() == 0) return;
    const int64_t width = RowWidth(x.dims());
    const T* from = x.data<T>();
    ForEachSequenceOf(cut, width, [&](int64_t b) {
      T* to = out.data<T>() + b * width;
      if (type_ == "MAX") {
        return Max(cut, b, from, width, to,
                   indices.data<int64_t>() + b * width);
      }
      if (cut.length(b) == 0) {
        std::fill(to, to + width, pad_value_);
      } else if (type_ == "FIRST") {
        std::copy_n(from + cut.begin(b) * width, width, to);
      } else if (type_ == "LAST") {
        std::copy_n(from + (cut.end(b) - 1) * width, width, to);
      } else {
        Sum(cut, b, from, width, to);
      }
    });
  }

 private:
  void Sum(const Sequences& cut,
           int64_t b,
           const T* from,
           int64_t width,
           T* to) const {
    // Integers wrap around.
    using Wide =
        std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
    constexpr int64_t kColumns = 128;
    const double factor = FactorOf(type_, cut.length(b));
    for (int64_t first = 0; first < width; first += kColumns) {
      std::array<Wide, kColumns> sums = {};
      const int64_t columns = std::min(kColumns, width - first);
      for (int64_t row = cut.begin(b); row < cut.end(b); ++row) {
        const T* at = from + row * width + first;
        for (int64_t c = 0; c < columns; ++c) {
          sums[c] += static_cast<Wide>(at[c]);
        }
      }
      for (int64_t c = 0; c < columns; ++c) {
        to[first + c] = std::is_floating_point_v<T>
                            ? static_cast<T>(sums[c] * factor)
                            : static_cast<T>(sums[c]);
      }
    }
  }

  void Max(const Sequences& cut,
           int64_t b,
           const T* from,
           int64_t width,
           T* to,
           int64_t* index) const {
    const bool empty = cut.length(b) == 0;
    std::fill(to, to + width, pad_value_);
    std::fill(index, index + width, empty ? -1 : cut.begin(b));
    if (empty) return;
    std::copy_n(from + cut.begin(b) * width, width, to);
    for (int64_t row = cut.begin(b) + 1; row < cut.end(b); ++row) {
      const T* at = from + row * width;
      for (int64_t c = 0; c < width; ++c) {
        const bool better = at[c] > to[c] || (IsNaN(at[c]) && !IsNaN(to[c]));
        to[c] = better ? at[c] : to[c];
        index[c] = better ? row : index[c];
      }
    }
  }

  std::string type_;
  T pad_value_;
  DDim out_, indices_;
};

template <typename T>
class SequencePoolGradKernel final : public OpKernel {
 public:
  explicit SequencePoolGradKernel(const OpKernelConstruction& construction)
      : type_(construction.Attr<std::string>("pooltype")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_);
    std::array<int64_t, 2> all;
    const Sequences cut = CutOf(context, x_[0], &all);
    FillZero(x_grad.raw_data(), x_grad.bytes());
    if (x_grad.numel() == 0) return;
    const int64_t width = RowWidth(x_);
    const T* grads = context.Input("Out@GRAD").data<T>();
    const int64_t* max =
        type_ == "MAX" ? context.Input("MaxIndex").data<int64_t>() : nullptr;
    T* to = x_grad.data<T>();
    ForEachSequenceOf(cut, width, [&](int64_t b) {
      if (cut.length(b) == 0) return;
      const T* grad = grads + b * width;
      int64_t first = cut.begin(b);
      int64_t end = cut.end(b);
      if (max != nullptr) {
        for (int64_t c = 0; c < width; ++c) {
          const int64_t row = max[b * width + c];
          SLUICE_ENFORCE(first <= row && row < end, ErrorCode::kOutOfRange,
                         "sequence_pool.max_index",
                         "{}: MaxIndex of sequence {} has {}; expected {} to "
                         "{}, its rows",
                         context.op(), b, row, first, end - 1);
          to[row * width + c] = grad[c];
        }
        return;
      }
      if (type_ == "FIRST") end = first + 1;
      if (type_ == "LAST") first = end - 1;
      const T factor = static_cast<T>(FactorOf(type_, cut.length(b)));
      for (int64_t row = first; row < end; ++row) {
        for (int64_t c = 0; c < width; ++c) {
          to[row * width + c] = grad[c] * factor;
        }
      }
    });
  }

 private:
  std::string type_;
  DDim x_;
};

}  // namespace

REGISTER_OPERATOR(sequence_pool, WithGradient<kSequencePoolGrad>);
REGISTER_OPERATOR(sequence_pool_grad, GradientSchema<kSequencePoolGrad>);
REGISTER_OPERATOR(sequence_reduce, WithGradient<kSequenceReduceGrad>);
REGISTER_OPERATOR(sequence_reduce_grad, GradientSchema<kSequenceReduceGrad>);
REGISTER_OP_CPU_KERNEL(sequence_pool,
                       SequencePoolKernel<float>,
                       SequencePoolKernel<double>,
                       SequencePoolKernel<int32_t>,
                       SequencePoolKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(sequence_pool_grad, SequencePoolGradKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sequence_reduce,
                       SequencePoolKernel<float>,
                       SequencePoolKernel<double>,
                       SequencePoolKernel<int32_t>,
                       SequencePoolKernel<int64_t>);
REGISTER_OP_CPU_KERNEL(sequence_reduce_grad,
                       SequencePoolGradKernel<FloatTypes>);

}  // namespace sluice
