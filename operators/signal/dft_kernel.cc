#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The discrete Fourier transform of n numbers, in O(n log n) for every n. Sizes
// that are no power of two use Bluestein's chirps (L. Bluestein, "A linear
// filtering approach to the computation of discrete Fourier transform", IEEE
// Transactions on Audio and Electroacoustics 18, 1970). It is made once for
// each n and immutable, so that many threads may run it.
class Fourier {
 public:
  using Complex = std::complex<double>;

  Fourier() = default;
  explicit Fourier(int64_t n);

  // The scratch that Run needs, in numbers.
  int64_t scratch_size() const { return chirps_.empty() ? 0 : size_; }
  // Sets x[k] to the sum over j of x[j] * exp(-2 pi i j k / n), in place.
  // `inverse` uses exp(2 pi i j k / n) and divides by n.
  void Run(bool inverse, Complex* x, Complex* scratch) const;

 private:
  void RunForward(Complex* x, Complex* scratch) const;
  void RunPowerOfTwo(Complex* x) const;

  int64_t n_ = 1;
  int64_t size_ = 1;               // a power of two
  std::vector<Complex> roots_;     // exp(-2 pi i k / size), k < size / 2
  std::vector<Complex> chirps_;    // exp(-pi i k^2 / n)
  std::vector<Complex> spectrum_;  // of the conjugate chirps
};

using Complex = Fourier::Complex;

constexpr double kPi = 3.14159265358979323846;

// Multiplies without the checks for infinities of std::complex.
Complex Product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

// Returns exp(-pi i numerator / denominator).
Complex Root(int64_t numerator, int64_t denominator) {
  const double angle =
      kPi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {std::cos(angle), -std::sin(angle)};
}

Fourier::Fourier(int64_t n) : n_(n), size_(n) {
  const bool power = std::has_single_bit(static_cast<uint64_t>(n));
  if (!power) {
    size_ =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
  }
  for (int64_t k = 0; k < size_ / 2; ++k) {
    roots_.push_back(Root(2 * k, size_));
  }
  if (power) return;
  spectrum_.resize(static_cast<size_t>(size_));
  for (int64_t k = 0; k < n; ++k) {
    // The angle is reduced below 2 pi to keep its digits.
    chirps_.push_back(Root(k * k % (2 * n), n));
    spectrum_[k] = std::conj(chirps_.back());
    if (k > 0) spectrum_[size_ - k] = spectrum_[k];
  }
  RunPowerOfTwo(spectrum_.data());
}

// J. Cooley and J. Tukey, 1965: permutes elements by their reversed bits, then
// combines pairs of transforms of half the size.
void Fourier::RunPowerOfTwo(Complex* x) const {
  for (int64_t i = 1, reversed = 0; i < size_; ++i) {
    int64_t bit = size_ / 2;
    for (; (reversed & bit) != 0; bit /= 2) {
      reversed ^= bit;
    }
    reversed ^= bit;
    if (i < reversed) std::swap(x[i], x[reversed]);
  }
  for (int64_t half = 1; half < size_; half *= 2) {
    const int64_t step = size_ / (2 * half);
    for (int64_t begin = 0; begin < size_; begin += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        Complex& low = x[begin + k];
        Complex& high = x[begin + half + k];
        const Complex turned = Product(high, roots_[k * step]);
        high = low - turned;
        low += turned;
      }
    }
  }
}

void Fourier::RunForward(Complex* x, Complex* scratch) const {
  if (chirps_.empty()) return RunPowerOfTwo(x);
  // Convolves with the conjugate chirps by a transform and its inverse. The
  // inverse is a transform of conjugates.
  for (int64_t k = 0; k < n_; ++k) {
    scratch[k] = Product(x[k], chirps_[k]);
  }
  std::fill(scratch + n_, scratch + size_, Complex());
  RunPowerOfTwo(scratch);
  for (int64_t k = 0; k < size_; ++k) {
    scratch[k] = std::conj(Product(scratch[k], spectrum_[k]));
  }
  RunPowerOfTwo(scratch);
  for (int64_t k = 0; k < n_; ++k) {
    x[k] =
        Product(std::conj(scratch[k]), chirps_[k]) / static_cast<double>(size_);
  }
}

void Fourier::Run(bool inverse, Complex* x, Complex* scratch) const {
  if (!inverse) return RunForward(x, scratch);
  for (int64_t k = 0; k < n_; ++k) {
    x[k] = std::conj(x[k]);
  }
  RunForward(x, scratch);
  for (int64_t k = 0; k < n_; ++k) {
    x[k] = std::conj(x[k]) / static_cast<double>(n_);
  }
}

using Complex = Fourier::Complex;

// Shapes and attributes of dft and its gradient, which compute in double.
template <typename T>
class DftBase : public OpKernel {
 public:
  explicit DftBase(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        length_(construction.Attr<int64_t>("dft_length")),
        inverse_(construction.Attr<bool>("inverse")),
        onesided_(construction.Attr<bool>("onesided")) {}

  void Prepare(KernelPreparation& preparation) override {
    // The gradient op reads Out@GRAD and writes X@GRAD.
    const KernelQuery& query = preparation.query;
    const bool gradient = query.inputs.size() == 2;
    x_dims_ = query.inputs[0];
    out_dims_ = gradient ? query.inputs[1] : query.outputs[0];
    const int rank = x_dims_.rank();
    const int at = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    in_ = x_dims_[at];
    out_ = out_dims_[at];
    in_parts_ = x_dims_[rank - 1];
    out_parts_ = out_dims_[rank - 1];
    outer_ = out_dims_.Product(0, at);
    inner_ = out_dims_.Product(at + 1, rank - 1);
    if (length_ == 0) length_ = half() ? 2 * (in_ - 1) : in_;
    fourier_ = Fourier(length_);
  }

 protected:
  using Line = std::vector<Complex>;

  // Whether the transform reads the first half of a line and gives real
  // numbers.
  bool half() const { return inverse_ && onesided_; }
  // The numbers of a line of X that count.
  int64_t used() const {
    return std::min(in_, half() ? length_ / 2 + 1 : length_);
  }
  // The index whose number is the conjugate in a transform of real numbers.
  int64_t Other(int64_t k) const { return (length_ - k) % length_; }

  // Calls visit(X's line, Out's line, numbers, scratch) for each line.
  template <typename X, typename Out, typename Visit>
  void ForEachLine(X* x, Out* out, Visit visit) const {
    const int64_t grain = std::max<int64_t>(1, 4096 / length_);
    ParallelFor(outer_ * inner_, grain, [&](int64_t begin, int64_t end) {
      Line line(static_cast<size_t>(length_));
      Line scratch(static_cast<size_t>(fourier_.scratch_size()));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / inner_, inner = i % inner_;
        visit(x + (outer * in_ * inner_ + inner) * in_parts_,
              out + (outer * out_ * inner_ + inner) * out_parts_, &line,
              scratch.data());
      }
    });
  }

  // Reads `count` numbers; 0 follows. If one is not finite, all become NaN.
  void Read(const T* from, int64_t count, int64_t parts, Line* line) const {
    std::fill(line->begin(), line->end(), Complex());
    bool finite = true;
    for (int64_t k = 0; k < count; ++k) {
      const T* const at = from + k * inner_ * parts;
      (*line)[k] = Complex(at[0], parts == 2 ? at[1] : T{0});
      finite = finite && std::isfinite((*line)[k].real()) &&
               std::isfinite((*line)[k].imag());
    }
    if (finite) return;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    std::fill(line->begin(), line->end(), Complex(kNan, kNan));
  }

  void Write(Complex value, int64_t k, int64_t parts, T* to) const {
    T* const at = to + k * inner_ * parts;
    at[0] = static_cast<T>(value.real());
    if (parts == 2) at[1] = static_cast<T>(value.imag());
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
  DDim x_dims_;
  DDim out_dims_;
};

template <typename T>
class DftKernel final : public DftBase<T> {
 public:
  using DftBase<T>::DftBase;
  using typename DftBase<T>::Line;

  void Compute(OpKernelContext& context) const override {
    T* const out =
        context.AllocateOutput(0, this->out_dims_).template data<T>();
    this->ForEachLine(context.Input(0).data<T>(), out,
                      [this](const T* x, T* to, Line* line, Complex* scratch) {
                        this->Read(x, this->used(), this->in_parts_, line);
                        if (this->half()) Complete(line);
                        this->fourier_.Run(this->inverse_, line->data(),
                                           scratch);
                        for (int64_t k = 0; k < this->out_; ++k) {
                          this->Write((*line)[k], k, this->out_parts_, to);
                        }
                      });
  }

 private:
  // In the transform of real numbers, the other half is conjugate, and the
  // numbers that are their own conjugates are real.
  void Complete(Line* line) const {
    for (int64_t k = 0; k < this->used(); ++k) {
      const int64_t other = this->Other(k);
      if (other == k) (*line)[k] = (*line)[k].real();
      if (other != k) (*line)[other] = std::conj((*line)[k]);
    }
  }
};

// The gradient of a sum of products with exp(-2 pi i j k / n) is that with
// exp(2 pi i j k / n): the other transform, times or divided by its length.
template <typename T>
class DftGradKernel final : public DftBase<T> {
 public:
  using DftBase<T>::DftBase;
  using typename DftBase<T>::Line;

  void Compute(OpKernelContext& context) const override {
    T* const x_grad =
        context.AllocateOutput(0, this->x_dims_).template data<T>();
    const auto length = static_cast<double>(this->length_);
    const double factor = this->inverse_ ? 1 / length : length;
    this->ForEachLine(x_grad, context.Input(1).data<T>(),
                      [&](T* to, const T* grad, Line* line, Complex* scratch) {
                        this->Read(grad, this->out_, this->out_parts_, line);
                        this->fourier_.Run(!this->inverse_, line->data(),
                                           scratch);
                        for (int64_t k = 0; k < this->in_; ++k) {
                          Complex value;
                          if (k < this->used()) value = (*line)[k] * factor;
                          if (this->half() && this->Other(k) == k) {
                            value = value.real();
                          }
                          // A number of the first half stands for its
                          // conjugate, too.
                          if (this->half() && this->Other(k) != k) value *= 2;
                          this->Write(value, k, this->in_parts_, to);
                        }
                      });
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(dft, DftKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(dft_grad, DftGradKernel<FloatTypes>);

}  // namespace sluice
