#include "sluice/framework/checkpoint/checkpoint_header.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "sluice/framework/checkpoint/header_scanner.h"
#include "sluice/framework/files/checksum.h"
#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

constexpr uint64_t kFormatVersion = 1;
constexpr size_t kAlignment = 64;
constexpr std::string_view kReserved = "__metadata__";

DType ScanDType(HeaderScanner& scanner) {
  for (const NumberFormat& format : NumberFormats()) {
    if (scanner.Accept(Format("\"{}\"", format.safetensors))) {
      return format.dtype;
    }
  }
  scanner.Fail("a dtype");
}

std::string JsonString(const std::string& text) {
  std::string json;
  AppendJsonString(json, text);
  return json;
}

// Digest of names, dtypes and shapes: a program needs the same to load a file.
uint64_t Digest(const std::vector<CheckpointTensor>& tensors) {
  std::string text;
  for (const CheckpointTensor& tensor : tensors) {
    text += JsonString(tensor.name) +
            Format(" {} {}\n", FormatOf(tensor.dtype).safetensors, tensor.dims);
  }
  return Checksum(text.data(), text.size());
}

std::string Describe(const CheckpointTensor& tensor, uint64_t offset) {
  std::string shape;
  for (const int64_t size : tensor.dims) {
    shape += Format("{}{}", shape.empty() ? "" : ",", size);
  }
  return Format(
      "{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
      JsonString(tensor.name), FormatOf(tensor.dtype).safetensors, shape,
      offset, offset + tensor.bytes());
}

CheckpointTensor ScanTensor(HeaderScanner& scanner) {
  CheckpointTensor tensor;
  tensor.name = scanner.String();
  scanner.Expect(":{\"dtype\":");
  tensor.dtype = ScanDType(scanner);
  scanner.Expect(",\"shape\":[");
  std::vector<int64_t> sizes;
  while (!scanner.Accept("]")) {
    if (!sizes.empty()) scanner.Expect(",");
    sizes.push_back(static_cast<int64_t>(scanner.Integer() & INT64_MAX));
  }
  tensor.dims = DDim(sizes);
  scanner.Expect(",\"data_offsets\":[");
  scanner.Integer();
  scanner.Expect(",");
  scanner.Integer();
  scanner.Expect("]}");
  return tensor;
}

void CheckName(const std::string& name) {
  const bool fits =
      name != kReserved && HeaderScanner(JsonString(name)).String() == name;
  SLUICE_ENFORCE(fits, ErrorCode::kInvalidArgument, "checkpoint.name",
                 "variable {} cannot be saved: its name is reserved or not "
                 "UTF-8",
                 JsonString(name));
}

}  // namespace

bool IsStoredAs(DType dtype, DType stored) {
  return FormatOf(dtype).safetensors == FormatOf(stored).safetensors &&
         (dtype == stored || stored == DType::kUInt8);
}

std::optional<DType> FindSafetensorsDType(std::string_view name) {
  for (const NumberFormat& format : NumberFormats()) {
    if (format.safetensors == name) return format.dtype;
  }
  return std::nullopt;
}

uint64_t CheckpointTensor::bytes() const {
  return static_cast<uint64_t>(dims.numel()) * SizeOf(dtype);
}

uint64_t CheckpointHeader::data_bytes() const {
  uint64_t bytes = 0;
  for (const CheckpointTensor& tensor : tensors) {
    bytes += tensor.bytes();
  }
  return bytes;
}

void CheckpointHeader::Sort() {
  std::sort(tensors.begin(), tensors.end(), [](auto& a, auto& b) {
    const size_t size_a = SizeOf(a.dtype);
    const size_t size_b = SizeOf(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
}

std::string CheckpointHeader::Write() const {
  std::string text = Format(
      "{{\"__metadata__\":{{\"format\":\"sluice\",\"format_version\":\"{}\","
      "\"checksum\":\"",
      kFormatVersion);
  const size_t checksum_at = text.size();
  text += Format("{:016x}\",\"program\":\"{:016x}\",\"step\":\"{}\",", 0,
                 Digest(tensors), step);
  text += "\"checksums\":\"";
  for (const CheckpointTensor& tensor : tensors) {
    CheckName(tensor.name);
    text += Format("{:016x}", tensor.checksum);
  }
  text += "\"}";
  uint64_t offset = 0;
  for (const CheckpointTensor& tensor : tensors) {
    text += "," + Describe(tensor, offset);
    offset += tensor.bytes();
  }
  text += '}';
  const size_t end = sizeof(uint64_t) + text.size();
  text.append((kAlignment - end % kAlignment) % kAlignment, ' ');
  const std::string checksum =
      Format("{:016x}", Checksum(text.data(), text.size()));
  text.replace(checksum_at, checksum.size(), checksum);
  const uint64_t size = text.size();
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  return bytes + text;
}

// Requires only two marks: damage in one place leaves the others intact.
bool CheckpointHeader::IsOurs(std::string_view text) {
  const std::string_view begin = text.substr(0, 200);
  int found = 0;
  for (const std::string_view mark :
       {"\"format\":\"sluice\"",
        "\"format_version\":", "\"checksum\":", "\"checksums\":\""}) {
    if (begin.find(mark) != std::string_view::npos) ++found;
  }
  return found >= 2;
}

CheckpointHeader CheckpointHeader::Read(std::string_view text) {
  HeaderScanner scanner(text);
  scanner.Expect(
      "{\"__metadata__\":{\"format\":\"sluice\",\"format_version\":\"");
  const uint64_t version = scanner.Integer();
  SLUICE_ENFORCE(version <= kFormatVersion, ErrorCode::kUnimplemented,
                 "checkpoint.newer_format",
                 "the checkpoint has format {}, this build reads up to {}: it "
                 "was written by a newer Sluice",
                 version, kFormatVersion);
  CheckpointHeader header;
  scanner.Expect("\",\"checksum\":\"");
  scanner.Hex();
  scanner.Expect("\",\"program\":\"");
  scanner.Hex();
  scanner.Expect("\",\"step\":\"");
  header.step = scanner.Integer();
  scanner.Expect("\",\"checksums\":\"");
  std::vector<uint64_t> checksums;
  while (!scanner.Accept("\"}")) {
    checksums.push_back(scanner.Hex());
  }
  for (const uint64_t checksum : checksums) {
    scanner.Expect(",");
    header.tensors.push_back(ScanTensor(scanner));
    header.tensors.back().checksum = checksum;
  }
  scanner.Expect("}");
  scanner.ExpectEnd();
  // Comparing with the output of Write checks everything else: checksum,
  // digest, offsets, order and size.
  SLUICE_ENFORCE(
      std::string_view(header.Write()).substr(sizeof(uint64_t)) == text,
      ErrorCode::kDataLoss, "checkpoint.header_checksum",
      "the header is damaged: it does not have the checksum that it names");
  return header;
}

}  // namespace sluice
