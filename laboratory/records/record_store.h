#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/laboratory/records/record_json.h"
#include "sluice/laboratory/records/record_sources.h"
#include "sluice/laboratory/records/record_text.h"
#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"

namespace sluice {

// The key of a lookup. The strings must outlive the call. Queries for many
// kernels or signatures share the RecordText of common parts.
struct RecordQuery {
  RecordText signature;
  RecordText kernel;
  RecordText kernel_version;
  int threads = 1;
  RecordText place = "cpu:0";
  bool cold = false;
  RecordText machine{};  // empty: this machine
};

enum class RecordMatch : unsigned char {
  kNone,
  kExact,  // measured for this query
  // Measured with another version of the kernel, or on another machine: a
  // prior, not a fact.
  kStale,
};

struct FoundRecord {
  const Record* record = nullptr;  // valid as long as the store
  RecordMatch match = RecordMatch::kNone;
};

// The records of a process: those of the system's files; those of the user's
// file, which supersede them; and those that the process adds to memory and
// immediately to the user's file. Files are read once, on first use; the
// records of an op are parsed when first needed. All functions are thread-safe.
// None raises because of file contents: problems are reported once, in
// remarks() and as a warning in the log.
class SLUICE_API RecordStore {
 public:
  explicit RecordStore(RecordSources sources);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // The store of this process, with RecordSourcesOfEnvironment(). After the
  // first call, plans are prepared with its records (RecordedCosts). Raises
  // what RecordSourcesOfEnvironment raises.
  static RecordStore& Default();

  const RecordSources& sources() const;

  // The record for the query. If the kernel was found wrong for the signature,
  // in this version, on this machine and at this place, with any number of
  // threads and any state of caches, that record is returned (Verdict::kWrong),
  // even if newer ones exist. Otherwise the newest exact record; else a stale
  // one of a kernel that was not wrong: this machine's before others', newer
  // before older. A stale one of this machine is a remark.
  FoundRecord Find(const RecordQuery& query) const;
  // Looks up several queries; `found` has the same size.
  void Find(std::span<const RecordQuery> queries,
            std::span<FoundRecord> found) const;

  // Calls `visit` with the records of that kernel and op, of any signature,
  // version and machine, one for each key. `visit` must not call the store.
  void Near(std::string_view kernel,
            std::string_view op,
            FunctionRef<void(const Record&)> visit) const;

  // Calls `visit` with all records, one for each key. `visit` must not call the
  // store.
  void ForEach(FunctionRef<void(const Record&)> visit) const;

  // Keeps records, and appends them to the user's file with one write. Those
  // without machine, date or version get this machine, the current time and
  // this version. Raises InvalidArgument for an invalid record (RecordToJson).
  void Add(std::vector<Record> records);

  // The figures of this machine measured with this number of threads. If there
  // are none, those of one thread measured with another number, and the rest
  // derived from them; else DerivedFigures.
  MachineFigures Figures(int threads) const;

  // Keeps and writes figures, like Add.
  void AddFigures(const MachineFigures& figures);

  // Increases with each Add and AddFigures, because decisions may change.
  uint64_t generation() const;

  bool empty() const;

  // The number of records, one for each key; parses all files.
  size_t size() const;

  // Sentences about files that cannot be read or written, and about skipped
  // lines in what was parsed so far; each once.
  std::vector<std::string> remarks() const;

 private:
  void Open() const;
  void Load(std::string_view op) const;
  void LoadAll() const;
  void Remark(std::string sentence) const;
  void Write(const std::vector<Record>& records,
             const std::vector<MachineFigures>& figures);

  RecordSources sources_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
