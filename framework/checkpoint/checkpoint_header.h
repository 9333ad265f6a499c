#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"

namespace sluice {

// One tensor of a checkpoint.
struct CheckpointTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  DDim dims;
  uint64_t checksum = 0;

  uint64_t bytes() const;
};

// The bytes before the data of a checkpoint, which is a safetensors file:
//
//   8 bytes, little-endian: the size of the JSON text that follows, which is
//   padded with spaces so that the data begins at a multiple of 64;
//   {"__metadata__":{"format":"sluice","format_version":"1",
//   "checksum":"<of the header, with 16 zeros here>",
//   "program":"<of names, dtypes and shapes>","step":"<of the scope>",
//   "checksums":"<of each tensor, in order>"},
//   "w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}
//
// Checksums (checksum.h) are 16 hexadecimal digits. Tensors are contiguous, and
// sorted with large elements first, so that all are aligned. Equal checkpoints
// have equal headers, and Read accepts no other form.
struct CheckpointHeader {
  uint64_t step = 0;
  // False for a file that Sluice did not write (foreign_header.h), which has no
  // step either.
  bool has_checksums = true;
  std::vector<CheckpointTensor> tensors;

  // Returns the first bytes of the file. Raises InvalidArgument for a name that
  // is not UTF-8, which JSON cannot hold, or is the reserved one.
  std::string Write() const;
  // The inverse; `text` is the text between the 8 bytes and the data. Raises
  // Unimplemented for a newer format, DataLoss for any other text that Write
  // does not produce.
  static CheckpointHeader Read(std::string_view text);
  // Whether `text` is the header, possibly damaged, of a file that Sluice
  // wrote.
  static bool IsOurs(std::string_view text);

  // Bytes of all tensors together.
  uint64_t data_bytes() const;
  // Sorts the tensors in file order.
  void Sort();
};

// Whether a file stores tensors of `dtype` as `stored`: numbers of 4 and 2 bits
// are stored as uint8.
bool IsStoredAs(DType dtype, DType stored);
// Returns the dtype that safetensors calls `name`, e.g. "BF16"; nothing if
// Sluice lacks it.
std::optional<DType> FindSafetensorsDType(std::string_view name);

}  // namespace sluice
