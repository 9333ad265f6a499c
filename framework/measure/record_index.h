#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/framework/measure/record.h"
#include "sluice/framework/measure/record_store.h"

namespace sluice::framework {

// What is looked up by: 128 bits of hash, see RecordText.
struct IndexKey {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const IndexKey&) const = default;
};

// The record that is current for a key.
struct RecordSlot {
  const Record* record = nullptr;
};

// From keys to slots: one array without chains, so that a look-up costs few
// cache misses.
class RecordTable {
 public:
  // Adds a key that is not there yet.
  void Add(const IndexKey& key, RecordSlot* slot);
  // Null where there is none.
  RecordSlot* Find(const IndexKey& key) const;

 private:
  struct Entry {
    IndexKey key;
    RecordSlot* slot = nullptr;
  };
  static size_t PlaceOf(const std::vector<Entry>& entries, const IndexKey& key);

  std::vector<Entry> entries_;  // a power of two, at most half of them in use
  size_t used_ = 0;
};

// The records of a store in memory, one for each key, found by hash. Records
// never move, and those that are superseded stay. Not synchronised.
class RecordIndex {
 public:
  // Takes a record in; `wins` says that it supersedes one with the same key
  // whatever their dates are. A wrong one is superseded by wrong ones only.
  void Insert(Record record, bool wins);

  // As RecordStore::Find, with this machine in place of query.machine.
  FoundRecord Find(const RecordQuery& query, const RecordText& machine) const;

  // The records of a kernel, as RecordStore::Near.
  void Near(std::string_view kernel,
            std::string_view op,
            platform::FunctionRef<void(const Record&)> visit) const;

  // All records, one for each key, in the order in which keys came in.
  void ForEach(platform::FunctionRef<void(const Record&)> visit) const;

  size_t size() const { return slots_.size(); }

 private:
  struct KeyHash {
    size_t operator()(const IndexKey& key) const { return key.low; }
  };
  using Slots = std::vector<const RecordSlot*>;

  static const Record* Newest(const Slots& slots, std::string_view machine);

  std::deque<Record> records_;
  std::deque<RecordSlot> slots_;
  RecordTable exact_;        // by the whole key
  RecordTable quarantined_;  // without threads and cold; wrong ones only
  // Without version and machine.
  std::unordered_map<IndexKey, Slots, KeyHash> any_version_;
  std::unordered_map<std::string, Slots> by_kernel_;
};

}  // namespace sluice::framework
