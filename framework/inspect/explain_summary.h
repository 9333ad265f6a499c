#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/inspect/explain_table.h"
#include "sluice/framework/inspect/plan_calls.h"

// The totals of a plan, and the lines above and below the table of its calls.
// For the sources of Explain only.
namespace sluice {

enum class PlanEvidence : uint8_t { kEstimates, kRecords, kMixed };

// Calls in a row that serve one purpose.
struct PlanPhase {
  OpPurpose purpose = OpPurpose::kForward;
  const PlanCall* first = nullptr;
  int calls = 0;
  double seconds = 0;
};

struct PlanSummary {
  const Plan* plan = nullptr;
  std::vector<PlanCall> calls;
  std::vector<PlanPhase> phases;
  int ops = 0;  // of the program, that run
  double seconds = 0;
  PlanEvidence evidence = PlanEvidence::kEstimates;
  // False where every call is predicted to take less than a microsecond, which
  // is too short to compare.
  bool has_times = false;
  const PlanCall* slowest = nullptr;  // null without calls
  DType dtype = DType::kFloat32;      // of most calls

  PlanSummary() = default;
  PlanSummary(const PlanSummary&) = delete;  // pointers into `calls`
  PlanSummary(PlanSummary&&) = default;
};
SLUICE_API PlanSummary Summarise(const Plan& plan);

// "forward", "backward" or "optimizer".
std::string_view PhaseName(OpPurpose purpose);
// "program (training), cpu, 2 threads; fed x [50, 13]".
SLUICE_API std::string TitleLine(const PlanSummary& summary,
                                 const ExplainOptions& options);
// How long the next best kernel takes: "1.8x", with its name or place; "-"
// where no other fits.
std::string NextBestText(const PlanCall& call, std::string* name);
// "; next best plain 1.8x", or "".
std::string AlsoBestText(const PlanCall& call);

std::vector<ExplainLine> HeadOf(const PlanSummary& summary,
                                const ExplainOptions& options);
std::vector<ExplainLine> FootOf(const PlanSummary& summary,
                                const ExplainOptions& options);

}  // namespace sluice
