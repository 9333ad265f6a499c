// Ops that move elements.
#include <algorithm>
#include <type_traits>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"

namespace sluice::wrong_kernels {
namespace {

enum class Slip {
  kNone,
  kLastTwo,       // a transpose of three or more dims swaps the last two
  kThroughFloat,  // integers pass through float32
  kOffset,        // the third input has the second one's offset
  kClamps,        // an invalid index becomes the nearest one
  kPadding,       // padding_idx is ignored
  kRace,          // threads add to the same rows
};
template <Slip kSlip>
using With = std::integral_constant<Slip, kSlip>;

template <typename T, typename Planted>
class Transpose final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Transpose(const OpKernelConstruction& construction)
      : axes_(construction.Attr<Ints>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int rank = dims().rank();
    Ints strides(static_cast<size_t>(rank), 1);
    for (int axis = rank - 2; axis >= 0; --axis) {
      strides[axis] = strides[axis + 1] * x.dims()[axis + 1];
    }
    Ints axes = axes_;
    if (kSlip == Slip::kLastTwo && rank > 2 &&
        dims()[rank - 1] == dims()[rank - 2]) {
      std::swap(axes[rank - 1], axes[rank - 2]);
    }
    T* out = Out<T>(context);
    for (int64_t i = 0; i < dims().numel(); ++i) {
      int64_t rest = i;
      int64_t from = 0;
      for (int axis = rank - 1; axis >= 0; --axis) {
        from += rest % dims()[axis] * strides[axes[axis]];
        rest /= dims()[axis];
      }
      const T value = x.data<T>()[from];
      out[i] = kSlip == Slip::kThroughFloat
                   ? static_cast<T>(static_cast<float>(value))
                   : value;
    }
  }

 private:
  Ints axes_;
};

template <typename T, typename Planted>
class Concat final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Concat(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Compute(OpKernelContext& context) const override {
    const int rank = dims().rank();
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    const int64_t outer = Product(dims(), 0, axis);
    const int64_t row = Product(dims(), axis, rank);
    T* out = Out<T>(context);
    int64_t begin = 0;
    int64_t before = 0;
    int number = 0;
    for (const Tensor* x : context.Inputs("X")) {
      const int64_t part = Product(x->dims(), axis, rank);
      if (kSlip == Slip::kOffset && number++ == 2) begin = before;
      for (int64_t i = 0; i < outer; ++i) {
        std::copy_n(x->data<T>() + i * part, part, out + i * row + begin);
      }
      before = begin;
      begin += part;
    }
  }

 private:
  int64_t axis_;
};

// The row of a table for an id; raises if there is none.
template <typename Id, Slip kSlip>
int64_t RowOf(Id id, int64_t rows) {
  if (kSlip == Slip::kClamps) return std::clamp<int64_t>(id, 0, rows - 1);
  SLUICE_ENFORCE(id >= 0 && id < rows, ErrorCode::kOutOfRange,
                 "wrong_kernels.id", "id {} is not below {}", id, rows);
  return id;
}

std::string LongIds(const KernelQuery& query) {
  return query.input_dtypes[1] == DType::kInt64 ? "" : "needs int64 ids";
}

template <typename T, typename Planted>
class Lookup final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit Lookup(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& table = context.Input("W");
    const Tensor& ids = context.Input("Ids");
    const int64_t width = table.dims()[1];
    T* out = Out<T>(context);
    for (int64_t i = 0; i < ids.numel(); ++i) {
      const int64_t id = ids.data<int64_t>()[i];
      if (id == padding_ && padding_ != -1 && kSlip != Slip::kPadding) {
        std::fill_n(out + i * width, width, T{0});
        continue;
      }
      const int64_t row = RowOf<int64_t, kSlip>(id, table.dims()[0]);
      std::copy_n(table.data<T>() + row * width, width, out + i * width);
    }
  }

 private:
  int64_t padding_;
};

template <typename T, typename Planted>
class LookupGrad final : public ShapedKernel {
  static constexpr Slip kSlip = Planted::value;

 public:
  explicit LookupGrad(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& ids = context.Input("Ids");
    const T* grad = context.Input("Out@GRAD").data<T>();
    const int64_t rows = dims()[0];
    const int64_t width = dims()[1];
    volatile T* out = Out<T>(context);
    for (int64_t i = 0; i < dims().numel(); ++i) {
      out[i] = 0;
    }
    const int64_t grain = kSlip == Slip::kRace ? 16 : ids.numel() + 1;
    ParallelFor(ids.numel(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = ids.data<int64_t>()[i];
        if (id == padding_ && padding_ != -1) continue;
        const int64_t row = RowOf<int64_t, kSlip>(id, rows);
        for (int64_t j = 0; j < width; ++j) {
          out[row * width + j] = out[row * width + j] + grad[i * width + j];
        }
      }
    });
  }

 private:
  int64_t padding_;
};

}  // namespace

REGISTER_OP_KERNEL(transpose,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Transpose<float, With<Slip::kNone>>,
                   Transpose<int32_t, With<Slip::kNone>>);
REGISTER_OP_KERNEL(transpose,
                   WRONG,
                   CPUPlace,
                   last_two,
                   KernelTraits(),
                   Transpose<float, With<Slip::kLastTwo>>);
REGISTER_OP_KERNEL(transpose,
                   WRONG,
                   CPUPlace,
                   through_float,
                   KernelTraits(),
                   Transpose<int32_t, With<Slip::kThroughFloat>>);
REGISTER_OP_KERNEL(concat,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits(),
                   Concat<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(concat,
                   WRONG,
                   CPUPlace,
                   offset,
                   KernelTraits(),
                   Concat<float, With<Slip::kOffset>>);
REGISTER_OP_KERNEL(lookup_table,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&LongIds),
                   Lookup<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(lookup_table,
                   WRONG,
                   CPUPlace,
                   padding,
                   KernelTraits().When(&LongIds),
                   Lookup<float, With<Slip::kPadding>>);
REGISTER_OP_KERNEL(lookup_table,
                   WRONG,
                   CPUPlace,
                   clamps,
                   KernelTraits().When(&LongIds),
                   Lookup<float, With<Slip::kClamps>>);
REGISTER_OP_KERNEL(lookup_table_grad,
                   WRONG,
                   CPUPlace,
                   right,
                   KernelTraits().When(&LongIds),
                   LookupGrad<float, With<Slip::kNone>>);
REGISTER_OP_KERNEL(lookup_table_grad,
                   WRONG,
                   CPUPlace,
                   race,
                   KernelTraits().When(&LongIds),
                   LookupGrad<float, With<Slip::kRace>>);

}  // namespace sluice::wrong_kernels
