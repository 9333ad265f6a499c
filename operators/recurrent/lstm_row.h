#pragma once

#include <cstdint>

namespace sluice {

// One row of an LSTM's step whose gates are sigmoids, whose candidates are
// tanhs, and whose cells go through a tanh. All arrays have `count` elements.
template <typename T>
struct LstmRowGradArgs {
  int64_t count = 0;
  // As the forward pass kept them.
  const T* in = nullptr;
  const T* out = nullptr;
  const T* forget = nullptr;
  const T* candidate = nullptr;
  const T* tanh_of_cells = nullptr;
  const T* cells_before = nullptr;  // nullptr: they are 0
  const T* h_grad = nullptr;        // of the new state
  // The gradient of the new cells; overwritten by that of the former cells.
  T* c_grad = nullptr;
  // The results: gradients of what went into the gates.
  T* in_grad = nullptr;
  T* out_grad = nullptr;
  T* forget_grad = nullptr;
  T* candidate_grad = nullptr;
};

// c = forget * c + in * candidate, for a row, on the calling thread. Defined
// for float and double, as all of these.
template <typename T>
void LstmCells(
    const T* in, const T* forget, const T* candidate, int64_t count, T* c);

// out = x * y, for a row.
template <typename T>
void MultiplyRow(const T* x, const T* y, int64_t count, T* out);

// Computes the gradients of a row in one pass.
template <typename T>
void LstmRowGrad(const LstmRowGradArgs<T>& row);

}  // namespace sluice
