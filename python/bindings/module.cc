#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/kernels.h"
#include "sluice/python/bindings/verifying.h"

NB_MODULE(_core, m) {
  using namespace sluice::python;  // NOLINT(google-build-using-namespace)
  nb::set_leak_warnings(false);    // dtypes live as long as the process
  m.doc() = "The bindings of Sluice; use the package sluice.";
  BindErrors(m);
  BindDTypes(m);
  BindPlaces(m);
  BindTensors(m);
  BindPrograms(m);
  BindScopes(m);
  BindFiles(m);
  BindOnnx(m);
  BindExecutors(m);
  BindHints(m);
  BindRegistry(m);
  BindKernels(m);
  BindInspection(m);
  BindTuning(m);
  BindVerifying(m);
  BindBisect(m);
  BindPrediction(m);
  BindDistributed(m);
  BindExchanges(m);
  BindTimelines(m);
  BindBuild(m);
}
