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

// The records of a store in memory, one for each key, found by hash. Records
// never move, and those that are superseded stay. Not synchronised.
class RecordIndex {
 public:
  // Takes a record in; `wins` says that it supersedes one with the same key
  // whatever their dates are. A wrong one is superseded by wrong ones only.
  void Insert(Record record, bool wins);

  // As RecordStore::Find; query.machine is set.
  FoundRecord Find(const RecordQuery& query) const;

  // The records of a kernel, as RecordStore::Near.
  void Near(std::string_view kernel,
            std::string_view op,
            platform::FunctionRef<void(const Record&)> visit) const;

  size_t size() const { return slots_.size(); }

 private:
  // What is current for a key.
  struct Slot {
    const Record* record;
  };
  using Slots = std::vector<Slot*>;
  using Table = std::unordered_map<uint64_t, Slots>;

  Slot* FindSlot(const Record& record);
  static const Record* Newest(const Slots& slots, const RecordQuery& query);

  std::deque<Record> records_;
  std::deque<Slot> slots_;
  Table exact_;        // by the whole key
  Table any_version_;  // without version and machine
  Table quarantined_;  // without threads and cold; wrong ones only
  std::unordered_map<std::string, Slots> by_kernel_;
};

}  // namespace sluice::framework
