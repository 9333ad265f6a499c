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

// The opset of exported models unless another one is asked for: the oldest one
// whose GroupNormalization has a scale for each channel, as group_norm has.
// onnxruntime takes it from version 1.20 on.
inline constexpr int64_t kDefaultSavedOpset = 21;
inline constexpr int64_t kNewestSavedOpset = 28;

struct OnnxSaveOptions {
  // The model's inputs and outputs, in this order. By default the data
  // variables that the outputs are computed from, and what forward ops make and
  // no forward op reads.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  // Names for the sizes that inputs leave open, by input, one for each dim; ""
  // for one that SaveOnnx names.
  std::map<std::string, std::vector<std::string>> size_names = {};
  // kDefaultSavedOpset to kNewestSavedOpset.
  int64_t opset = kDefaultSavedOpset;
  // Writes large parameters into a second file beside the model, with ".data"
  // after its name, or ".1.data" and so on where the model that is replaced has
  // that one: its data file is deleted last. Models beyond 2 GiB have it
  // anyway.
  bool external_data = false;
  // The graph's name, and its description.
  std::string name = "program";
  std::string description = {};
  // metadata_props of the model.
  std::vector<std::pair<std::string, std::string>> properties = {};
  // A plan that was prepared from the program: each node then says which kernel
  // computed it, and how long that took where a record knows (metadata_props).
  const framework::Plan* plan = nullptr;
};

// Writes the part of `program` that the outputs are computed from as an ONNX
// model, with the values that `scope` has for its persistable variables as
// initialisers. Variables keep their names. The old model, with its data,
// stays until the new one is whole; on errors nothing is written. Takes the
// scope's lock. Raises
//  - Unimplemented for ops that ONNX has no operators for: all of them in one
//    error; for other opsets; and in a build without onnx.proto;
//  - InvalidArgument for gradient and optimizer ops, for inputs that are no
//    data variables, or miss some that are needed, and for parameters of
//    another dtype or shape than the program says;
//  - FailedPrecondition for parameters without a value, and when another
//    process keeps the file locked (framework/files/file.h);
//  - NotFound for unknown variables, and for a file that cannot be created;
//  - ResourceExhausted for a file that cannot be written (a full disk).
SLUICE_API void SaveOnnx(const framework::Program& program,
                         const framework::Scope& scope,
                         const std::string& path,
                         const OnnxSaveOptions& options = {});

// The same as the bytes of a file, without external data. Raises
// ResourceExhausted for a model of 2 GiB and more.
SLUICE_API std::string SerializeOnnx(const framework::Program& program,
                                     const framework::Scope& scope,
                                     const OnnxSaveOptions& options = {});

}  // namespace sluice::onnx
