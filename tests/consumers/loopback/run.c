// SPDX-License-Identifier: GPL-2.0
/*
 * What all cases of a loopback run share: IA, protection zone, service point. The work
 * item opens it before the first case and closes it after the last, in process context. A
 * failed call is the error of the run.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "kdapl_loop.h"

#define PORTS		16	/* tried in turn if the first is in use */

/* The work item handles the requests, because an accept may sleep. */
static void cr_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct loop_run *run = data;

	spin_lock(&run->cr_lock);
	if (event && event->event_number == DAT_CONNECTION_REQUEST_EVENT && !run->cr) {
		const DAT_CR_ARRIVAL_EVENT_DATA *d = &event->event_data.cr_arrival_event_data;

		run->crs++;
		if (d->sp_handle.psp_handle != run->t.psp || d->conn_qual != run->qual ||
		    event->evd_handle != run->t.cr || d->truncate_flag != DAT_FALSE)
			run->stray++;
		WRITE_ONCE(run->cr, d->cr_handle);
	} else {
		run->stray++;
	}
	spin_unlock(&run->cr_lock);
	complete(&run->wake);
}

static int fixture_error(struct loop_run *run, const char *what, DAT_RETURN ret)
{
	char name[80];

	scnprintf(run->error, sizeof(run->error), "%s: %s", what,
		  test_ret_name(ret, name, sizeof(name)));
	return -EIO;
}

/* Without a name the first IA of the list is used. */
static int pick_device(struct loop_run *run)
{
	DAT_PROVIDER_INFO *info, *list[1];
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	if (run->args.device[0])
		return 0;
	info = kzalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	list[0] = info;
	ret = dat_registry_list_providers(1, &n, list);
	/* The call may report more entries than the array has, together with an error. */
	if (info->ia_name[0])
		strscpy(run->args.device, info->ia_name, sizeof(run->args.device));
	kfree(info);
	if (run->args.device[0])
		return 0;
	if (ret == DAT_SUCCESS)
		scnprintf(run->error, sizeof(run->error), "no RDMA device is listed");
	else
		fixture_error(run, "dat_registry_list_providers", ret);
	return -ENODEV;
}

static int query_device(struct loop_run *run)
{
	DAT_PROVIDER_ATTR *pattr = kzalloc(sizeof(*pattr), GFP_KERNEL);
	DAT_RETURN ret;

	if (!pattr)
		return -ENOMEM;
	ret = dat_ia_query(run->t.ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL,
			   pattr);
	run->srq_supported = pattr->srq_supported == DAT_TRUE;
	kfree(pattr);
	if (ret != DAT_SUCCESS)
		return fixture_error(run, "dat_ia_query", ret);
	if (!run->t.attr.ia_address_ptr) {
		scnprintf(run->error, sizeof(run->error), "the IA %s has no IP address",
			  run->args.device);
		return -EADDRNOTAVAIL;
	}
	return 0;
}

static int listen(struct loop_run *run)
{
	DAT_RETURN ret = DAT_SUCCESS;
	u32 i;

	for (i = 0; i < PORTS; i++) {
		run->qual = loop_port + i;
		ret = test_listen(&run->t, run->qual);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	return ret == DAT_SUCCESS ? 0 : fixture_error(run, "dat_psp_create", ret);
}

/**
 * loop_run_open - open the IA and what all cases share
 * @run: the run
 *
 * The caller calls loop_run_close() even after an error.
 *
 * Context: process.
 * Return: 0, or an error with run->error set.
 */
int loop_run_open(struct loop_run *run)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = run, .upcall_func = cr_upcall };
	DAT_RETURN ret;
	int err;

	err = pick_device(run);
	if (err)
		return err;
	ret = test_fixture_open(&run->t, run->args.device);
	if (ret != DAT_SUCCESS) {
		char what[80];

		scnprintf(what, sizeof(what), "open %.60s", run->args.device);
		return fixture_error(run, what, ret);
	}
	err = query_device(run);
	if (err)
		return err;
	err = test_poller_start();
	if (err) {
		scnprintf(run->error, sizeof(run->error), "no thread to poll: %d", err);
		return err;
	}
	ret = dat_pz_create(run->t.ia, &run->t.pz);
	if (ret != DAT_SUCCESS)
		return fixture_error(run, "dat_pz_create", ret);
	ret = dat_evd_kcreate(run->t.ia, 8, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_EVD_CR_FLAG, &run->t.cr);
	if (ret != DAT_SUCCESS)
		return fixture_error(run, "dat_evd_kcreate", ret);
	return listen(run);
}

/* A call of the teardown that fails is an error of the run. */
static void fixture_check(struct loop_run *run, const char *what, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS && !run->error[0])
		fixture_error(run, what, ret);
}

/**
 * loop_run_close - close what loop_run_open() opened
 * @run: the run
 *
 * Context: process.
 */
void loop_run_close(struct loop_run *run)
{
	test_poller_stop();
	if (!run->t.ia)
		return;
	fixture_check(run, "dat_psp_free", test_unlisten(&run->t));
	if (run->cr)
		fixture_check(run, "dat_cr_reject", dat_cr_reject(run->cr, 0, NULL));
	fixture_check(run, "freeing the fixture", test_fixture_free(&run->t));
	/* Graceful: fails if a case has not freed an object. */
	fixture_check(run, "dat_ia_close", test_fixture_close(&run->t));
	if (run->stray && !run->error[0])
		scnprintf(run->error, sizeof(run->error),
			  "%u wrong events on the EVD for connection requests", run->stray);
}
