/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a suite tells which clauses of the contract a test asserts: a line of
 * KTAP in front of its result. They count as asserted when the test passes.
 */
#ifndef _KDAPL_CLAUSE_H_
#define _KDAPL_CLAUSE_H_

#include <kunit/test.h>

/* @ids: "S-31 G-25"; in the test itself, before its first expectation */
#define kdapl_clauses(test, ids) kunit_info(test, "clauses: %s", ids)

#endif /* _KDAPL_CLAUSE_H_ */
