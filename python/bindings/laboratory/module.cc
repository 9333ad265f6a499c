#include "sluice/laboratory/laboratory.h"
#include "sluice/laboratory/measure/time_text.h"
#include "sluice/python/bindings/laboratory/laboratory.h"

NB_MODULE(_lab, m) {
  using namespace sluice::python;  // NOLINT(google-build-using-namespace)
  m.doc() = "The bindings of Sluice's laboratory; use the package sluice.lab.";
  nb::module_::import_("sluice._core");  // these functions use its classes
  sluice::UseLaboratory();
  sluice::ShowAll() = "--all, print(result.all)";
  BindComparing(m);
  BindTuning(m);
  BindVerifying(m);
  BindBisect(m);
  BindPrediction(m);
  nb::module_::import_("sluice.show.objects").attr("equip")(m);
}
