#include "test.h"
#include "yard.h"

static void a_plain_create_is_one_call_and_one_transaction(void)
{
	struct yard y;
	struct instance i;
	const struct instance *got;
	const char *id;
	uint64_t calls, revision;

	yard_open(&y, NULL);
	i = yard_spec(&y, "web-1");
	id = yard_create(&y, &i);
	calls = y.calls;
	revision = store_revision(y.store);
	yard_run(&y, 60000);
	got = yard_instance(&y, id);
	CHECK(got->status.state == INSTANCE_RUNNING);
	CHECK(got->status.provisioning == PROVISIONING_PROVISIONED);
	CHECK(got->status.observed_generation == 1);
	CHECK(got->status.private_ip != NULL);
	CHECK(y.calls == calls + 1);
	CHECK(store_revision(y.store) == revision + 1);
	CHECK(yard_machines(&y) == 1);
	yard_close(&y);
}

int main(void)
{
	RUN(a_plain_create_is_one_call_and_one_transaction);
	return test_done();
}
