#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sluice/platform/export.h"

namespace sluice {

// The strings of a run, which tensors hold as int64 numbers. The first numbers
// are those of the table below it, which runs share and nothing may add to any
// more; feeds and ops add others. Keeps each different string until it is
// destroyed, so that a new table for each run bounds the memory. Thread-safe.
class SLUICE_API TextTable {
 public:
  static std::shared_ptr<TextTable> Make(
      std::shared_ptr<const TextTable> below = nullptr);
  ~TextTable();
  TextTable(const TextTable&) = delete;
  TextTable& operator=(const TextTable&) = delete;

  // The number of a string, which is added if it is new.
  int64_t NumberOf(std::string_view text);
  // The string, valid as long as the table; nullptr for another number.
  const std::string* Find(int64_t number) const;
  int64_t size() const;

  // Names the table in this process, for input Texts of ops; never used again.
  int64_t handle() const { return handle_; }
  // nullptr if there is no such table, or no longer.
  static std::shared_ptr<TextTable> Of(int64_t handle);

 private:
  explicit TextTable(std::shared_ptr<const TextTable> below);
  std::optional<int64_t> Look(std::string_view text) const;

  const std::shared_ptr<const TextTable> below_;
  const int64_t first_;  // the number of texts_[0]
  int64_t handle_ = 0;
  mutable std::shared_mutex mutex_;
  std::deque<std::string> texts_;  // never move
  std::unordered_map<std::string_view, int64_t> numbers_;
};

}  // namespace sluice
