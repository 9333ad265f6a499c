#pragma once

// Includes sluice.h and the laboratory, which measures kernels and chooses them
// by the measurements: library sluice_lab (component lab).
#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/laboratory.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/sluice.h"
