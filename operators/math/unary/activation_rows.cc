#define SLUICE_ROWS "sluice/operators/math/unary/activation_rows.inc"
#define SLUICE_ADD_ROWS AddActivationRows
#include <hwy/foreach_target.h>

#include "sluice/operators/math/unary/unary_table.inc"
