/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names the clauses of the contract that a test asserts, in a KTAP line before its result.
 * The clauses count as asserted when the test passes.
 */
#ifndef _KDAPL_CLAUSE_H_
#define _KDAPL_CLAUSE_H_

#include <kunit/test.h>

/* @ids: "S-31 G-25"; call it in the test itself, before the first expectation */
#define kdapl_clauses(test, ids) kunit_info(test, "clauses: %s", ids)

#endif /* _KDAPL_CLAUSE_H_ */
