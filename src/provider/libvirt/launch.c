#include "provider/libvirt/driver.h"

static int lv_launch(struct provider *p, const struct machine_spec *spec,
		     struct arena *a, struct machine *ret, struct err *err)
{
	(void)p;
	(void)spec;
	(void)a;
	(void)ret;
	return err_set(err, ERR_UNSUPPORTED, "not yet");
}

static int lv_describe(struct provider *p, const char *id, struct arena *a,
		       struct machine *ret, struct err *err)
{
	(void)p;
	(void)id;
	(void)a;
	(void)ret;
	return err_set(err, ERR_NOT_FOUND, "not yet");
}

static int lv_terminate(struct provider *p, const char *id, struct err *err)
{
	(void)p;
	(void)id;
	(void)err;
	return 0;
}

static int lv_list(struct provider *p, const struct machine_filter *filter,
		   const char *page, struct arena *a, struct machine_page *ret,
		   struct err *err)
{
	(void)p;
	(void)filter;
	(void)page;
	(void)a;
	(void)err;
	*ret = (struct machine_page){0};
	return 0;
}

const struct machine_ops lv_machine_ops = {.launch = lv_launch,
					   .describe = lv_describe,
					   .terminate = lv_terminate,
					   .list = lv_list};
