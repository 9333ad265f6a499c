#pragma once

#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/python/bindings/bindings.h"

namespace sluice::python {

// The feeds of one run. Tensors are views of the caller's arrays if these are
// dense, aligned and of native byte order, else of copies. It keeps the arrays
// alive. Create and destroy it with the GIL; use it without.
class FeedArrays {
 public:
  // `feed` is None or a dict of arrays, tensors, numbers and nested lists by
  // name. Numbers and lists become arrays of the variable's dtype. Raises
  // InvalidArgument for anything else, NotFound for an unknown name.
  SLUICE_API FeedArrays(const Program& program, nb::handle feed);
  SLUICE_API ~FeedArrays();
  FeedArrays(const FeedArrays&) = delete;
  FeedArrays& operator=(const FeedArrays&) = delete;

  const Feeds& feeds() const { return feeds_; }

 private:
  Tensor Import(const Program& program,
                const std::string& name,
                nb::handle value);
  bool ImportBuffer(nb::handle array, Tensor* tensor);

  Feeds feeds_;
  std::vector<Py_buffer> buffers_;
  std::vector<nb::object> copies_;
};

// The names in a fetch list of names and variables. Raises InvalidArgument for
// anything else, and for variables of programs that `program` was not cloned
// from.
SLUICE_API Fetches ToFetches(const Program& program, nb::handle fetch_list);

}  // namespace sluice::python
