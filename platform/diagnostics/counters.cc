#include "sluice/platform/diagnostics/counters.h"

#include <mutex>

namespace sluice {
namespace {

struct Table {
  std::mutex mutex;
  // Addresses of map nodes are stable.
  std::map<std::string, std::atomic<int64_t>, std::less<>> counters;
};

Table& TheTable() {
  static Table* table = new Table;
  return *table;
}

}  // namespace

std::atomic<int64_t>& Counter(std::string_view name) {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  const auto found = table.counters.find(name);
  if (found != table.counters.end()) return found->second;
  return table.counters[std::string(name)];
}

std::map<std::string, int64_t> Counters() {
  Table& table = TheTable();
  const std::lock_guard<std::mutex> lock(table.mutex);
  std::map<std::string, int64_t> values;
  for (const auto& [name, counter] : table.counters) {
    values[name] = counter.load(std::memory_order_relaxed);
  }
  return values;
}

}  // namespace sluice
