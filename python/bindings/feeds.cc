#include "sluice/python/bindings/feeds.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/platform/text.h"
#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/dlpack.h"

namespace sluice::python {

namespace {

// Objects of NumPy that every run needs; never freed.
struct Numpy {
  PyObject* ndarray;
  nb::handle ascontiguousarray;
  nb::handle asarray;
};
const Numpy& GetNumpy() {
  static Numpy numpy = [] {
    nb::module_ module = nb::module_::import_("numpy");
    const auto keep = [&](const char* name) {
      return nb::object(module.attr(name)).release();
    };
    return Numpy{keep("ndarray").ptr(), keep("ascontiguousarray"),
                 keep("asarray")};
  }();
  return numpy;
}

bool DenseAndAligned(const Py_buffer& view) {
  Py_ssize_t stride = view.itemsize;
  for (int axis = view.ndim - 1; axis >= 0; --axis) {
    if (view.shape[axis] != 1 && view.strides[axis] != stride) {
      return view.len == 0;
    }
    stride *= view.shape[axis];
  }
  return reinterpret_cast<uintptr_t>(view.buf) %
             static_cast<uintptr_t>(view.itemsize) ==
         0;
}

// The name in a key of `feed` or an element of `fetch_list`: a str, or the name
// of a variable. Raises InvalidArgument for anything else.
std::string NameOf(nb::handle variable, const char* what) {
  static PyObject* attribute = PyUnicode_InternFromString("name");
  if (PyUnicode_Check(variable.ptr()) != 0) return ToText(variable, what);
  nb::object name = nb::steal(PyObject_GetAttr(variable.ptr(), attribute));
  if (!name.is_valid() || PyUnicode_Check(name.ptr()) == 0) {
    PyErr_Clear();
    RaiseArgument(what, "a variable or its name", variable);
  }
  return ToText(name, what);
}

// Calls program._check_own(what, variables) if one of `variables` (a list, or
// the keys of a dict) is of another program, perhaps one that was cloned.
void CheckOwn(const Program& program, nb::handle variables, const char* what) {
  static PyObject* attribute = PyUnicode_InternFromString("program");
  for (nb::handle each : variables) {
    if (PyUnicode_Check(each.ptr()) != 0) continue;
    nb::object own = nb::steal(PyObject_GetAttr(each.ptr(), attribute));
    if (!own.is_valid()) {
      PyErr_Clear();
    } else if (nb::object self = nb::find(program); !own.is(self)) {
      self.attr("_check_own")(what, variables);
      return;
    }
  }
}

using Item = std::pair<nb::object, nb::object>;

// A copy of the items of the dict. Converting a value may run Python code,
// which may change the dict.
std::vector<Item> ItemsOf(nb::handle dict) {
  std::vector<Item> items;
  items.reserve(static_cast<size_t>(PyDict_Size(dict.ptr())));
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict.ptr(), &position, &key, &value) != 0) {
    items.emplace_back(nb::borrow(key), nb::borrow(value));
  }
  return items;
}

// Raises for a value that NumPy rejects. Running out of memory is a separate
// error: a small broadcast array may be too large as a dense one.
[[noreturn]] void RaiseFeed(const std::string& name,
                            nb::handle value,
                            const nb::python_error& reason) {
  const std::string text = sluice::Shown(nb::str(reason.value()).c_str());
  if (reason.matches(PyExc_MemoryError)) {
    Raise(ErrorCode::kResourceExhausted, "python.feed_memory",
          "feed {}: no memory for a dense copy of it: {}", sluice::Shown(name),
          text);
  }
  Raise(ErrorCode::kInvalidArgument, "python.feed",
        "feed {}: expected an array, a tensor, a number or a list "
        "of numbers, got {}: {}",
        sluice::Shown(name), Shown(value), text);
}

// The feed with ragged values packed, by sluice.ragged.
nb::object Packed(const Program& program, nb::handle feed) {
  static const nb::handle kPack =
      nb::object(nb::module_::import_("sluice.ragged").attr("pack_feed"))
          .release();
  nb::dict levels;
  nb::dict rows;
  for (const VarDesc& var : program.block().vars()) {
    if (!var.is_data || var.offsets.empty()) continue;
    const nb::str name(var.name.data(), var.name.size());
    levels[name] = var.offsets;
    rows[name] =
        nb::make_tuple(ToPython(var.dtype).attr("dtype"), ToPython(var.dims));
  }
  return kPack(feed, levels, rows);
}

}  // namespace

// Returns false if a copy is needed first; raises nothing.
bool FeedArrays::ImportBuffer(nb::handle array, Tensor* tensor) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  DType dtype;
  if (view.ndim > DDim::kMaxRank || !ParseBufferFormat(view.format, &dtype) ||
      !DenseAndAligned(view)) {
    PyBuffer_Release(&view);
    return false;
  }
  buffers_.push_back(view);
  const DDim dims(
      std::span<const int64_t>(view.shape, static_cast<size_t>(view.ndim)));
  *tensor = Tensor::Borrow(CPUPlace(), dtype, dims, view.buf);
  return true;
}

Tensor FeedArrays::Import(const Program& program,
                          const std::string& name,
                          nb::handle value) {
  const Numpy& numpy = GetNumpy();
  Tensor tensor;
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value.ptr()));
  if (type == numpy.ndarray && ImportBuffer(value, &tensor)) return tensor;
  if (nb::isinstance<Tensor>(value)) return nb::cast<const Tensor&>(value);
  try {
    nb::object array;
    const bool foreign = type != numpy.ndarray &&
                         nb::hasattr(value, "__dlpack__") &&
                         !nb::isinstance(value, nb::handle(numpy.ndarray));
    if (foreign) return ImportArray(value);
    if (nb::hasattr(value, "dtype") && !nb::isinstance<nb::float_>(value)) {
      RefuseMasked(value);
      array = numpy.ascontiguousarray(value);
      nb::object dtype = array.attr("dtype");
      if (!nb::cast<bool>(dtype.attr("isnative"))) {
        array = array.attr("astype")(dtype.attr("newbyteorder")("="));
      }
      if (!nb::cast<bool>(array.attr("flags").attr("aligned"))) {
        array = array.attr("copy")();
      }
      // ascontiguousarray turns a scalar into an array of rank 1.
      array = array.attr("reshape")(value.attr("shape"));
    } else {
      static const nb::handle kConvert =
          nb::object(
              nb::module_::import_("sluice.feed_values").attr("as_dtype"))
              .release();
      array = kConvert(name, value,
                       ToPython(program.FindVar(name).dtype).attr("dtype"));
    }
    copies_.push_back(array);
    if (ImportBuffer(array, &tensor)) return tensor;
    // Arrays of other libraries export DLPack only if they are writable.
    if (!nb::cast<bool>(array.attr("flags").attr("writeable"))) {
      copies_.push_back(array.attr("copy")());
    }
    return ImportArray(copies_.back());
  } catch (const nb::python_error& error) {
    if (IsSluiceError(error)) throw;
    RaiseFeed(name, value, error);
  } catch (Error& error) {
    throw Error(error.code(), error.check_id(),
                Format("feed {}: {}", sluice::Shown(name), error.what()));
  }
}

FeedArrays::FeedArrays(const Program& program, nb::handle feed) {
  if (feed.is_none()) return;
  if (!nb::isinstance<nb::dict>(feed)) {
    RaiseArgument("feed", "a dict of arrays by name", feed);
  }
  nb::object packed;
  if (program.ragged()) feed = packed = Packed(program, feed);
  const std::vector<Item> items = ItemsOf(feed);
  CheckOwn(program, feed, "feed");
  try {
    feeds_.reserve(items.size());
    buffers_.reserve(items.size());
    for (const auto& [key, value] : items) {
      std::string name = NameOf(key, "feed: a key");
      Tensor tensor = Import(program, name, value);
      feeds_.emplace_back(std::move(name), std::move(tensor));
    }
  } catch (...) {
    for (Py_buffer& buffer : buffers_) {
      PyBuffer_Release(&buffer);
    }
    throw;
  }
}

FeedArrays::~FeedArrays() {
  for (Py_buffer& buffer : buffers_) {
    PyBuffer_Release(&buffer);
  }
}

Fetches ToFetches(const Program& program, nb::handle fetch_list) {
  Fetches fetches;
  if (fetch_list.is_none()) return fetches;
  if (!nb::isinstance<nb::list>(fetch_list) &&
      !nb::isinstance<nb::tuple>(fetch_list)) {
    RaiseArgument("fetch_list", "a list of variables or names", fetch_list);
  }
  fetches.reserve(nb::len(fetch_list));
  for (nb::handle target : fetch_list) {
    fetches.emplace_back(NameOf(target, "fetch_list"));
  }
  CheckOwn(program, fetch_list, "fetch_list");
  return fetches;
}

}  // namespace sluice::python
