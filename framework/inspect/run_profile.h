#pragma once

#include <string>
#include <vector>

namespace sluice {

// How a contestant's measurement ended.
enum class RaceOutcome : unsigned char {
  kRaced,    // it ran to the end, or as long as the budget allowed
  kDropped,  // too slow to continue, see RaceOptions::give_up_ratio
  kThrew,    // see Timing::error
  kNotRun,   // no time left, or cancelled before its turn
};

struct Timing {
  double best = 0;
  double median = 0;
  // A confidence interval of the median by order statistics: 95 %; with fewer
  // than 6 rounds the whole range.
  double low = 0;
  double high = 0;
  double spread = 0;  // the interquartile range over the median
  int rounds = 0;     // those with a sample
  int calls_per_round = 1;
  // The number of rounds that took longer because other programs used the CPUs,
  // and that were disturbed again when repeated.
  int disturbed = 0;
  RaceOutcome outcome = RaceOutcome::kNotRun;
  std::string error;  // the exception's message
  // Seconds of one call, by round; at most max_rounds. If no round was begun,
  // it is the shortest of the first runs.
  std::vector<double> samples;
};

// A median over rounds with its confidence interval (95 %; below 6 rounds the
// whole range), in seconds.
struct MedianTime {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The times of a plan, its instructions and its ops.
struct RunProfile {
  std::vector<MedianTime> instructions;
  // Indexed by op of the program: the kernel and its copies; 0 for an op that
  // does not run.
  std::vector<MedianTime> ops;
  // When each instruction would begin, and the last one end, if each took its
  // median, one after the other; in seconds.
  std::vector<double> begin;
  double total_seconds = 0;
  int rounds = 0;        // the number of measured rounds
  Timing run;            // of Plan::Run, without clocks inside
  bool drifted = false;  // see RaceResult
};

}  // namespace sluice
