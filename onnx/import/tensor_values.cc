#include "sluice/onnx/import/tensor_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>

#include <unistd.h>

#include "sluice/framework/files/file.h"
#include "sluice/onnx/onnx.pb.h"
#include "sluice/platform/number_format.h"

namespace sluice::onnx {

namespace {

template <typename Proto>
DDim CheckedDims(const Proto& tensor, const std::string& what) {
  SLUICE_ENFORCE(tensor.dims_size() <= DDim::kMaxRank,
                 ErrorCode::kUnimplemented, "onnx.tensor_rank",
                 "{} has {} dims; Sluice has tensors of at most {}", what,
                 tensor.dims_size(), DDim::kMaxRank);
  int64_t count = 1;
  bool fits = true;
  for (const int64_t dim : tensor.dims()) {
    SLUICE_ENFORCE(dim >= 0, ErrorCode::kInvalidArgument, "onnx.negative_dim",
                   "{} has a dim of {}; expected 0 or more", what, dim);
    fits = fits && !__builtin_mul_overflow(count, dim, &count);
  }
  constexpr int64_t kMostElements = int64_t{1} << 59;
  SLUICE_ENFORCE(fits && count <= kMostElements, ErrorCode::kInvalidArgument,
                 "onnx.size_overflow",
                 "the dims of {} multiply to more elements than 64 bits count",
                 what);
  return DDim(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
}

// The number of typed fields, and raw_data, that are not empty.
int FieldsInUse(const TensorProto& tensor) {
  return (tensor.has_raw_data() ? 1 : 0) +
         (tensor.float_data_size() > 0 ? 1 : 0) +
         (tensor.int32_data_size() > 0 ? 1 : 0) +
         (tensor.string_data_size() > 0 ? 1 : 0) +
         (tensor.int64_data_size() > 0 ? 1 : 0) +
         (tensor.double_data_size() > 0 ? 1 : 0) +
         (tensor.uint64_data_size() > 0 ? 1 : 0);
}

// Copies elements of one of the typed fields, which has one packed byte in an
// entry if elements are packed.
template <typename T, typename Field>
void CopyField(const Field& field, Tensor* result, const std::string& what) {
  constexpr DType kDType = kDTypeOf<T>;
  const auto wanted =
      static_cast<int64_t>(BytesInFile(kDType, result->numel()) / sizeof(T));
  SLUICE_ENFORCE(field.size() == wanted, ErrorCode::kDataLoss,
                 "onnx.tensor_count",
                 "{} has {} elements, its shape {} of {} takes {}", what,
                 field.size(), result->dims(), kDType, wanted);
  T* to = result->mutable_data<T>(CPUPlace());
  const int64_t count = std::min<int64_t>(field.size(), wanted);
  for (int i = 0; i < count; ++i) {
    if constexpr (requires { to[i].bits; }) {
      to[i].bits = static_cast<decltype(to[i].bits)>(field[i]);
    } else {
      to[i] = static_cast<T>(field[i]);
    }
  }
  if (count == wanted) UnpackInPlace(kDType, result->numel(), to);
}

void CopyTyped(const TensorProto& tensor,
               DType dtype,
               Tensor* result,
               const std::string& what) {
  VisitDType(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float>) {
      CopyField<T>(tensor.float_data(), result, what);
    } else if constexpr (std::is_same_v<T, double>) {
      CopyField<T>(tensor.double_data(), result, what);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      CopyField<T>(tensor.int64_data(), result, what);
    } else if constexpr (std::is_same_v<T, uint32_t> ||
                         std::is_same_v<T, uint64_t>) {
      CopyField<T>(tensor.uint64_data(), result, what);
    } else {
      CopyField<T>(tensor.int32_data(), result, what);
    }
  });
}

}  // namespace

DDim DimsOf(const TensorProto& tensor, const std::string& what) {
  return CheckedDims(tensor, what);
}

DType ToDType(int data_type, const std::string& what) {
  switch (data_type) {
#define SLUICE_ROW(dtype, number, type, onnx_type, ...) \
  case ::onnx::TensorProto::onnx_type:                  \
    return DType::dtype;
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
    default:
      break;
  }
  const bool known = ::onnx::TensorProto::DataType_IsValid(data_type);
  Raise(
      ErrorCode::kUnimplemented, "onnx.dtype",
      "{} has the data type {} ({}), which Sluice lacks", what, data_type,
      known ? ::onnx::TensorProto::DataType_Name(data_type) : "none of ONNX's");
}

namespace {

// Reads the elements that the model's file has in the message.
void ReadFields(const TensorProto& tensor,
                const ElementSource* source,
                DType dtype,
                const std::string& what,
                Tensor* result) {
  const DDim& dims = result->dims();
  const auto* apart = source == nullptr ? nullptr : source->Find(tensor.name());
  const int fields = FieldsInUse(tensor) + (apart == nullptr ? 0 : 1);
  SLUICE_ENFORCE(fields <= 1, ErrorCode::kInvalidArgument, "onnx.tensor_fields",
                 "{} has its elements in {} fields; expected one", what,
                 fields);
  if (apart == nullptr && !tensor.has_raw_data()) {
    return CopyTyped(tensor, dtype, result, what);
  }
  const size_t given =
      apart == nullptr ? tensor.raw_data().size() : apart->second;
  const uint64_t bytes = BytesInFile(dtype, dims.numel());
  // Checked before allocating memory, because the shape may be wrong.
  SLUICE_ENFORCE(given == bytes, ErrorCode::kDataLoss, "onnx.tensor_bytes",
                 "{} has {} bytes, its shape {} of {} takes {}", what, given,
                 dims, dtype, bytes);
  void* to = result->mutable_data(dtype, CPUPlace());
  if (apart != nullptr) {
    source->Read(*apart, to);
  } else if (bytes > 0) {
    std::memcpy(to, tensor.raw_data().data(), bytes);
  }
  UnpackInPlace(dtype, dims.numel(), to);
}

}  // namespace

Tensor ToTensor(const TensorProto& tensor,
                const ElementSource* source,
                const std::string& what,
                ImportCost* cost) {
  const DType dtype = ToDType(tensor.data_type(), what);
  Tensor result;
  result.Resize(DimsOf(tensor, what));
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    ReadExternalData(tensor, source == nullptr ? "" : source->folder(), what,
                     dtype, cost, &result);
  } else {
    ReadFields(tensor, source, dtype, what, &result);
  }
  if (dtype == DType::kBool) {
    auto* values = static_cast<uint8_t*>(result.raw_data());
    std::transform(values, values + result.numel(), values,
                   [](uint8_t value) { return value != 0 ? 1 : 0; });
  }
  return result;
}

namespace {

// The index of an element of a sparse tensor in the dense one: `index` has its
// row-major index, or its index in each dim.
int64_t PlaceOf(std::span<const int64_t> index,
                const DDim& dims,
                const std::string& what) {
  const bool by_number = std::ssize(index) != dims.rank();
  int64_t place = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t size =
        by_number ? dims.numel() : dims[static_cast<int>(axis)];
    SLUICE_ENFORCE(index[axis] >= 0 && index[axis] < size,
                   ErrorCode::kInvalidArgument, "onnx.sparse_index",
                   "{} of shape {} has an element at index {}; expected 0 to "
                   "{}",
                   what, dims, index[axis], size - 1);
    place = place * size + index[axis];
  }
  return place;
}

}  // namespace

Tensor ToDense(const ::onnx::SparseTensorProto& sparse,
               const std::string& what,
               ImportCost* cost) {
  const Tensor values =
      ToTensor(sparse.values(), nullptr, "the values of " + what, cost);
  const Tensor indices =
      ToTensor(sparse.indices(), nullptr, "the indices of " + what, cost);
  Tensor dense;
  dense.Resize(CheckedDims(sparse, what));
  const DDim& dims = dense.dims();
  const int64_t count = values.numel();
  SLUICE_ENFORCE(
      values.dims() == DDim{count} && indices.dtype() == DType::kInt64 &&
          (indices.dims() == DDim{count} ||
           indices.dims() == DDim({count, dims.rank()})),
      ErrorCode::kInvalidArgument, "onnx.sparse_indices",
      "{} of shape {} has values {} and indices {} of {}; expected a list of "
      "values, and an int64 index, or one for each dim, for each of them",
      what, dims, values.dims(), indices.dims(), indices.dtype());
  const size_t size = SizeOf(values.dtype());
  cost->Need(what, static_cast<uint64_t>(dims.numel()), size);
  auto* to = static_cast<char*>(dense.mutable_data(values.dtype(), CPUPlace()));
  if (dims.numel() > 0) std::memset(to, 0, dense.bytes());
  const size_t width = count == 0 ? 0 : indices.numel() / count;
  for (int64_t i = 0; i < count; ++i) {
    const std::span<const int64_t> index(indices.data<int64_t>() + i * width,
                                         width);
    std::memcpy(to + PlaceOf(index, dims, what) * size,
                static_cast<const char*>(values.raw_data()) + i * size, size);
  }
  return dense;
}

namespace {

constexpr int kByte = 8;

// Returns 1 for dtypes that are not packed.
int ElementsInAByte(DType dtype) {
  if (!IsStoredNumber(dtype)) return 1;
  return kByte / FormatOf(dtype).bits;
}

}  // namespace

uint64_t BytesInFile(DType dtype, int64_t count) {
  const auto together = static_cast<uint64_t>(ElementsInAByte(dtype));
  const auto elements = static_cast<uint64_t>(count);
  return (elements + together - 1) / together * SizeOf(dtype);
}

void UnpackInPlace(DType dtype, int64_t count, void* data) {
  const int together = ElementsInAByte(dtype);
  if (together == 1) return;
  const int bits = kByte / together;
  const unsigned mask = (1U << bits) - 1;
  auto* bytes = static_cast<uint8_t*>(data);
  // Goes backwards, so that no element is overwritten before it is read.
  for (int64_t i = count; i-- > 0;) {
    const auto shift = static_cast<int>(i % together) * bits;
    const unsigned packed = bytes[i / together];
    bytes[i] = static_cast<uint8_t>(packed >> shift & mask);
  }
}

bool IsPacked(DType dtype) {
  return ElementsInAByte(dtype) > 1;
}

std::string PackedBytes(const Tensor& value) {
  const auto* elements = static_cast<const uint8_t*>(value.raw_data());
  const int together = ElementsInAByte(value.dtype());
  if (together == 1) {
    return {reinterpret_cast<const char*>(elements), value.bytes()};
  }
  const int bits = kByte / together;
  const unsigned mask = (1U << bits) - 1;
  std::string packed(BytesInFile(value.dtype(), value.numel()), '\0');
  for (int64_t i = 0; i < value.numel(); ++i) {
    char& byte = packed[static_cast<size_t>(i / together)];
    const unsigned code = (elements[i] & mask) << (i % together * bits);
    byte = static_cast<char>(static_cast<unsigned char>(byte) | code);
  }
  return packed;
}

namespace fs = std::filesystem;

namespace {

struct Place {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool has_length = false;
};

uint64_t Number(const std::string& key,
                const std::string& text,
                const std::string& what) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  SLUICE_ENFORCE(error == std::errc() && stop == end && !text.empty(),
                 ErrorCode::kInvalidArgument, "onnx.external_number",
                 "{}: the {} of its external data is {}; expected a number of "
                 "bytes",
                 what, key, Shown(text));
  return value;
}

Place PlaceOf(const TensorProto& tensor, const std::string& what) {
  Place place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") {
      place.offset = Number("offset", entry.value(), what);
    }
    if (entry.key() == "length") {
      place.length = Number("length", entry.value(), what);
      place.has_length = true;
    }
  }
  return place;
}

// The path of the file, with all links resolved.
fs::path FileOf(const std::string& location,
                const std::string& folder,
                const std::string& what) {
  const fs::path relative = location;
  const bool plain =
      !location.empty() && !relative.is_absolute() &&
      location.find('\0') == std::string::npos &&
      std::find(relative.begin(), relative.end(), "..") == relative.end();
  SLUICE_ENFORCE(plain, ErrorCode::kInvalidArgument, "onnx.external_path",
                 "{}: its external data is at {}; expected a path inside of "
                 "the model's folder, without ..",
                 what, Shown(location));
  SLUICE_ENFORCE(!folder.empty(), ErrorCode::kInvalidArgument,
                 "onnx.external_folder",
                 "{} is in the file {} of external data, and a model that is "
                 "given as bytes has no folder: name one in the options, or "
                 "load the model from its file",
                 what, Shown(location));
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  SLUICE_ENFORCE(!error, ErrorCode::kNotFound, "onnx.external_missing",
                 "{}: the file {} of its external data is not in {}", what,
                 Shown(location), folder);
  const bool inside =
      std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first ==
      root.end();
  SLUICE_ENFORCE(inside, ErrorCode::kInvalidArgument, "onnx.external_outside",
                 "{}: its external data {} is a link to {}, which is outside "
                 "of the model's folder {}",
                 what, Shown(location), file.string(), root.string());
  SLUICE_ENFORCE(fs::is_regular_file(file, error), ErrorCode::kInvalidArgument,
                 "onnx.external_regular", "{}: its external data {} is no file",
                 what, file.string());
  return file;
}

}  // namespace

void ReadExternalData(const TensorProto& tensor,
                      const std::string& folder,
                      const std::string& what,
                      DType dtype,
                      ImportCost* cost,
                      Tensor* result) {
  const Place place = PlaceOf(tensor, what);
  InputFile file(FileOf(place.location, folder, what).string());
  const uint64_t wanted = BytesInFile(dtype, result->numel());
  SLUICE_ENFORCE(!place.has_length || place.length == wanted,
                 ErrorCode::kDataLoss, "onnx.external_length",
                 "{}: its external data has {} bytes, its shape {} of {} takes "
                 "{}",
                 what, place.length, result->dims(), dtype, wanted);
  SLUICE_ENFORCE(
      place.offset <= file.size() && wanted <= file.size() - place.offset,
      ErrorCode::kDataLoss, "onnx.external_range",
      "{}: its external data is bytes {} to {} of {}, which has {}", what,
      place.offset, place.offset + wanted, file.path(), file.size());
  cost->NeedExternal(file.path(), file.size(), wanted);
  void* to = result->mutable_data(dtype, CPUPlace());
  lseek(file.descriptor(), static_cast<off_t>(place.offset), SEEK_SET);
  if (wanted > 0) file.Read(to, wanted);
  UnpackInPlace(dtype, result->numel(), to);
}

}  // namespace sluice::onnx
