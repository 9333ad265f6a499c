#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/kernels.h"

NB_MODULE(_core, m) {
  using namespace sluice::python;  // NOLINT(google-build-using-namespace)
  nb::set_leak_warnings(false);    // dtypes are never freed
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
  BindDistributed(m);
  BindExchanges(m);
  BindTimelines(m);
  BindBuild(m);
}
