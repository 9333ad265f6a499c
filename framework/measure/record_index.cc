#include "sluice/framework/measure/record_index.h"

#include <utility>

#include "sluice/framework/files/checksum.h"

namespace sluice::framework {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

uint64_t Mix(uint64_t hash, std::string_view text) {
  return Mix(hash, Checksum(text.data(), text.size()));
}

// What the three tables have in common.
uint64_t HashOfKernel(const RecordQuery& query) {
  return Mix(Mix(Mix(1, query.signature), query.kernel), query.place);
}

uint64_t HashOfRun(uint64_t kernel, const RecordQuery& query) {
  return Mix(kernel,
             static_cast<uint64_t>(query.threads) * 2 + (query.cold ? 1U : 0U));
}

uint64_t HashOfBuild(uint64_t hash, const RecordQuery& query) {
  return Mix(Mix(hash, query.kernel_version), query.machine);
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

bool SameKernel(const Record& record, const RecordQuery& query) {
  return record.signature == query.signature && record.kernel == query.kernel &&
         record.place == query.place;
}

bool SameRun(const Record& record, const RecordQuery& query) {
  return record.threads == query.threads && record.cold == query.cold;
}

bool SameBuild(const Record& record, const RecordQuery& query) {
  return record.kernel_version == query.kernel_version &&
         record.machine == query.machine;
}

bool IsWrong(const Record& record) {
  return record.verdict == Verdict::kWrong;
}

}  // namespace

RecordIndex::Slot* RecordIndex::FindSlot(const Record& record) {
  const RecordQuery query = QueryOf(record);
  const uint64_t kernel = HashOfKernel(query);
  const uint64_t run = HashOfRun(kernel, query);
  Slots& same_hash = exact_[HashOfBuild(run, query)];
  for (Slot* slot : same_hash) {
    const Record& other = *slot->record;
    if (SameKernel(other, query) && SameRun(other, query) &&
        SameBuild(other, query)) {
      return slot;
    }
  }
  Slot* added = &slots_.emplace_back(Slot{&record});
  same_hash.push_back(added);
  any_version_[run].push_back(added);
  by_kernel_[record.kernel].push_back(added);
  return added;
}

void RecordIndex::Insert(Record given, bool wins) {
  const Record& record = records_.emplace_back(std::move(given));
  Slot* slot = FindSlot(record);
  const Record& before = *slot->record;
  const bool supersedes = IsWrong(record) == IsWrong(before)
                              ? wins || record.date >= before.date
                              : IsWrong(record);
  if (supersedes) slot->record = &record;
  if (!IsWrong(record)) return;
  const RecordQuery query = QueryOf(record);
  quarantined_[HashOfBuild(HashOfKernel(query), query)].push_back(slot);
}

const Record* RecordIndex::Newest(const Slots& slots,
                                  const RecordQuery& query) {
  const Record* best = nullptr;
  for (const Slot* slot : slots) {
    const Record& record = *slot->record;
    if (!SameKernel(record, query) || !SameRun(record, query)) continue;
    if (IsWrong(record)) continue;
    const bool here = record.machine == query.machine;
    const bool best_here = best != nullptr && best->machine == query.machine;
    if (best == nullptr || here > best_here ||
        (here == best_here && record.date >= best->date)) {
      best = &record;
    }
  }
  return best;
}

FoundRecord RecordIndex::Find(const RecordQuery& query) const {
  const uint64_t kernel = HashOfKernel(query);
  if (!quarantined_.empty()) {
    const auto wrong = quarantined_.find(HashOfBuild(kernel, query));
    if (wrong != quarantined_.end()) {
      for (const Slot* slot : wrong->second) {
        const Record& record = *slot->record;
        if (SameKernel(record, query) && SameBuild(record, query)) {
          return {&record, RecordMatch::kExact};
        }
      }
    }
  }
  const uint64_t run = HashOfRun(kernel, query);
  const auto exact = exact_.find(HashOfBuild(run, query));
  if (exact != exact_.end()) {
    for (const Slot* slot : exact->second) {
      const Record& record = *slot->record;
      if (SameKernel(record, query) && SameRun(record, query) &&
          SameBuild(record, query)) {
        return {&record, RecordMatch::kExact};
      }
    }
  }
  const auto stale = any_version_.find(run);
  if (stale == any_version_.end()) return {};
  const Record* record = Newest(stale->second, query);
  if (record == nullptr) return {};
  return {record, RecordMatch::kStale};
}

void RecordIndex::Near(std::string_view kernel,
                       std::string_view op,
                       platform::FunctionRef<void(const Record&)> visit) const {
  const auto found = by_kernel_.find(std::string(kernel));
  if (found == by_kernel_.end()) return;
  for (const Slot* slot : found->second) {
    if (slot->record->op == op) visit(*slot->record);
  }
}

}  // namespace sluice::framework
