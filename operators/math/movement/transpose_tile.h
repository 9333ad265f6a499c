#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// Writes element (c, r) of `from` to element (r, c) of `to`, for `rows` rows
// and `columns` columns of `to`, on the calling thread. Rows of both are
// contiguous; their strides are in bytes. `element_size` is 1, 2, 4 or 8 bytes.
void TransposeTile(const char* from,
                   int64_t from_stride,
                   char* to,
                   int64_t to_stride,
                   int64_t rows,
                   int64_t columns,
                   size_t element_size);

}  // namespace sluice
