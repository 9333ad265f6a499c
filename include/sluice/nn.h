#pragma once

// Includes what programs need that are trained in C++, besides sluice.h: layers
// with their parameters, initializers, optimizers, averages, datasets and the
// loop.
// docs/training_in_cpp.md shows a whole program.
#include "sluice/nn/averages.h"
#include "sluice/nn/dataset.h"
#include "sluice/nn/initializer.h"
#include "sluice/nn/layers.h"
#include "sluice/nn/optimizer.h"
#include "sluice/nn/sequence_scan.h"
#include "sluice/nn/startup.h"
#include "sluice/nn/train.h"
