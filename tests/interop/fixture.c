// SPDX-License-Identifier: GPL-2.0
/*
 * The IA of a server or of a client. The close is graceful, so that a remaining
 * object causes a failure. Process context.
 */
#include <linux/string.h>

#include "interop.h"

int interop_fixture_open(struct interop_fixture *w)
{
	DAT_IA_ATTR attr = {};

	memset(w, 0, sizeof(*w));
	if (!interop_good("fixture", "dat_ia_open",
			  dat_ia_open(interop_ia_name, 8, &w->async_evd, &w->ia)))
		return -ENODEV;
	if (interop_good("fixture", "dat_ia_query",
			 dat_ia_query(w->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
				      DAT_PROVIDER_FIELD_NONE, NULL)) &&
	    attr.ia_address_ptr) {
		w->address = attr.ia_address_ptr;
		return 0;
	}
	interop_fail("fixture", "IA %s: expected an address, got none", interop_ia_name);
	interop_fixture_close(w);
	return -EADDRNOTAVAIL;
}

void interop_fixture_close(struct interop_fixture *w)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while (dat_evd_dequeue(w->async_evd, &event) == DAT_SUCCESS)
		interop_fail("fixture", "unexpected asynchronous event %#x", event.event_number);
	ret = dat_ia_close(w->ia, DAT_CLOSE_GRACEFUL_FLAG);
	if (!interop_good("fixture", "dat_ia_close, graceful", ret))
		dat_ia_close(w->ia, DAT_CLOSE_ABRUPT_FLAG);
}
