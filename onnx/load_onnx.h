#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/framework/values/scope.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/limits.h"
#include "sluice/platform/export.h"

namespace sluice::onnx {

// One size of a value's shape: a number, or unknown with the name that the
// model has for it ("batch"), which may be empty.
struct OnnxDim {
  int64_t size = framework::kUnknownDim;
  std::string symbol;
};

// An input or output of a model's graph.
struct OnnxValue {
  std::string name;
  platform::DType dtype = platform::DType::kFloat32;
  bool rank_known = false;
  std::vector<OnnxDim> shape;  // empty while the rank is unknown
};

// What a model says about itself; text is empty where it says nothing.
struct OnnxMetadata {
  int64_t ir_version = 0;
  int64_t model_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::string description;
  std::string graph_name;
  std::string graph_description;
  // (domain, version); the domain of ONNX itself is "".
  std::vector<std::pair<std::string, int64_t>> opsets;
  // metadata_props, in the order of the file.
  std::vector<std::pair<std::string, std::string>> properties;
};

// A model as a program. Values keep their names: inputs are variables to be
// fed, initialisers persistable variables, outputs what to fetch. The location
// of each op is its node ("node Conv_3 (Conv) of resnet50.onnx"). A value of
// its own; as a Program, not synchronised while it is being changed.
struct SLUICE_API OnnxModel {
  framework::Program program;
  // The values of the program's persistable variables, on the host.
  std::vector<std::pair<std::string, framework::Tensor>> parameters;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  OnnxMetadata metadata;

  // Gives the variables of `scope` the values of `parameters`, whose memory is
  // shared. Takes the scope's lock. Raises ResourceExhausted.
  void PutParameters(framework::Scope& scope) const;
};

struct OnnxOptions {
  // The folder of external data; by default the folder of the model's file.
  // Models that are given as bytes have none unless it is given here.
  std::string folder = {};
  // What errors and locations call the model; by default the file's name.
  std::string name = {};
  // What the import may cost.
  OnnxLimits limits = {};
};

// The model in the file at `path`: IR version 3 or newer, opset 7 to 28. What
// the nodes ask for is checked while they are imported, shapes included. All
// nodes that cannot be imported are listed in one error. Raises
//  - NotFound for a file, also one of external data, that cannot be read;
//  - DataLoss for bytes that are cut off or no model, and for initialisers
//    whose bytes do not fit their shape and dtype;
//  - InvalidArgument for what no model may say: values that are made twice,
//    never, or after their use, attributes of a wrong type or name, external
//    data outside of the folder, shapes that contradict each other;
//  - Unimplemented for dtypes, opsets, operators and forms of them that Sluice
//    lacks, and in a build without onnx.proto;
//  - ResourceExhausted past 2 GiB in one file, past a bound of OnnxLimits, and
//    without memory.
// Thread-safe.
SLUICE_API OnnxModel LoadOnnx(const std::string& path,
                              const OnnxOptions& options = {});

// The same for the bytes of such a file.
SLUICE_API OnnxModel ParseOnnx(std::string_view bytes,
                               const OnnxOptions& options = {});

}  // namespace sluice::onnx
