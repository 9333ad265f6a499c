#include "sluice/nn/layers.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sluice/nn/check.h"

namespace sluice::nn {

namespace {

void RequirePositive(std::string_view layer,
                     std::string_view what,
                     int64_t value,
                     const SourceLocation& location) {
  Require(value > 0, location, ErrorCode::kInvalidArgument, "nn.positive",
          "{}: {} must be above 0, got {}", layer, what, value);
}

// The number of channels, in an input of at least `rank` dims.
int64_t ChannelsOf(std::string_view layer,
                   const Var& input,
                   int rank,
                   const std::string& data_format,
                   const SourceLocation& location) {
  const DDim& dims = input.dims();
  Require(dims.rank() >= rank, location, ErrorCode::kInvalidArgument, "nn.rank",
          "{}: input {} must have rank {}, got {}", layer, input.name(), rank,
          dims);
  const int64_t channels = dims[data_format == "NHWC" ? dims.rank() - 1 : 1];
  Require(channels > 0, location, ErrorCode::kInvalidArgument, "nn.channels",
          "{}: the number of channels of input {} must be known and above 0, "
          "got {}",
          layer, input.name(), dims);
  return channels;
}

}  // namespace

Var Fc(const Var& input,
       int64_t size,
       const FcOptions& options,
       const SourceLocation& location) {
  LayerHelper layer("fc", input, options.name, location);
  RequirePositive("fc", "size", size, location);
  const DDim& dims = input.dims();
  const auto kept = static_cast<int>(options.num_flatten_dims);
  Require(options.num_flatten_dims > 0 && kept < dims.rank(), location,
          ErrorCode::kInvalidArgument, "nn.num_flatten_dims",
          "fc: num_flatten_dims must be between 1 and the input's rank less "
          "one, got {} for {} {}",
          options.num_flatten_dims, input.name(), dims);
  const DDim rows = dims.Subshape(kept, dims.rank());
  Require(rows.known(), location, ErrorCode::kInvalidArgument, "nn.inputs",
          "fc: the sizes of input {} from dim {} on must be known, got {}",
          input.name(), kept, dims);
  const Var weight =
      layer.Parameter(options.weight, {rows.numel(), size}, input.dtype());
  const Var bias = layer.Bias(options.bias, {size}, input.dtype());
  Var out = layer.Append("mul", {{"X", {input.name()}}, {"Y", {weight.name()}}},
                         {{"x_num_col_dims", options.num_flatten_dims},
                          {"y_num_col_dims", int64_t{1}}});
  if (bias.valid()) {
    out = layer.Append("elementwise_add",
                       {{"X", {out.name()}}, {"Y", {bias.name()}}},
                       {{"axis", int64_t{-1}}});
  }
  return layer.Activate(out, options.act);
}

Var Conv2d(const Var& input,
           int64_t num_filters,
           const Sizes& filter_size,
           const Conv2dOptions& options,
           const SourceLocation& location) {
  LayerHelper layer("conv2d", input, options.name, location);
  const int64_t channels =
      ChannelsOf("conv2d", input, 4, options.data_format, location);
  RequirePositive("conv2d", "num_filters", num_filters, location);
  RequirePositive("conv2d", "groups", options.groups, location);
  Require(channels % options.groups == 0, location, ErrorCode::kInvalidArgument,
          "nn.groups",
          "conv2d: {} input channels cannot be divided into {} groups",
          channels, options.groups);
  const std::vector<int64_t>& window = filter_size.values();
  Require(window.size() == 2 && std::min(window[0], window[1]) > 0, location,
          ErrorCode::kInvalidArgument, "nn.filter_size",
          "conv2d: filter_size must be a height and a width above 0, got {}",
          DDim(window));
  const DDim dims = {num_filters, channels / options.groups, window[0],
                     window[1]};
  const double variance = 2.0 / static_cast<double>(dims.Product(1, 4));
  const Var filter = layer.Parameter(options.filter, dims, input.dtype(),
                                     Normal(0, std::sqrt(variance)));
  const Var bias = layer.Bias(options.bias, {num_filters}, input.dtype());
  const Var out = layer.Append("conv2d",
                               {{"Input", {input.name()}},
                                {"Filter", {filter.name()}},
                                {"Bias", {bias.name()}}},
                               {{"strides", options.stride.values()},
                                {"paddings", options.padding.values()},
                                {"dilations", options.dilation.values()},
                                {"groups", options.groups},
                                {"data_format", options.data_format}});
  return layer.Activate(out, options.act);
}

Var BatchNorm(const Var& input,
              const BatchNormOptions& options,
              const SourceLocation& location) {
  LayerHelper layer("batch_norm", input, options.name, location);
  const DDim size = {
      ChannelsOf("batch_norm", input, 2, options.data_format, location)};
  const DType dtype = input.dtype();
  const Var scale = layer.Parameter(options.scale, size, dtype, Constant(1));
  const Var bias = layer.Bias(options.bias, size, dtype);
  const Var mean =
      layer.Persistable(layer.name() + ".mean", size, dtype, Constant(0));
  const Var variance =
      layer.Persistable(layer.name() + ".variance", size, dtype, Constant(1));
  const Var out = layer.Append(
      options.sync ? "sync_batch_norm" : "batch_norm",
      {{"X", {input.name()}},
       {"Scale", {scale.name()}},
       {"Bias", {bias.name()}},
       {"Mean", {mean.name()}},
       {"Variance", {variance.name()}}},
      {{"momentum", options.momentum},
       {"epsilon", options.epsilon},
       {"data_format", options.data_format}},
      {{"MeanOut", {mean.name()}}, {"VarianceOut", {variance.name()}}});
  return layer.Activate(out, options.act);
}

Var Embedding(const Var& ids,
              int64_t rows,
              int64_t columns,
              const EmbeddingOptions& options,
              const SourceLocation& location) {
  LayerHelper layer("embedding", ids, options.name, location);
  RequirePositive("embedding", "rows", rows, location);
  RequirePositive("embedding", "columns", columns, location);
  AttributeMap attributes;
  if (options.padding_idx) {
    const int64_t row = *options.padding_idx;
    Require(row >= -rows && row < rows, location, ErrorCode::kInvalidArgument,
            "nn.padding_idx",
            "embedding: padding_idx must be from {} to {}, got {}", -rows,
            rows - 1, row);
    attributes["padding_idx"] = row < 0 ? row + rows : row;
  }
  if (options.is_sparse) attributes["is_sparse"] = true;
  const double limit = 1 / std::sqrt(static_cast<double>(columns));
  const Var table = layer.Parameter(options.table, {rows, columns},
                                    options.dtype, Uniform(-limit, limit));
  return layer.Append("lookup_table",
                      {{"W", {table.name()}}, {"Ids", {ids.name()}}},
                      std::move(attributes));
}

Var Dropout(const Var& x,
            double prob,
            const DropoutOptions& options,
            const SourceLocation& location) {
  OpDesc op;
  op.type = "dropout";
  op.location = location;
  op.inputs = {{"X", {x.name()}}};
  op.attributes = {
      {"dropout_prob", prob},
      {"seed", options.seed},
      {"dropout_implementation",
       std::string(options.upscale_in_train ? "upscale_in_train"
                                            : "downgrade_in_infer")}};
  Program& program = Program::CommonOf(op, {&x});
  program.AppendOp(std::move(op));
  return program.Output("Out");
}

}  // namespace sluice::nn
