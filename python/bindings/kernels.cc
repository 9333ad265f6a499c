#include "sluice/python/bindings/kernels.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <unistd.h>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice::python {

namespace {

constexpr std::string_view kRaised = "python_kernel.raised";

// The current function of a registered name. Plans refer to the slot, so that
// they run a function that is registered again. Never freed.
struct Slot {
  std::string name;        // "relu/mine"
  std::atomic<bool> live;  // false: withdrawn, or Python exits
  // Guarded by the GIL: run(inputs, outputs, attributes, stream), see
  // python_kernels.py, and the attributes that it needs.
  PyObject* run = nullptr;
  std::vector<std::string> attributes;
};

// Slots by the kernel's ToString; guarded by the GIL.
std::map<std::string, std::unique_ptr<Slot>>& Slots() {
  static auto* const kSlots =
      new std::map<std::string, std::unique_ptr<Slot>>();
  return *kSlots;
}

std::atomic<bool> g_any{false};

// Guarded by the GIL.
thread_local PyObject* t_exception = nullptr;

// The tensors of one argument.
struct Argument {
  std::string name;
  size_t count = 0;
  bool variadic = false;
  bool shape_only = false;
};

std::vector<Argument> ArgumentsOf(
    const std::vector<ArgDef>& defs,
    const std::function<size_t(const std::string&)>& count) {
  std::vector<Argument> arguments;
  arguments.reserve(defs.size());
  for (const ArgDef& def : defs) {
    // Operands have become attributes.
    if (!def.attribute.empty()) continue;
    arguments.push_back({def.name, count(def.name), def.traits.variadic,
                         def.traits.shape_only});
  }
  return arguments;
}

// Raises the exception of a function as an error of its op. Clears the frames
// of the traceback, which hold views of memory that is reused.
[[noreturn]] void RaiseAsError(const Slot& slot,
                               const std::string& op,
                               const nb::python_error& error) {
  nb::object exception = nb::borrow(error.value());
  nb::module_::import_("traceback")
      .attr("clear_frames")(nb::handle(exception.attr("__traceback__")));
  nb::module_ kernels = nb::module_::import_("sluice.python_kernels");
  if (nb::isinstance(exception, kernels.attr("BadOutput"))) {
    Raise(ErrorCode::kInternal, "python_kernel.output",
          "{}: the Python kernel {} {}", op, slot.name,
          nb::cast<std::string>(nb::str(exception)));
  }
  const std::string text =
      nb::cast<std::string>(kernels.attr("describe")(exception));
  const bool memory = error.matches(PyExc_MemoryError);
  Py_XDECREF(t_exception);
  t_exception = exception.release().ptr();
  Raise(memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal, kRaised,
        "{}: the Python kernel {} raised {}", op, slot.name, text);
}

// Before 3.14, Python ends a thread that requests the GIL during finalization
// by unwinding all C++ frames, whose destructors use Python. So the thread
// waits here for the process to end.
[[noreturn]] void WaitForTheEnd() {
  for (;;) {
    pause();
  }
}

void CallPython(nb::handle run,
                nb::handle inputs,
                nb::handle outputs,
                nb::handle attributes,
                nb::handle stream) {
  PyObject* result = nullptr;
  try {
    result =
        PyObject_CallFunctionObjArgs(run.ptr(), inputs.ptr(), outputs.ptr(),
                                     attributes.ptr(), stream.ptr(), nullptr);
  } catch (const abi::__forced_unwind&) {
    WaitForTheEnd();
  }
  if (result == nullptr) throw nb::python_error();
  Py_DECREF(result);
}

class PythonKernel final : public OpKernel {
 public:
  PythonKernel(const Slot& slot, const OpKernelConstruction& construction)
      : slot_(slot), op_(construction.op()) {}

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    inputs_ = ArgumentsOf(query.schema.inputs(), [&](const std::string& name) {
      return query.op.Input(name).size();
    });
    outputs_ = ArgumentsOf(
        query.schema.outputs(),
        [&](const std::string& name) { return query.op.Output(name).size(); });
    output_dims_.assign(query.outputs.begin(), query.outputs.end());
    attributes_ = query.op.attributes;
    for (const DDim& dims : output_dims_) {
      if (dims.known()) continue;
      Raise(ErrorCode::kUnimplemented, "python_kernel.late_size",
            "Python kernels need outputs of known shapes, got {}", dims);
    }
  }

  void Compute(OpKernelContext& context) const override {
    if (Py_IsInitialized() == 0) RaiseWithdrawn();
    try {
      const nb::gil_scoped_acquire gil;
      if (slot_.run == nullptr) RaiseWithdrawn();
      try {
        Call(context);
      } catch (const nb::python_error& error) {
        RaiseAsError(slot_, op_, error);
      }
    } catch (const abi::__forced_unwind&) {
      WaitForTheEnd();
    }
  }

 private:
  [[noreturn]] void RaiseWithdrawn() const {
    Raise(ErrorCode::kFailedPrecondition, "python_kernel.withdrawn",
          "{}: the Python kernel {} is no longer there for this "
          "dtype, or the interpreter ends",
          op_, slot_.name);
  }

  // The memory that a call lends to its function. A holder expires when no
  // object in Python refers to its memory: no array, base, buffer or capsule.
  using Lent = std::vector<std::weak_ptr<Placeholder>>;

  static Tensor Lend(const Tensor& tensor, Lent* lent) {
    Tensor same = Tensor::Borrow(tensor.place(), tensor.dtype(), tensor.dims(),
                                 const_cast<void*>(tensor.raw_data()));
    lent->push_back(same.holder());
    return same;
  }

  // Converts a tensor for the function: an array on the host, else a
  // DeviceArray. An argument read only for its shape may have no data.
  static nb::object View(const Tensor& tensor,
                         const OpKernelContext& context,
                         const Argument& argument,
                         bool writable,
                         Lent* lent) {
    nb::module_ kernels = nb::module_::import_("sluice.python_kernels");
    if (argument.shape_only) {
      return kernels.attr("shape_only")(ToPython(tensor.dims()),
                                        ToPython(tensor.dtype()));
    }
    if (tensor.place().kind != PlaceKind::kCPU) {
      return kernels.attr("DeviceArray")(nb::cast(Lend(tensor, lent)),
                                         Stream(context), writable);
    }
    nb::object array = ExportArray(Lend(tensor, lent));
    if (!writable) array.attr("setflags")(nb::arg("write") = false);
    return array;
  }

  static nb::object Stream(const OpKernelContext& context) {
    if (context.place().kind != PlaceKind::kCUDA) return nb::none();
    auto& device = context.device_context<CUDADeviceContext>();
    return nb::cast(reinterpret_cast<uintptr_t>(device.stream()));
  }

  // Returns one entry for each argument of the schema: a view, a list of views
  // for a variadic one, None for an omitted one.
  template <typename MakeView>
  static nb::list Arrange(const std::vector<Argument>& arguments,
                          MakeView make_view) {
    nb::list arranged;
    int index = 0;
    for (const Argument& argument : arguments) {
      nb::list of_argument;
      for (size_t i = 0; i < argument.count; ++i, ++index) {
        of_argument.append(make_view(index, argument));
      }
      if (argument.variadic) {
        arranged.append(of_argument);
      } else if (argument.count == 0) {
        arranged.append(nb::none());
      } else {
        arranged.append(of_argument[0]);
      }
    }
    return arranged;
  }

  void Call(OpKernelContext& context) const {
    nb::object run = nb::borrow(slot_.run);
    Lent lent;
    {
      nb::dict attributes;
      for (const std::string& name : slot_.attributes) {
        const auto found = attributes_.find(name);
        if (found != attributes_.end()) {
          attributes[name.c_str()] = ToPython(found->second);
        }
      }
      nb::list inputs = Arrange(inputs_, [&](int i, const Argument& argument) {
        return View(context.Input(i), context, argument, false, &lent);
      });
      nb::list outputs =
          Arrange(outputs_, [&](int i, const Argument& argument) {
            Tensor& output = context.AllocateOutput(i, output_dims_[i]);
            output.raw_data();  // marks it as changed
            return View(output, context, argument, true, &lent);
          });
      CallPython(run, inputs, outputs, attributes, Stream(context));
    }
    for (const auto& holder : lent) {
      SLUICE_ENFORCE(
          holder.expired(), ErrorCode::kInternal, "python_kernel.kept",
          "{}: the Python kernel {} kept a view of its inputs or outputs, "
          "whose memory is used again: keep a copy",
          op_, slot_.name);
    }
  }

  const Slot& slot_;
  std::string op_;
  std::vector<Argument> inputs_;
  std::vector<Argument> outputs_;
  std::vector<DDim> output_dims_;
  AttributeMap attributes_;
};

void Register(const std::string& op,
              const std::string& variant,
              PlaceKind place,
              DType dtype,
              int version,
              nb::handle run,
              const std::vector<std::string>& attributes) {
  KernelDef kernel;
  kernel.op = op;
  kernel.key = {place, dtype, "PYTHON"};
  kernel.variant = variant;
  kernel.comes_last = true;
  kernel.version = std::to_string(version);
  auto& slot = Slots()[ToString(kernel)];
  if (slot == nullptr) slot = std::make_unique<Slot>();
  slot->name = op + "/" + variant;
  slot->attributes = attributes;
  PyObject* before = std::exchange(slot->run, nb::borrow(run).release().ptr());
  slot->live = true;
  kernel.predicate = [slot = slot.get()](const KernelQuery&) -> std::string {
    return slot->live ? "" : "it was registered again without this dtype";
  };
  kernel.make = [slot = slot.get()](const OpKernelConstruction& construction) {
    return std::make_unique<PythonKernel>(*slot, construction);
  };
  g_any = true;
  Registry::Global().ReplaceKernel(std::move(kernel));
  Py_XDECREF(before);
}

void Withdraw(Slot* slot) {
  slot->live = false;
  Py_CLEAR(slot->run);
}

// Registers a function for each dtype, and withdraws an earlier function of the
// same name for other dtypes.
void RegisterAll(const std::string& op,
                 const std::string& variant,
                 nb::handle place,
                 const std::vector<nb::object>& dtypes,
                 int version,
                 nb::handle run,
                 const std::vector<std::string>& attributes) {
  const PlaceKind kind = ToPlace(place).kind;
  const std::string prefix = Format("{}/{} ({} ", op, variant, ToString(kind));
  for (auto& [name, slot] : Slots()) {
    if (name.starts_with(prefix) && slot->run != nullptr) Withdraw(slot.get());
  }
  for (const nb::object& dtype : dtypes) {
    Register(op, variant, kind, ToDType(dtype), version, run, attributes);
  }
}

// An output of py_func and of its gradient: in the shape of an input, or of
// these sizes, where -1 is the size of the first input in that dim.
struct PyFuncOutput {
  std::string like;
  std::vector<int64_t> sizes;
};

// By op and output, for the shape function, which is no closure.
std::map<std::string, std::map<std::string, PyFuncOutput>>& PyFuncOutputs() {
  static auto* const kOutputs =
      new std::map<std::string, std::map<std::string, PyFuncOutput>>();
  return *kOutputs;
}
std::mutex g_py_func_outputs;

void PyFuncShape(InferShapeContext& context) {
  const std::lock_guard lock(g_py_func_outputs);
  for (const auto& [name, output] : PyFuncOutputs().at(context.op())) {
    if (!output.like.empty()) {
      context.SetOutput(name, context.input(output.like));
      continue;
    }
    DDim dims(output.sizes);
    const DDim first =
        context.num_inputs() > 0 ? context.input(0).dims : DDim::UnknownRank();
    for (int i = 0; i < dims.rank() && first.rank_known(); ++i) {
      if (dims[i] < 0 && i < first.rank()) dims[i] = first[i];
    }
    context.SetOutput(name, dims);
  }
}

// Which of the arguments the gradient op gets is in its schema.
std::vector<OpDesc> PyFuncGradient(const OpDesc& forward) {
  const std::string type = forward.type + "_grad";
  const OpSchema& schema = Registry::Global().Schema(type);
  GradOpArgs arguments;
  constexpr std::string_view kGrad = "@GRAD";
  const auto plain = [&](const std::string& name) {
    return name.substr(0, name.size() - kGrad.size());
  };
  for (const ArgDef& def : schema.inputs()) {
    if (def.name.ends_with(kGrad)) {
      arguments.output_grads.push_back(plain(def.name));
    } else if (def.name.starts_with('X')) {
      arguments.inputs.push_back(def.name);
    } else {
      arguments.outputs.push_back(def.name);
    }
  }
  for (const ArgDef& def : schema.outputs()) {
    arguments.wanted.push_back(plain(def.name));
  }
  return {MakeGradOp(forward, type, arguments)};
}

// Adds an op whose only kernel is a Python function. Inputs are (name, dtype,
// whether only the shape counts); outputs are (name, dtype, the input that they
// are like, else sizes).
void AddPyFunc(
    const std::string& op,
    const std::string& doc,
    const std::vector<std::tuple<std::string, std::string, bool>>& inputs,
    const std::vector<
        std::
            tuple<std::string, std::string, std::string, std::vector<int64_t>>>&
        outputs,
    bool has_gradient) {
  {
    const std::lock_guard lock(g_py_func_outputs);
    for (const auto& [name, dtype, like, sizes] : outputs) {
      PyFuncOutputs()[op][name] = {like, sizes};
    }
  }
  Registry::Global().AddOperator(op, [&](OpSchema& schema) {
    schema.Doc(doc);
    for (const auto& [name, dtype, shape_only] : inputs) {
      schema.Input(name, dtype, "An array.", {.shape_only = shape_only});
    }
    for (const auto& [name, dtype, like, sizes] : outputs) {
      schema.Output(name, dtype, "An array.", {.optional = !like.empty()});
    }
    schema.InferShape(&PyFuncShape);
    if (has_gradient) schema.Gradient(&PyFuncGradient);
  });
}

void WithdrawAll() {
  for (auto& [name, slot] : Slots()) {
    Withdraw(slot.get());
  }
}

}  // namespace

bool HasPythonKernels() {
  return g_any.load(std::memory_order_relaxed);
}

nb::object TakeKernelException(std::string_view check_id) {
  if (check_id != kRaised) return nb::object();
  return nb::steal(std::exchange(t_exception, nullptr));
}

void BindKernels(nb::module_& m) {
  m.def("_register_kernel", &RegisterAll);
  m.def("_withdraw_kernels", &WithdrawAll);
  m.def("_add_py_func", &AddPyFunc);
}

}  // namespace sluice::python
