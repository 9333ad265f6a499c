#include "sluice/framework/checkpoint/foreign_header.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "sluice/platform/error.h"

namespace sluice {

namespace {

template <typename... Args>
[[noreturn]] void Fail(fmt::string_view format, const Args&... args) {
  Raise(ErrorCode::kDataLoss, "checkpoint.foreign_header",
        "the header is no safetensors header: {}", Format(format, args...));
}

// A tensor of the header that is being parsed.
struct Entry {
  CheckpointTensor tensor;
  std::vector<int64_t> sizes;
  std::vector<uint64_t> offsets;
  bool has_dtype = false;
  bool has_shape = false;
};

// Handles the events of the parser, without a JSON tree, so that exhausted
// memory raises an ordinary exception. Depth 1 is the header's object, 2 the
// object of a tensor or of the metadata, 3 a list.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Entry> entries;

  bool start_object(std::size_t /*size*/) override {
    if (++depth_ > 2 || (depth_ == 2 && in_list_)) {
      Fail("{} is an object", key_);
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_) {
      const Entry& entry = entries.back();
      if (!entry.has_dtype || !entry.has_shape || entry.offsets.size() != 2) {
        Fail("tensor {} lacks dtype, shape or data_offsets", name());
      }
    }
    return true;
  }
  bool key(std::string& key) override {
    key_ = key;
    if (depth_ == 2 && !in_metadata_ && !keys_.insert(key).second) {
      Fail("tensor {} has {} twice", name(), key);
    }
    if (depth_ != 1) return true;
    keys_.clear();
    if (!names_.insert(key).second) Fail("it has {} twice", key);
    in_metadata_ = key == "__metadata__";
    if (!in_metadata_) {
      entries.emplace_back();
      entries.back().tensor.name = key;
    }
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && in_metadata_) return true;
    if (depth_ != 2 || in_list_ || key_ != "dtype") Unexpected();
    entries.back().tensor.dtype = DTypeOf(name(), text);
    entries.back().has_dtype = true;
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (!in_list_) Unexpected();
    if (key_ == "shape") {
      if (number > static_cast<uint64_t>(INT64_MAX)) Unexpected();
      entries.back().sizes.push_back(static_cast<int64_t>(number));
    } else {
      entries.back().offsets.push_back(number);
    }
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    const bool known = key_ == "shape" || key_ == "data_offsets";
    if (depth_ != 2 || in_metadata_ || in_list_ || !known) Unexpected();
    in_list_ = true;
    entries.back().has_shape = entries.back().has_shape || key_ == "shape";
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool null() override { Unexpected(); }
  bool boolean(bool /*value*/) override { Unexpected(); }
  bool number_integer(number_integer_t /*value*/) override { Unexpected(); }
  bool number_float(number_float_t /*value*/,
                    const std::string& /*text*/) override {
    Unexpected();
  }
  bool binary(binary_t& /*value*/) override { Unexpected(); }
  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    Fail("it is no JSON at byte {}", position);
  }

 private:
  const std::string& name() const { return entries.back().tensor.name; }

  [[noreturn]] void Unexpected() const {
    if (entries.empty()) Fail("unexpected value of \"{}\"", key_);
    Fail("unexpected value of \"{}\" at tensor {}", key_, name());
  }

  static DType DTypeOf(const std::string& tensor, const std::string& text) {
    const auto dtype = FindSafetensorsDType(text);
    SLUICE_ENFORCE(
        dtype.has_value(), ErrorCode::kUnimplemented,
        "checkpoint.foreign_dtype",
        "tensor {} has dtype {}, which Sluice does not know: convert "
        "it before",
        tensor, text);
    return *dtype;
  }

  int depth_ = 0;
  bool in_list_ = false;
  bool in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> keys_;  // of the current tensor
};

void CheckData(const std::vector<Entry>& entries) {
  uint64_t end = 0;
  for (const Entry& entry : entries) {
    const CheckpointTensor& tensor = entry.tensor;
    if (entry.offsets[0] != end || entry.offsets[1] < end) {
      Fail("the data of tensor {} begins at byte {}, expected {}", tensor.name,
           entry.offsets[0], end);
    }
    if (entry.offsets[1] - end != tensor.bytes()) {
      Fail("tensor {} is {} {} and has {} bytes, expected {}", tensor.name,
           tensor.dtype, tensor.dims, entry.offsets[1] - end, tensor.bytes());
    }
    end = entry.offsets[1];
  }
}

}  // namespace

CheckpointHeader ReadForeignHeader(std::string_view text) {
  // The parser ends at a byte of 0.
  if (!text.starts_with('{') || text.find('\0') != text.npos) {
    Fail("it does not begin with {{, or has a byte of 0");
  }
  Reader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) Fail("it is no JSON");
  std::vector<Entry>& entries = reader.entries;
  for (Entry& entry : entries) {
    // DDim raises for more dimensions than a tensor can have.
    entry.tensor.dims = DDim(entry.sizes);
  }
  // An empty tensor has the same offset as the next one.
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  CheckData(entries);
  CheckpointHeader header;
  header.has_checksums = false;
  for (Entry& entry : entries) {
    header.tensors.push_back(std::move(entry.tensor));
  }
  return header;
}

}  // namespace sluice
