#pragma once

#include <cstdint>

#include "sluice/operators/recurrent/recurrent.h"

// The two parts of the gradients of recurrent layers: recurrent_grad.cc goes
// through the steps, recurrent_grad_sums.cc computes what all steps add to.
namespace sluice {

// The scratch memory of one direction. Rows of all steps are in the order of
// the gates.
template <typename T>
struct RecurrentGradBuffers {
  RecurrentGradBuffers(const RecurrentLayer& l, T* scratch)
      : gates(scratch),
        before(gates + l.rows * l.gate_rows()),
        third(before + l.rows * l.hidden),
        h(third + Third(l)),
        c(h + l.batch * l.hidden),
        product(c + l.batch * l.hidden) {}

  static int64_t Third(const RecurrentLayer& l) {
    return l.cell == RecurrentCell::kGru ? l.rows * l.hidden : 0;
  }
  static int64_t Count(const RecurrentLayer& l) {
    return l.rows * (l.gate_rows() + l.hidden) + Third(l) +
           3 * l.batch * l.hidden;
  }

  T* gates;   // gradients of the products with R, for all steps
  T* before;  // states before the steps; 0 past the end of a row
  // GRU: with linear_before_reset gradients of the third product with W; else r
  // times the states before.
  T* third;
  // For the batch, of one step: gradients of the state and of the cells, and a
  // product with R.
  T* h;
  T* c;
  T* product;
};

// Whether row b has a step before its step t.
template <typename T>
bool HasStepBefore(const RecurrentLayer& l,
                   const RecurrentArgs<T>& args,
                   int64_t direction,
                   int64_t t,
                   int64_t b) {
  const int64_t past = l.Before(direction, t);
  return past >= 0 && past < l.steps && args.Has(past, b);
}

// The gates of row b that step t kept.
template <typename T>
const T* KeptGates(const RecurrentLayer& l,
                   const RecurrentArgs<T>& args,
                   int64_t direction,
                   int64_t t,
                   int64_t b) {
  return args.reserve +
         (direction * l.rows + l.GateRow(t, b)) * l.reserve_row();
}

// The cells before step t of row b; nullptr: they are 0.
template <typename T>
const T* CellsBefore(const RecurrentLayer& l,
                     const RecurrentArgs<T>& args,
                     int64_t direction,
                     int64_t t,
                     int64_t b) {
  if (HasStepBefore(l, args, direction, t, b)) {
    return KeptGates(l, args, direction, l.Before(direction, t), b) +
           l.extra_block() * l.hidden;
  }
  if (args.first_c == nullptr) return nullptr;
  return args.first_c + l.StateRow(direction, b) * l.hidden;
}

// Calls body(row of x) for the rows past the ends, unless they are ragged.
template <typename T, typename Body>
void ForPadding(const RecurrentLayer& l,
                const RecurrentArgs<T>& args,
                const Body& body) {
  if (args.lens == nullptr || l.packed) return;
  for (int64_t b = 0; b < l.batch; ++b) {
    for (int64_t t = args.lens[b]; t < l.steps; ++t) {
      body(l.GateRow(t, b));
    }
  }
}

// Computes the gradients of weights, biases and x from those of the gates of
// one direction. Scratch memory: `copy` for x, `turned` for a gradient, and
// `sums` for a row of the gates.
template <typename T>
void RecurrentGradSums(const RecurrentLayer& layer,
                       const RecurrentGradArgs<T>& args,
                       const RecurrentGradBuffers<T>& buffers,
                       int64_t direction,
                       T* copy,
                       T* turned,
                       double* sums);

}  // namespace sluice
