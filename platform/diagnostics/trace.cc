#include "sluice/platform/diagnostics/trace.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {
namespace {

// Formats exactly; a double would round after a few hours.
void AppendMicroseconds(std::string& json, int64_t nanoseconds) {
  const std::string rest = std::to_string(nanoseconds % 1000);
  json += std::to_string(nanoseconds / 1000);
  json += '.';
  json.append(3 - rest.size(), '0');
  json += rest;
}

// Names a process, or one of its tracks.
void AppendName(std::string& json,
                std::string_view kind,
                int process,
                size_t track,
                const std::string& name) {
  json += Format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":)",
                 process, track, kind);
  AppendJsonString(json, name);
  json += "}}";
}

void AppendEvent(std::string& json,
                 const TraceEvent& event,
                 int process,
                 int64_t origin) {
  json += Format(R"({{"ph":"X","pid":{},"tid":{},"ts":)", process, event.track);
  AppendMicroseconds(json, event.start_ns - origin);
  json += R"(,"dur":)";
  AppendMicroseconds(json, event.duration_ns);
  json += R"(,"name":)";
  AppendJsonString(json, event.label->name);
  json += R"(,"cat":)";
  AppendJsonString(json, event.label->category);
  json += R"(,"args":{)";
  const char* comma = "";
  for (const auto& [key, value] : event.label->arguments) {
    json += comma;
    AppendJsonString(json, key);
    json += ':';
    AppendJsonString(json, value);
    comma = ",";
  }
  json += "}}";
}

}  // namespace

int64_t NanosecondsNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int TraceWriter::AddProcess(std::string_view name) {
  const std::lock_guard lock(mutex_);
  processes_.emplace_back(name);
  return static_cast<int>(processes_.size());
}

int TraceWriter::Track(std::string_view name, int process) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(
      tracks_.begin(), tracks_.end(), [&](const NamedTrack& track) {
        return track.process == process && track.name == name;
      });
  if (found != tracks_.end()) return static_cast<int>(found - tracks_.begin());
  tracks_.push_back({process, std::string(name)});
  return static_cast<int>(tracks_.size()) - 1;
}

void TraceWriter::Add(TraceEvent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  SLUICE_ENFORCE(
      event.track >= 0 && event.track < static_cast<int>(tracks_.size()),
      ErrorCode::kInvalidArgument, "trace.track",
      "trace: event '{}' is on track {}, expected one of the {} that exist",
      event.label->name, event.track, tracks_.size());
  SLUICE_ENFORCE(event.duration_ns >= 0, ErrorCode::kInvalidArgument,
                 "trace.duration",
                 "trace: event '{}' lasts {} ns, expected 0 or more",
                 event.label->name, event.duration_ns);
  if (events_.size() < most_events_) events_.push_back(std::move(event));
}

size_t TraceWriter::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return events_.size();
}

std::string TraceWriter::ToJson() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<int, int64_t> origins;  // by process
  for (const TraceEvent& event : events_) {
    int64_t& origin =
        origins.emplace(tracks_[event.track].process, event.start_ns)
            .first->second;
    origin = std::min(origin, event.start_ns);
  }
  std::string json = R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* comma = "\n";
  const auto next = [&] { json += std::exchange(comma, ",\n"); };
  for (size_t i = 0; i < processes_.size(); ++i) {
    const bool left_out = events_.size() >= most_events_;
    next();
    AppendName(json, "process_name", static_cast<int>(i) + 1, 0,
               left_out
                   ? Format("{}, first {} events", processes_[i], most_events_)
                   : processes_[i]);
  }
  for (size_t i = 0; i < tracks_.size(); ++i) {
    next();
    AppendName(json, "thread_name", tracks_[i].process, i, tracks_[i].name);
  }
  for (const TraceEvent& event : events_) {
    const int process = tracks_[event.track].process;
    next();
    AppendEvent(json, event, process, origins[process]);
  }
  json += "\n]}\n";
  return json;
}

void TraceWriter::WriteFile(const std::string& path) const {
  const std::string json = ToJson();
  std::FILE* file = std::fopen(path.c_str(), "w");
  int problem = file == nullptr ? errno : 0;
  if (file != nullptr) {
    const size_t written = std::fwrite(json.data(), 1, json.size(), file);
    if (written != json.size()) problem = errno;
    if (std::fclose(file) != 0 && problem == 0) problem = errno;
  }
  SLUICE_ENFORCE(problem == 0, ErrorCode::kNotFound, "trace.file",
                 "trace: cannot write '{}': {}", path,
                 static_cast<const char*>(std::strerror(problem)));
}

}  // namespace sluice
