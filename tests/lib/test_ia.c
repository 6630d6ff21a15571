// SPDX-License-Identifier: GPL-2.0
/*
 * The module parameter "ia" of tests that use one IA, which they read in process context.
 */
#include <linux/moduleparam.h>
#include "kdapl_test.h"

char *test_ia_name = "rxe0";
module_param_named(ia, test_ia_name, charp, 0444);
MODULE_PARM_DESC(ia, "Interface adapter (default rxe0)");
