#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/platform/export.h"

namespace sluice::onnx {

// The default opset of exported models: the oldest one whose GroupNormalization
// has a scale for each channel, like group_norm. onnxruntime supports it from
// version 1.20 on.
inline constexpr int64_t kDefaultSavedOpset = 21;
inline constexpr int64_t kNewestSavedOpset = 28;

struct OnnxSaveOptions {
  // The model's inputs and outputs, in this order. By default, the data
  // variables that the outputs depend on, and the outputs of forward ops that
  // no forward op reads.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  // Names of unknown sizes of inputs, by input, one for each dim; "" for a name
  // that SaveOnnx chooses.
  std::map<std::string, std::vector<std::string>> size_names = {};
  // From kDefaultSavedOpset to kNewestSavedOpset.
  int64_t opset = kDefaultSavedOpset;
  // Writes large parameters into a second file beside the model, with ".data"
  // after its name, or ".1.data" and so on if the replaced model uses that one:
  // the old data file is deleted last. Models beyond 2 GiB always have one.
  bool external_data = false;
  // The graph's name and its description.
  std::string name = "program";
  std::string description = {};
  // metadata_props of the model.
  std::vector<std::pair<std::string, std::string>> properties = {};
  // A plan prepared from the program. Each node then names the kernel that
  // computed it, and its time if recorded (metadata_props).
  const Plan* plan = nullptr;
};

// Writes the part of `program` that the outputs depend on as an ONNX model,
// with the values of its persistable variables in `scope` as initialisers.
// Variables keep their names. The old model and its data remain until the new
// one is complete; on errors nothing is written. Takes the scope's lock. Raises
// - Unimplemented for ops without ONNX operators, listing all in one error; for
//   other opsets; and in a build without onnx.proto;
// - InvalidArgument for gradient and optimizer ops, for inputs that are not
//   data variables or omit some that are needed, and for parameters of another
//   dtype or shape than in the program;
// - FailedPrecondition for parameters without a value, and if another process
//   keeps the file locked (framework/files/file.h);
// - NotFound for unknown variables, and for a file that cannot be created;
// - ResourceExhausted for a file that cannot be written (a full disk).
SLUICE_API void SaveOnnx(const Program& program,
                         const Scope& scope,
                         const std::string& path,
                         const OnnxSaveOptions& options = {});

// Returns the model as the bytes of a file, without external data. Raises
// ResourceExhausted for a model of 2 GiB and more.
SLUICE_API std::string SerializeOnnx(const Program& program,
                                     const Scope& scope,
                                     const OnnxSaveOptions& options = {});

}  // namespace sluice::onnx
