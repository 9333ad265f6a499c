#pragma once

#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// Performance figures of this machine, to estimate kernels without records.
namespace sluice {

// Arithmetic operations a second of one thread; a multiplication with an
// addition counts as two.
struct Throughput {
  double float32 = 0;
  double float64 = 0;
  double int8 = 0;      // products of bytes, summed in 32 bits
  double bfloat16 = 0;  // products, summed in float32

  bool operator==(const Throughput&) const = default;
};

// Bytes a second when reading data that fits the level.
struct Bandwidth {
  double l1 = 0;
  double l2 = 0;
  double l3 = 0;
  double memory = 0;

  bool operator==(const Bandwidth&) const = default;
};

struct MachineFigures {
  std::string machine;  // MachineId().text
  int threads = 1;      // used for "all threads"
  Throughput operations;
  Bandwidth bytes;              // of one thread
  Bandwidth bytes_all_threads;  // of all threads together
  double parallel_for = 0;     // seconds to start and end a loop on all threads
  double kernel_call = 0;      // seconds of a virtual call and its overhead
  double library_call = 4e-7;  // seconds of a call of e.g. oneDNN
  // "" for derived figures, else the date of the measurement (UTC, as
  // Record::date).
  std::string date;

  bool operator==(const MachineFigures&) const = default;
};

// Estimates the figures of a machine with this instruction set (Highway's name,
// as CpuInstructionSet returns it) and `threads` threads: vector width and
// issue rates at 2.5 GHz, usual bandwidths for each level. No clock is read:
// equal arguments give equal figures.
SLUICE_API MachineFigures DerivedFigures(std::string_view instruction_set,
                                         int threads);

// The figures for this machine and the CPUs that the process may use.
SLUICE_API MachineFigures DerivedFigures();

}  // namespace sluice
