#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// Nanoseconds of a monotonic clock with an arbitrary start.
SLUICE_API int64_t NanosecondsNow();

// What an event is about; events of the same work share it.
struct TraceLabel {
  std::string name;      // e.g. the op
  std::string category;  // e.g. "kernel" or "copy"
  // The viewer shows these for a selected bar.
  std::vector<std::pair<std::string, std::string>> arguments;
};

// A piece of work with a beginning and a length, shown as a bar.
struct TraceEvent {
  int track = 0;
  std::shared_ptr<const TraceLabel> label;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
};

// Collects events and writes them in Chrome's trace format, which Perfetto
// (ui.perfetto.dev) shows. Events on one track must nest or follow one another,
// so every stream has a track of its own. Thread-safe.
class SLUICE_API TraceWriter {
 public:
  // Events after the first `most_events` are dropped; the names of processes
  // say so.
  explicit TraceWriter(size_t most_events = std::numeric_limits<size_t>::max())
      : most_events_(most_events) {}

  // Adds a process, a group of tracks with a clock of its own: its time 0 is
  // the start of its first event. Returns its number, from 1.
  int AddProcess(std::string_view name);

  // Returns the track of this name, a new one if there is none. A process that
  // was not added has no name.
  int Track(std::string_view name, int process = 1);

  // Raises InvalidArgument for a track that does not exist or a negative
  // duration.
  void Add(TraceEvent event);

  size_t size() const;
  // Whether later events are dropped.
  bool full() const { return size() >= most_events_; }

  // Times are in microseconds since the first event's start.
  std::string ToJson() const;

  // Raises NotFound, with the system's reason, if the file cannot be written.
  void WriteFile(const std::string& path) const;

 private:
  struct NamedTrack {
    int process;
    std::string name;
  };

  const size_t most_events_;
  mutable std::mutex mutex_;
  std::vector<std::string> processes_;
  std::vector<NamedTrack> tracks_;
  std::vector<TraceEvent> events_;
};

}  // namespace sluice
