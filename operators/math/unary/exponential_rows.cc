#define SLUICE_ROWS "sluice/operators/math/unary/exponential_rows.inc"
#define SLUICE_ADD_ROWS AddExponentialRows
#include <hwy/foreach_target.h>

#include "sluice/operators/math/unary/unary_table.inc"
