// Recognises handwritten digits by the nearest known one, first on the CPU and
// then with the distances at another place, and prints what ran where.
//
//   digits [--explain] [FOLDER WITH THE DATA [PLACE]]
//
// The place is the FPGA stub if left out. --explain also prints why each kernel
// was chosen.
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "examples/digits_program.h"

#include "sluice/lab.h"
#include "sluice/memory/allocator.h"

namespace {

// The same at every place: the images are integers, so no sum is rounded.
constexpr int kCorrect = 757;
constexpr double kDistanceSum = 196621690;

// Three digits and a unit, such as "459 kB".
std::string Size(size_t bytes) {
  auto count = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB"}) {
    if (count < 999.5) break;
    count /= 1000;
    unit = larger;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %s", count, unit);
  return text;
}

// Prints the kernel, place and time of each op, and what was copied.
void PrintPlan(const sluice::Plan& plan, const sluice::RunProfile& profile) {
  std::printf("\n  # op                  kernel      place          us\n");
  for (const sluice::Decision& decision : plan.decisions()) {
    const double us = 1e6 * profile.ops[decision.op_index].median;
    std::printf("%3d %-20s%-12s%-8s%9s\n", decision.op_index,
                decision.op.c_str(), decision.kernel->variant.c_str(),
                ToString(decision.place).c_str(),
                us < 1 ? "<1" : std::to_string(std::lround(us)).c_str());
  }
  std::printf("us: with copies; the median of %d on this machine\n",
              profile.rounds);
  for (const sluice::Transfer& copy : plan.transfers()) {
    std::printf("%s: %s copied from %s to %s\n", copy.var.c_str(),
                Size(copy.bytes).c_str(), ToString(copy.from).c_str(),
                ToString(copy.to).c_str());
  }
  for (const sluice::PlaceKey place : sluice::UsedPlaces()) {
    std::printf("memory at %s: at most %s\n", ToString(place).c_str(),
                Size(sluice::Stats(place).peak).c_str());
  }
}

// Runs the program on `executor`; returns whether the answer is as expected.
bool RunOn(sluice::Executor* executor,
           const sluice::Program& program,
           const examples::DigitsVars& vars,
           const sluice::Feeds& feeds,
           bool explain) {
  const sluice::Fetches fetches = {vars.distance, vars.accuracy, vars.correct,
                                   vars.total};
  executor->Run(program, feeds, fetches);  // warms up, before times are taken
  const auto plan = executor->Prepare(program, feeds, fetches);
  const auto run = sluice::RunProfiled(*plan, feeds, /*scope=*/nullptr,
                                       {.budget_seconds = 1});

  const std::vector<float> distances = run.results[0].ToVector<float>();
  const double sum = std::accumulate(distances.begin(), distances.end(), 0.0);
  const int correct = run.results[2].data<int32_t>()[0];
  std::printf("accuracy %.1f %%: %d of %d correct; distances sum to %.0f\n",
              100 * run.results[1].data<float>()[0], correct,
              run.results[3].data<int32_t>()[0], sum);
  PrintPlan(*plan, run.profile);
  if (explain) std::printf("\n%s", executor->Explain(program).c_str());
  return correct == kCorrect && sum == kDistanceSum;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool explain = argc > 1 && argv[1] == std::string("--explain");
  const std::vector<std::string> arguments(argv + (explain ? 2 : 1),
                                           argv + argc);
  const sluice::Feeds feeds =
      examples::DigitsFeeds(arguments.empty() ? EXAMPLES_DATA : arguments[0]);
  sluice::Program program;
  const examples::DigitsVars vars = examples::BuildDigits(&program);
  std::printf(
      "797 digits get the label of the nearest of 1,000 known ones, at two "
      "places:\nabout 5 s\n"
      "\n== Everything on the CPU ==\n");
  sluice::Executor cpu(sluice::CPUPlace{});
  bool right = RunOn(&cpu, program, vars, feeds, explain);

  const std::string place = arguments.size() > 1 ? arguments[1] : "fpga:0";
  std::printf("\n== manhattan_distance required at %s ==\n", place.c_str());
  const sluice::KernelHintGuard guard("manhattan_distance: require place=" +
                                      place);
  sluice::Executor there(sluice::ParsePlaceKey(place));
  right = RunOn(&there, program, vars, feeds, explain) && right;

  if (!right) {
    std::fprintf(stderr, "digits: expected %d correct and a sum of %.0f\n",
                 kCorrect, kDistanceSum);
  } else if (!explain) {
    std::printf("\nnext: digits --explain says why each kernel was chosen\n");
  }
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits: %s\n", error.what());
  return 1;
}
