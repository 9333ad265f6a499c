// Recognises handwritten digits by the nearest known one, first on the CPU and
// then with the distances at another place, and says what ran where and why.
//
//   digits [FOLDER WITH THE DATA [PLACE]]       the FPGA stub is the usual
//   place
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "examples/digits_program.h"

#include "sluice/lab.h"

namespace {

// The same at every place: the images are integers, so no sum is rounded.
constexpr int kCorrect = 757;
constexpr double kDistanceSum = 196621690;

void PrintSection(const char* title, const std::string& text) {
  std::printf("\n%s\n%s", title, text.c_str());
}

// Runs the program on `executor`; returns whether the answer is as expected.
bool RunOn(sluice::Executor* executor,
           const sluice::Program& program,
           const examples::DigitsVars& vars,
           const sluice::Feeds& feeds) {
  const sluice::Fetches fetches = {vars.distance, vars.accuracy, vars.correct,
                                   vars.total};
  executor->Run(program, feeds, fetches);  // warms up, before times are taken
  const auto plan = executor->Prepare(program, feeds, fetches);
  const auto run = sluice::RunProfiled(*plan, feeds);

  const std::vector<float> distances = run.results[0].ToVector<float>();
  const double sum = std::accumulate(distances.begin(), distances.end(), 0.0);
  const int correct = run.results[2].data<int32_t>()[0];
  std::printf("accuracy %.4f: %d of %d right, distances sum to %.0f\n",
              run.results[1].data<float>()[0], correct,
              run.results[3].data<int32_t>()[0], sum);
  PrintSection("Decisions", DecisionTable(*plan, &run.profile));
  PrintSection("Transfers", TransferTable(*plan));
  PrintSection("Memory (bytes)", sluice::MemoryTable());
  return correct == kCorrect && sum == kDistanceSum;
}

}  // namespace

int main(int argc, char** argv) try {
  const sluice::Feeds feeds =
      examples::DigitsFeeds(argc > 1 ? argv[1] : EXAMPLES_DATA);
  sluice::Program program;
  const examples::DigitsVars vars = examples::BuildDigits(&program);
  std::printf("%s", ToString(program).c_str());

  std::printf("\n== Everything on the CPU ==\n");
  sluice::Executor cpu(sluice::CPUPlace{});
  bool right = RunOn(&cpu, program, vars, feeds);

  const std::string place = argc > 2 ? argv[2] : "fpga:0";
  std::printf("\n== manhattan_distance required at %s ==\n", place.c_str());
  const sluice::KernelHintGuard guard("manhattan_distance: require place=" +
                                      place);
  sluice::Executor there(sluice::ParsePlaceKey(place));
  right = RunOn(&there, program, vars, feeds) && right;

  if (!right) {
    std::fprintf(stderr, "digits: expected %d right and a sum of %.0f\n",
                 kCorrect, kDistanceSum);
  }
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits: %s\n", error.what());
  return 1;
}
