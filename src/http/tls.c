#include "http/tls.h"
int tls_new(struct loop *l, const struct tls_conf *conf, struct tls **out,
	    struct err *err)
{
	(void)l, (void)conf, (void)out;
	return err_set(err, ERR_UNSUPPORTED, "no TLS yet");
}
void tls_free(struct tls *t)
{
	(void)t;
}
int tls_reload(struct tls *t, struct err *err)
{
	(void)t;
	(void)err;
	return 0;
}
struct tls_link *tls_accept(struct tls *t, int fd,
			    void (*ready)(void *ctx, int fd),
			    void (*closed)(void *ctx), void *ctx)
{
	(void)t;
	(void)fd;
	(void)ready;
	(void)closed;
	(void)ctx;
	return 0;
}
void tls_link_abort(struct tls_link *k)
{
	(void)k;
}
const char *tls_link_subject(const struct tls_link *k)
{
	(void)k;
	return 0;
}
