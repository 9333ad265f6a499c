#include "sluice/laboratory/records/record_index.h"

#include <utility>

namespace sluice {
namespace {

// A bijection of what is added, so that the same values in another order make
// another key.
void Add(IndexKey& key, uint64_t low, uint64_t high) {
  key.low = (key.low ^ low) * 0x9E3779B97F4A7C15U;
  key.low ^= key.low >> 29;
  key.high = (key.high ^ high) * 0xC2B2AE3D27D4EB4FU;
  key.high ^= key.high >> 31;
}

void Add(IndexKey& key, const RecordText& text) {
  Add(key, text.low, text.high);
}

// The common prefix of all three keys.
IndexKey KernelKey(const RecordQuery& query) {
  IndexKey key;
  Add(key, query.signature);
  Add(key, query.kernel);
  Add(key, query.place);
  return key;
}

IndexKey RunKey(IndexKey key, const RecordQuery& query) {
  const uint64_t run =
      static_cast<uint64_t>(query.threads) * 2 + (query.cold ? 1U : 0U);
  Add(key, run, run);
  return key;
}

IndexKey BuildKey(IndexKey key,
                  const RecordQuery& query,
                  const RecordText& machine) {
  Add(key, query.kernel_version);
  Add(key, machine);
  return key;
}

RecordQuery QueryOf(const Record& record) {
  return {.signature = record.signature,
          .kernel = record.kernel,
          .kernel_version = record.kernel_version,
          .threads = record.threads,
          .place = record.place,
          .cold = record.cold,
          .machine = record.machine};
}

bool IsWrong(const Record& record) {
  return record.verdict == Verdict::kWrong;
}

// Returns whether a record replaces another one with the same key.
bool Supersedes(const Record& record, const Record& before, bool wins) {
  if (IsWrong(record) != IsWrong(before)) return IsWrong(record);
  return wins || record.date >= before.date;
}

}  // namespace

size_t RecordTable::PlaceOf(const std::vector<Entry>& entries,
                            const IndexKey& key) {
  const size_t mask = entries.size() - 1;
  size_t place = key.low & mask;
  while (entries[place].slot != nullptr && entries[place].key != key) {
    place = (place + 1) & mask;
  }
  return place;
}

void RecordTable::Add(const IndexKey& key, RecordSlot* slot) {
  if (2 * (used_ + 1) > entries_.size()) {
    std::vector<Entry> larger(entries_.empty() ? 64 : 2 * entries_.size());
    for (const Entry& entry : entries_) {
      if (entry.slot != nullptr) larger[PlaceOf(larger, entry.key)] = entry;
    }
    entries_ = std::move(larger);
  }
  entries_[PlaceOf(entries_, key)] = {key, slot};
  ++used_;
}

RecordSlot* RecordTable::Find(const IndexKey& key) const {
  return used_ == 0 ? nullptr : entries_[PlaceOf(entries_, key)].slot;
}

void RecordIndex::Insert(Record given, bool wins) {
  const Record& record = records_.emplace_back(std::move(given));
  const RecordQuery query = QueryOf(record);
  const IndexKey kernel = KernelKey(query);
  const IndexKey run = RunKey(kernel, query);
  const IndexKey exact = BuildKey(run, query, query.machine);
  RecordSlot* slot = exact_.Find(exact);
  if (slot == nullptr) {
    slot = &slots_.emplace_back(RecordSlot{&record});
    exact_.Add(exact, slot);
    any_version_[run].push_back(slot);
    by_kernel_[record.kernel].push_back(slot);
  } else if (Supersedes(record, *slot->record, wins)) {
    slot->record = &record;
  }
  if (!IsWrong(record)) return;
  const IndexKey wrong = BuildKey(kernel, query, query.machine);
  if (quarantined_.Find(wrong) == nullptr) quarantined_.Add(wrong, slot);
}

const Record* RecordIndex::Newest(const Slots& slots,
                                  std::string_view machine) {
  const Record* best = nullptr;
  bool best_here = false;
  for (const RecordSlot* slot : slots) {
    const Record& record = *slot->record;
    if (IsWrong(record)) continue;
    const bool here = record.machine == machine;
    const bool better = best == nullptr || (here && !best_here) ||
                        (here == best_here && record.date >= best->date);
    if (!better) continue;
    best = &record;
    best_here = here;
  }
  return best;
}

FoundRecord RecordIndex::Find(const RecordQuery& query,
                              const RecordText& machine) const {
  const IndexKey kernel = KernelKey(query);
  const RecordSlot* wrong = quarantined_.Find(BuildKey(kernel, query, machine));
  if (wrong != nullptr) return {wrong->record, RecordMatch::kExact};
  const IndexKey run = RunKey(kernel, query);
  const RecordSlot* exact = exact_.Find(BuildKey(run, query, machine));
  if (exact != nullptr) return {exact->record, RecordMatch::kExact};
  const auto stale = any_version_.find(run);
  if (stale == any_version_.end()) return {};
  const Record* record = Newest(stale->second, machine.text);
  if (record == nullptr) return {};
  return {record, RecordMatch::kStale};
}

void RecordIndex::Near(std::string_view kernel,
                       std::string_view op,
                       FunctionRef<void(const Record&)> visit) const {
  const auto found = by_kernel_.find(std::string(kernel));
  if (found == by_kernel_.end()) return;
  for (const RecordSlot* slot : found->second) {
    if (slot->record->op == op) visit(*slot->record);
  }
}

void RecordIndex::ForEach(FunctionRef<void(const Record&)> visit) const {
  for (const RecordSlot& slot : slots_) {
    visit(*slot.record);
  }
}

}  // namespace sluice
