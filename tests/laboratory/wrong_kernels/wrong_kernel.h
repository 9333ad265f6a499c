#pragma once

#include <functional>
#include <vector>

#include "sluice/framework/op/kernel_library.h"
#include "sluice/framework/op/registry.h"

// Kernels with one planted mistake each, which the laboratory has to find. Each
// runs the plain kernel of its op and changes what that one reads or writes.
namespace sluice::wrong_kernels {

using Ints = std::vector<int64_t>;
using Numbers = std::vector<double>;

// One call of a wrong kernel.
struct Call {
  const OpDesc& op;
  std::vector<Tensor> inputs;  // of the plain kernel, flattened in schema order
  Tensor& output;              // the first output
  Numbers old;                 // its elements before the call
  int number = 0;              // of earlier calls

  template <typename T>
  const T& Attr(std::string_view name) const {
    return std::get<T>(op.attributes.find(name)->second);
  }
  // Gives the plain kernel a changed copy of an input.
  void ChangeInput(size_t index,
                   const std::function<void(Numbers& values)>& change);
};

// How a kernel differs from the plain one of the same op and dtype; all changes
// are optional.
struct Change {
  // These replace the op's attributes.
  AttributeMap attributes = {};
  // Changes the op's attributes further, by its sizes.
  void (*adapt)(const KernelQuery& query, AttributeMap& attributes) = nullptr;
  void (*before)(Call& call) = nullptr;
  // Changes the elements of the first output after the call.
  void (*after)(const Call& call, Numbers& out) = nullptr;
  // Writes to memory after the call.
  void (*write)(Call& call) = nullptr;
};

struct Mistake {
  const char* op;
  const char* variant;
  DType dtype;
  Change change = {};
};

// Adds a kernel of library WRONG for each mistake, and for each of their ops
// and dtypes one without a mistake, variant `right`, which must pass all
// checks.
void AddWrongKernels(Registry& registry, const std::vector<Mistake>& mistakes);

// Loads the library of these kernels, and returns them.
inline std::vector<const KernelDef*> LoadWrongKernels(const char* path) {
  LoadKernelLibrary(path);
  const Registry& registry = Registry::Global();
  std::vector<const KernelDef*> wrong;
  for (const std::string& op : registry.OpNames()) {
    for (const KernelDef* kernel : registry.Kernels(op)) {
      if (kernel->key.library == "WRONG") wrong.push_back(kernel);
    }
  }
  return wrong;
}

// Elements begin to end - 1 are not written.
void Leave(const Call& call, Numbers& out, int64_t begin, int64_t end);
// The output is 1e-3 too large.
void Off(const Call& call, Numbers& out);
// Threads change float32 elements of each other.
void Race(Call& call);

int64_t Product(const DDim& dims, int begin, int end);
// An axis that may count from the end.
int Axis(int64_t axis, const DDim& dims);

}  // namespace sluice::wrong_kernels
