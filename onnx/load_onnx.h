#pragma once

#include <cstdint>
#include <map>
#include <set>
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

// One size of a value's shape: a number, or unknown with the model's name for
// it ("batch"), which may be empty.
struct OnnxDim {
  int64_t size = kUnknownDim;
  std::string symbol;
  // ONNX's standard name of the dimension ("DATA_BATCH"), if the model has it.
  std::string denotation = {};
};

// An input or output of a model's graph.
struct OnnxValue {
  std::string name;
  DType dtype = DType::kFloat32;
  bool rank_known = false;
  std::vector<OnnxDim> shape;  // empty if the rank is unknown
  // The keys of the columns, if it is a list of maps in ONNX (by ZipMap), one
  // for each row of this matrix; else empty.
  std::vector<int64_t> map_keys;
  // Whether its elements, or the keys of its maps, are strings in ONNX: here
  // they are numbers of OnnxModel::texts.
  bool of_texts = false;
  // The name of the output, if that is a sequence and this one of its tensors.
  std::string sequence = {};
};

// The metadata in a model; missing text is empty.
struct OnnxMetadata {
  int64_t ir_version = 0;
  int64_t model_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::string description;
  std::string graph_name;
  std::string graph_description;
  // (domain, version) pairs; the domain of ONNX itself is "".
  std::vector<std::pair<std::string, int64_t>> opsets;
  // metadata_props, in the order of the file.
  std::vector<std::pair<std::string, std::string>> properties;
};

// A model as a program. Values keep their names: inputs are variables to feed,
// initialisers are persistable variables, and outputs are what to fetch. The
// location of each op is its node ("node Conv_3 (Conv) of resnet50.onnx"). A
// value type; like a Program, not synchronised while being changed.
struct SLUICE_API OnnxModel {
  Program program;
  // The values of the program's persistable variables, on the host.
  std::vector<std::pair<std::string, Tensor>> parameters;
  std::vector<OnnxValue> inputs;
  std::vector<OnnxValue> outputs;
  OnnxMetadata metadata;
  // The model's own strings. Others may be fed as numbers after theirs, equal
  // for equal strings.
  std::vector<std::string> texts;
  // An input beside `inputs` for ops that make strings: the handle, int64 [],
  // of a TextTable of `texts` and then those of the run. "" if there are none.
  std::string texts_input;
  // The names in OnnxOptions::initialisers that the graph has.
  std::vector<std::string> replaced;
  // The initialisers that OnnxOptions::fed_initialisers may name.
  std::vector<std::string> initialised_inputs;

  // Sets the variables of `scope` to `parameters`, sharing their memory. Takes
  // the scope's lock. Raises ResourceExhausted.
  void PutParameters(Scope& scope) const;
};

struct OnnxOptions {
  // The folder of external data; by default the folder of the model's file.
  // Models from bytes have none unless it is given here.
  std::string folder = {};
  // The name of the model in errors and locations; by default the file's name.
  std::string name = {};
  // Bounds on the cost of the import.
  OnnxLimits limits = {};
  // How many tensors the inputs have that are sequences, by name: the model
  // then has inputs "x[0]", "x[1]", ... instead of x.
  std::map<std::string, int64_t> sequence_lengths = {};
  // The inputs that are optional values and have none. The others are fed.
  std::set<std::string> absent_inputs = {};
  // Values, on the host, for initialisers of the model's graph, instead of
  // those in the file: their external data is not read. Inputs become constants
  // of the program by them, on which lengths of sequences may depend. The
  // import shares their memory. Names that the graph lacks are ignored; another
  // dtype or shape than that of the model is InvalidArgument.
  std::vector<std::pair<std::string, Tensor>> initialisers = {};
  // Initialisers that are fed in each run, where they are inputs of the graph,
  // too. Other names are ignored.
  std::set<std::string> fed_initialisers = {};
};

// Loads the model in the file at `path`: IR version 3 or newer, opset 1 to 28.
// The requirements of nodes, including shapes, are checked during import. All
// nodes that cannot be imported are listed in one error. Raises
// - NotFound for a file, including external data, that cannot be read;
// - DataLoss for bytes that are truncated or not a model, and for initialisers
//   whose bytes do not match their shape and dtype;
// - InvalidArgument for an invalid model: values that are assigned twice,
//   never, or after their use, attributes of a wrong type or name, external
//   data outside of the folder, contradictory shapes;
// - Unimplemented for dtypes, opsets, operators and forms of them that Sluice
//   lacks, and in a build without onnx.proto;
// - ResourceExhausted for more than 2 GiB in one file, past a bound of
//   OnnxLimits, and without memory.
// Thread-safe.
SLUICE_API OnnxModel LoadOnnx(const std::string& path,
                              const OnnxOptions& options = {});

// Loads a model from the bytes of such a file.
SLUICE_API OnnxModel ParseOnnx(std::string_view bytes,
                               const OnnxOptions& options = {});

}  // namespace sluice::onnx
