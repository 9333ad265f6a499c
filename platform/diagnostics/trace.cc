#include "sluice/platform/diagnostics/trace.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

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

void AppendTrack(std::string& json, size_t track, const std::string& name) {
  json += R"({"ph":"M","pid":1,"tid":)" + std::to_string(track);
  json += R"(,"name":"thread_name","args":{"name":)";
  AppendJsonString(json, name);
  json += "}}";
}

void AppendEvent(std::string& json, const TraceEvent& event, int64_t origin) {
  json += R"({"ph":"X","pid":1,"tid":)" + std::to_string(event.track);
  json += R"(,"ts":)";
  AppendMicroseconds(json, event.start_ns - origin);
  json += R"(,"dur":)";
  AppendMicroseconds(json, event.duration_ns);
  json += R"(,"name":)";
  AppendJsonString(json, event.name);
  json += R"(,"cat":)";
  AppendJsonString(json, event.category);
  json += R"(,"args":{)";
  const char* comma = "";
  for (const auto& [key, value] : event.arguments) {
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

int TraceWriter::AddTrack(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  tracks_.emplace_back(name);
  return static_cast<int>(tracks_.size()) - 1;
}

void TraceWriter::Add(TraceEvent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  SLUICE_ENFORCE(
      event.track >= 0 && event.track < static_cast<int>(tracks_.size()),
      ErrorCode::kInvalidArgument, "trace.track",
      "trace: event '{}' is on track {}, expected one of the {} that exist",
      event.name, event.track, tracks_.size());
  SLUICE_ENFORCE(event.duration_ns >= 0, ErrorCode::kInvalidArgument,
                 "trace.duration",
                 "trace: event '{}' lasts {} ns, expected 0 or more",
                 event.name, event.duration_ns);
  events_.push_back(std::move(event));
}

size_t TraceWriter::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return events_.size();
}

std::string TraceWriter::ToJson() const {
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const TraceEvent& event : events_) {
    origin = std::min(origin, event.start_ns);
  }
  std::string json = R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* comma = "\n";
  for (size_t track = 0; track < tracks_.size(); ++track) {
    json += comma;
    AppendTrack(json, track, tracks_[track]);
    comma = ",\n";
  }
  for (const TraceEvent& event : events_) {
    json += comma;
    AppendEvent(json, event, origin);
    comma = ",\n";
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
