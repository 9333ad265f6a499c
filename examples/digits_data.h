#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/sluice.h"

// Reads examples/data: .npy arrays of bytes in NumPy's format version 1.0. A
// tool of the examples, not a part of Sluice.
namespace examples {

struct ByteArray {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

// Raises std::runtime_error, with the path, for anything but a row-major uint8
// array.
inline ByteArray ReadNpy(const std::string& path) {
  const auto fail = [&path](const std::string& what) {
    throw std::runtime_error(path + ": " + what);
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot be opened");
  std::string start(10, '\0');
  file.read(start.data(), 10);
  if (!file || start.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8)) != 0) {
    fail("is no .npy file of version 1.0");
  }
  std::string header(
      static_cast<uint8_t>(start[8]) + (static_cast<uint8_t>(start[9]) << 8),
      '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  const size_t shape = header.find('(');
  if (!file || shape == std::string::npos ||
      header.find("'|u1'") == std::string::npos ||
      header.find("'fortran_order': False") == std::string::npos) {
    fail("expected a row-major array of uint8");
  }
  ByteArray array;
  size_t count = 1;
  std::istringstream sizes(header.substr(shape + 1));
  for (int64_t size; sizes >> size;) {
    array.sizes.push_back(size);
    count *= static_cast<size_t>(size);
    sizes.ignore(1, ',');
  }
  array.values.resize(count);
  file.read(reinterpret_cast<char*>(array.values.data()),
            static_cast<std::streamsize>(count));
  if (!file) fail("is shorter than its header says");
  return array;
}

// A range [begin, end) of the images as T [n, 8, 8], or of the labels as T [n].
template <typename T>
sluice::Tensor Rows(const ByteArray& array, int64_t begin, int64_t end) {
  std::vector<int64_t> sizes = array.sizes;
  int64_t row = 1;
  for (size_t axis = 1; axis < sizes.size(); ++axis) {
    row *= sizes[axis];
  }
  sizes[0] = end - begin;
  return sluice::Tensor::FromVector(
      sluice::DDim(sizes), std::vector<T>(array.values.begin() + begin * row,
                                          array.values.begin() + end * row));
}

}  // namespace examples
