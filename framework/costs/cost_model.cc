#include "sluice/framework/costs/cost_model.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"
#include "sluice/platform/plugin/kernel_module.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

class Estimates final : public CostModel {
 public:
  MachineFigures Figures(int num_threads) const override {
    return DerivedFigures(CpuInstructionSet(), num_threads);
  }
  std::unique_ptr<CandidateCosts> Begin(int /*num_threads*/) const override {
    return nullptr;
  }
  uint64_t generation() const override { return 0; }
};

std::atomic<const CostModel*> g_model{nullptr};
std::atomic<uint64_t> g_replaced{0};

std::string Setting(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// The variable or file that requires the laboratory; "" for none.
struct Request {
  std::string what;
  bool must_be_met = false;
};

Request RequestOfEnvironment() {
  const std::string tune = Setting("SLUICE_TUNE");
  if (!tune.empty() && tune != "estimate") return {"SLUICE_TUNE=" + tune, true};
  const std::string records = Setting("SLUICE_RECORDS");
  if (records == "off") return {};
  if (!records.empty()) return {"SLUICE_RECORDS=" + records, true};
  std::string file = UserRecordFile();
  std::error_code ignored;
  if (file.empty() || !fs::exists(file, ignored)) return {};
  return {std::move(file), false};
}

// Loads the laboratory, which installs a model (SetCostModel), if requested.
void LoadLaboratory() {
  const Request request = RequestOfEnvironment();
  if (request.what.empty()) return;
  const std::string& missing = LoadModule("lab");
  if (missing.empty()) return;
  // The module refuses a setting without sense, too.
  SLUICE_ENFORCE(!request.must_be_met, ErrorCode::kInvalidArgument,
                 "laboratory.setting", "{}: {}", request.what, missing);
  Log(LogLevel::kWarning, "what was measured ({}) is not used: {}",
      request.what, missing);
}

}  // namespace

CandidateCosts::~CandidateCosts() = default;
CostModel::~CostModel() = default;

const CostModel& ActiveCostModel() {
  if (const CostModel* model = g_model.load()) return *model;
  LoadLaboratory();
  static const Estimates kEstimates;
  const CostModel* none = nullptr;
  g_model.compare_exchange_strong(none, &kEstimates);
  return *g_model.load();
}

void SetCostModel(const CostModel* model) {
  g_model = model;
  ++g_replaced;
}

uint64_t CostGeneration() {
  constexpr int kGenerationBits = 48;
  const uint64_t generation = ActiveCostModel().generation();
  return (g_replaced.load() << kGenerationBits) + generation;
}

std::string UserRecordFile() {
  // XDG base directory specification: relative paths are ignored.
  fs::path cache = Setting("XDG_CACHE_HOME");
  if (!cache.is_absolute()) {
    const fs::path home = Setting("HOME");
    if (!home.is_absolute()) return "";
    cache = home / ".cache";
  }
  return (cache / "sluice" / "records.jsonl").string();
}

}  // namespace sluice
