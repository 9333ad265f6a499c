#include "sluice/framework/costs/kernel_costs.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "sluice/framework/costs/machine.h"
#include "sluice/framework/costs/record_folders.h"
#include "sluice/framework/files/file.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

// The text of records/costs.json, in a source that CMake writes.
std::string_view BuiltinCosts();

namespace {

using Json = nlohmann::json;

constexpr const char* kDefault = "default";
constexpr double kLargestCost = 1e9;

std::string Quoted(std::string_view text) {
  std::string quoted;
  AppendJsonString(quoted, Utf8Prefix(text, 300));
  return quoted;
}

// Raises InvalidArgument for what is not of the form.
Json ParseCosts(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  SLUICE_ENFORCE(!json.is_discarded(), ErrorCode::kInvalidArgument,
                 "costs.json", "it is not JSON, or its end is missing");
  const bool has_kind = json.is_object() && json.contains("kind") &&
                        json["kind"] == "costs" && json.contains("costs") &&
                        json["costs"].is_object();
  SLUICE_ENFORCE(has_kind, ErrorCode::kInvalidArgument, "costs.kind",
                 "it is not a file of costs: expected \"kind\": \"costs\" and "
                 "an object \"costs\"");
  // A copy of deeply nested JSON would overflow the stack.
  const auto named = json.find("machine");
  std::string machine;
  if (named != json.end()) {
    machine =
        named->is_string() ? named->get<std::string>() : named->type_name();
  }
  SLUICE_ENFORCE(machine.empty() || machine == MachineId().text,
                 ErrorCode::kInvalidArgument, "costs.machine",
                 "it is for the machine {}, this is {}", Quoted(machine),
                 Quoted(MachineId().text));
  return std::move(json["costs"]);
}

const WorkCount* FindCount(std::string_view name) {
  for (const WorkCount& count : kWorkCounts) {
    if (count.name == name) return &count;
  }
  return nullptr;
}

void CheckRows(const Json& rows) {
  for (const auto& [row, costs] : rows.items()) {
    SLUICE_ENFORCE(costs.is_object(), ErrorCode::kInvalidArgument, "costs.row",
                   "row '{}' is no object of costs", row);
    for (const auto& [name, cost] : costs.items()) {
      SLUICE_ENFORCE(FindCount(name) != nullptr, ErrorCode::kInvalidArgument,
                     "costs.count", "row '{}' has an unknown count '{}'", row,
                     name);
      const bool valid = cost.is_number() && cost.get<double>() >= 0 &&
                         cost.get<double>() <= kLargestCost;
      SLUICE_ENFORCE(valid, ErrorCode::kInvalidArgument, "costs.cost",
                     "row '{}': the cost of '{}' is {}, expected a number from "
                     "0 to {:g}",
                     row, name,
                     cost.is_number() ? cost.dump() : cost.type_name(),
                     kLargestCost);
    }
  }
}

// Sets the costs that a row has.
void Set(const Json& row, CountCosts* costs) {
  for (size_t i = 0; i < costs->size(); ++i) {
    const auto found = row.find(kWorkCounts[i].name);
    if (found != row.end()) (*costs)[i] = found->get<double>();
  }
}

// The file for this machine; "" for none.
std::string FileOfEnvironment() {
  const char* variable = std::getenv("SLUICE_COSTS");
  if (variable != nullptr && *variable != '\0') {
    return std::string_view(variable) == kDefault ? "" : variable;
  }
  for (const std::filesystem::path& folder : RecordFolders()) {
    const auto path = folder / ("costs-" + MachineId().hash + ".json");
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  return "";
}

}  // namespace

KernelCosts::KernelCosts(std::string_view json) {
  Json rows = ParseCosts(BuiltinCosts());
  Json given = ParseCosts(json);
  CheckRows(given);
  rows.merge_patch(given);
  CountCosts defaults{};
  Set(rows[kDefault], &defaults);
  // Sorted, a row is before the same one for a dtype.
  for (const auto& [row, costs] : rows.items()) {
    const auto any_dtype = rows_.find(row.substr(0, row.rfind(' ')));
    CountCosts all = any_dtype == rows_.end() ? defaults : any_dtype->second;
    Set(costs, &all);
    rows_.emplace(row, all);
  }
}

const KernelCosts& KernelCosts::Default() {
  static const KernelCosts kCosts(R"({"kind": "costs", "costs": {}})");
  return kCosts;
}

const KernelCosts& KernelCosts::Active() {
  static const KernelCosts kCosts = [] {
    const std::string path = FileOfEnvironment();
    if (path.empty()) return Default();
    try {
      return KernelCosts(InputFile(path).ReadAll());
    } catch (const Error& error) {
      Log(LogLevel::kWarning,
          "the costs of kernels in {} are not used, but those that "
          "are built in: {}",
          path, error.what());
      return Default();
    }
  }();
  return kCosts;
}

const CountCosts& KernelCosts::Of(const std::string& row, DType dtype) const {
  for (const std::string& name : {Format("{} {}", row, dtype), row}) {
    const auto found = rows_.find(name);
    if (found != rows_.end()) return found->second;
  }
  return rows_.at(kDefault);
}

}  // namespace sluice
