#define SLUICE_ROWS "sluice/operators/math/unary/arithmetic_rows.inc"
#define SLUICE_ADD_ROWS AddArithmeticRows
#include <hwy/foreach_target.h>

#include "sluice/operators/math/unary/unary_table.inc"
