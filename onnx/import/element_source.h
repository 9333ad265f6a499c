#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/framework/files/file.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Where the elements of initialisers are that are not in their messages:
// external data is in a folder, and the elements (raw_data) of the graph's
// large initialisers stay in the model's file until they are read to where the
// program has them. Owned by one import.
class ElementSource {
 public:
  // The file, and the bytes, of a model must outlive it. `folder` is that of
  // external data, "" for none.
  ElementSource(InputFile* file, std::string folder)
      : file_(file), size_(file->size()), folder_(std::move(folder)) {}
  ElementSource(std::string_view bytes, std::string folder)
      : bytes_(bytes), size_(bytes.size()), folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // The bytes of the model in all.
  uint64_t size() const { return size_; }

  // Returns the serialized model without the elements left in the file; all of
  // a small or damaged one. Raises NotFound for an unreadable file.
  std::string ReadModel();

  // An offset and a size, in bytes.
  using Place = std::pair<int, int>;
  // Returns null for an initialiser whose elements are in its message.
  const Place* Find(const std::string& initialiser) const;
  // Raises NotFound or DataLoss.
  void Read(const Place& place, void* to) const;

 private:
  class Reader;

  InputFile* file_ = nullptr;
  std::string_view bytes_;
  uint64_t size_;
  std::string folder_;
  std::map<std::string, Place> places_;  // by name
};

}  // namespace sluice::onnx
