// SPDX-License-Identifier: GPL-2.0
/*
 * The IA of a server or of a client. The close is graceful, so that a remaining
 * object causes a failure. Process context.
 */
#include "interop.h"

int interop_fixture_open(struct interop_fixture *w)
{
	w->stop = false;
	if (!interop_good("fixture", "opening the IA", test_fixture_open(&w->t, test_ia_name)))
		return -ENODEV;
	if (w->t.attr.ia_address_ptr)
		return 0;
	interop_fail("fixture", "IA %s: expected an address, got none", test_ia_name);
	interop_fixture_close(w);
	return -EADDRNOTAVAIL;
}

void interop_fixture_close(struct interop_fixture *w)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(w->t.async, &event) == DAT_SUCCESS)
		interop_fail("fixture", "unexpected asynchronous event %#x", event.event_number);
	interop_good("fixture", "dat_ia_close, graceful", test_fixture_close(&w->t));
}
