#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sluice/framework/costs/machine_figures.h"
#include "sluice/platform/export.h"

namespace sluice {

// Measures all figures in about that time, with NumThreads() threads. Figures
// that the budget does not cover are derived. Raises InvalidArgument for a
// budget that is not above 0.
SLUICE_API MachineFigures MeasureMachine(double budget_seconds);

// Returns a JSON object without newlines, for a line of a record file.
SLUICE_API std::string FiguresToJson(const MachineFigures& figures);

// Returns nothing for other JSON, or if a figure is not above 0.
SLUICE_API std::optional<MachineFigures> FiguresFromJson(std::string_view json);

}  // namespace sluice
