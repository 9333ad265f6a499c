#include <exception>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/framework/costs/kernel_costs.h"
#include "sluice/framework/costs/machine.h"
#include "sluice/framework/costs/machine_figures.h"
#include "sluice/laboratory/measure/cpu_waits.h"
#include "sluice/laboratory/measure/machine_measurement.h"
#include "sluice/laboratory/measure/text_table.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/tuning/cost_samples.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/platform/error.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/feeds.h"
#include "sluice/python/bindings/hints.h"
#include "sluice/python/bindings/interrupt.h"
#include "sluice/python/bindings/laboratory/laboratory.h"
#include "sluice/python/bindings/registry.h"
#include "sluice/python/bindings/results.h"

namespace sluice::python {

namespace {

// Calls a Python function from a thread without the GIL. An exception is stored
// until the thread has the GIL again.
class Progress {
 public:
  explicit Progress(nb::handle call) : call_(call) {}

  bool operator()(int done, int total, const std::string& signature) {
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object go_on = call_(done, total, signature);
      return !go_on.is(nb::bool_(false));
    } catch (nb::python_error& error) {
      // Python receives Ctrl-C here, while it holds the GIL.
      if (!error.matches(PyExc_KeyboardInterrupt)) {
        raised_ = std::current_exception();
      }
      return false;
    }
  }

  void Rethrow() const {
    if (raised_ != nullptr) std::rethrow_exception(raised_);
  }

 private:
  nb::handle call_;
  std::exception_ptr raised_;
};

// Clears Ctrl-C, which has ended tuning.
void TakeInterrupt() {
  if (PyErr_CheckSignals() == 0) return;
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) {
    throw nb::python_error();
  }
  PyErr_Clear();
}

TuneResult Tune(Executor& executor,
                Given<Program&, "tune"> program,
                nb::handle feed,
                nb::handle fetch_list,
                Given<Scope&, "tune"> scope,
                double budget,
                bool again,
                nb::handle progress,
                nb::handle before_kernel) {
  const FeedArrays arrays(program, feed);
  const Fetches fetches = ToFetches(program, fetch_list);
  const ActiveHints hints;
  Progress call(progress);
  TuneOptions options;
  options.budget_seconds = budget;
  options.again = again;
  if (!progress.is_none()) {
    options.progress = [&call](int done, int total,
                               const std::string& signature) {
      return call(done, total, signature);
    };
  }
  if (!before_kernel.is_none()) {
    options.before_kernel = [before_kernel](const KernelDef& kernel,
                                            const std::string& signature) {
      const nb::gil_scoped_acquire gil;
      before_kernel(ToPython(kernel), signature);
    };
  }
  bool interrupted = false;
  TuneResult result = WithoutGil([&] {
    const InterruptibleRun interruptible;
    TuneResult tuned = sluice::Tune(executor, program, arrays.feeds(), fetches,
                                    &scope.value, options);
    interrupted = interruptible.interrupted();
    return tuned;
  });
  call.Rethrow();
  if (interrupted) TakeInterrupt();
  return result;
}

nb::object KernelAt(const TunedSignature& tuned, int index) {
  return index < 0 ? nb::none() : nb::cast(tuned.kernels[index]);
}

// Returns the records as JSON objects.
std::vector<std::string> Records() {
  std::vector<std::string> lines;
  RecordStore::Default().ForEach(
      [&](const Record& record) { lines.push_back(RecordToJson(record)); });
  return lines;
}

nb::dict RecordFiles() {
  const auto& store = RecordStore::Default();
  return DictOf({
      {"system", store.sources().system},
      {"user", store.sources().user},
      {"remarks", store.remarks()},
  });
}

// A CostSample: its row, its measured and its fixed seconds, and those of each
// count at cost 1.
using Sample = std::tuple<std::string, double, double, std::vector<double>>;

std::vector<Sample> CostSamples(
    unsigned seed, int cases, bool volumes, int threads, double race_seconds) {
  const nb::gil_scoped_release release;
  const auto corpus =
      volumes ? DrawVolumes(seed, cases) : DrawCorpus(seed, cases);
  std::vector<Sample> samples;
  for (const CostSample& one : MeasureCosts(corpus, threads, race_seconds)) {
    const CountCosts& counted = one.work.counted;
    samples.emplace_back(one.row, one.seconds, one.work.fixed,
                         std::vector<double>(counted.begin(), counted.end()));
  }
  return samples;
}

void BindCosts(nb::module_& m) {
  m.def("_cost_samples", &CostSamples);
  // The counts: their names, and whether they are operations, or bytes of the
  // main loop, which overlap.
  m.def("_cost_counts", [] {
    std::vector<std::tuple<std::string, bool, bool>> counts;
    for (const WorkCount& count : kWorkCounts) {
      counts.emplace_back(count.name, count.unit == CostUnit::kOperations,
                          count.unit == CostUnit::kBytes);
    }
    return counts;
  });
  m.def("_costs", [](const std::string& row) {
    const CountCosts& costs = KernelCosts::Active().Of(row, DType::kFloat32);
    return std::vector<double>(costs.begin(), costs.end());
  });
  m.def("_machine_id",
        [] { return std::pair(MachineId().text, MachineId().hash); });
}

void BindTunedKernels(nb::module_& m) {
  nb::class_<TunedKernel>(m, "TunedKernel",
                          "What tune() found out about one kernel; times are "
                          "in seconds of one call.")
      .def_prop_ro(
          "name",
          [](const TunedKernel& self) { return ToString(*self.kernel); })
      .def_prop_ro(
          "_kernel",
          [](const TunedKernel& self) { return ToPython(*self.kernel); })
      .def_prop_ro("variant",
                   [](const TunedKernel& self) { return self.kernel->variant; })
      .def_prop_ro(
          "library",
          [](const TunedKernel& self) { return self.kernel->key.library; })
      .def_ro("place", &TunedKernel::place)
      .def_prop_ro(
          "verdict",
          [](const TunedKernel& self) { return ToString(self.verdict); },
          "\"ok\", \"wrong\" or \"unchecked\".")
      .def_ro("message", &TunedKernel::message,
              "Why it is wrong, or was not checked.")
      .def_ro("error", &TunedKernel::error,
              "The largest error over what rounding explains.")
      .def_prop_ro(
          "median", [](const TunedKernel& self) { return self.timing.median; },
          "0 where it was not timed.")
      .def_prop_ro("low",
                   [](const TunedKernel& self) { return self.timing.low; })
      .def_prop_ro("high",
                   [](const TunedKernel& self) { return self.timing.high; })
      .def_prop_ro("rounds",
                   [](const TunedKernel& self) { return self.timing.rounds; })
      .def_ro("predicted", &TunedKernel::predicted_seconds)
      .def_prop_ro(
          "evidence",
          [](const TunedKernel& self) { return ToString(self.evidence); },
          "Where the prediction came from.")
      .def("__repr__", [](const TunedKernel& self) {
        return Format("<TunedKernel {}: {}>", *self.kernel, self.verdict);
      });
}

void BindTunedSignatures(nb::module_& m) {
  nb::class_<TunedSignature>(
      m, "TunedSignature",
      "What tune() found out about ops of the same shapes and dtypes.")
      .def_ro("op_index", &TunedSignature::op_index)
      .def_ro("ops", &TunedSignature::ops, "How many ops have it.")
      .def_ro("op", &TunedSignature::op)
      .def_ro("signature", &TunedSignature::signature)
      .def_ro("kernels", &TunedSignature::kernels)
      .def_prop_ro(
          "before",
          [](const TunedSignature& self) {
            return KernelAt(self, self.before);
          },
          "The kernel that the plan had, or None.")
      .def_prop_ro(
          "winner",
          [](const TunedSignature& self) {
            return KernelAt(self, self.winner);
          },
          "The fastest that is right, or None.")
      .def_ro("tie", &TunedSignature::tie)
      .def_ro("disturbed", &TunedSignature::disturbed,
              "No times are kept, since other programs had the CPUs.")
      .def_ro("has_reference", &TunedSignature::has_reference,
              "False for ops without a plain kernel, which are not measured.")
      .def("__repr__", [](const TunedSignature& self) {
        return Format("<TunedSignature {}>", self.signature);
      });
}

void BindTuneResults(nb::module_& m) {
  nb::class_<TuneResult>(m, "TuneResult",
                         "What tune() found out; print it, or its `all`.")
      .def_ro("signatures", &TuneResult::signatures)
      .def_ro("known", &TuneResult::known, "Signatures that had records.")
      .def_ro("left_out", &TuneResult::left_out,
              "Signatures that were not measured, or not in full.")
      .def_ro("disturbed", &TuneResult::disturbed,
              "Of these, how many since other programs had the CPUs.")
      .def_ro("seconds", &TuneResult::seconds)
      .def_ro("cancelled", &TuneResult::cancelled)
      .def_prop_ro(
          "all", [](const TuneResult& self) { return ToString(self, true); },
          "The text with all kernels of all signatures.")
      .def("_table",
           [](const TuneResult& self) { return ReportJson(MakeTable(self)); })
      .def("__str__", [](const TuneResult& self) { return ToString(self); });
}

void BindMachineFigures(nb::module_& m) {
  m.def("_machine_figures", [](int threads) {
    return FiguresToJson(RecordStore::Default().Figures(threads));
  });
  // The figures, and for how many seconds other programs had the CPUs.
  m.def("_measure_machine", [](double seconds) {
    const nb::gil_scoped_release release;
    CpuWaits waits;
    std::string figures = FiguresToJson(MeasureMachine(seconds));
    return std::pair(std::move(figures), waits.SinceLast());
  });
  m.def("_keep_machine_figures", [](const std::string& json) {
    RecordStore::Default().AddFigures(FiguresFromJson(json).value());
  });
}

}  // namespace

void BindTuning(nb::module_& m) {
  BindCosts(m);
  BindTunedKernels(m);
  BindTunedSignatures(m);
  BindTuneResults(m);
  m.def("_records", &Records);
  m.def("_record_files", &RecordFiles);
  BindMachineFigures(m);
  m.def("_tune", &Tune);
}

}  // namespace sluice::python
