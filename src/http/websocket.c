#include "http/websocket.h"
#include "http/request_priv.h"
void websocket_close(struct websocket *w, unsigned code)
{
	(void)w, (void)code;
}
void websocket_abort(struct websocket *w)
{
	(void)w;
}
