#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/laboratory/records/record_json.h"
#include "sluice/laboratory/records/record_store.h"

namespace sluice {

// A lookup key: 128 bits of hash, see RecordText.
struct IndexKey {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const IndexKey&) const = default;
};

// The current record of a key.
struct RecordSlot {
  const Record* record = nullptr;
};

// Maps keys to slots in one array without chains, so that a lookup has few
// cache misses.
class RecordTable {
 public:
  // Adds a new key.
  void Add(const IndexKey& key, RecordSlot* slot);
  // Returns null for an unknown key.
  RecordSlot* Find(const IndexKey& key) const;

 private:
  struct Entry {
    IndexKey key;
    RecordSlot* slot = nullptr;
  };
  static size_t PlaceOf(const std::vector<Entry>& entries, const IndexKey& key);

  std::vector<Entry> entries_;  // power-of-two size, at most half full
  size_t used_ = 0;
};

// The records of a store in memory, one for each key, found by hash. Records
// never move, and superseded ones are not freed. Not synchronised.
class RecordIndex {
 public:
  // Inserts a record. With `wins` it supersedes one with the same key whatever
  // their dates are. A wrong record is superseded by wrong ones only.
  void Insert(Record record, bool wins);

  // RecordStore::Find, with this machine as query.machine.
  FoundRecord Find(const RecordQuery& query, const RecordText& machine) const;

  // RecordStore::Near: the records of a kernel.
  void Near(std::string_view kernel,
            std::string_view op,
            FunctionRef<void(const Record&)> visit) const;

  // Visits one record for each key, in the order of the keys' insertion.
  void ForEach(FunctionRef<void(const Record&)> visit) const;

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
  RecordTable quarantined_;  // wrong ones only, any threads or caches
  // Keys without version and machine.
  std::unordered_map<IndexKey, Slots, KeyHash> any_version_;
  std::unordered_map<std::string, Slots> by_kernel_;
};

}  // namespace sluice
