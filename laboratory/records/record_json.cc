#include "sluice/laboratory/records/record_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/platform/diagnostics/version.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxMessage = 1000;
constexpr size_t kVersionsKept = 4;
constexpr std::string_view kKind = "record";
constexpr std::string_view kOldLayout = " any ";

bool IsDate(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  return text.size() == kForm.size() &&
         std::equal(text.begin(), text.end(), kForm.begin(),
                    [](char c, char form) {
                      return form == '0' ? c >= '0' && c <= '9' : c == form;
                    });
}

// Longer times are invalid.
constexpr double kLongestTime = 1e6;

bool IsTime(double seconds) {
  return seconds >= 0 && seconds <= kLongestTime;
}

// Reads an integer that fits an int; json's own conversion truncates.
bool ReadInt(const nlohmann::json& json, int* value) {
  if (!json.is_number_integer()) return false;
  const auto wide = json.get<int64_t>();
  *value = static_cast<int>(wide);
  return *value == wide;
}

// The first invalid member; "" if all are valid.
std::string_view Nonsense(const Record& record) {
  if (record.op.empty()) return "op";
  if (!record.signature.starts_with(record.op + "(")) return "signature";
  if (record.kernel.empty()) return "kernel";
  if (record.machine.empty()) return "machine";
  if (record.place.empty()) return "place";
  if (record.threads < 1) return "threads";
  if (record.rounds < 0) return "rounds";
  for (const auto& [name, value] : {std::pair("best", record.best),
                                    {"median", record.median},
                                    {"low", record.low},
                                    {"high", record.high},
                                    {"spread", record.spread},
                                    {"estimate", record.estimate}}) {
    if (!IsTime(value)) return name;
  }
  const double shortest = record.rounds > 0 ? kShortestTime : 0;
  if (record.best < shortest || record.best > record.median) return "best";
  if (record.low > record.median) return "low";
  if (record.high < record.median) return "high";
  if (std::isnan(record.error) || record.error < 0) return "error";
  if (!IsDate(record.date)) return "date";
  return "";
}

Json FiniteOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Verdict VerdictOf(const std::string& text) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kWrong}) {
    if (text == ToString(verdict)) return verdict;
  }
  return Verdict::kUnchecked;
}

void AppendPart(std::string& key, std::string_view part) {
  key += part;
  key += '\0';
}

// The common prefix of all keys.
std::string CommonKey(const Record& record) {
  std::string key;
  AppendPart(key, record.signature);
  AppendPart(key, record.kernel);
  AppendPart(key, record.place);
  AppendPart(key, record.machine);
  return key;
}

std::string RunKey(const Record& record) {
  std::string key = CommonKey(record);
  AppendPart(key, std::to_string(record.threads));
  AppendPart(key, record.cold ? "cold" : "warm");
  return key;
}

// Returns whether `later`, further down in a list, replaces `earlier`.
bool Replaces(const Record& later, const Record& earlier) {
  const bool later_wrong = later.verdict == Verdict::kWrong;
  const bool earlier_wrong = earlier.verdict == Verdict::kWrong;
  if (later_wrong != earlier_wrong) return later_wrong;
  return later.date >= earlier.date;
}

std::vector<Record> NewestOfEachKey(std::vector<Record> records) {
  std::unordered_map<std::string, size_t> places;
  std::vector<Record> merged;
  for (Record& record : records) {
    const auto [found, added] =
        places.try_emplace(RecordKey(record), merged.size());
    if (added) {
      merged.push_back(std::move(record));
    } else if (Replaces(record, merged[found->second])) {
      merged[found->second] = std::move(record);
    }
  }
  return merged;
}

}  // namespace

std::string RecordToJson(const Record& given) {
  Record record = given;
  if (record.date.empty()) record.date = UtcNow();
  if (record.sluice.empty()) record.sluice = SluiceVersion();
  record.message.resize(std::min(record.message.size(), kMaxMessage));
  const std::string_view member = Nonsense(record);
  SLUICE_ENFORCE(member.empty(), ErrorCode::kInvalidArgument, "record.member",
                 "a record of kernel '{}': its {} is empty, not finite, out of "
                 "order or of another form than it must have",
                 record.kernel, member);
  const Json json = {{"kind", kKind},
                     {"op", record.op},
                     {"signature", record.signature},
                     {"kernel", record.kernel},
                     {"kernel_version", record.kernel_version},
                     {"threads", record.threads},
                     {"place", record.place},
                     {"machine", record.machine},
                     {"caches", record.cold ? "cold" : "warm"},
                     {"best", record.best},
                     {"median", record.median},
                     {"low", record.low},
                     {"high", record.high},
                     {"spread", record.spread},
                     {"rounds", record.rounds},
                     {"error", FiniteOrNull(record.error)},
                     {"verdict", ToString(record.verdict)},
                     {"message", record.message},
                     {"estimate", record.estimate},
                     {"date", record.date},
                     {"sluice", record.sluice}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Record> RecordFromJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Record record;
  try {
    if (json.at("kind").get_ref<const std::string&>() != kKind) {
      return std::nullopt;
    }
    json.at("op").get_to(record.op);
    json.at("signature").get_to(record.signature);
    json.at("kernel").get_to(record.kernel);
    // Names of kernels had a layout that was always "any".
    const size_t layout = record.kernel.rfind(kOldLayout);
    if (layout != std::string::npos) {
      record.kernel.erase(layout, kOldLayout.size() - 1);
    }
    json.at("kernel_version").get_to(record.kernel_version);
    if (!ReadInt(json.at("threads"), &record.threads) ||
        !ReadInt(json.at("rounds"), &record.rounds)) {
      return std::nullopt;
    }
    json.at("place").get_to(record.place);
    json.at("machine").get_to(record.machine);
    record.cold = json.at("caches").get_ref<const std::string&>() == "cold";
    json.at("best").get_to(record.best);
    json.at("median").get_to(record.median);
    json.at("low").get_to(record.low);
    json.at("high").get_to(record.high);
    json.at("spread").get_to(record.spread);
    const auto& error = json.at("error");
    record.error = error.is_null() ? std::numeric_limits<double>::infinity()
                                   : error.get<double>();
    record.verdict = VerdictOf(json.at("verdict").get<std::string>());
    json.at("message").get_to(record.message);
    json.at("estimate").get_to(record.estimate);
    json.at("date").get_to(record.date);
    json.at("sluice").get_to(record.sluice);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  if (!Nonsense(record).empty()) return std::nullopt;
  return record;
}

std::string RecordKey(const Record& record) {
  std::string key = RunKey(record);
  AppendPart(key, record.kernel_version);
  return key;
}

std::string RecordKeyOfAnyVersion(const Record& record) {
  return RunKey(record);
}

std::string QuarantineKey(const Record& record) {
  std::string key = CommonKey(record);
  AppendPart(key, record.kernel_version);
  return key;
}

std::vector<Record> MergeRecords(std::vector<Record> records) {
  std::vector<Record> merged = NewestOfEachKey(std::move(records));
  // A kernel that is edited often leaves a version each time.
  std::unordered_map<std::string, std::vector<std::string_view>> dates;
  for (const Record& record : merged) {
    dates[RecordKeyOfAnyVersion(record)].push_back(record.date);
  }
  for (auto& [key, all] : dates) {
    std::sort(all.begin(), all.end(), std::greater<>());
  }
  std::vector<Record> kept;
  for (const Record& record : merged) {
    const auto& all = dates[RecordKeyOfAnyVersion(record)];
    if (all.size() <= kVersionsKept || record.verdict == Verdict::kWrong ||
        record.date >= all[kVersionsKept - 1]) {
      kept.push_back(record);
    }
  }
  return kept;
}

}  // namespace sluice
