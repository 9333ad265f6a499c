#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/values/scope.h"
#include "sluice/nn/dataset.h"
#include "sluice/platform/export.h"

namespace sluice::nn {

// How far a training is.
struct Progress {
  int64_t epoch = 0;  // from 1
  int64_t epochs = 0;
  int64_t batch = 0;  // of the epoch, from 1
  int64_t batches = 0;
  double loss = 0;  // the mean of the epoch's batches so far
  double rows_per_second = 0;
};
// "epoch 3 of 18: loss 0.213, 12000 rows/s"; within an epoch also its share:
// "epoch 3 of 18, 40 %: ...".
SLUICE_API std::string ToString(const Progress& progress);

struct TrainOptions {
  int64_t epochs = 1;
  BatchOptions batches = {};
  // Called after each batch; returning false ends the training.
  std::function<bool(const Progress& progress)> after_batch = {};
  // Shows the progress in one line of standard error, if that is a terminal.
  bool progress = true;
};

// Runs the program of `loss`, which an optimizer minimizes, for each batch of
// `dataset`. Returns where it ended. Raises InvalidArgument for epochs below 1
// and a dataset without batches, and what Executor::Run raises.
SLUICE_API Progress Train(Executor& executor,
                          const Var& loss,
                          const TensorDataset& dataset,
                          Scope* scope,
                          const TrainOptions& options = {});

}  // namespace sluice::nn
