#include "sluice/operators/math/signal/fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace sluice {
namespace {

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

}  // namespace

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

}  // namespace sluice
