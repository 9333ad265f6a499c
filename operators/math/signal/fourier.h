#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// The discrete Fourier transform of n numbers, in O(n log n) for every n. Sizes
// that are no power of two use Bluestein's chirps (L. Bluestein, "A linear
// filtering approach to the computation of discrete Fourier transform", IEEE
// Transactions on Audio and Electroacoustics 18, 1970). It is made once for
// each n and immutable, so that many threads may run it.
class SLUICE_API Fourier {
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

}  // namespace sluice
