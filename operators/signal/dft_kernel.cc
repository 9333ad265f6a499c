#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/math/signal/fourier.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

using Complex = Fourier::Complex;

// Computes in double.
template <typename T>
class DftKernel final : public OpKernel {
 public:
  explicit DftKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        length_(construction.Attr<int64_t>("dft_length")),
        inverse_(construction.Attr<bool>("inverse")),
        onesided_(construction.Attr<bool>("onesided")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    dims_ = preparation.query.outputs[0];
    const int rank = x.rank();
    const int at = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    in_ = x[at];
    out_ = dims_[at];
    in_parts_ = x[rank - 1];
    out_parts_ = dims_[rank - 1];
    outer_ = dims_.Product(0, at);
    inner_ = dims_.Product(at + 1, rank - 1);
    if (length_ == 0) length_ = inverse_ && onesided_ ? 2 * (in_ - 1) : in_;
    fourier_ = Fourier(length_);
  }

  void Compute(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    const T* const x = context.Input(0).data<T>();
    const int64_t grain = std::max<int64_t>(1, 4096 / length_);
    ParallelFor(outer_ * inner_, grain, [&](int64_t begin, int64_t end) {
      std::vector<Complex> line(static_cast<size_t>(length_));
      std::vector<Complex> scratch(
          static_cast<size_t>(fourier_.scratch_size()));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / inner_, inner = i % inner_;
        Read(x + (outer * in_ * inner_ + inner) * in_parts_, &line);
        fourier_.Run(inverse_, line.data(), scratch.data());
        T* const to = out + (outer * out_ * inner_ + inner) * out_parts_;
        for (int64_t k = 0; k < out_; ++k) {
          T* const parts = to + k * inner_ * out_parts_;
          parts[0] = static_cast<T>(line[k].real());
          if (out_parts_ == 2) parts[1] = static_cast<T>(line[k].imag());
        }
      }
    });
  }

 private:
  // Reads the numbers to transform. If one is not finite, all become NaN.
  void Read(const T* x, std::vector<Complex>* line) const {
    const bool half = inverse_ && onesided_;
    const int64_t used = std::min(in_, half ? length_ / 2 + 1 : length_);
    std::fill(line->begin(), line->end(), Complex());
    bool finite = true;
    for (int64_t k = 0; k < used; ++k) {
      const T* const parts = x + k * inner_ * in_parts_;
      const Complex value(parts[0], in_parts_ == 2 ? parts[1] : T{0});
      finite =
          finite && std::isfinite(value.real()) && std::isfinite(value.imag());
      (*line)[k] = value;
      if (!half) continue;
      // In the transform of real numbers, the other half is conjugate, and the
      // numbers that are their own conjugates are real.
      const int64_t other = (length_ - k) % length_;
      if (other == k) (*line)[k] = value.real();
      if (other != k) (*line)[other] = std::conj(value);
    }
    if (finite) return;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    std::fill(line->begin(), line->end(), Complex(kNan, kNan));
  }

  int64_t axis_;
  int64_t length_;
  bool inverse_;
  bool onesided_;
  int64_t in_ = 0;
  int64_t out_ = 0;
  int64_t in_parts_ = 1;
  int64_t out_parts_ = 2;
  int64_t outer_ = 0;
  int64_t inner_ = 0;
  Fourier fourier_;
  DDim dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(dft, DftKernel<FloatTypes>);

}  // namespace sluice
