#include "sluice/onnx/import/element_source.h"

#include <cstring>
#include <memory>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include "sluice/onnx/onnx.pb.h"

namespace sluice::onnx {

namespace {

namespace io = google::protobuf::io;
using google::protobuf::internal::WireFormatLite;

// Elements are left in the file from this size on, in files from this size on:
// for smaller ones a scan of the file takes longer than a copy.
constexpr int kLargeBytes = 1 << 16, kLargeModel = 1 << 20;

// The fields that lead from a model to the elements of its initialisers.
constexpr int kPath[] = {::onnx::ModelProto::kGraphFieldNumber,
                         GraphProto::kInitializerFieldNumber,
                         TensorProto::kRawDataFieldNumber};
constexpr int kOfTensor = 2;  // the index of the last one

}  // namespace

class ElementSource::Reader {
 public:
  Reader(io::ZeroCopyInputStream* stream, ElementSource* source)
      : in_(stream), source_(*source) {
    in_.PushLimit(static_cast<int>(source->size()));
  }

  // Appends the fields of a message up to the limit; returns false for bytes
  // that are none.
  bool Copy(int depth, std::string* to) {
    io::StringOutputStream stream(to);
    io::CodedOutputStream out(&stream);
    std::string name;
    Place place;
    while (const uint32_t tag = in_.ReadTag()) {
      if (WireFormatLite::GetTagWireType(tag) !=
          WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!WireFormatLite::SkipField(&in_, tag, &out)) return false;
        continue;
      }
      int size = 0;
      if (!in_.ReadVarintSizeAsInt(&size)) return false;
      if (size > in_.BytesUntilLimit()) return false;
      const int field = WireFormatLite::GetTagFieldNumber(tag);
      std::string inner;
      if (field != kPath[depth] || (depth == kOfTensor && size < kLargeBytes)) {
        if (!in_.ReadString(&inner, size)) return false;
      } else if (depth == kOfTensor) {
        if (place.second > 0) return false;
        place = {in_.CurrentPosition(), size};
        if (!in_.Skip(size)) return false;
        continue;
      } else {
        const auto limit = in_.PushLimit(size);
        if (!Copy(depth + 1, &inner)) return false;
        in_.PopLimit(limit);
      }
      if (depth == kOfTensor && field == TensorProto::kNameFieldNumber) {
        name = inner;
      }
      out.WriteTag(tag);
      out.WriteVarint32(static_cast<uint32_t>(inner.size()));
      out.WriteString(inner);
    }
    if (place.second > 0) source_.places_.insert_or_assign(name, place);
    return in_.ConsumedEntireMessage();
  }

 private:
  io::CodedInputStream in_;
  ElementSource& source_;
};

std::string ElementSource::ReadModel() {
  if (size_ >= kLargeModel) {
    std::unique_ptr<io::ZeroCopyInputStream> stream;
    if (file_ == nullptr) {
      stream = std::make_unique<io::ArrayInputStream>(
          bytes_.data(), static_cast<int>(bytes_.size()));
    } else {
      stream = std::make_unique<io::FileInputStream>(file_->descriptor());
    }
    std::string model;
    if (Reader(stream.get(), this).Copy(0, &model)) return model;
    places_.clear();
    if (file_ != nullptr) lseek(file_->descriptor(), 0, SEEK_SET);
  }
  return file_ == nullptr ? std::string(bytes_) : file_->ReadAll();
}

const ElementSource::Place* ElementSource::Find(
    const std::string& initialiser) const {
  const auto found = places_.find(initialiser);
  return found == places_.end() ? nullptr : &found->second;
}

void ElementSource::Read(const Place& place, void* to) const {
  const auto [offset, size] = place;
  if (file_ == nullptr) {
    std::memcpy(to, bytes_.data() + offset, size);
    return;
  }
  lseek(file_->descriptor(), offset, SEEK_SET);
  file_->Read(to, size);
}

}  // namespace sluice::onnx
