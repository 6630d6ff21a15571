// SPDX-License-Identifier: GPL-2.0
/*
 * The fixture of most tests: an IA with a zone, EVDs with upcalls disabled, one registered
 * buffer, and a service point. The test creates EPs on it and connects them in pairs.
 *
 * Process context. The test owns the fixture and serializes these calls.
 */
#include <linux/string.h>
#include "kdapl_test.h"

/**
 * test_fixture_open - open the IA and query its attributes
 * @fx:   overwritten
 * @name: name of the IA
 *
 * Return: DAT_SUCCESS, or the error of the call that failed; then @fx->ia is
 * DAT_HANDLE_NULL.
 */
DAT_RETURN test_fixture_open(struct test_fixture *fx, char *name)
{
	DAT_RETURN ret;

	memset(fx, 0, sizeof(*fx));
	ret = dat_ia_open(name, 8, &fx->async, &fx->ia);
	if (ret == DAT_SUCCESS) {
		ret = dat_ia_query(fx->ia, NULL, DAT_IA_FIELD_ALL, &fx->attr, 0, NULL);
		if (ret == DAT_SUCCESS)
			return ret;
		dat_ia_close(fx->ia, DAT_CLOSE_ABRUPT_FLAG);
	}
	fx->ia = DAT_HANDLE_NULL;
	return ret;
}

/* Create an EVD with upcalls disabled */
DAT_RETURN test_evd(const struct test_fixture *fx, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		    DAT_EVD_HANDLE *evd)
{
	return dat_evd_kcreate(fx->ia, qlen, DAT_UPCALL_DISABLE, NULL, flags, evd);
}

/**
 * test_fixture_make - create the zone and the EVDs, and register a buffer
 * @fx:     an open fixture
 * @qlen:   minimum queue length of each EVD, in events
 * @dto:    flags of the EVD for completions
 * @memory: the buffer, or NULL
 * @size:   its size in bytes
 *
 * After an error test_fixture_free() frees what exists.
 *
 * Return: DAT_SUCCESS, or the error of the call that failed.
 */
DAT_RETURN test_fixture_make(struct test_fixture *fx, DAT_COUNT qlen, DAT_EVD_FLAGS dto,
			     void *memory, DAT_VLEN size)
{
	return dat_pz_create(fx->ia, &fx->pz) ?:
	       test_evd(fx, qlen, dto, &fx->dto) ?:
	       test_evd(fx, qlen, DAT_EVD_CONNECTION_FLAG, &fx->conn) ?:
	       test_evd(fx, qlen, DAT_EVD_CR_FLAG, &fx->cr) ?:
	       (memory ? kdat_register(fx->ia, fx->pz, memory, size, DAT_MEM_PRIV_ALL_FLAG,
				       &fx->mem) : DAT_SUCCESS);
}

/* Create the service point; its requests arrive at @fx->cr */
DAT_RETURN test_listen(struct test_fixture *fx, DAT_CONN_QUAL qual)
{
	return dat_psp_create(fx->ia, qual, fx->cr, DAT_PSP_CONSUMER_FLAG, &fx->psp);
}

/**
 * test_unlisten - free the service point, if there is one, and reject pending requests
 * @fx: a fixture
 *
 * Return: DAT_SUCCESS, or the error of dat_psp_free().
 */
DAT_RETURN test_unlisten(struct test_fixture *fx)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EVENT event;

	if (fx->psp)
		ret = dat_psp_free(fx->psp);
	fx->psp = DAT_HANDLE_NULL;
	while (fx->cr && dat_evd_dequeue(fx->cr, &event) == DAT_SUCCESS)
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	return ret;
}

/**
 * test_fixture_free - free everything but the IA
 * @fx: a fixture without EPs
 *
 * The handles of the EVDs stay, because threads may use them.
 *
 * Return: DAT_SUCCESS if every call succeeded.
 */
DAT_RETURN test_fixture_free(struct test_fixture *fx)
{
	const DAT_EVD_HANDLE evd[] = { fx->dto, fx->conn, fx->cr };
	DAT_RETURN ret = test_unlisten(fx);
	unsigned int i;

	ret |= kdat_unregister(&fx->mem);
	if (fx->pz)
		ret |= dat_pz_free(fx->pz);
	for (i = 0; i < ARRAY_SIZE(evd); i++)
		if (evd[i])
			ret |= dat_evd_free(evd[i]);
	return ret;
}

/**
 * test_fixture_close - close the IA gracefully, which proves that no object is left
 * @fx: a fixture
 *
 * If the graceful close is refused, the IA is closed abruptly.
 *
 * Return: DAT_SUCCESS, or the error of the graceful close.
 */
DAT_RETURN test_fixture_close(struct test_fixture *fx)
{
	DAT_RETURN ret = dat_ia_close(fx->ia, DAT_CLOSE_GRACEFUL_FLAG);

	if (ret != DAT_SUCCESS)
		dat_ia_close(fx->ia, DAT_CLOSE_ABRUPT_FLAG);
	fx->ia = DAT_HANDLE_NULL;
	return ret;
}

/* Begin a connection from the IA to itself; @size bytes of private data */
DAT_RETURN test_connect(const struct test_fixture *fx, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual,
			void *data, DAT_COUNT size)
{
	return dat_ep_connect(ep, fx->attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* Wait for the next event of an EVD; false if none arrives within @ms */
bool test_next(DAT_EVD_HANDLE evd, DAT_EVENT *event, unsigned int ms)
{
	return test_wait(dat_evd_dequeue(evd, event) == DAT_SUCCESS, ms);
}

/**
 * test_pair - begin a connection and accept it
 * @fx:      a fixture with a service point
 * @active:  the EP that connects
 * @passive: the EP that accepts
 * @qual:    connection qualifier of the service point
 * @ms:      time limit for the request, in milliseconds
 *
 * The caller waits until both EPs are connected.
 *
 * Return: DAT_SUCCESS, or the error of the call that failed; TIMEOUT_EXPIRED if no
 * request arrived.
 */
DAT_RETURN test_pair(const struct test_fixture *fx, DAT_EP_HANDLE active, DAT_EP_HANDLE passive,
		     DAT_CONN_QUAL qual, unsigned int ms)
{
	DAT_RETURN ret = test_connect(fx, active, qual, NULL, 0);
	DAT_EVENT event;

	if (ret != DAT_SUCCESS)
		return ret;
	if (!test_next(fx->cr, &event, ms))
		return DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	return dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL);
}
