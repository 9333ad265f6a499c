#include "sluice/framework/checkpoint/checkpoint_header.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "sluice/framework/files/checksum.h"
#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

constexpr uint64_t kFormatVersion = 1;
constexpr size_t kHeaderAlignment = 64;
constexpr std::string_view kReserved = "__metadata__";

// Scans JSON in the form of CheckpointHeader::Write, front to back: no spaces
// between values, integers without sign, escapes as in AppendJsonString. It
// stores nothing, so exhausted memory raises an ordinary exception. Raises
// DataLoss with the position for any other text.
class HeaderScanner {
 public:
  explicit HeaderScanner(std::string_view text) : text_(text) {}

  // Skips `token` if it comes next; returns whether it did.
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  std::string String();
  uint64_t Integer();
  // Reads 16 hexadecimal digits without quotes.
  uint64_t Hex();
  // Requires that only spaces are left.
  void ExpectEnd();

  // Raises an error that `expected` should come next.
  [[noreturn]] void Fail(std::string_view expected) const;

 private:
  char Next();

  std::string_view text_;
  size_t position_ = 0;
};

// Returns -1 for any other character than a lower-case hexadecimal digit.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

void HeaderScanner::Fail(std::string_view expected) const {
  Raise(ErrorCode::kDataLoss, "checkpoint.header",
        "the header is damaged: expected {} at byte {} of {}", expected,
        position_, text_.size());
}

bool HeaderScanner::Accept(std::string_view token) {
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

void HeaderScanner::Expect(std::string_view token) {
  if (!Accept(token)) Fail(token);
}

char HeaderScanner::Next() {
  if (position_ == text_.size()) Fail("more");
  return text_[position_++];
}

std::string HeaderScanner::String() {
  Expect("\"");
  std::string value;
  for (char c = Next(); c != '"'; c = Next()) {
    if (c == '\\') {
      c = Next();
      if (c == 'n') {
        c = '\n';
      } else if (c == 'u') {
        Expect("00");
        const int high = HexDigit(Next());
        const int low = HexDigit(Next());
        if (high < 0 || low < 0) Fail("a character code");
        c = static_cast<char>(high * 16 + low);
      } else if (c != '"' && c != '\\') {
        Fail("an escaped character");
      }
    }
    value += c;
  }
  return value;
}

uint64_t HeaderScanner::Integer() {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const size_t begin = position_;
  uint64_t value = 0;
  while (position_ < text_.size() && text_[position_] >= '0' &&
         text_[position_] <= '9') {
    const auto digit = static_cast<uint64_t>(text_[position_++] - '0');
    if (value > (kMax - digit) / 10) Fail("a 64-bit integer");
    value = value * 10 + digit;
  }
  if (position_ == begin) Fail("an integer");
  return value;
}

uint64_t HeaderScanner::Hex() {
  uint64_t value = 0;
  for (int i = 0; i < 16; ++i) {
    const int digit = HexDigit(Next());
    if (digit < 0) Fail("a hexadecimal digit");
    value = value * 16 + static_cast<uint64_t>(digit);
  }
  return value;
}

void HeaderScanner::ExpectEnd() {
  while (Accept(" ")) {
  }
  if (position_ != text_.size()) Fail("the end");
}

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
  text.append((kHeaderAlignment - end % kHeaderAlignment) % kHeaderAlignment,
              ' ');
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
