#include "daemon/question.h"

#include <stdlib.h>

#include "api/live.h"
#include "base/mem.h"
#include "reconcile/live.h"

struct asked {
	struct live_call call; /* first */
	struct live_question *question;
};

static void answered(struct live_call *c, const struct err *err,
		     const char *text, size_t len)
{
	struct live_question *q = ((struct asked *)c)->question;

	q->fd = c->fd;
	free(c);
	if (!err)
		buf_add(&q->text, text, len);
	q->done(q, err);
}

void question_ask(struct engine *e, struct live_question *q)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	a->call.done = answered;
	a->call.fd = -1;
	a->question = q;
	if (q->what == LIVE_LOOK)
		live_look(e, q->instance_id, q->since, &a->call);
	else if (q->what == LIVE_CONSOLE_OUTPUT)
		live_console_output(e, q->instance_id, q->length, &a->call);
	else
		live_console(e, q->instance_id,
			     q->what == LIVE_VNC ? CONSOLE_VNC : CONSOLE_SERIAL,
			     &a->call);
}
