#include <exception>

#include "sluice/python/bindings/bindings.h"
#include "sluice/python/bindings/kernels.h"

namespace sluice::python {

namespace {

// The classes of sluice/errors.py in the order of ErrorCode; a tuple that is
// never freed.
PyObject* g_error_classes = nullptr;

void Translate(const std::exception_ptr& pending, void* /*payload*/) {
  try {
    std::rethrow_exception(pending);
  } catch (const Error& error) {
    PyObject* type =
        PyTuple_GetItem(g_error_classes, static_cast<Py_ssize_t>(error.code()));
    // Messages may contain any bytes, e.g. from a plug-in or a file name.
    const std::string_view message = error.what();
    nb::object text = nb::steal(PyUnicode_DecodeUTF8(
        message.data(), static_cast<Py_ssize_t>(message.size()),
        "backslashreplace"));
    if (!text.is_valid()) return;
    nb::object raised = nb::steal(PyObject_CallFunction(
        type, "Os", text.ptr(), std::string(error.check_id()).c_str()));
    if (!raised.is_valid()) return;
    nb::object cause = TakeKernelException(error.check_id());
    if (cause.is_valid() && !nb::isinstance(cause, PyExc_Exception)) {
      // Ctrl-C and exit are not errors of the kernel.
      PyErr_SetObject(cause.type().ptr(), cause.ptr());
      return;
    }
    PyException_SetCause(raised.ptr(), cause.release().ptr());
    PyErr_SetObject(type, raised.ptr());
  }
}

}  // namespace

void BindErrors(nb::module_& /*m*/) {
  nb::object classes = nb::module_::import_("sluice.errors").attr("BY_CODE");
  g_error_classes = classes.release().ptr();
  nb::register_exception_translator(&Translate);
}

bool IsSluiceError(const nb::python_error& error) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(g_error_classes); ++i) {
    if (error.matches(PyTuple_GetItem(g_error_classes, i))) return true;
  }
  return false;
}

std::string TypeName(nb::handle value) {
  return nb::cast<std::string>(nb::str(value.type().attr("__name__")));
}

}  // namespace sluice::python
