#include "sluice/framework/values/text_table.h"

#include <map>
#include <mutex>
#include <utility>

namespace sluice {
namespace {

struct Handles {
  std::mutex mutex;
  int64_t last = 0;
  std::map<int64_t, std::weak_ptr<TextTable>> tables;
};

Handles& AllHandles() {
  static auto* const kHandles = new Handles();
  return *kHandles;
}

}  // namespace

TextTable::TextTable(std::shared_ptr<const TextTable> below)
    : below_(std::move(below)), first_(below_ ? below_->size() : 0) {}

std::shared_ptr<TextTable> TextTable::Make(
    std::shared_ptr<const TextTable> below) {
  const std::shared_ptr<TextTable> table(new TextTable(std::move(below)));
  Handles& all = AllHandles();
  const std::lock_guard lock(all.mutex);
  all.tables[all.last + 1] = table;
  table->handle_ = ++all.last;
  return table;
}

TextTable::~TextTable() {
  Handles& all = AllHandles();
  const std::lock_guard lock(all.mutex);
  all.tables.erase(handle_);
}

std::shared_ptr<TextTable> TextTable::Of(int64_t handle) {
  Handles& all = AllHandles();
  const std::lock_guard lock(all.mutex);
  const auto found = all.tables.find(handle);
  return found == all.tables.end() ? nullptr : found->second.lock();
}

std::optional<int64_t> TextTable::Look(std::string_view text) const {
  if (below_) {
    if (const auto number = below_->Look(text)) return number;
  }
  const std::shared_lock lock(mutex_);
  const auto found = numbers_.find(text);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

int64_t TextTable::NumberOf(std::string_view text) {
  if (const auto number = Look(text)) return *number;
  const std::unique_lock lock(mutex_);
  const auto found = numbers_.find(text);  // another thread may have added it
  if (found != numbers_.end()) return found->second;
  const int64_t number = first_ + static_cast<int64_t>(texts_.size());
  texts_.emplace_back(text);
  try {
    numbers_.emplace(texts_.back(), number);
  } catch (...) {
    texts_.pop_back();
    throw;
  }
  return number;
}

const std::string* TextTable::Find(int64_t number) const {
  if (number < first_) return below_ ? below_->Find(number) : nullptr;
  const std::shared_lock lock(mutex_);
  const auto index = static_cast<uint64_t>(number - first_);
  return index < texts_.size() ? &texts_[index] : nullptr;
}

int64_t TextTable::size() const {
  const std::shared_lock lock(mutex_);
  return first_ + static_cast<int64_t>(texts_.size());
}

}  // namespace sluice
