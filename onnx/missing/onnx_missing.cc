#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/save_onnx.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

[[noreturn]] void RaiseMissing(const char* what) {
  // A separate id, which tests of other builds cannot reach.
  constexpr const char* kId = "onnx.missing";
  Raise(ErrorCode::kUnimplemented, kId,
        "this build of Sluice cannot {} ONNX models: CMake found "
        "no onnx/onnx.proto; install it (./dev setup, or pip install "
        "\"onnx==1.23.*\" in the Python that Sluice is built for) "
        "and build again",
        what);
}

}  // namespace

void OnnxModel::PutParameters(Scope& /*scope*/) const {
  RaiseMissing("read");
}

OnnxModel LoadOnnx(const std::string& /*path*/,
                   const OnnxOptions& /*options*/) {
  RaiseMissing("read");
}

OnnxModel ParseOnnx(std::string_view /*bytes*/,
                    const OnnxOptions& /*options*/) {
  RaiseMissing("read");
}

void SaveOnnx(const Program& /*program*/,
              const Scope& /*scope*/,
              const std::string& /*path*/,
              const OnnxSaveOptions& /*options*/) {
  RaiseMissing("write");
}

std::string SerializeOnnx(const Program& /*program*/,
                          const Scope& /*scope*/,
                          const OnnxSaveOptions& /*options*/) {
  RaiseMissing("write");
}

}  // namespace sluice::onnx
