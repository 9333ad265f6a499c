#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/measure/machine_figures.h"
#include "sluice/framework/measure/record.h"
#include "sluice/framework/measure/record_sources.h"
#include "sluice/framework/measure/record_text.h"
#include "sluice/platform/export.h"
#include "sluice/platform/function_ref.h"

namespace sluice::framework {

// What a record is looked for by; the strings outlive the call. Queries for
// many kernels or signatures share the RecordText of what they have in common.
struct RecordQuery {
  RecordText signature;
  RecordText kernel;
  RecordText kernel_version;
  int threads = 1;
  RecordText place = "cpu:0";
  bool cold = false;
  RecordText machine{};  // this one, where it is empty
};

enum class RecordMatch : unsigned char {
  kNone,
  kExact,  // measured for this very query
  // Measured with another version of the kernel, or on another machine: a
  // prior, not a fact.
  kStale,
};

struct FoundRecord {
  const Record* record = nullptr;  // valid as long as the store
  RecordMatch match = RecordMatch::kNone;
};

// The records of a process: those of the system's files, those of the user's
// file, which win, and what the process adds, which goes to memory and at once
// to the user's file. Files are read on first use, and never again; the records
// of an op when that op is first asked for. All
// functions may be called from any thread; none raises for what files hold or
// cannot hold: that is said once, in remarks() and as a warning in the log.
class SLUICE_API RecordStore {
 public:
  explicit RecordStore(RecordSources sources);
  ~RecordStore();
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // The store of this process, with RecordSourcesOfEnvironment(). Raises as
  // that does.
  static RecordStore& Default();

  const RecordSources& sources() const;

  // The record for the query. A kernel that was found wrong for the signature,
  // in this version, on this machine and at this place, with any
  // number of threads and caches in any state, gives that record
  // (Verdict::kWrong), whatever was measured since. Else the newest exact one;
  // else a stale one of a kernel that was not wrong, one of this machine
  // before others, newer before older.
  FoundRecord Find(const RecordQuery& query) const;
  // The same for several, into `found`, which has as many places.
  void Find(std::span<const RecordQuery> queries,
            std::span<FoundRecord> found) const;

  // Calls `visit` with the records of that kernel for that op, of any
  // signature, version and machine, one for each key; `visit` may not call the
  // store.
  void Near(std::string_view kernel,
            std::string_view op,
            platform::FunctionRef<void(const Record&)> visit) const;

  // Calls `visit` with all records, one for each key; `visit` may not call the
  // store.
  void ForEach(platform::FunctionRef<void(const Record&)> visit) const;

  // Keeps records, and appends them to the user's file together. Those
  // without machine, date or version get this machine's, now, and this
  // version. Raises InvalidArgument for a record without sense (RecordToJson).
  void Add(std::vector<Record> records);

  // What was measured of this machine with so many threads. Where that is
  // nothing: what one thread did when measured with another number, and the
  // rest derived from it; without any, DerivedFigures.
  MachineFigures Figures(int threads) const;

  // Keeps and writes figures, as Add does.
  void AddFigures(const MachineFigures& figures);

  // Rises with each Add and AddFigures: what was decided may be another now.
  uint64_t generation() const;

  bool empty() const;

  // How many records there are, one for each key; reads all that files hold.
  size_t size() const;

  // Sentences about files that cannot be read or written, and lines that were
  // left out, as far as they were read; each once.
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

}  // namespace sluice::framework
