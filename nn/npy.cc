#include <charconv>
#include <cstring>
#include <map>
#include <string>

#include "sluice/framework/files/file.h"
#include "sluice/nn/dataset.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/error.h"

namespace sluice::nn {

namespace {

// NumPy's names of the dtypes, as numpy.lib.format writes them.
const std::map<std::string, DType>& NumpyDTypes() {
  static const std::map<std::string, DType> kDTypes = {
      {"|b1", DType::kBool},    {"|u1", DType::kUInt8},
      {"|i1", DType::kInt8},    {"<u2", DType::kUInt16},
      {"<i2", DType::kInt16},   {"<u4", DType::kUInt32},
      {"<i4", DType::kInt32},   {"<u8", DType::kUInt64},
      {"<i8", DType::kInt64},   {"<f2", DType::kFloat16},
      {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}};
  return kDTypes;
}

// Returns the header: a dict as Python writes it.
std::string ReadHeader(InputFile* file) {
  unsigned char start[12] = {};
  file->Read(start, 10);
  SLUICE_ENFORCE(
      std::memcmp(start, "\x93NUMPY", 6) == 0 && start[6] >= 1 && start[6] <= 3,
      ErrorCode::kDataLoss, "nn.npy_magic",
      "{} is no .npy file of version 1, 2 or 3", file->path());
  size_t length = start[8] | size_t{start[9]} << 8U;
  if (start[6] > 1) {
    file->Read(start + 10, 2);
    length |= size_t{start[10]} << 16U | size_t{start[11]} << 24U;
  }
  SLUICE_ENFORCE(length < file->size(), ErrorCode::kDataLoss, "nn.npy_header",
                 "{} is shorter than its header says", file->path());
  std::string header(length, '\0');
  file->Read(header.data(), length);
  return header;
}

// Returns what follows "'key': " in the header; "" if it is not there.
std::string ValueOf(const std::string& header, const std::string& key) {
  const std::string start = "'" + key + "': ";
  const size_t at = header.find(start);
  return at == std::string::npos ? "" : header.substr(at + start.size());
}

// The sizes in "(1797, 8, 8), ...".
std::vector<int64_t> SizesIn(const std::string& shape,
                             const std::string& path) {
  std::vector<int64_t> sizes;
  const size_t close = shape.find(')');
  bool right = shape.starts_with('(') && close != std::string::npos;
  const char* const end = shape.data() + (right ? close : 1);
  for (const char* at = shape.data() + 1; right && at < end;) {
    int64_t size = -1;
    const auto [next, error] = std::from_chars(at, end, size);
    right = error == std::errc() && size >= 0 && sizes.size() < DDim::kMaxRank;
    sizes.push_back(size);
    for (at = next; at < end && (*at == ',' || *at == ' ');) {
      ++at;
    }
  }
  SLUICE_ENFORCE(right, ErrorCode::kDataLoss, "nn.npy_shape",
                 "the header of {} has no shape of up to {} sizes", path,
                 DDim::kMaxRank);
  return sizes;
}

}  // namespace

Tensor ReadNpy(const std::string& path) {
  InputFile file(path);
  const std::string header = ReadHeader(&file);
  const std::string described = ValueOf(header, "descr");
  const auto dtype = NumpyDTypes().find(
      described.size() > 4 ? described.substr(1, 3) : described);
  SLUICE_ENFORCE(dtype != NumpyDTypes().end() &&
                     ValueOf(header, "fortran_order").starts_with("False"),
                 ErrorCode::kUnimplemented, "nn.npy_kind",
                 "{} must be an array of numbers in C's order and little "
                 "endian; its header is {}",
                 path, header.substr(0, header.find('\n')));
  Tensor tensor;
  tensor.Resize(DDim(SizesIn(ValueOf(header, "shape"), path)));
  const size_t count = static_cast<size_t>(tensor.numel());
  SLUICE_ENFORCE(count <= file.size() / SizeOf(dtype->second),
                 ErrorCode::kDataLoss, "nn.npy_size",
                 "{} has {} bytes, too few for {} of shape {}", path,
                 file.size(), dtype->second, tensor.dims());
  void* values = tensor.mutable_data(dtype->second, {});
  file.Read(values, tensor.bytes());
  if (dtype->second == DType::kBool) {
    auto* bytes = static_cast<uint8_t*>(values);
    for (size_t i = 0; i < count; ++i) {
      bytes[i] = bytes[i] != 0 ? 1 : 0;
    }
  }
  return tensor;
}

}  // namespace sluice::nn
