#pragma once

#include <string>
#include <vector>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/inspect/plan_calls.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

// What Explain shows of a plan on one screen, before it is text, HTML or a data
// frame: lines above, a table with a row for each call or group of calls, and
// lines below. What the laboratory finds out is such a table, too.
namespace sluice {

// How a row or line stands out; text without colours says the same.
enum class Emphasis : uint8_t { kNone, kStrong, kFaint, kBad, kDoubtful };
SLUICE_API std::string_view ToString(Emphasis emphasis);

struct ExplainColumn {
  std::string name;
  bool right = false;  // aligned
};

struct ExplainRow {
  // One cell for each column; or one only, for a line about other rows.
  std::vector<std::string> cells;
  Emphasis emphasis = Emphasis::kNone;
  int op = -1;  // for ExplainOptions::op; -1 for none
};

struct ExplainLine {
  std::string text;
  Emphasis emphasis = Emphasis::kNone;
  bool whole = false;  // a hint, which is copied: never broken
};

struct ExplainTable {
  std::vector<ExplainLine> head;
  std::vector<ExplainColumn> columns;
  std::vector<ExplainRow> rows;
  std::vector<ExplainLine> foot;
};

// A call, or neighbours that the table shows in one row.
struct CallGroup {
  std::vector<const PlanCall*> calls;
  // 0, or how many calls right before it are repeated by this group, which then
  // is a line: "... these 2 calls 141 times more". Those before it may be shown
  // in one row, if they are small.
  size_t period = 0;
  bool mixed = false;      // small calls of several kinds
  std::string layer = {};  // whose calls these are
  double seconds = 0;      // of all calls
};

// Joins neighbours that are alike and small, from kLongTable calls on those of
// a layer, from kManyRows on also repetitions, and what takes little time; with
// options.all, what repeats only.
constexpr size_t kLongTable = 20;
constexpr size_t kManyRows = 60;
SLUICE_API std::vector<CallGroup> FoldCalls(const std::vector<PlanCall>& calls,
                                            double total_seconds,
                                            const ExplainOptions& options = {});

// The columns of the longest possible row.
SLUICE_API int WidthOf(const ExplainTable& table);

// `options.width` decides which columns there are.
SLUICE_API ExplainTable MakeExplainTable(const Plan& plan,
                                         const ExplainOptions& options);
// Whether a call of the plan computes an op of the program.
SLUICE_API bool ComputesOp(const Plan& plan, int op);
// All about one op. Raises NotFound if no call of the plan computes it.
SLUICE_API ExplainTable MakeOpTable(const Plan& plan,
                                    const ExplainOptions& options);

// The table with all that is known about a call below its row, and all that
// FootOf leaves out.
SLUICE_API ExplainTable MakeWholeTable(const Plan& plan,
                                       const ExplainOptions& options);

// The table as text; with options.colour, with ANSI colours.
SLUICE_API std::string ToString(const ExplainTable& table,
                                const ExplainOptions& options);
// {"head": [{"text", "emphasis"}], "columns": [{"name", "right"}], "rows":
// [{"cells", "emphasis", "op"}], "foot"}
class JsonWriter;
SLUICE_API void WriteJson(const ExplainTable& table, JsonWriter* json);

}  // namespace sluice
