#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// What this machine can do, for estimates of kernels that nobody has measured.
namespace sluice::framework {

// Arithmetic operations a second of one thread; a multiplication with an
// addition counts as two.
struct Throughput {
  double float32 = 0;
  double float64 = 0;
  double int8 = 0;      // products of bytes, summed in 32 bits
  double bfloat16 = 0;  // products, summed in float32

  bool operator==(const Throughput&) const = default;
};

// Bytes a second that are read from data of a size for each level.
struct Bandwidth {
  double l1 = 0;
  double l2 = 0;
  double l3 = 0;
  double memory = 0;

  bool operator==(const Bandwidth&) const = default;
};

struct MachineFigures {
  std::string machine;  // MachineId().text
  int threads = 1;      // "all" means this many
  Throughput operations;
  Bandwidth bytes;              // of one thread
  Bandwidth bytes_all_threads;  // of all together
  double parallel_for = 0;     // seconds to start and end a loop on all threads
  double kernel_call = 0;      // seconds of a virtual call and its surroundings
  double library_call = 4e-7;  // seconds of a call of a library as oneDNN
  // "" for figures that were derived, else when they were measured (UTC, as
  // Record::date).
  std::string date;

  bool operator==(const MachineFigures&) const = default;
};

// What can be expected of a machine with this instruction set (a name of
// Highway's, as platform::CpuInstructionSet gives it) and so many threads:
// vector width and issue rates at 2.5 GHz, usual bandwidths for each level. No
// clock is read: equal arguments give equal figures.
SLUICE_API MachineFigures DerivedFigures(std::string_view instruction_set,
                                         int threads);

// The same for this machine and the CPUs that the process may use.
SLUICE_API MachineFigures DerivedFigures();

// Measures all of them in about that time, with NumThreads() threads; what a
// budget cannot pay for is derived. Raises InvalidArgument for a budget that is
// not above 0.
SLUICE_API MachineFigures MeasureMachine(double budget_seconds);

// As a JSON object without newlines, for a line of a record file.
SLUICE_API std::string FiguresToJson(const MachineFigures& figures);

// Nothing for JSON that is no such object, or has a figure that is not above 0.
SLUICE_API std::optional<MachineFigures> FiguresFromJson(std::string_view json);

}  // namespace sluice::framework
