#include "sluice/onnx/import/external_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <unistd.h>

#include "sluice/framework/files/file.h"
#include "sluice/onnx/import/packed_values.h"
#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

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
