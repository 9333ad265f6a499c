#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// Nanoseconds of a monotonic clock with an arbitrary start.
SLUICE_API int64_t NanosecondsNow();

// A piece of work with a beginning and a length, shown as a bar.
struct TraceEvent {
  int track = 0;
  std::string name;      // e.g. the op
  std::string category;  // e.g. "kernel" or "copy"
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  // The viewer shows these for a selected bar.
  std::vector<std::pair<std::string, std::string>> arguments;
};

// Collects events and writes them in Chrome's trace format, which Perfetto
// (ui.perfetto.dev) shows. Events on one track must nest or follow one another,
// so every stream has a track of its own. Thread-safe.
class SLUICE_API TraceWriter {
 public:
  // Adds a track and returns its number.
  int AddTrack(std::string_view name);

  // Raises InvalidArgument for a track that does not exist or a negative
  // duration.
  void Add(TraceEvent event);

  size_t size() const;

  // Times are in microseconds since the first event's start.
  std::string ToJson() const;

  // Raises NotFound, with the system's reason, if the file cannot be written.
  void WriteFile(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> tracks_;
  std::vector<TraceEvent> events_;
};

}  // namespace sluice
