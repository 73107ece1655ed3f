#include "daemon/simcloud.h"

#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "daemon/given.h"
#include "http/server.h"
#include "loop/loop.h"
#include "provider/sim_cloud.h"
#include "provider/sim_http.h"

#define BODY_MOST ((size_t)2 << 20)

enum { CONNECTIONS_MOST = 1024, STOP_MS = 1000 };

const struct command_option simcloud_options[] = {
	{"listen", 0, 0, "ADDR:PORT",
	 "Where to listen; 127.0.0.1:7171 when nothing is said."},
	{"options", 0, 0, "FILE|JSON",
	 "How the cloud behaves: see docs/providers/sim.md."},
	{"data", 0, 0, "FILE",
	 "What is in it is kept in this file, and outlives the process."},
	{"log-level", 0, 0, "LEVEL", "debug, info, warn or error."},
	{0},
};

const struct command_example simcloud_examples[] = {
	{"A cloud that takes five seconds to launch a machine:",
	 "muster simcloud --options '{\"launchMs\": 5000}'"},
	{"What is really in it:", "curl http://127.0.0.1:7171/truth"},
	{0},
};

struct simcloud {
	struct loop *loop;
	struct sim_cloud *cloud;
	struct server *server;
	struct signals *signals[2];
};

static int read_options(const char *given, struct arena *a,
			struct sim_options *ret, struct err *err)
{
	const struct node *n = NULL;

	if (given) {
		n = given_document(given, a, err);
		if (!n)
			return -1;
	}
	return sim_options_read(n, a, ret, err);
}

static void on_stopped(void *ctx)
{
	struct simcloud *s = ctx;

	loop_stop(s->loop);
}

static void on_signal(void *ctx)
{
	struct simcloud *s = ctx;

	server_stop(s->server, STOP_MS, on_stopped, s);
}

static int start(struct simcloud *s, const struct sim_options *options,
		 const char *data, const char *listen, struct err *err)
{
	struct server_conf conf = {
		.listen = listen ? listen : "127.0.0.1:7171",
		.max_connections = CONNECTIONS_MOST,
		.max_body = BODY_MOST,
		.handle = sim_http_handle,
		.refuse = sim_http_refuse,
	};

	signal(SIGPIPE, SIG_IGN);
	s->loop = loop_new();
	if (sim_cloud_open(options, &clock_system, data, &s->cloud, err) < 0)
		return -1;
	conf.ctx = s->cloud;
	if (server_start(s->loop, &conf, &s->server, err) < 0)
		return -1;
	s->signals[0] = signals_new(s->loop, SIGTERM, on_signal, s);
	s->signals[1] = signals_new(s->loop, SIGINT, on_signal, s);
	return 0;
}

static void finish(struct simcloud *s)
{
	if (s->server)
		server_free(s->server);
	for (size_t i = 0; i < COUNT_OF(s->signals); i++)
		if (s->signals[i])
			signals_free(s->signals[i]);
	sim_cloud_close(s->cloud);
	loop_free(s->loop);
}

int run_simcloud(struct cli *c, int argc, char **argv)
{
	enum log_level level = LOG_INFO;
	struct simcloud s = {0};
	struct sim_options options;
	struct err err = {0};
	struct args args;
	int r;

	if (cli_parse(c, simcloud_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (args_value(&args, "log-level") &&
	    log_level_parse(args_value(&args, "log-level"), &level) < 0)
		return cli_usage(c, "--log-level: debug, info, warn or error");
	log_setup(level, false);
	r = read_options(args_value(&args, "options"), &c->arena, &options,
			 &err);
	if (r == 0) {
		r = start(&s, &options, args_value(&args, "data"),
			  args_value(&args, "listen"), &err);
		if (r == 0) {
			log_info("ready", "listening on http://%s",
				 server_address(s.server));
			loop_run(s.loop);
		}
		finish(&s);
	}
	if (r < 0)
		fprintf(c->err, "muster: cannot simulate a cloud: %s\n",
			err.msg);
	return r < 0 ? EXIT_REFUSED : EXIT_OK;
}
