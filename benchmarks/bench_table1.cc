// Table 1 of the article about manhattan_distance ("Extending TensorFlow with
// Custom C++ Operations", 2021): the distances of n rows to m rows as one op,
// as a broadcast graph and as a loop graph, and the memory of each. The article
// has times of TensorFlow 2.3 on a V100. It does not state the length of rows;
// here they have 128 numbers.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bench_util.h"
#include "examples/distance_forms.h"

#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/device.h"
#include "sluice/sluice.h"

namespace {

using sluice::DType;
using sluice::Feeds;
using sluice::PlaceKey;
using sluice::Plan;
using sluice::Tensor;
using sluice::Var;
using sluice::bench::Options;
using sluice::bench::Report;

constexpr int64_t kColumns = 128;
constexpr std::array<int64_t, 3> kRows = {32, 64, 128};
using Figures = std::array<double, kRows.size()>;
constexpr const char* kArticle = "TensorFlow 2.3 on a V100";

constexpr const char* kLegend = R"(
Manhattan distances of n rows to m rows of p numbers each, [n, m]:
  op         manhattan_distance, one op
  broadcast  the difference of all pairs, its absolute values, their sum
  loop       five ops for each of the n * m pairs
ms is the median time of a run. The rows .../prepare are the time of making
the plan, once, before the first run. Memory is what a run takes besides its
feeds: the values between ops, and the results.
The article: "Extending TensorFlow with Custom C++ Operations" (2021), Table 1.
)";

struct Form {
  const char* name;
  Var (*build)(const Var& x, const Var& y);
  Figures article;  // in ms; 0 if it has none
};

Var DistanceOp(const Var& x, const Var& y) {
  return sluice::ops::ManhattanDistance(x, y);
}

constexpr Form kForms[] = {
    {"op", DistanceOp, {}},
    {"broadcast", examples::BroadcastDistance, {1.1, 2.0, 5.8}},
    {"loop", examples::LoopDistance, {41.0, 151.0, 582.0}}};

Tensor RandomRows(int64_t rows, int64_t seed) {
  return sluice::bench::RandomTensor("uniform_random", {rows, kColumns}, seed);
}

// Memory of a run besides its feeds: the arenas and the results.
double BytesOf(const Plan& plan) {
  size_t bytes = 0;
  for (const auto& arena : plan.arenas()) {
    bytes += arena.second;
  }
  for (const auto& slot : plan.slots()) {
    if (slot.kind == sluice::SlotKind::kFetch) bytes += slot.bytes;
  }
  return static_cast<double>(bytes);
}

// A form prepared for a number of rows at a place.
struct Prepared {
  std::shared_ptr<const Plan> plan;
  double seconds = 0;  // time of preparing
};

Prepared PrepareForm(const Form& form, PlaceKey place, const Feeds& feeds) {
  sluice::Program program;
  const auto x = program.Data("x", DType::kFloat32, feeds[0].second.dims());
  const auto y = program.Data("y", DType::kFloat32, feeds[1].second.dims());
  const Var distance = form.build(x, y);
  sluice::Executor executor(place);
  Prepared prepared;
  prepared.seconds = sluice::bench::MedianSeconds(
      0, [&] { prepared.plan = executor.Prepare(program, feeds, {distance}); });
  return prepared;
}

void CheckAgreement(const Plan& plan, const Plan& op, const Feeds& feeds) {
  const Tensor got = plan.Run(feeds)[0], expected = op.Run(feeds)[0];
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const double wanted = expected.data<float>()[i];
    if (std::abs(got.data<float>()[i] - wanted) <= 1e-5 * wanted) continue;
    std::fprintf(stderr, "table1: distance %lld is wrong\n",
                 static_cast<long long>(i));
    std::exit(1);
  }
}

// A table that is printed at the end.
struct Table {
  std::string title;
  std::vector<std::pair<std::string, Figures>> lines;
};

void Print(const Table& table) {
  std::printf("\n%-40s", table.title.c_str());
  for (const int64_t rows : kRows) {
    std::printf("%13s", ("n=m=" + std::to_string(rows)).c_str());
  }
  for (const auto& [name, figures] : table.lines) {
    std::printf("\n%-40s", name.c_str());
    for (const double figure : figures) {
      if (std::isnan(figure)) {
        std::printf("%13s", "-");
      } else {
        std::printf("%13.3g", figure);
      }
    }
  }
  std::printf("\n");
}

class Table1 {
 public:
  Table1(const Options& options, Report* report)
      : options_(options), report_(*report) {}

  void Measure(PlaceKey place) {
    const auto& device = sluice::DeviceManager::Instance().Get(place);
    emulated_ = device.is_emulated();
    where_ = ToString(place) + (emulated_ ? "_emulated" : "");
    Figures none;
    none.fill(std::nan(""));
    times_ = {where_ + ", ms (p = " + std::to_string(kColumns) + ")", {}};
    memory_ = {where_ + ", KiB of memory", {}};
    for (const Form& form : kForms) {
      times_.lines.emplace_back(form.name, none);
      memory_.lines.emplace_back(form.name, none);
    }
    for (size_t column = 0; column < kRows.size(); ++column) {
      MeasureColumn(place, column);
    }
    for (const Form& form : kForms) {
      if (form.article[0] == 0) continue;
      times_.lines.emplace_back(std::string(kArticle) + ": " + form.name,
                                form.article);
    }
    tables_.insert(tables_.end(), {times_, memory_});
  }

  void PrintTables() const {
    for (const Table& table : tables_) {
      Print(table);
    }
    std::printf("%s", kLegend);
  }

 private:
  std::string IdOf(const Form& form, int64_t rows) const {
    return std::string("table1/") + form.name + "/" + std::to_string(rows) +
           "x" + std::to_string(rows) + "x" + std::to_string(kColumns) + "/" +
           where_;
  }

  // Measures all forms, which take turns.
  void MeasureColumn(PlaceKey place, size_t column) {
    const int64_t rows = kRows[column];
    const Feeds feeds = {{"x", RandomRows(rows, 1)},
                         {"y", RandomRows(rows, 2)}};
    std::vector<Prepared> prepared;
    std::vector<sluice::Contestant> contestants;
    for (const Form& form : kForms) {
      if (form.build == examples::LoopDistance && IsTooMuch(rows)) {
        report_.LeaveOut(IdOf(form, rows), options_.smoke
                                               ? "too much for a smoke run"
                                               : "too much for an emulation");
        continue;
      }
      prepared.push_back(PrepareForm(form, place, feeds));
      CheckAgreement(*prepared.back().plan, *prepared[0].plan, feeds);
      const auto plan = prepared.back().plan;
      contestants.push_back(
          {.name = form.name, .run = [plan, &feeds] { plan->Run(feeds); }});
    }
    const auto race = sluice::Race(
        contestants,
        {.budget_seconds = options_.smoke ? 60 : 6 * options_.seconds,
         .min_rounds = options_.smoke ? 1 : 5,
         .max_rounds = options_.smoke ? 1 : 1001});
    for (size_t i = 0; i < prepared.size(); ++i) {
      const auto& timing = race.timings[i];
      if (timing.outcome == sluice::RaceOutcome::kRaced) {
        AddRows(kForms[i], column, 1e3 * timing.median, prepared[i]);
      } else {
        report_.LeaveOut(IdOf(kForms[i], rows), timing.error.empty()
                                                    ? "no time left (--seconds)"
                                                    : timing.error);
      }
    }
  }

  // Whether a loop has too many ops: an emulated device runs each as a kernel.
  bool IsTooMuch(int64_t rows) const {
    return rows > kRows[0] && (options_.smoke || emulated_);
  }

  void AddRows(const Form& form,
               size_t column,
               double milliseconds,
               const Prepared& prepared) {
    const std::string id = IdOf(form, kRows[column]);
    const size_t line = &form - kForms;
    const double bytes = BytesOf(*prepared.plan);
    times_.lines[line].second[column] = milliseconds;
    memory_.lines[line].second[column] = bytes / 1024;
    sluice::bench::Row row{.id = id, .unit = "ms", .value = milliseconds};
    if (form.article[column] > 0 && !emulated_) {
      row.peers[kArticle] = form.article[column];
    }
    report_.Add(row);
    report_.Add(
        {.id = id + "/prepare", .unit = "ms", .value = 1e3 * prepared.seconds});
    sluice::bench::Row memory{
        .id = id + "/memory", .unit = "bytes", .value = bytes};
    if (line == 0 && where_ == "cpu") {
      // The op must need no memory besides its result.
      memory.at_most = static_cast<double>(kRows[column] * kRows[column] *
                                           int64_t{sizeof(float)});
      memory.exact = true;
    }
    report_.Add(memory);
  }

  const Options& options_;
  Report& report_;
  std::string where_;  // "cpu", "cuda:0_emulated"
  bool emulated_ = false;
  Table times_, memory_;
  std::vector<Table> tables_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = sluice::bench::ParseOptions(
      argc, argv, "Table 1: distances as an op, a broadcast graph and a loop");
  const sluice::ThreadCountGuard guard(options.threads);
  Report report;
  Table1 table(options, &report);
  table.Measure(sluice::CPUPlace{});
  try {
    table.Measure(sluice::CUDAPlace{0});
  } catch (const sluice::Error& error) {
    report.LeaveOut("table1/cuda:0", error.what());
  }
  const int status = report.Finish(options);
  table.PrintTables();
  return status;
}
