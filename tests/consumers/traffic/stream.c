// SPDX-License-Identifier: GPL-2.0
/*
 * A stream of the traffic test: two EPs of one IA send numbered messages of several lengths to
 * each other. A message must arrive once, in order, and with all its bytes. The upcall of a
 * completion makes the next post, so a lost completion or a lost upcall ends
 * the exchange, and the script sees that the number of messages no longer grows. If the number
 * of messages is limited, so that the script gets the CPU, a work item posts those that the
 * limit has held back.
 *
 * main.c calls these functions in process context, one at a time.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "traffic.h"

#define LARGEST		9001
#define ROOM		9216		/* of a buffer, a multiple of 8 */
#define BUFFERS		(4 * STREAM_DEPTH)
#define WAIT_MS		20000

/* From one byte to several packets at any MTU */
static u32 length_of(u32 number)
{
	static const u32 length[] = { 8, LARGEST, 100, 4096, 1, 1025, 3000 };

	return length[number % ARRAY_SIZE(length)];
}

/* One failure ends the exchange; the lock is held */
static void end_exchange(struct stream *s)
{
	s->stopping = true;
	s->failed = true;
}

#define stream_fail(s, fmt, ...)						\
	do {									\
		const struct stream *__s = (s);					\
										\
		test_fail("stream %u on %s: " fmt, __s->number, __s->name,	\
			  ##__VA_ARGS__);					\
	} while (0)

/* ---- messages --------------------------------------------------------------- */

/* The words of a message depend on the stream, the sender and the number */
static u64 word_of(u64 key, u32 i)
{
	return (key + i) * GOLDEN_RATIO_64;
}

static u64 key_of(const struct stream *s, unsigned int sender, u32 number)
{
	return ((u64)number << 8 | s->number << 1 | sender) << 16;
}

static void fill(u8 *at, u64 key, u32 length)
{
	u64 *words = (u64 *)at;
	u32 i;

	for (i = 0; i < DIV_ROUND_UP(length, 8); i++)
		words[i] = word_of(key, i);
}

static bool holds(const u8 *at, u64 key, u32 length)
{
	const u64 *words = (const u64 *)at;
	u64 last = word_of(key, length / 8);
	u32 i;

	for (i = 0; i < length / 8; i++)
		if (words[i] != word_of(key, i))
			return false;
	return !memcmp(words + i, &last, length % 8);
}

/* ---- posts: the lock is held ------------------------------------------------ */

/* The buffer of a post */
static u8 *buffer_of(const struct test_posts *q, u8 *buffers, const struct test_post *p)
{
	return buffers + (p - (struct test_post *)q->post) * ROOM;
}

static DAT_LMR_TRIPLET segment(const struct stream *s, const u8 *at, u32 length)
{
	return kdat_local(&s->t.mem, at - s->memory, length);
}

/* Is the post made? It may only be refused while the stream ends */
static bool posted(struct stream *s, struct test_posts *q, struct test_post *p, DAT_RETURN ret)
{
	char name[80];

	if (ret == DAT_SUCCESS)
		return true;
	test_post_return(q, p);
	if (!s->ending && !s->failed)
		stream_fail(s, "%s: expected success of a post, got %s", q->name,
			    test_ret_name(ret, name, sizeof(name)));
	end_exchange(s);
	return false;
}

static void post_recv(struct stream *s, unsigned int i)
{
	struct stream_end *end = &s->end[i];
	struct test_post *p = test_post_begin(&end->recvs);
	DAT_LMR_TRIPLET seg;

	if (!p)
		return;
	p->operation = DAT_DTO_RECEIVE;
	p->length = length_of(end->expected);
	seg = segment(s, buffer_of(&end->recvs, end->in, p), ROOM);
	if (!posted(s, &end->recvs, p, dat_ep_post_recv(end->ep, 1, &seg, test_cookie(p), 0)))
		return;
	end->expected++;
	s->end[!i].credit++;
}

static bool post_send(struct stream *s, unsigned int i)
{
	struct stream_end *end = &s->end[i];
	struct test_post *p = test_post_begin(&end->requests);
	u32 length = length_of(end->sent);
	DAT_LMR_TRIPLET seg;
	u8 *at;

	/* All requests are outstanding; the next completion repeats this call */
	if (!p)
		return false;
	p->operation = DAT_DTO_SEND;
	p->length = length;
	at = buffer_of(&end->requests, end->out, p);
	fill(at, key_of(s, i, end->sent), length);
	seg = segment(s, at, length);
	if (!posted(s, &end->requests, p, dat_ep_post_send(end->ep, 1, &seg, test_cookie(p), 0)))
		return false;
	end->sent++;
	end->credit--;
	return true;
}

/* As many messages as the peer has receives for, so no message waits for a receive */
static void post_sends(struct stream *s, unsigned int i)
{
	struct stream_end *end = &s->end[i];

	while (!s->stopping && end->credit && (end->budget || !stream_per_tick) && post_send(s, i))
		if (stream_per_tick)
			end->budget--;
}

/* Every jiffy, if messages are limited */
static void stream_tick(struct work_struct *work)
{
	struct stream *s = container_of(to_delayed_work(work), struct stream, tick);
	unsigned int i;

	spin_lock_bh(&s->lock);
	for (i = 0; i < 2; i++) {
		s->end[i].budget = stream_per_tick;
		post_sends(s, i);
	}
	if (!s->stopping)
		schedule_delayed_work(&s->tick, 1);
	spin_unlock_bh(&s->lock);
}

/* ---- completions ------------------------------------------------------------ */

static void take_message(struct stream *s, unsigned int i, const struct test_post *p)
{
	struct stream_end *end = &s->end[i];
	const u8 *at = buffer_of(&end->recvs, end->in, p);

	if (!holds(at, key_of(s, !i, end->received), length_of(end->received)))
		stream_fail(s, "%s: message %u: expected the bytes that were sent, got others",
			    end->recvs.name, end->received);
	WRITE_ONCE(end->received, end->received + 1);
	if (!s->stopping)
		post_recv(s, i);
}

static void take_completion(struct stream *s, unsigned int i,
			    const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct stream_end *end = &s->end[i];
	bool receive = dto->operation == DAT_DTO_RECEIVE;
	struct test_posts *q = receive ? &end->recvs : &end->requests;
	const struct test_post *p = test_posts_complete(q, dto);

	if (!p)
		return;
	if (dto->status != DAT_DTO_SUCCESS) {
		/* The first one of several flushes is enough */
		if (!s->ending && !s->failed)
			stream_fail(s, "%s: post %u: expected success, got status %d", q->name,
				    test_number(p), dto->status);
		end_exchange(s);
	} else if (receive) {
		take_message(s, i, p);
	}
}

static void stream_upcall(DAT_PVOID data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct stream *s = data;

	spin_lock(&s->lock);
	if (dto->ep_handle == s->end[0].ep || dto->ep_handle == s->end[1].ep)
		take_completion(s, dto->ep_handle == s->end[1].ep, dto);
	else
		stream_fail(s, "completion: expected one of its EPs, got another");
	post_sends(s, 0);
	post_sends(s, 1);
	spin_unlock(&s->lock);
}

/* ---- start ------------------------------------------------------------------ */

static int make_queues(struct stream *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++) {
		struct stream_end *end = &s->end[i];
		u32 tag = 4 * s->number + 2 * i + 1;

		end->out = s->memory + 2 * i * STREAM_DEPTH * ROOM;
		end->in = end->out + STREAM_DEPTH * ROOM;
		err = test_posts_make(&end->requests, tag, STREAM_DEPTH, sizeof(struct test_post),
				      "EP %u requests", i) ?:
		      test_posts_make(&end->recvs, tag + 1, STREAM_DEPTH, sizeof(struct test_post),
				      "EP %u receives", i);
	}
	return err;
}

static DAT_RETURN make_objects(struct stream *s)
{
	DAT_UPCALL_OBJECT upcall = { .instance_data = s, .upcall_func = stream_upcall };
	DAT_EP_ATTR attr = test_ep_attr(ROOM, STREAM_DEPTH, 1);
	DAT_RETURN ret;
	unsigned int i;

	ret = test_fixture_make(&s->t, 8, DAT_EVD_DTO_FLAG, s->memory, BUFFERS * ROOM) ?:
	      dat_evd_modify_upcall(s->t.dto, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
				    DAT_UPCALL_INVOC_NEW) ?:
	      test_listen(&s->t, TRAFFIC_QUAL + s->number);
	for (i = 0; i < 2; i++)
		ret = ret ?: dat_ep_create(s->t.ia, s->t.pz, s->t.dto, s->t.dto, s->t.conn, &attr,
					   &s->end[i].ep);
	return ret;
}

static void take_events(struct stream *s)
{
	struct stream_end *end;
	DAT_EVENT event;

	while (dat_evd_dequeue(s->t.conn, &event) == DAT_SUCCESS) {
		end = &s->end[event.event_data.connect_event_data.ep_handle == s->end[1].ep];
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			end->established++;
			continue;
		}
		end->ended++;
		if (!s->ending || event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
			stream_fail(s, "EP %u: unexpected connection event %#x",
				    (unsigned int)(end - s->end), event.event_number);
	}
}

static bool connected(struct stream *s)
{
	take_events(s);
	return (s->end[0].established && s->end[1].established) || s->end[0].ended ||
	       s->end[1].ended;
}

static DAT_RETURN accept(struct stream *s)
{
	DAT_CR_PARAM param = {};
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (!test_next(s->t.cr, &event, WAIT_MS))
		return DAT_ERROR(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	ret = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
	if (ret == DAT_SUCCESS)
		memcpy(&s->peer, param.remote_ia_address_ptr,
		       param.remote_ia_address_ptr->sa_family == AF_INET6 ?
		       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	return ret ?: dat_cr_accept(cr, s->end[1].ep, 0, NULL);
}

static bool connect(struct stream *s)
{
	DAT_RETURN ret = test_connect(&s->t, s->end[0].ep, TRAFFIC_QUAL + s->number, NULL, 0);
	char name[80];

	ret = ret ?: accept(s);
	if (ret != DAT_SUCCESS)
		stream_fail(s, "connecting: expected success, got %s",
			    test_ret_name(ret, name, sizeof(name)));
	else if (!test_wait(connected(s), WAIT_MS))
		stream_fail(s, "connecting: expected an event at each EP, got %u and %u",
			    s->end[0].established, s->end[1].established);
	return s->end[0].established && s->end[1].established;
}

static void begin(struct stream *s)
{
	unsigned int i, n;

	spin_lock_bh(&s->lock);
	for (i = 0; i < 2; i++)
		for (n = 0; n < STREAM_DEPTH; n++)
			post_recv(s, i);
	post_sends(s, 0);
	post_sends(s, 1);
	if (stream_per_tick)
		schedule_delayed_work(&s->tick, 1);
	spin_unlock_bh(&s->lock);
}

static void free_memory(struct stream *s)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		test_posts_free(&s->end[i].requests);
		test_posts_free(&s->end[i].recvs);
	}
	kvfree(s->memory);
	kfree(s);
}

/**
 * stream_start - open an IA, connect two EPs, and begin the exchange
 * @number: of the stream
 * @name:   of the IA
 *
 * Context: process.
 * Return: the stream; NULL after a failure, which was noted.
 */
struct stream *stream_start(unsigned int number, const char *name)
{
	struct stream *s = kzalloc(sizeof(*s), GFP_KERNEL);
	DAT_RETURN ret;
	char text[80];

	if (!s)
		return NULL;
	s->number = number;
	spin_lock_init(&s->lock);
	INIT_DELAYED_WORK(&s->tick, stream_tick);
	strscpy(s->name, name, sizeof(s->name));
	s->memory = kvzalloc(BUFFERS * ROOM, GFP_KERNEL);
	if (!s->memory || make_queues(s)) {
		stream_fail(s, "expected memory, got none");
		free_memory(s);
		return NULL;
	}
	ret = test_fixture_open(&s->t, s->name);
	ret = ret ?: make_objects(s);
	if (ret != DAT_SUCCESS)
		stream_fail(s, "opening: expected success, got %s",
			    test_ret_name(ret, text, sizeof(text)));
	else if (connect(s)) {
		begin(s);
		return s;
	}
	stream_kill(s);
	return NULL;
}

/* ---- stop ------------------------------------------------------------------- */

/* Have all messages arrived, and all sends completed? */
static bool exchanged(struct stream *s)
{
	bool done;

	spin_lock_bh(&s->lock);
	done = !s->end[0].requests.out && !s->end[1].requests.out &&
	       s->end[0].sent == s->end[1].received && s->end[1].sent == s->end[0].received;
	spin_unlock_bh(&s->lock);
	return done;
}

static bool ended(struct stream *s)
{
	bool done;

	take_events(s);
	spin_lock_bh(&s->lock);
	done = s->end[0].ended && s->end[1].ended && !s->end[0].recvs.out && !s->end[1].recvs.out;
	spin_unlock_bh(&s->lock);
	return done;
}

/* After the last message both queues of receives are flushed, and each EP ends once */
static void disconnect(struct stream *s)
{
	unsigned int i;

	spin_lock_bh(&s->lock);
	s->ending = true;
	spin_unlock_bh(&s->lock);
	test_expect("dat_ep_disconnect", dat_ep_disconnect(s->end[0].ep, DAT_CLOSE_ABRUPT_FLAG),
		    DAT_SUCCESS);
	if (!test_wait(ended(s), WAIT_MS))
		stream_fail(s, "disconnecting: expected an event at each EP, got %u and %u",
			    s->end[0].ended, s->end[1].ended);
	for (i = 0; i < 2; i++) {
		test_posts_missing(&s->end[i].requests);
		test_posts_missing(&s->end[i].recvs);
	}
}

/* Free everything in order; the graceful close proves that nothing is left */
static void free_objects(struct stream *s)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		test_expect("dat_ep_free", dat_ep_free(s->end[i].ep), DAT_SUCCESS);
	test_expect("free", test_fixture_free(&s->t), DAT_SUCCESS);
	test_expect("dat_ia_close", test_fixture_close(&s->t), DAT_SUCCESS);
}

/**
 * stream_stop - end the exchange, check that nothing was lost, and free everything
 * @s: the stream, which is freed
 *
 * Context: process.
 * Return: false if the stream has failed at any time.
 */
bool stream_stop(struct stream *s)
{
	bool good;

	spin_lock_bh(&s->lock);
	s->stopping = true;
	spin_unlock_bh(&s->lock);
	cancel_delayed_work_sync(&s->tick);
	good = test_wait(s->failed || exchanged(s), WAIT_MS) && !s->failed;
	take_events(s);
	if (!good)
		stream_fail(s, "expected all messages, got %u of %u and %u of %u",
			    s->end[1].received, s->end[0].sent, s->end[0].received,
			    s->end[1].sent);
	disconnect(s);
	free_objects(s);
	free_memory(s);
	return good;
}

/**
 * stream_kill - close the IA, whatever it is doing
 * @s: the stream, which is freed
 *
 * Context: process.
 */
void stream_kill(struct stream *s)
{
	spin_lock_bh(&s->lock);
	s->stopping = true;
	s->ending = true;
	spin_unlock_bh(&s->lock);
	cancel_delayed_work_sync(&s->tick);
	if (s->t.ia)
		dat_ia_close(s->t.ia, DAT_CLOSE_ABRUPT_FLAG);
	free_memory(s);
}

/**
 * stream_show - print a line about a stream
 * @m: the file
 * @s: the stream
 *
 * Context: process.
 */
void stream_show(struct seq_file *m, struct stream *s)
{
	DAT_EP_PARAM param[2] = {};
	unsigned int i;

	for (i = 0; i < 2; i++)
		dat_ep_query(s->end[i].ep, DAT_EP_FIELD_ALL, &param[i]);
	seq_printf(m, "stream=%u ia=%s messages=%u addr=%pISsc", s->number, s->name,
		   READ_ONCE(s->end[0].received) + READ_ONCE(s->end[1].received),
		   s->t.attr.ia_address_ptr);
	seq_printf(m, " request=%pISsc remote=%pISsc/%pISsc connected=%d\n", &s->peer,
		   param[0].remote_ia_address_ptr, param[1].remote_ia_address_ptr,
		   (param[0].ep_state == DAT_EP_STATE_CONNECTED) +
		   (param[1].ep_state == DAT_EP_STATE_CONNECTED));
}
