#include "sluice/python/bindings/arguments.h"

#include <limits>

#include "sluice/platform/text.h"

namespace sluice::python {

namespace {

std::string BytesOf(const nb::object& bytes) {
  return {PyBytes_AsString(bytes.ptr()),
          static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

// Replaces every run of blanks and line ends by one blank.
std::string OnOneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || line.empty() || line.back() != ' ') line += blank ? ' ' : c;
  }
  return line;
}

}  // namespace

std::string Shown(nb::handle value) {
  const std::string type = TypeName(value);
  nb::object text = nb::steal(PyObject_Repr(value.ptr()));
  nb::object bytes;
  if (text.is_valid()) {
    bytes = nb::steal(
        PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  }
  if (!bytes.is_valid()) {  // a user's __repr__ fails
    PyErr_Clear();
    return Format("a {}", type);
  }
  return Format("{} ({})", sluice::Shown(OnOneLine(BytesOf(bytes))), type);
}

void RaiseArgument(std::string_view what,
                   std::string_view expected,
                   nb::handle value) {
  Raise(ErrorCode::kInvalidArgument, "python.argument_type",
        "{}: expected {}, got {}", what, expected, Shown(value));
}

std::string ToText(nb::handle value, std::string_view what) {
  if (PyUnicode_Check(value.ptr()) == 0) RaiseArgument(what, "text", value);
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    Raise(ErrorCode::kInvalidArgument, "python.surrogate",
          "{}: expected text that UTF-8 has, got {} with half of a "
          "surrogate pair",
          what, Shown(value));
  }
  return {data, static_cast<size_t>(size)};
}

std::vector<std::string> ToNames(nb::handle names, std::string_view what) {
  std::vector<std::string> result;
  for (nb::handle name : names) {
    result.push_back(ToText(name, what));
  }
  return result;
}

int ToInt(nb::handle value, std::string_view what) {
  nb::object index;
  if (!nb::isinstance<nb::bool_>(value)) {
    index = nb::steal(PyNumber_Index(value.ptr()));
  }
  long number = 0;
  int overflow = 1;
  if (index.is_valid()) {
    number = PyLong_AsLongAndOverflow(index.ptr(), &overflow);
  }
  PyErr_Clear();
  if (overflow != 0 || number < std::numeric_limits<int>::min() ||
      number > std::numeric_limits<int>::max()) {
    RaiseArgument(what, "an integer of at most 32 bits", value);
  }
  return static_cast<int>(number);
}

std::string ToPath(nb::handle value) {
  nb::object path = nb::steal(PyOS_FSPath(value.ptr()));
  if (path.is_valid() && PyUnicode_Check(path.ptr()) != 0) {
    path = nb::steal(PyUnicode_EncodeFSDefault(path.ptr()));
  }
  if (!path.is_valid()) {
    PyErr_Clear();
    RaiseArgument("path", "a path that the file system can have", value);
  }
  std::string bytes = BytesOf(path);
  if (bytes.find('\0') != bytes.npos) {
    RaiseArgument("path", "a path without zero bytes", value);
  }
  return bytes;
}

nb::object FromPath(const std::string& path) {
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(
      path.data(), static_cast<Py_ssize_t>(path.size())));
}

SourceLocation ToLocation(nb::handle line) {
  return {ToPath(line[0]), nb::cast<int>(line[1])};
}

}  // namespace sluice::python
