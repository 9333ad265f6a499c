#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/dtype.h"

namespace sluice::framework {

// One tensor of a checkpoint.
struct CheckpointTensor {
  std::string name;
  platform::DType dtype = platform::DType::kFloat32;
  DDim dims;
  uint64_t checksum = 0;

  uint64_t bytes() const;
};

// What stands before the data of a checkpoint, a safetensors file:
//
//   8 bytes, little-endian: the size of the JSON text that follows, which is
//   filled up with spaces so that the data begins at a multiple of 64;
//   {"__metadata__":{"format":"sluice","format_version":"1",
//   "checksum":"<of the header, with 16 zeros here>",
//   "program":"<of names, dtypes and shapes>","step":"<of the scope>",
//   "checksums":"<of each tensor, in order>"},
//   "w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}
//
// Checksums (checksum.h) are 16 hexadecimal digits. Tensors follow each other
// without gaps, those with large elements first, so that all are aligned. The
// same checkpoint always gives the same header, and Read accepts no other.
struct CheckpointHeader {
  uint64_t step = 0;
  // False for a file of something else than Sluice (foreign_header.h), which
  // has no step either.
  bool has_checksums = true;
  std::vector<CheckpointTensor> tensors;

  // The first bytes of the file. Raises InvalidArgument for a name that JSON
  // cannot hold: one that is not UTF-8, or the reserved one.
  std::string Write() const;
  // The inverse; `text` is what stands between the 8 bytes and the data. Raises
  // Unimplemented for a newer format, DataLoss for everything else that Write
  // would not have written.
  static CheckpointHeader Read(std::string_view text);
  // Whether `text` is, or was before it was damaged, the header of a file that
  // Sluice wrote.
  static bool IsOurs(std::string_view text);

  // Of all tensors together.
  uint64_t data_bytes() const;
  // Puts the tensors into the order of the file.
  void Sort();
};

// Whether a file has tensors of `dtype` as those of `stored`: numbers of 4 and
// 2 bits are uint8 there.
bool IsStoredAs(platform::DType dtype, platform::DType stored);
// The dtype that safetensors calls `name`, e.g. "BF16"; nothing for one that
// Sluice lacks.
std::optional<platform::DType> FindSafetensorsDType(std::string_view name);

}  // namespace sluice::framework
