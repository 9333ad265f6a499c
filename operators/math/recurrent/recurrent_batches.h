#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

// Calls body(direction, begin, end) for ranges of the batch in all directions.
// Rows of a batch do not depend on each other, so if R fits into a core's
// cache, each thread computes all steps of its rows. Otherwise the threads
// share the products of one direction at a time. The ranges do not depend on
// the number of threads.
template <typename Body>
void ForBatches(const RecurrentLayer& layer, size_t element, const Body& body) {
  constexpr int64_t kRows = 32, kCached = 1 << 20;
  const int64_t bytes =
      layer.gate_rows() * layer.hidden * static_cast<int64_t>(element);
  const int64_t pieces =
      bytes > kCached ? 1 : (layer.batch + kRows - 1) / kRows;
  const auto run = [&](int64_t piece) {
    const int64_t i = piece % pieces;
    body(piece / pieces, i * layer.batch / pieces,
         (i + 1) * layer.batch / pieces);
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
