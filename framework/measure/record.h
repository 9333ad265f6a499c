#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

// What a comparison with the op's reference said.
enum class Verdict : unsigned char { kUnchecked, kOk, kWrong };

SLUICE_API std::string_view ToString(Verdict verdict);

// In seconds: less than any clock shows.
constexpr double kShortestTime = 1e-12;

// What was found out about one kernel for one signature: how long it took, and
// whether its results are right. A value; strings are UTF-8.
struct Record {
  // Key: two records with the same key are about the same thing.
  std::string op;         // "relu"
  std::string signature;  // op, attributes, shapes, strides, dtypes, layout
                          // and alignment as canonical text
  std::string kernel;     // "relu/plain (cpu float32 any PLAIN)"
  std::string kernel_version;  // changes with the kernel's code or library
  int threads = 1;
  std::string place = "cpu:0";
  std::string machine;  // MachineId().text
  bool cold = false;    // caches were emptied before each run

  // Seconds of one run, see Timing: kShortestTime or more, and all 0 where
  // rounds is.
  double best = 0;
  double median = 0;
  double low = 0;
  double high = 0;
  double spread = 0;  // interquartile range over median
  int rounds = 0;

  // The largest error against the reference, relative to the bound that holds
  // for the dtype and the length of the sums; infinity where results are NaN
  // or have the wrong shape.
  double error = 0;
  Verdict verdict = Verdict::kUnchecked;
  std::string message;  // of a wrong kernel: what is wrong, at most 1,000 bytes

  // What the kernel's estimate said for this signature on that machine, in
  // seconds, to correct the estimates for nearby sizes; 0 where it is unknown.
  double estimate = 0;

  std::string date;    // UTC, "2025-03-01T12:00:00.000Z"; "" becomes now
  std::string sluice;  // the version that measured; "" becomes this one

  bool operator==(const Record&) const = default;
};

// Now, as a record's date.
SLUICE_API std::string UtcNow();

// The version of this Sluice, e.g. "0.1.0".
SLUICE_API std::string_view SluiceVersion();

// The record as a JSON object without newlines. What is not UTF-8 becomes
// U+FFFD. Raises InvalidArgument, which names the member, for a record without
// sense: an empty op, signature, kernel or machine, no threads, times that are
// negative, not finite or not in order, a date of another form, a signature
// that does not begin with the op and a bracket.
SLUICE_API std::string RecordToJson(const Record& record);

// Nothing for JSON that is no such record.
SLUICE_API std::optional<Record> RecordFromJson(std::string_view json);

// Texts that are equal when: all of the key is; all but kernel_version; it is
// the same kernel in the same version for the same signature, place and
// machine, with any number of threads and caches in any state.
SLUICE_API std::string RecordKey(const Record& record);
SLUICE_API std::string RecordKeyOfAnyVersion(const Record& record);
SLUICE_API std::string QuarantineKey(const Record& record);

// One record for each key, in the order of their first lines: a wrong one if
// there is any, else the newest, by date and then by place in the list. Of
// each RecordKeyOfAnyVersion it keeps the newest four versions, and all wrong
// ones.
SLUICE_API std::vector<Record> MergeRecords(std::vector<Record> records);

}  // namespace sluice::framework
