#include "sluice/python/bindings/hints.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sluice/python/bindings/arguments.h"

namespace sluice::python {

namespace {

// The open blocks of one thread, outermost first. A block removes itself from
// the list that it entered, in any order and from any thread, because Python
// may close generators like that. The GIL guards it.
class PyHints;

using OpenBlocks = std::vector<const PyHints*>;

thread_local std::shared_ptr<OpenBlocks> t_open;

class PyHints {
 public:
  explicit PyHints(std::string text) : text_(std::move(text)) {
    ParseKernelHints(text_, "kernel_hints()");
  }
  ~PyHints() { Exit(); }
  PyHints(const PyHints&) = delete;
  PyHints& operator=(const PyHints&) = delete;

  void Enter() {
    SLUICE_ENFORCE(entered_ == nullptr, ErrorCode::kFailedPrecondition,
                   "python.hints_entered",
                   "these kernel hints hold already: make new ones for each "
                   "`with`");
    if (t_open == nullptr) t_open = std::make_shared<OpenBlocks>();
    t_open->push_back(this);
    entered_ = t_open;
  }
  void Exit() {
    if (entered_ != nullptr) std::erase(*entered_, this);
    entered_ = nullptr;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<OpenBlocks> entered_;
};

}  // namespace

ActiveHints::ActiveHints() {
  if (t_open == nullptr) return;
  for (const PyHints* block : *t_open) {
    guards_.push_back(std::make_unique<KernelHintGuard>(block->text()));
  }
}

ActiveHints::~ActiveHints() {
  while (!guards_.empty()) {
    guards_.pop_back();  // innermost first
  }
}

void BindHints(nb::module_& m) {
  nb::class_<PyHints>(
      m, "kernel_hints",
      "with kernel_hints(\"conv2d: require library=PLAIN\"): ...\n\n"
      "Hints for everything that this thread prepares and runs inside the "
      "block; inner blocks come before outer ones. Other threads do not see "
      "them. A generator that yields inside the block leaves it open for its "
      "caller, too, until it goes on or is closed.\n\n"
      "Raises InvalidArgumentError for a hint that cannot be parsed.")
      .def(nb::init<const GivenText<"kernel_hints: hints">&>(), "hints"_a)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PyHints&>(self).Enter();
             return self;
           })
      .def("__exit__", [](PyHints& self, const nb::args&) { self.Exit(); })
      .def("__repr__", [](const PyHints& self) {
        return "kernel_hints(\"" + self.text() + "\")";
      });
}

}  // namespace sluice::python
