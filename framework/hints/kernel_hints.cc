#include "sluice/framework/hints/kernel_hints.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <new>

#include "sluice/framework/op/near_names.h"
#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice {

namespace {

// Indexed by HintMode.
constexpr std::string_view kModes[] = {"prefer", "require", "exclude", "allow"};

thread_local const KernelHintGuard* t_innermost = nullptr;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<uint8_t>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<uint8_t>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// Removes and returns the start of `text`, up to the first of `separators`.
std::string_view TakeUntil(std::string_view separators,
                           std::string_view* text) {
  const size_t end = std::min(text->find_first_of(separators), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

// "#3" selects op 3; every other "#" at the start or after a blank begins a
// comment.
std::string_view WithoutComment(std::string_view line) {
  const auto at = [&](size_t i) {
    return i < line.size() ? static_cast<uint8_t>(line[i]) : uint8_t{0};
  };
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || std::isspace(at(i - 1))) &&
        !std::isdigit(at(i + 1))) {
      return line.substr(0, i);
    }
  }
  return line;
}

bool IsIndex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

// Whether a text may be "plain" or "onednn/direct".
bool IsKernelName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<uint8_t>(c)) || c == '_' || c == '/';
  });
}

// Returns the end of the message for an unknown `verb`: similar verbs.
std::string NearVerb(std::string_view verb) {
  const std::string near =
      SuggestNames(verb, {std::begin(kModes), std::end(kModes)});
  return near.find('?') == std::string::npos ? "" : near;
}

constexpr std::string_view kRuleForm =
    "[OP:] prefer|require|exclude|allow KEY=VALUE[, KEY=VALUE], with the "
    "keys place, library, variant and layout, or pass alone, or a kernel as "
    "explain shows it";

// Sets the selector and the mode of `hint`. Returns the rest of `rule`: its
// constraints.
std::string_view ParseSelectorAndMode(std::string_view rule, KernelHint* hint) {
  std::string_view rest = rule;
  // A place contains a colon too, so the selector's must precede the first "=".
  const size_t colon = rest.find(':');
  if (colon != std::string_view::npos && colon < rest.find('=')) {
    const std::string_view selector = Trim(TakeUntil(":", &rest));
    const bool variable = selector.starts_with('@');
    hint->selector = variable ? selector : Lower(selector);
  }
  rest = Trim(rest);
  // "conv2d: onednn/direct" prefers the kernel.
  const std::string_view kernel = rest;
  const std::string_view verb = TakeUntil(" \t", &rest);
  const auto* const mode =
      std::find(std::begin(kModes), std::end(kModes), Lower(verb));
  if (colon != std::string_view::npos && IsKernelName(kernel) &&
      mode == std::end(kModes) && NearVerb(verb).empty()) {
    return kernel;
  }
  SLUICE_ENFORCE(mode != std::end(kModes) && !hint->selector.empty() &&
                     !Trim(rest).empty(),
                 ErrorCode::kInvalidArgument, "hint.form",
                 "kernel hint \"{}\" ({}) must read {}{}", Shown(rule),
                 hint->source, kRuleForm,
                 mode == std::end(kModes) ? NearVerb(verb) : "");
  SLUICE_ENFORCE(hint->selector[0] != '#' || IsIndex(hint->selector.substr(1)),
                 ErrorCode::kInvalidArgument, "hint.index",
                 "kernel hint \"{}\" ({}): # is followed by the index of an op",
                 Shown(rule), hint->source);
  hint->mode = static_cast<HintMode>(mode - std::begin(kModes));
  return rest;
}

// Returns ", did you mean library?", or "".
std::string Meant(std::string_view key) {
  const std::string near =
      SuggestNames(key, {"place", "library", "variant", "layout", "pass"});
  return near.starts_with("; did") ? "," + near.substr(1) : "";
}

// Returns null for an unknown key.
std::string* FieldOf(std::string_view key, KernelHint* hint) {
  return key == "place"     ? &hint->place
         : key == "library" ? &hint->library
         : key == "variant" ? &hint->variant
         : key == "layout"  ? &hint->layout
         : key == "pass"    ? &hint->pass
                            : nullptr;
}

// Adds KEY=VALUE, a constraint of `rule`, to `hint`.
void ParseConstraint(std::string_view pair,
                     std::string_view rule,
                     KernelHint* hint) {
  bool has_value = pair.find('=') != std::string_view::npos;
  const std::string_view kernel = Trim(pair);
  std::string key = Lower(Trim(TakeUntil("=", &pair)));
  if (!has_value && IsKernelName(kernel) && FieldOf(key, hint) == nullptr) {
    pair = kernel;
    key = "variant";
    has_value = true;
  }
  std::string* field = FieldOf(key, hint);
  SLUICE_ENFORCE(field != nullptr && has_value && !Trim(pair).empty(),
                 ErrorCode::kInvalidArgument, "hint.key",
                 "kernel hint \"{}\" ({}): \"{}\" is no constraint{}; it must "
                 "read {}",
                 Shown(rule), hint->source, Shown(key), Meant(key), kRuleForm);
  SLUICE_ENFORCE(pair.find('=') == std::string_view::npos,
                 ErrorCode::kInvalidArgument, "hint.comma",
                 "kernel hint \"{}\" ({}): {}={} are two constraints; write "
                 "a comma between them",
                 Shown(rule), hint->source, key, Shown(Trim(pair)));
  SLUICE_ENFORCE(field->empty(), ErrorCode::kInvalidArgument, "hint.key_twice",
                 "kernel hint \"{}\" ({}) has two values for {}; write a rule "
                 "for each, with ; between them",
                 Shown(rule), hint->source, key);
  *field = Trim(pair);
  if (key == "place" || key == "pass") *field = Lower(*field);
}

KernelHint ParseRule(std::string_view rule, std::string_view source) {
  KernelHint hint;
  hint.source = source;
  std::string_view constraints = ParseSelectorAndMode(rule, &hint);
  while (!constraints.empty()) {
    ParseConstraint(TakeUntil(",", &constraints), rule, &hint);
  }
  const bool about_kernels = !hint.place.empty() || !hint.library.empty() ||
                             !hint.variant.empty() || !hint.layout.empty();
  const bool fits = hint.mode != HintMode::kPrefer && !about_kernels;
  SLUICE_ENFORCE(hint.pass.empty() || fits, ErrorCode::kInvalidArgument,
                 "hint.pass",
                 "kernel hint \"{}\" ({}): a pass is excluded, allowed or "
                 "required, by a hint of its own: [OP:] "
                 "exclude|allow|require pass=NAME",
                 Shown(rule), source);
  return hint;
}

std::vector<KernelHint> HintsFromFile(const char* path) {
  std::ifstream file(path);
  std::string text;
  bool readable = file.is_open();
  for (std::string line; readable && std::getline(file, line);) {
    text += line + "\n";
  }
  // A folder can be opened, but not read.
  readable = readable && !file.bad();
  SLUICE_ENFORCE(readable, ErrorCode::kNotFound, "hint.file",
                 "SLUICE_KERNEL_HINTS_FILE names {}, which cannot be read",
                 path);
  return ParseKernelHints(text, Format("file {}", path));
}

void AppendLibrarySwitch(const std::string& library,
                         std::vector<KernelHint>* hints) {
  const std::string variable = "SLUICE_ENABLE_" + library;
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return;
  const std::string_view text = value;
  SLUICE_ENFORCE(text == "0" || text == "1", ErrorCode::kInvalidArgument,
                 "hint.library_switch", "{} must be 0 or 1, got \"{}\"",
                 variable, text);
  if (text == "1") return;
  KernelHint off;
  off.mode = HintMode::kExclude;
  off.library = library;
  off.source = variable + "=0";
  hints->push_back(std::move(off));
}

uint64_t StateOf(const std::string& text) {
  static std::mutex mutex;
  static auto* const kStates = new std::map<std::string, uint64_t>();
  const std::lock_guard lock(mutex);
  return kStates->emplace(text, kStates->size() + 1).first->second;
}

}  // namespace

bool KernelHint::Matches(const OpDesc& op, int op_index) const {
  if (selector == "*" || selector == op.type) return true;
  if (selector[0] == '#') {
    return selector.substr(1) == std::to_string(op_index);
  }
  if (selector[0] != '@') return false;
  for (const auto& [name, vars] : op.outputs) {
    if (std::find(vars.begin(), vars.end(), selector.substr(1)) != vars.end()) {
      return true;
    }
  }
  return false;
}

std::string ToString(const KernelHint& hint) {
  std::string constraints;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    constraints += constraints.empty() ? "" : ", ";
    constraints += Format("{}={}", key, value);
  };
  add("place", hint.place);
  add("library", hint.library);
  add("variant", hint.variant);
  add("layout", hint.layout);
  add("pass", hint.pass);
  return Format("{} {} ({})", kModes[static_cast<int>(hint.mode)], constraints,
                hint.source);
}

std::vector<KernelHint> ParseKernelHints(std::string_view text,
                                         std::string_view source) try {
  SLUICE_ENFORCE(IsUtf8(text), ErrorCode::kInvalidArgument, "hint.text",
                 "kernel hints ({}) must be UTF-8, got {}", source,
                 Shown(text));
  std::vector<KernelHint> hints;
  while (!text.empty()) {
    std::string_view line = WithoutComment(TakeUntil("\n", &text));
    while (!line.empty()) {
      const std::string_view rule = Trim(TakeUntil(";", &line));
      if (!rule.empty()) hints.push_back(ParseRule(rule, source));
    }
  }
  return hints;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

KernelHintGuard::KernelHintGuard(std::string_view hints) try
    : outer_(t_innermost),
      hints_(ParseKernelHints(hints, "scope guard")),
      state_(StateOf(
          Format("{}|{}", outer_ == nullptr ? 0 : outer_->state_, hints))) {
  t_innermost = this;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

KernelHintGuard::~KernelHintGuard() {
  t_innermost = outer_;
}

uint64_t KernelHintState() {
  return t_innermost == nullptr ? 0 : t_innermost->state_;
}

std::vector<KernelHint> ActiveKernelHints(
    std::string_view program_hints,
    const std::vector<std::string>& libraries) try {
  std::vector<KernelHint> hints;
  const auto append = [&](const std::vector<KernelHint>& more) {
    hints.insert(hints.end(), more.begin(), more.end());
  };
  for (const auto* guard = t_innermost; guard != nullptr;
       guard = guard->outer_) {
    append(guard->hints_);
  }
  append(ParseKernelHints(program_hints, "program"));
  if (const char* path = std::getenv("SLUICE_KERNEL_HINTS_FILE")) {
    append(HintsFromFile(path));
  }
  if (const char* text = std::getenv("SLUICE_KERNEL_HINTS")) {
    append(ParseKernelHints(text, "environment"));
  }
  for (const std::string& library : libraries) {
    AppendLibrarySwitch(library, &hints);
  }
  return hints;
} catch (const std::bad_alloc&) {
  RaiseOutOfMemory();
}

}  // namespace sluice
