#include "sluice/onnx/save_onnx.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

[[noreturn]] void RaiseNoWriter() {
  // A separate id, which tests of other builds cannot reach.
  constexpr const char* kId = "onnx.save_missing";
  Raise(ErrorCode::kUnimplemented, kId,
        "this build of Sluice cannot write ONNX models: CMake found "
        "no onnx/onnx.proto; install it (./dev setup, or pip install "
        "\"onnx==1.23.*\" in the Python that Sluice is built for) "
        "and build again");
}

}  // namespace

void SaveOnnx(const Program& /*program*/,
              const Scope& /*scope*/,
              const std::string& /*path*/,
              const OnnxSaveOptions& /*options*/) {
  RaiseNoWriter();
}

std::string SerializeOnnx(const Program& /*program*/,
                          const Scope& /*scope*/,
                          const OnnxSaveOptions& /*options*/) {
  RaiseNoWriter();
}

}  // namespace sluice::onnx
