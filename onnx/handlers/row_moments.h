#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Outputs of a node that normalises rows; -1 for one that it does not have.
struct MomentOutputs {
  int mean;
  int inverse;  // one over the deviation
};

// Computes these outputs of the rows of `x` along `dims`, which stay as dims of
// 1. They are float32 for every dtype of x. The deviation is from the mean if
// `centered`, else from 0; `epsilon` is added to its square.
void FinishRowMoments(Node& node,
                      const std::string& x,
                      const Ints& dims,
                      bool centered,
                      double epsilon,
                      const MomentOutputs& outputs);

}  // namespace sluice::onnx
