#include "sluice/laboratory/laboratory.h"

#include "sluice/framework/plan/run_hooks.h"
#include "sluice/laboratory/records/record_store.h"
#include "sluice/laboratory/records/tuning_mode.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/platform/diagnostics/logging.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// Implements SLUICE_TUNE=measure.
class MeasureFirst final : public RunHooks {
 public:
  std::string_view name() const override { return "SLUICE_TUNE=measure"; }
  bool has_first_run() const override { return true; }

  void BeforeFirstRun(Executor& executor,
                      const Program& program,
                      const Plan& plan,
                      const Feeds& feeds,
                      const Fetches& fetches,
                      Scope* scope) override {
    if (!LacksRecords(plan)) return;
    TuneOptions options;
    options.budget_seconds = TuningSecondsOfEnvironment();
    try {
      Tune(executor, program, feeds, fetches, scope, options);
    } catch (const Error& error) {
      // The run itself will report what is wrong with the program.
      Log(LogLevel::kWarning,
          "SLUICE_TUNE=measure: the plan is run untuned: {}", error.what());
    }
  }
};

}  // namespace

void UseLaboratory() {
  RecordStore::Default();
  if (TuningModeOfEnvironment() != TuningMode::kMeasure) return;
  static MeasureFirst measure_first;
  AddRunHooks(&measure_first);
}

}  // namespace sluice

// Called by LoadModule("lab").
extern "C" SLUICE_API void SluiceInitModule();
extern "C" void SluiceInitModule() {
  sluice::UseLaboratory();
}
