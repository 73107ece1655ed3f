/* client_priv - a call while it runs, for the two ways of running one. */
#pragma once

#include <curl/curl.h>

#include "http/client.h"

struct client {
	CURL *curl;
	char *server; /* without a slash at its end */
	char *token, *ca_file, *agent, *act_as;
	unsigned timeout_ms;
	size_t body_most;
	char why[CURL_ERROR_SIZE];
};

/* A call while it runs; it stays where it is. */
struct running {
	struct client *client;
	const struct client_call *call;
	struct client_result result;
	struct curl_slist *headers;
	struct buf url;
	bool ended; /* by the caller's data() */
};

/* Make its client's handle ready; the client and the call are set. */
void running_begin(struct running *r);

/* What came of it, as client_call() has it. */
int running_end(struct running *r, CURLcode code, struct client_result *ret,
		struct err *err);
