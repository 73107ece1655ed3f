#include "cli/settings.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static struct arena arena;
static struct err err;

static void keeps_contexts(void)
{
	struct context one = {"one", "http://a", "t#: 1", NULL};
	struct context two = {"two", "https://b", NULL, "/ca.pem"};
	struct settings s = {0}, again;
	struct stat st;

	CHECK(settings_load(&arena, &s, &err) == 0 && !s.contexts.n);
	settings_put(&s, &one, &arena);
	settings_put(&s, &two, &arena);
	s.current = "two";
	CHECK(settings_save(&s, &arena, &err) == 0);
	CHECK(stat(settings_path(&arena), &st) == 0);
	CHECK((st.st_mode & 07777) == 0600);
	CHECK(settings_load(&arena, &again, &err) == 0);
	CHECK(again.contexts.n == 2);
	CHECK_STR(again.current, "two");
	CHECK_STR(settings_find(&again, "one")->token, "t#: 1");
	CHECK(!settings_find(&again, "two")->token);
	CHECK_STR(settings_find(&again, "two")->ca_file, "/ca.pem");
	CHECK(!settings_find(&again, "three"));
}

static void replaces_and_drops(void)
{
	struct context one = {"one", "http://c", "new", NULL};
	struct settings s;

	CHECK(settings_load(&arena, &s, &err) == 0);
	settings_put(&s, &one, &arena);
	CHECK(s.contexts.n == 2);
	CHECK_STR(settings_find(&s, "one")->server, "http://c");
	CHECK(settings_drop(&s, "two") && !s.current);
	CHECK(!settings_drop(&s, "two"));
	CHECK(s.contexts.n == 1 && settings_find(&s, "one"));
	s.current = "one";
	CHECK(settings_save(&s, &arena, &err) == 0);
}

static void flags_win_over_the_environment_and_that_over_the_file(void)
{
	struct context given = {0}, t;

	CHECK(settings_target(&given, &arena, &t, &err) == 0);
	CHECK_STR(t.server, "http://c");
	CHECK_STR(t.token, "new");
	setenv("MUSTER_TOKEN", "from-env", 1);
	CHECK(settings_target(&given, &arena, &t, &err) == 0);
	CHECK_STR(t.token, "from-env");
	given.token = "given";
	CHECK(settings_target(&given, &arena, &t, &err) == 0);
	CHECK_STR(t.token, "given");
	unsetenv("MUSTER_TOKEN");
	given.token = NULL;
	setenv("MUSTER_SERVER", "http://elsewhere", 1);
	CHECK(settings_target(&given, &arena, &t, &err) == 0);
	CHECK_STR(t.server, "http://elsewhere");
	/* A token is sent to the server that it is for, and to no other. */
	CHECK(!t.token);
	unsetenv("MUSTER_SERVER");
	given.name = "nowhere";
	CHECK(settings_target(&given, &arena, &t, &err) < 0);
}

static void write_file(const char *text)
{
	FILE *f = fopen(settings_path(&arena), "w");

	fputs(text, f);
	fclose(f);
}

static void refuses_what_it_does_not_understand(void)
{
	struct settings s;

	write_file("contexts: [{name: x}]\n");
	CHECK(settings_load(&arena, &s, &err) < 0);
	CHECK(strstr(err.msg, "/contexts/0/server"));
	write_file("- a\n");
	CHECK(settings_load(&arena, &s, &err) < 0);
	write_file("a: [\n");
	CHECK(settings_load(&arena, &s, &err) < 0);
	write_file("");
	CHECK(settings_load(&arena, &s, &err) == 0);
}

static void without_a_home_there_is_the_local_server(void)
{
	struct context given = {0}, t;
	struct settings s = {0};

	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	CHECK(!settings_path(&arena));
	CHECK(settings_target(&given, &arena, &t, &err) == 0);
	CHECK_STR(t.server, SETTINGS_SERVER);
	CHECK(settings_save(&s, &arena, &err) < 0);
}

int main(void)
{
	char home[] = "/tmp/muster-settings-XXXXXX";
	char path[128];

	arena_init(&arena, (size_t)1 << 20);
	if (!mkdtemp(home))
		return 1;
	setenv("XDG_CONFIG_HOME", home, 1);
	RUN(keeps_contexts);
	RUN(replaces_and_drops);
	RUN(flags_win_over_the_environment_and_that_over_the_file);
	RUN(refuses_what_it_does_not_understand);
	RUN(without_a_home_there_is_the_local_server);
	snprintf(path, sizeof(path), "%s/muster/config.yaml", home);
	unlink(path);
	snprintf(path, sizeof(path), "%s/muster", home);
	rmdir(path);
	rmdir(home);
	arena_release(&arena);
	return test_done();
}
