#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/costs/record.h"
#include "sluice/platform/export.h"

namespace sluice {

// The record as a JSON object without newlines. Invalid UTF-8 becomes U+FFFD.
// Raises InvalidArgument, which names the member, for an invalid record: an
// empty op, signature, kernel or machine, no threads, times that are negative,
// not finite or not in order, a malformed date, a signature that does not begin
// with the op and a bracket.
SLUICE_API std::string RecordToJson(const Record& record);

// Returns nothing if the JSON is not a record.
SLUICE_API std::optional<Record> RecordFromJson(std::string_view json);

// Keys as text. RecordKey includes all of the key; RecordKeyOfAnyVersion all
// but kernel_version; QuarantineKey the kernel, version, signature, place and
// machine, but not the number of threads and the state of the caches.
SLUICE_API std::string RecordKey(const Record& record);
SLUICE_API std::string RecordKeyOfAnyVersion(const Record& record);
SLUICE_API std::string QuarantineKey(const Record& record);

// Keeps one record for each key, in the order of their first lines: a wrong one
// if there is any, else the newest, by date and then by position in the list.
// Of each RecordKeyOfAnyVersion it keeps the newest four versions, and all
// wrong ones.
SLUICE_API std::vector<Record> MergeRecords(std::vector<Record> records);

}  // namespace sluice
