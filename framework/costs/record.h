#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// The result of a comparison with the op's reference.
enum class Verdict : unsigned char { kUnchecked, kOk, kWrong };

SLUICE_API std::string_view ToString(Verdict verdict);

// In seconds, and shorter than any clock can measure.
constexpr double kShortestTime = 1e-12;

// The measurement of one kernel for one signature: its time, and whether its
// results are correct. A value; strings are UTF-8.
struct Record {
  // The key: records with equal keys measure the same thing.
  std::string op;         // "relu"
  std::string signature;  // op, attributes, shapes, strides, dtypes, layout
                          // and alignment as canonical text
  std::string kernel;     // "relu/plain (cpu float32 PLAIN)"
  std::string kernel_version;  // changes with the kernel's code or library
  int threads = 1;
  std::string place = "cpu:0";
  std::string machine;  // MachineId().text
  bool cold = false;    // caches were emptied before each run

  // Seconds of one run, see Timing: kShortestTime or more, or all 0 if `rounds`
  // is 0.
  double best = 0;
  double median = 0;
  double low = 0;
  double high = 0;
  double spread = 0;  // interquartile range over median
  int rounds = 0;

  // The largest error against the reference, relative to the bound for the
  // dtype and the length of the sums; infinity if results are NaN or have the
  // wrong shape.
  double error = 0;
  Verdict verdict = Verdict::kUnchecked;
  std::string message;  // for a wrong kernel: the fault, at most 1,000 bytes

  // The kernel's estimate for this signature on that machine, in seconds, to
  // correct the estimates for nearby sizes; 0 if unknown.
  double estimate = 0;

  std::string date;    // UTC, "2025-03-01T12:00:00.000Z"; "" becomes now
  std::string sluice;  // the version that measured; "" becomes this one

  bool operator==(const Record&) const = default;
};

}  // namespace sluice
