#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/nn/startup.h"
#include "sluice/platform/export.h"

// Layers: each makes its parameters, in the current Startup (startup.h), and
// appends ops to the program of its input. Defaults, names and shapes of the
// parameters are those of Python's sluice.layers. All raise InvalidArgument,
// with `location`, for a size that must be known and is not, or is below 1, and
// what Program::AppendOp raises; the parameters then stay.
namespace sluice::nn {

// One number for height and width, or each of them.
class Sizes {
 public:
  Sizes(int64_t both) : values_{both, both} {}                   // NOLINT
  Sizes(std::initializer_list<int64_t> each) : values_(each) {}  // NOLINT
  const std::vector<int64_t>& values() const { return values_; }

 private:
  std::vector<int64_t> values_;
};

struct FcOptions {
  int64_t num_flatten_dims = 1;                 // leading dims that are kept
  ParamAttr weight = {};                        // [inputs, size]; Xavier
  std::optional<ParamAttr> bias = ParamAttr();  // [size]; nullopt: none
  std::string act = {};  // an op with input X and output Out: "relu"
  std::string name = {};
};
// A fully connected layer: act(input * weight + bias). Dims of `input` from
// num_flatten_dims on are flattened. [leading dims..., size].
SLUICE_API Var Fc(const Var& input,
                  int64_t size,
                  const FcOptions& options = {},
                  const SourceLocation& location = SourceLocation::Here());

struct Conv2dOptions {
  Sizes stride = 1;
  Sizes padding = 0;  // or {top, bottom, left, right}
  Sizes dilation = 1;
  int64_t groups = 1;
  // [num_filters, C / groups, height, width]; normal, with Msra's variance.
  ParamAttr filter = {};
  std::optional<ParamAttr> bias = ParamAttr();  // [num_filters]
  std::string act = {};
  std::string data_format = "NCHW";  // or NHWC
  std::string name = {};
};
// A 2-d convolution of [N, C, H, W] to [N, num_filters, H', W'].
SLUICE_API Var Conv2d(const Var& input,
                      int64_t num_filters,
                      const Sizes& filter_size,
                      const Conv2dOptions& options = {},
                      const SourceLocation& location = SourceLocation::Here());

struct BatchNormOptions {
  std::string act = {};
  double momentum = 0.9;
  double epsilon = 1e-5;
  ParamAttr scale = {};  // [C]; ones
  ParamAttr bias = {};   // [C]; zeros
  std::string data_format = "NCHW";
  std::string name = {};
  // Mean and variance over the batches of all ranks, not of each.
  bool sync = false;
};
// Normalizes each channel over batch and image, then scales and shifts it. The
// running averages, <name>.mean and <name>.variance, are used in a program
// cloned for testing.
SLUICE_API Var
BatchNorm(const Var& input,
          const BatchNormOptions& options = {},
          const SourceLocation& location = SourceLocation::Here());

struct EmbeddingOptions {
  // The row that gives zeros; a negative one counts from the end.
  std::optional<int64_t> padding_idx = {};
  ParamAttr table = {};  // uniform up to 1 / sqrt(columns)
  DType dtype = DType::kFloat32;
  // Whether the table's gradient is sparse: see Optimizer::lazy_mode.
  bool is_sparse = false;
  std::string name = {};
};
// Rows of a table of parameters [rows, columns]: [shape of ids..., columns]; a
// last dim of 1 is removed. `ids` are int64; outside of the table they raise
// OutOfRange in a run.
SLUICE_API Var
Embedding(const Var& ids,
          int64_t rows,
          int64_t columns,
          const EmbeddingOptions& options = {},
          const SourceLocation& location = SourceLocation::Here());

struct DropoutOptions {
  int64_t seed = 0;
  // Divides kept elements by 1 - prob. False: tests multiply by it.
  bool upscale_in_train = true;
};
// Sets the share `prob` of the elements to 0 in training.
SLUICE_API Var Dropout(const Var& x,
                       double prob = 0.5,
                       const DropoutOptions& options = {},
                       const SourceLocation& location = SourceLocation::Here());

struct LstmOptions {
  int64_t num_layers = 1;
  double dropout_prob = 0;            // between layers
  int64_t seed = 0;                   // of the dropout
  std::string direction = "forward";  // or reverse, or bidirectional
  bool time_major = true;             // false: input and out are [B, T, ...]
  Var init_h = {};                    // [num_layers * D, B, hidden_size]; zeros
  Var init_c = {};                    // the same of the cells
  Var sequence_length = {};           // [B], int32: the steps of each row
  // Uniform up to 1 / sqrt(hidden_size). A name becomes <name>.w0 and .r0 of
  // the first layer, and .p0 for peepholes.
  ParamAttr weights = {};
  std::optional<ParamAttr> bias = ParamAttr();  // [D, 8 * hidden_size]
  bool use_peepholes = false;
  std::vector<std::string> activations = {};  // of gates, cells and outputs
  double clip = 0;                            // of the gates; 0: none
  std::string name = {};
};
struct LstmOutputs {
  Var out;     // [T, B, D * hidden_size], or ragged as the input
  Var last_h;  // [num_layers * D, B, hidden_size]
  Var last_c;
};
// Layers of long short-term memory over [T, B, I] or ragged [N, I]: op lstm has
// the formula. D is 2 for two directions, else 1.
SLUICE_API LstmOutputs
Lstm(const Var& input,
     int64_t hidden_size,
     const LstmOptions& options = {},
     const SourceLocation& location = SourceLocation::Here());

}  // namespace sluice::nn
