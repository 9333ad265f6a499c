#include <algorithm>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

int64_t ElementNumber(const OpKernelContext& context) {
  const Tensor& number = context.Input("I");
  int64_t value = 0;
  VisitIndex(number.dtype(),
             [&]<typename S>() { value = number.data<S>()[0]; });
  return value;
}

class ArrayWriteKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    out_ = preparation.query.outputs[0];
    RowsOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    SLUICE_ENFORCE(number >= 0 && number < out_[0], ErrorCode::kOutOfRange,
                   "array_write.capacity",
                   "{}: I = {}; expected 0 to {}: the array has room for {} "
                   "elements, its capacity",
                   context.op(), number, out_[0] - 1, out_[0]);
    const bool has_x = context.HasInput("X");
    if (has_x && context.HasInput("XOffsets")) {
      CheckedSequences(context, context.Input("XOffsets"),
                       context.Input("X").dims()[0]);
    }
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    auto* const to = static_cast<char*>(out.raw_data());
    const size_t bytes = out.bytes() / static_cast<size_t>(out_[0]);
    const auto row = bytes / static_cast<size_t>(std::max<int64_t>(rows_, 1));
    if (!context.HasInput("Array")) {
      FillZero(to, out.bytes());
    } else if (const Tensor& array = context.Input("Array");
               array_rows_ < rows_) {
      const auto* const from = static_cast<const char*>(array.raw_data());
      for (int64_t i = 0; i < out_[0]; ++i) {
        CopyRows(from + i * array_rows_ * row, array_rows_, row,
                 to + i * rows_ * row);
      }
    } else if (array.raw_data() != to) {
      CopyBytes(array.raw_data(), to, out.bytes());
    }
    char* const element = to + static_cast<size_t>(number) * bytes;
    if (has_x) {
      CopyRows(static_cast<const char*>(context.Input("X").raw_data()), x_rows_,
               row, element);
    } else {
      FillZero(element, bytes);
    }
  }

 private:
  // Finds the rows of elements, and of those that are read.
  void RowsOf(const KernelQuery& query) {
    rows_ = array_rows_ = x_rows_ = out_.rank() > 1 ? out_[1] : 1;
    if (!query.Attr<bool>("grows") || out_.rank() < 2) return;
    size_t at = 0;
    for (const auto& [argument, vars] : query.op.inputs) {
      if (vars.empty()) continue;
      if (argument == "Array") array_rows_ = query.inputs[at][1];
      if (argument == "X") x_rows_ = query.inputs[at][0];
      at += vars.size();
    }
  }

  // Copies an element of `count` rows of `row` bytes into one of rows_; the
  // rest repeats its last row.
  void CopyRows(const char* from, int64_t count, size_t row, char* to) const {
    CopyBytes(from, to, static_cast<size_t>(count) * row);
    for (int64_t i = count; i < rows_; ++i) {
      if (count == 0) {
        FillZero(to + i * row, row);
      } else {
        CopyBytes(from + (count - 1) * row, to + i * row, row);
      }
    }
  }

  DDim out_;
  int64_t rows_ = 1, array_rows_ = 1, x_rows_ = 1;
};

class ArrayReadKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    capacity_ = preparation.query.inputs[0][0];
    out_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t number = ElementNumber(context);
    const int64_t length = context.HasInput("Length")
                               ? context.Input("Length").data<int64_t>()[0]
                               : capacity_;
    SLUICE_ENFORCE(number >= 0 && number < std::min(length, capacity_),
                   ErrorCode::kOutOfRange, "array_read.length",
                   "{}: I = {}, and the array has {} elements (Length), of the "
                   "{} that there is room for",
                   context.op(), number, length, capacity_);
    if (context.HasInput("Rows")) {
      const int64_t rows = context.Input("Rows").data<int64_t>()[number];
      SLUICE_ENFORCE(rows == out_[0], ErrorCode::kFailedPrecondition,
                     "array_read.fewer_rows",
                     "{}: element {} was written with {} rows, and another one "
                     "with {} since; read it before that, or write elements "
                     "of equally many rows",
                     context.op(), number, rows, out_[0]);
    }
    Tensor& out = context.AllocateOutput(0, out_);
    if (out.numel() == 0) return;
    const auto* const from =
        static_cast<const char*>(context.Input("Array").raw_data());
    CopyBytes(from + static_cast<size_t>(number) * out.bytes(), out.raw_data(),
              out.bytes());
  }

 private:
  int64_t capacity_ = 0;
  DDim out_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(array_write, ArrayWriteKernel);
REGISTER_OP_CPU_KERNEL(array_read, ArrayReadKernel);

}  // namespace sluice
