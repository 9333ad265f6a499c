#define SLUICE_ROWS "sluice/operators/math/unary/trigonometric_rows.inc"
#define SLUICE_ADD_ROWS AddTrigonometricRows
#include <hwy/foreach_target.h>

#include "sluice/operators/math/unary/unary_table.inc"
