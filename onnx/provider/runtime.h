#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "sluice/onnx/provider/runtime_api.h"
#include "sluice/platform/error.h"

namespace sluice::ort {

// The functions of the runtime that loaded the library. A value type; may be
// used by many threads.
class Runtime {
 public:
  // `base` must have version kApiVersion.
  explicit Runtime(const ApiBase& base)
      : api_(base.get_api(kApiVersion)), ep_api_((*this)[kEpApi]()) {
    int major = 0;
    int minor = 0;
    std::sscanf(base.get_version(), "%d.%d", &major, &minor);
    gives_captured_ = major > 1 || minor >= kGivesCaptured;
  }

  // Whether a fused node has as inputs the values that its nodes read only in
  // their subgraphs.
  bool gives_captured() const { return gives_captured_; }

  template <typename Signature>
  Signature* operator[](Entry<Signature> entry) const {
    return FunctionAt(api_, entry);
  }
  Table ep_api() const { return ep_api_; }

  // Releases the status; raises Internal with its text if it is a failure.
  void Check(Status* status) const {
    if (status == nullptr) return;
    const std::string text = (*this)[kErrorMessage](status);
    (*this)[kReleaseStatus](status);
    Raise(ErrorCode::kInternal, "onnx.provider_runtime", "ONNX Runtime: {}",
          text);
  }
  template <typename Owner, typename Result>
  Result Get(Getter<Owner, Result> entry, const Owner* owner) const {
    Result result = {};
    Check((*this)[entry](owner, &result));
    return result;
  }
  // The items of `owner`; null ones are absent.
  template <typename Owner, typename Item>
  std::vector<const Item*> List(ListEntry<Owner, Item> entry,
                                const Owner* owner) const {
    const Getter<Owner, size_t> count = {entry.position};
    const Call<const Owner*, const Item**, size_t> items = {entry.position + 1};
    std::vector<const Item*> list(Get(count, owner));
    Check((*this)[items](owner, list.data(), list.size()));
    return list;
  }
  // The name of a value; "" for an absent one.
  std::string NameOf(const ValueInfo* value) const {
    const char* name = value == nullptr ? nullptr : Get(kValueName, value);
    return name == nullptr ? "" : name;
  }

  // Runs `body` and converts what it throws.
  template <typename Body>
  Status* Guard(Body&& body) const noexcept {
    try {
      body();
      return nullptr;
    } catch (const Error& error) {
      const int code = error.code() == ErrorCode::kUnimplemented
                           ? kNotImplemented
                       : error.code() == ErrorCode::kInvalidArgument ||
                               error.code() == ErrorCode::kOutOfRange
                           ? kInvalidArgument
                           : kEpFail;
      return (*this)[kCreateStatus](code, error.what());
    } catch (const std::exception& error) {
      return (*this)[kCreateStatus](kEpFail, error.what());
    }
  }

 private:
  Table api_;
  Table ep_api_;
  bool gives_captured_;
};

}  // namespace sluice::ort
