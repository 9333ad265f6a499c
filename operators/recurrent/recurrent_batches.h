#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sluice/operators/recurrent/recurrent.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

// Rows of a batch: first, first + by, ... below end.
struct RecurrentSlots {
  int64_t first, end, by;

  // Those that are below `limit`.
  int64_t Count(int64_t limit) const {
    const int64_t last = std::min(limit, end);
    return last <= first ? 0 : (last - first + by - 1) / by;
  }
  // Those that have step t.
  int64_t At(const RecurrentLayer& layer, int64_t t) const {
    return Count(layer.ragged == nullptr ? end : layer.ragged->SlotsAt(t));
  }
  // Calls body(row of the batch) for the first `count`.
  template <typename Body>
  void ForEach(int64_t count, const Body& body) const {
    for (int64_t k = 0; k < count; ++k) {
      body(first + k * by);
    }
  }
  // Calls body(row) for the first `count` rows, through ParallelFor.
  template <typename Body>
  void ForEach(int64_t count, int64_t grain, const Body& body) const {
    ParallelFor(count, grain, [&](int64_t begin, int64_t stop) {
      for (int64_t k = begin; k < stop; ++k) {
        body(first + k * by);
      }
    });
  }
};

// Calls body(direction, slots) for parts of the batch in all directions. Rows
// of a batch do not depend on each other, so if R fits into a core's cache,
// each thread computes all steps of its rows. Otherwise the threads share the
// products of one direction at a time. Of ragged rows each part has long and
// short ones. The parts do not depend on the number of threads.
template <typename Body>
void ForBatches(const RecurrentLayer& layer, size_t element, const Body& body) {
  constexpr int64_t kRows = 32, kCached = 1 << 20;
  const int64_t bytes =
      layer.gate_rows() * layer.hidden * static_cast<int64_t>(element);
  const int64_t pieces =
      bytes > kCached ? 1 : (layer.batch + kRows - 1) / kRows;
  const auto run = [&](int64_t piece) {
    const int64_t i = piece % pieces;
    const RecurrentSlots slots =
        layer.ragged == nullptr
            ? RecurrentSlots{i * layer.batch / pieces,
                             (i + 1) * layer.batch / pieces, 1}
            : RecurrentSlots{i, layer.batch, pieces};
    body(piece / pieces, slots);
  };
  if (layer.batch == 0) return;
  const int64_t count = layer.directions * pieces;
  if (bytes > kCached || count == 1) {
    for (int64_t piece = 0; piece < count; ++piece) {
      run(piece);
    }
    return;
  }
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      run(piece);
    }
  });
}

// Calls body(row of the gates, row of x) for all rows that are no padding of
// ragged ones.
template <typename Body>
void ForRowsOfX(const RecurrentLayer& layer,
                int64_t direction,
                const Body& body) {
  if (layer.ragged == nullptr) {
    for (int64_t row = 0; row < layer.rows; ++row) {
      body(row, row);
    }
    return;
  }
  for (int64_t t = 0; t < layer.steps; ++t) {
    for (int64_t b = 0; b < layer.ragged->SlotsAt(t); ++b) {
      body(layer.GateRow(t, b), layer.XRow(direction, t, b));
    }
  }
}

// Returns x in the order of the gates: x itself, or of ragged rows `copy`.
template <typename T>
const T* InOrderOfGates(const RecurrentLayer& layer,
                        int64_t direction,
                        const T* x,
                        T* copy) {
  if (layer.ragged == nullptr) return x;
  ForRowsOfX(layer, direction, [&](int64_t to, int64_t from) {
    std::copy_n(x + from * layer.input, layer.input, copy + to * layer.input);
  });
  return copy;
}

// turned [columns, rows] = the transpose of r [rows, columns].
template <typename T>
void Transpose(const T* r, int64_t rows, int64_t columns, T* turned) {
  constexpr int64_t kBlock = 16;
  for (int64_t first = 0; first < rows; first += kBlock) {
    const int64_t last = std::min(first + kBlock, rows);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t n = first; n < last; ++n) {
        turned[j * rows + n] = r[n * columns + j];
      }
    }
  }
}

}  // namespace sluice
