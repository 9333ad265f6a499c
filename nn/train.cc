#include "sluice/nn/train.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "sluice/platform/error.h"

namespace sluice::nn {

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The line on the terminal; it stays when the training ends or fails.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted)
      : shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (started_) std::fputc('\n', stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Ten times a second, and at the end of an epoch.
  void Show(const Progress& progress) {
    const bool last = progress.batch == progress.batches;
    if (!shown_ || (started_ && !last && SecondsSince(written_) < 0.1)) return;
    std::fprintf(stderr, "\r\x1b[K%s", ToString(progress).c_str());
    std::fflush(stderr);
    written_ = Clock::now();
    started_ = true;
  }

 private:
  bool shown_;
  bool started_ = false;
  Clock::time_point written_;
};

double Number(const Tensor& loss) {
  return loss.dtype() == DType::kFloat64
             ? loss.data<double>()[0]
             : static_cast<double>(loss.data<float>()[0]);
}

}  // namespace

std::string ToString(const Progress& progress) {
  std::string text = Format("epoch {} of {}", progress.epoch, progress.epochs);
  if (progress.batch < progress.batches) {
    text += Format(", {} %", 100 * progress.batch / progress.batches);
  }
  return text + Format(": loss {:.3g}, {:.0f} rows/s", progress.loss,
                       progress.rows_per_second);
}

Progress Train(Executor& executor,
               const Var& loss,
               const TensorDataset& dataset,
               Scope* scope,
               const TrainOptions& options) {
  SLUICE_ENFORCE(options.epochs > 0, ErrorCode::kInvalidArgument, "nn.epochs",
                 "epochs must be above 0, got {}", options.epochs);
  Progress progress = {.epochs = options.epochs};
  ProgressLine line(options.progress);
  const Clock::time_point start = Clock::now();
  int64_t rows = 0;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const Batches batches(dataset, options.batches, epoch);
    SLUICE_ENFORCE(batches.size() > 0, ErrorCode::kInvalidArgument,
                   "nn.no_batches",
                   "a dataset of {} rows has no batch of {} to train with",
                   dataset.size(), options.batches.batch_size);
    progress.epoch = epoch + 1;
    progress.batches = batches.size();
    double sum = 0;
    for (int64_t batch = 0; batch < batches.size(); ++batch) {
      const Feeds feeds = batches[batch];
      sum += Number(executor.Run(loss.program(), feeds, {loss}, scope)[0]);
      rows += feeds[0].second.dims()[0];
      progress.batch = batch + 1;
      progress.loss = sum / static_cast<double>(progress.batch);
      progress.rows_per_second =
          static_cast<double>(rows) / std::max(SecondsSince(start), 1e-9);
      line.Show(progress);
      if (options.after_batch && !options.after_batch(progress)) {
        return progress;
      }
    }
  }
  return progress;
}

}  // namespace sluice::nn
