#include "sluice/onnx/load_onnx.h"
#include "sluice/platform/error.h"

namespace sluice::onnx {

namespace {

[[noreturn]] void RaiseMissing() {
  // A separate id, which tests of other builds cannot reach.
  constexpr const char* kId = "onnx.missing";
  Raise(ErrorCode::kUnimplemented, kId,
        "this build of Sluice cannot read ONNX models: CMake found "
        "no onnx/onnx.proto; install it (./dev setup, or pip install "
        "\"onnx==1.23.*\" in the Python that Sluice is built for) "
        "and build again");
}

}  // namespace

void OnnxModel::PutParameters(Scope& /*scope*/) const {
  RaiseMissing();
}

OnnxModel LoadOnnx(const std::string& /*path*/,
                   const OnnxOptions& /*options*/) {
  RaiseMissing();
}

OnnxModel ParseOnnx(std::string_view /*bytes*/,
                    const OnnxOptions& /*options*/) {
  RaiseMissing();
}

}  // namespace sluice::onnx
