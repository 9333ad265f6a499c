#include "sluice/framework/measure/record_store.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "sluice/framework/measure/machine.h"
#include "sluice/framework/measure/record_file.h"
#include "sluice/framework/measure/record_index.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"
#include "sluice/platform/logging.h"

namespace sluice::framework {
namespace {

namespace fs = std::filesystem;

// What one thread did when figures were taken with another number of threads
// holds; the rest keeps the proportions that it has where nothing is measured.
MachineFigures WithThreads(const MachineFigures& measured, int threads) {
  MachineFigures figures =
      DerivedFigures(platform::CpuInstructionSet(), threads);
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

}  // namespace

struct RecordStore::State {
  std::once_flag loaded;
  mutable std::shared_mutex mutex;  // of index, figures and remarks
  RecordIndex index;
  std::vector<MachineFigures> figures;  // of this machine, the last wins
  std::vector<std::string> remarks;
  std::atomic<uint64_t> generation{0};
  std::mutex writing;
  bool has_written = false;
};

RecordStore::RecordStore(RecordSources sources)
    : sources_(std::move(sources)), state_(std::make_unique<State>()) {}

RecordStore::~RecordStore() = default;

RecordStore& RecordStore::Default() {
  // Never destroyed: other statics may use it when the process ends.
  static auto* store = new RecordStore(RecordSourcesOfEnvironment());
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
  platform::Log(platform::LogLevel::kWarning, "{}", sentence);
  remarks.push_back(std::move(sentence));
}

void RecordStore::Load() const {
  std::call_once(state_->loaded, [this] {
    const auto read = [this](const std::string& path, bool wins) {
      if (path.empty()) return;
      RecordFileContent content = ReadRecordFile(path);
      Remark(std::move(content.remark));
      const std::unique_lock lock(state_->mutex);
      for (Record& record : content.records) {
        state_->index.Insert(std::move(record), wins);
      }
      for (MachineFigures& figures : content.figures) {
        if (figures.machine != MachineId().text) continue;
        state_->figures.push_back(std::move(figures));
      }
    };
    for (const std::string& path : sources_.system) {
      read(path, false);
    }
    read(sources_.user, true);
  });
}

FoundRecord RecordStore::Find(const RecordQuery& query) const {
  FoundRecord found;
  Find({&query, 1}, {&found, 1});
  return found;
}

void RecordStore::Find(std::span<const RecordQuery> queries,
                       std::span<FoundRecord> found) const {
  static const RecordText kHere(MachineId().text);
  Load();
  const std::shared_lock lock(state_->mutex);
  for (size_t i = 0; i < queries.size(); ++i) {
    const RecordText& machine = queries[i].machine;
    found[i] =
        state_->index.Find(queries[i], machine.text.empty() ? kHere : machine);
  }
}

void RecordStore::Near(std::string_view kernel,
                       std::string_view op,
                       platform::FunctionRef<void(const Record&)> visit) const {
  Load();
  const std::shared_lock lock(state_->mutex);
  state_->index.Near(kernel, op, visit);
}

void RecordStore::ForEach(
    platform::FunctionRef<void(const Record&)> visit) const {
  Load();
  const std::shared_lock lock(state_->mutex);
  state_->index.ForEach(visit);
}

void RecordStore::Add(std::vector<Record> records) {
  Load();
  for (Record& record : records) {
    if (record.machine.empty()) record.machine = MachineId().text;
    if (record.date.empty()) record.date = UtcNow();
    if (record.sluice.empty()) record.sluice = SluiceVersion();
    RecordToJson(record);  // raises for what could not be written
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
      std::error_code ignored;  // where it cannot be made, opening says so
      fs::create_directories(fs::path(sources_.user).parent_path(), ignored);
      if (fs::exists(sources_.user, ignored)) CompactRecordFile(sources_.user);
      state_->has_written = true;
    }
    AppendToRecordFile(sources_.user, records, figures);
  } catch (const platform::Error& error) {
    Remark(std::string("measurements are kept in memory only: ") +
           error.what());
  } catch (const std::bad_alloc&) {
    Remark("measurements are kept in memory only: there is no memory for " +
           sources_.user);
  }
}

MachineFigures RecordStore::Figures(int threads) const {
  Load();
  const std::shared_lock lock(state_->mutex);
  const auto& all = state_->figures;
  const auto same = std::find_if(all.rbegin(), all.rend(),
                                 [threads](const MachineFigures& figures) {
                                   return figures.threads == threads;
                                 });
  if (same != all.rend()) return *same;
  if (!all.empty()) return WithThreads(all.back(), threads);
  return DerivedFigures(platform::CpuInstructionSet(), threads);
}

void RecordStore::AddFigures(const MachineFigures& figures) {
  Load();
  if (figures.machine == MachineId().text) {
    const std::unique_lock lock(state_->mutex);
    state_->figures.push_back(figures);
  }
  Write({}, {figures});
}

uint64_t RecordStore::generation() const {
  return state_->generation.load(std::memory_order_relaxed);
}

size_t RecordStore::size() const {
  Load();
  const std::shared_lock lock(state_->mutex);
  return state_->index.size();
}

std::vector<std::string> RecordStore::remarks() const {
  Load();
  const std::shared_lock lock(state_->mutex);
  return state_->remarks;
}

}  // namespace sluice::framework
