#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Products of float matrices whose second matrix is reused: it is packed once
// into panels of as many columns as registers hold.
namespace sluice {

// The columns of a panel and the rows computed together on this machine.
SLUICE_API int64_t PanelColumns();
SLUICE_API int64_t PanelRowsAtOnce();

// Rounds up to a multiple of PanelColumns(). A packed matrix is stored as
// [panels][depth][PanelColumns()], depth * PaddedColumns(columns) elements.
inline int64_t PaddedColumns(int64_t columns) {
  const int64_t width = PanelColumns();
  return (columns + width - 1) / width * width;
}

// Packs panels [begin, end) of the transpose of rows [columns][depth]. Row j is
// multiplied by factors[j] (nullptr: 1) in double. Zeros follow the columns.
SLUICE_API void PackPanels(const float* rows,
                           int64_t depth,
                           int64_t columns,
                           const double* factors,
                           int64_t begin,
                           int64_t end,
                           float* packed);

// Packs panels [begin, end) of a matrix [depth][columns].
SLUICE_API void PackPanelsOfRows(const float* matrix,
                                 int64_t depth,
                                 int64_t columns,
                                 int64_t begin,
                                 int64_t end,
                                 float* packed);

// C [rows, columns] = start + A [rows, depth] B.
struct PanelProduct {
  const float* a = nullptr;
  int64_t lda = 0;  // stride between rows
  const float* packed = nullptr;
  int64_t depth = 0;
  const float* start = nullptr;  // [columns], or nullptr: 0
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t rows = 0, columns = 0;
};

// Computes the columns of panels [begin, end) on the calling thread. Writes
// nothing after the last column. Sums are in blocks of 256 terms.
SLUICE_API void MultiplyPanels(const PanelProduct& product,
                               int64_t begin,
                               int64_t end);

}  // namespace sluice
