#include "sluice/laboratory/records/record_store.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/costs/cost_model.h"
#include "sluice/framework/costs/machine.h"
#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/records/nearby_records.h"
#include "sluice/laboratory/records/record_file.h"
#include "sluice/laboratory/records/record_index.h"
#include "sluice/laboratory/records/tuning_mode.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/diagnostics/version.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Adapts figures that were measured with another number of threads: keeps those
// of one thread, and scales the rest in the derived proportions.
MachineFigures WithThreads(const MachineFigures& measured, int threads) {
  MachineFigures figures = DerivedFigures(CpuInstructionSet(), threads);
  const auto scale = [](double& all, double derived, double one) {
    all *= one / derived;
  };
  Bandwidth& all = figures.bytes_all_threads;
  scale(all.l1, figures.bytes.l1, measured.bytes.l1);
  scale(all.l2, figures.bytes.l2, measured.bytes.l2);
  scale(all.l3, figures.bytes.l3, measured.bytes.l3);
  scale(all.memory, figures.bytes.memory, measured.bytes.memory);
  figures.operations = measured.operations;
  figures.bytes = measured.bytes;
  figures.kernel_call = measured.kernel_call;
  figures.library_call = measured.library_call;
  figures.date = measured.date;
  return figures;
}

std::string_view OpOfSignature(std::string_view signature) {
  return signature.substr(0, std::min(signature.find('('), signature.size()));
}

class RecordedCandidateCosts final : public CandidateCosts {
 public:
  RecordedCandidateCosts(const RecordStore& store, int num_threads)
      : store_(store), num_threads_(num_threads), nearby_(store, num_threads) {}

  void CorrectTimes(const std::string& signature,
                    std::vector<Candidate>* candidates) override {
    for (Candidate& candidate : *candidates) {
      if (candidate.refusal.empty()) UseRecord(signature, &candidate);
    }
    nearby_.CorrectTimes(signature, candidates);
    if (recorded_only_) DecideByRecordsOnly(candidates);
  }

 private:
  void UseRecord(const std::string& signature, Candidate* candidate) const {
    const std::string kernel = ToString(*candidate->kernel);
    const std::string place = ToString(candidate->place);
    RecordQuery query;
    query.signature = signature;
    query.kernel = kernel;
    query.kernel_version = candidate->kernel->recorded_version;
    query.threads = num_threads_;
    query.place = place;
    const FoundRecord found = store_.Find(query);
    if (found.match != RecordMatch::kExact) return;
    candidate->record = found.record;
    if (found.record->verdict == Verdict::kWrong) {
      candidate->refusal =
          Format("gave wrong results: {}", found.record->message);
    } else if (found.record->rounds > 0) {
      candidate->seconds = found.record->median;
      candidate->evidence = Evidence::kRecord;
    }
  }

  const RecordStore& store_;
  const int num_threads_;
  NearbyRecords nearby_;
  const bool recorded_only_ =
      TuningModeOfEnvironment() == TuningMode::kRecorded;
};

// Times by records: those of the same signature, else estimates corrected by
// records of nearby sizes (NearbyRecords). With SLUICE_TUNE=recorded, records
// alone. Uses the measured figures of the machine, if any.
class RecordedCosts final : public CostModel {
 public:
  // The store must outlive it.
  explicit RecordedCosts(const RecordStore& store) : store_(store) {}

  MachineFigures Figures(int num_threads) const override {
    return store_.Figures(num_threads);
  }
  // Raises InvalidArgument for an unknown SLUICE_TUNE.
  std::unique_ptr<CandidateCosts> Begin(int num_threads) const override {
    return std::make_unique<RecordedCandidateCosts>(store_, num_threads);
  }
  uint64_t generation() const override { return store_.generation(); }

 private:
  const RecordStore& store_;
};

}  // namespace

struct RecordStore::State {
  // The lines of a file, and whether its records supersede others.
  struct File {
    RecordLines lines;
    bool wins = false;
  };

  std::once_flag opened;
  mutable std::shared_mutex mutex;  // guards all below but generation, writing
  std::vector<File> files;
  std::set<std::string_view> unread;  // ops whose lines are not parsed yet
  RecordIndex index;
  std::vector<MachineFigures> figures;  // of this machine; the last one counts
  std::vector<std::string> remarks;
  std::atomic<uint64_t> generation{0};
  std::mutex writing;
  bool has_written = false;
  std::atomic<bool> told_of_changed{false};
};

RecordStore::RecordStore(RecordSources sources)
    : sources_(std::move(sources)), state_(std::make_unique<State>()) {}

RecordStore::~RecordStore() = default;

RecordStore& RecordStore::Default() {
  // Never destroyed: other static objects may use it at exit.
  static auto* store = [] {
    auto* made = new RecordStore(RecordSourcesOfEnvironment());
    SetCostModel(new RecordedCosts(*made));
    return made;
  }();
  return *store;
}

const RecordSources& RecordStore::sources() const {
  return sources_;
}

void RecordStore::Remark(std::string sentence) const {
  if (sentence.empty()) return;
  const std::unique_lock lock(state_->mutex);
  auto& remarks = state_->remarks;
  if (std::find(remarks.begin(), remarks.end(), sentence) != remarks.end()) {
    return;
  }
  Log(LogLevel::kWarning, "{}", sentence);
  remarks.push_back(std::move(sentence));
}

void RecordStore::Open() const {
  std::call_once(state_->opened, [this] {
    const auto open = [this](const std::string& path, bool wins) {
      if (path.empty()) return;
      RecordLines lines = ReadRecordLines(path);
      Remark(std::move(lines.remark));
      const std::unique_lock lock(state_->mutex);
      for (MachineFigures& figures : lines.figures) {
        if (figures.machine != MachineId().text) continue;
        state_->figures.push_back(std::move(figures));
      }
      for (const auto& [op, unused] : lines.by_op) {
        state_->unread.insert(op);
      }
      state_->files.push_back({std::move(lines), wins});
    };
    for (const std::string& path : sources_.system) {
      open(path, false);
    }
    open(sources_.user, true);
  });
}

void RecordStore::Load(std::string_view op) const {
  Open();
  {
    const std::shared_lock lock(state_->mutex);
    if (!state_->unread.contains(op)) return;
  }
  std::vector<std::string> remarks;
  {
    const std::unique_lock lock(state_->mutex);
    const auto unread = state_->unread.find(op);
    if (unread == state_->unread.end()) return;  // another thread was faster
    for (const State::File& file : state_->files) {
      int damaged = 0;
      for (Record& record : RecordsOf(file.lines, op, &damaged)) {
        state_->index.Insert(std::move(record), file.wins);
      }
      if (damaged == 0) continue;
      remarks.push_back(Format(
          "{}: {} lines about {} hold no sensible record; they are left out",
          file.lines.path, damaged, op));
    }
    state_->unread.erase(unread);
  }
  for (std::string& remark : remarks) {
    Remark(std::move(remark));
  }
}

void RecordStore::LoadAll() const {
  Open();
  std::set<std::string_view> unread;
  {
    const std::shared_lock lock(state_->mutex);
    unread = state_->unread;
  }
  for (const std::string_view op : unread) {
    Load(op);
  }
}

FoundRecord RecordStore::Find(const RecordQuery& query) const {
  FoundRecord found;
  Find({&query, 1}, {&found, 1});
  return found;
}

void RecordStore::Find(std::span<const RecordQuery> queries,
                       std::span<FoundRecord> found) const {
  static const RecordText kHere(MachineId().text);
  std::string_view loaded;
  for (const RecordQuery& query : queries) {
    const std::string_view op = OpOfSignature(query.signature.text);
    if (op == loaded) continue;
    Load(op);
    loaded = op;
  }
  std::string changed;  // a kernel
  {
    const std::shared_lock lock(state_->mutex);
    for (size_t i = 0; i < queries.size(); ++i) {
      const RecordText& given = queries[i].machine;
      const RecordText& machine = given.text.empty() ? kHere : given;
      found[i] = state_->index.Find(queries[i], machine);
      if (changed.empty() && found[i].match == RecordMatch::kStale &&
          found[i].record->machine == machine.text) {
        changed = found[i].record->kernel;
      }
    }
  }
  if (!changed.empty() && !state_->told_of_changed.exchange(true)) {
    Remark(
        Format("{} is another version here than the one of which there are "
               "records, and other kernels may be; such records do not count "
               "as measurements until sluice-lab tune measures again",
               changed));
  }
}

void RecordStore::Near(std::string_view kernel,
                       std::string_view op,
                       FunctionRef<void(const Record&)> visit) const {
  Load(op);
  const std::shared_lock lock(state_->mutex);
  state_->index.Near(kernel, op, visit);
}

void RecordStore::ForEach(FunctionRef<void(const Record&)> visit) const {
  LoadAll();
  const std::shared_lock lock(state_->mutex);
  state_->index.ForEach(visit);
}

void RecordStore::Add(std::vector<Record> records) {
  for (Record& record : records) {
    Load(record.op);  // a new record wins over the files
    if (record.machine.empty()) record.machine = MachineId().text;
    if (record.date.empty()) record.date = UtcNow();
    if (record.sluice.empty()) record.sluice = SluiceVersion();
    RecordToJson(record);  // raises for an invalid record
  }
  {
    const std::unique_lock lock(state_->mutex);
    for (const Record& record : records) {
      state_->index.Insert(record, true);
    }
    if (!records.empty()) ++state_->generation;
  }
  Write(records, {});
}

void RecordStore::Write(const std::vector<Record>& records,
                        const std::vector<MachineFigures>& figures) {
  if (sources_.user.empty()) return;
  const std::scoped_lock lock(state_->writing);
  try {
    if (!state_->has_written) {
      std::error_code ignored;  // on failure, opening reports it
      fs::create_directories(fs::path(sources_.user).parent_path(), ignored);
      if (fs::exists(sources_.user, ignored)) CompactRecordFile(sources_.user);
      state_->has_written = true;
    }
    AppendToRecordFile(sources_.user, records, figures);
  } catch (const Error& error) {
    Remark(std::string("measurements are kept in memory only: ") +
           error.what());
  } catch (const std::bad_alloc&) {
    Remark("measurements are kept in memory only: there is no memory for " +
           sources_.user);
  }
}

MachineFigures RecordStore::Figures(int threads) const {
  Open();
  const std::shared_lock lock(state_->mutex);
  const auto& all = state_->figures;
  const auto same = std::find_if(all.rbegin(), all.rend(),
                                 [threads](const MachineFigures& figures) {
                                   return figures.threads == threads;
                                 });
  if (same != all.rend()) return *same;
  if (!all.empty()) return WithThreads(all.back(), threads);
  return DerivedFigures(CpuInstructionSet(), threads);
}

void RecordStore::AddFigures(const MachineFigures& figures) {
  Open();
  if (figures.machine == MachineId().text) {
    const std::unique_lock lock(state_->mutex);
    state_->figures.push_back(figures);
    ++state_->generation;
  }
  Write({}, {figures});
}

uint64_t RecordStore::generation() const {
  return state_->generation.load(std::memory_order_relaxed);
}

bool RecordStore::empty() const {
  Open();
  const std::shared_lock lock(state_->mutex);
  return state_->unread.empty() && state_->index.size() == 0;
}

size_t RecordStore::size() const {
  LoadAll();
  const std::shared_lock lock(state_->mutex);
  return state_->index.size();
}

std::vector<std::string> RecordStore::remarks() const {
  Open();
  const std::shared_lock lock(state_->mutex);
  return state_->remarks;
}

}  // namespace sluice
