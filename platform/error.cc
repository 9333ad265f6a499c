// The formatting library is compiled into this source only, header-only and
// hidden, so that no other copy in the process can replace it.
#define FMT_HEADER_ONLY 1
#include "sluice/platform/error.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>

#include <fmt/format.h>

namespace sluice {

std::string_view ToString(ErrorCode code) {
  constexpr std::string_view kNames[] = {
      "InvalidArgument",    "OutOfRange",    "NotFound",
      "FailedPrecondition", "Unimplemented", "ResourceExhausted",
      "DataLoss",           "DeviceLost",    "Internal"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

// A reference count, followed by two C strings: the id and the message.
struct Error::Text {
  std::atomic<int> owners;
  size_t id_size;
  size_t message_size;

  char* id() { return reinterpret_cast<char*>(this + 1); }
  char* message() { return id() + id_size + 1; }

  // Makes the message of `first`, then `second` on a line of its own.
  static Text* Make(std::string_view id,
                    std::string_view first,
                    std::string_view second) {
    const size_t gap = second.empty() ? 0 : 1;
    const size_t message_size = first.size() + gap + second.size();
    void* room = std::malloc(sizeof(Text) + id.size() + message_size + 2);
    if (room == nullptr) return nullptr;
    Text* text = new (room) Text{{1}, id.size(), message_size};
    std::memcpy(text->id(), id.data(), id.size());
    text->id()[id.size()] = '\0';
    char* message = text->message();
    std::memcpy(message, first.data(), first.size());
    if (gap != 0) {
      message[first.size()] = '\n';
      std::memcpy(message + first.size() + 1, second.data(), second.size());
    }
    message[message_size] = '\0';
    return text;
  }

  static Text* Share(Text* text) {
    if (text != nullptr) text->owners.fetch_add(1, std::memory_order_relaxed);
    return text;
  }

  static void Drop(Text* text) {
    if (text != nullptr &&
        text->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::free(text);
    }
  }
};

Error::Error(ErrorCode code,
             std::string_view check_id,
             std::string_view message) noexcept
    : std::runtime_error(""),
      code_(code),
      text_(Text::Make(check_id, message, {})) {}

Error::Error(const Error& other) noexcept
    : std::runtime_error(other),
      code_(other.code_),
      text_(Text::Share(other.text_)) {}

Error& Error::operator=(const Error& other) noexcept {
  if (this == &other) return *this;
  Text* text = Text::Share(other.text_);
  Text::Drop(text_);
  code_ = other.code_;
  text_ = text;
  return *this;
}

Error::~Error() {
  Text::Drop(text_);
}

std::string_view Error::check_id() const noexcept {
  if (text_ == nullptr) return "error.no_memory";
  return {text_->id(), text_->id_size};
}

const char* Error::what() const noexcept {
  if (text_ == nullptr) return "out of memory: no room for the error's text";
  return text_->message();
}

void Error::AddContext(std::string_view line) noexcept {
  if (text_ == nullptr || line.empty()) return;
  Text* longer =
      Text::Make(check_id(), {text_->message(), text_->message_size}, line);
  if (longer == nullptr) return;
  Text::Drop(text_);
  text_ = longer;
}

namespace {

// The check that a test has disabled, if any.
struct DisabledCheck {
  std::mutex mutex;
  std::string id;
};

DisabledCheck& Disabled() {
  static auto* disabled = new DisabledCheck;
  return *disabled;
}

std::atomic<bool> any_check_disabled{false};

constexpr std::string_view kDisabledId = "check.disabled";

bool IsDisabled(std::string_view check_id) {
  if (!any_check_disabled.load(std::memory_order_acquire)) return false;
  DisabledCheck& disabled = Disabled();
  std::lock_guard<std::mutex> lock(disabled.mutex);
  return disabled.id == check_id;
}

// Formatting short messages needs no memory. If a long one finds none, or the
// format string is wrong, the bare format string still names the failure.
[[noreturn]] void Throw(ErrorCode code,
                        std::string_view check_id,
                        fmt::string_view format,
                        fmt::format_args args) {
  fmt::basic_memory_buffer<char, 1000> buffer;
  try {
    fmt::vformat_to(std::back_inserter(buffer), format, args);
  } catch (const std::exception&) {
    throw Error(code, check_id, {format.data(), format.size()});
  }
  throw Error(code, check_id, {buffer.data(), buffer.size()});
}

}  // namespace

void FailCheck(ErrorCode code,
               std::string_view check_id,
               fmt::string_view format,
               fmt::format_args args) {
  if (!IsDisabled(check_id)) Throw(code, check_id, format, args);
}

void RaiseError(ErrorCode code,
                std::string_view check_id,
                fmt::string_view format,
                fmt::format_args args) {
  if (IsDisabled(check_id)) {
    throw Error(ErrorCode::kInternal, kDisabledId, "a check was disabled");
  }
  Throw(code, check_id, format, args);
}

std::string FormatArgs(fmt::string_view format, fmt::format_args args) {
  return fmt::vformat(format, args);
}

void DisableCheckForTesting(std::string_view check_id) {
  DisabledCheck& disabled = Disabled();
  std::lock_guard<std::mutex> lock(disabled.mutex);
  disabled.id = check_id;
  any_check_disabled.store(!check_id.empty(), std::memory_order_release);
}

void RaiseOutOfMemory() {
  Raise(ErrorCode::kResourceExhausted, "memory.host_exhausted",
        "the host has no memory left for the runtime's own structures");
}

}  // namespace sluice
