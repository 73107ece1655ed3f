#include "cli/terminal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t watched(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGWINCH);
	return set;
}

void terminal_open(struct terminal *t)
{
	sigset_t set = watched();

	*t = (struct terminal){.signals = -1, .keys = -1};
	sigprocmask(SIG_BLOCK, &set, NULL);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The other screen, no cursor, and long lines are cut. */
static void enter(const struct terminal *t)
{
	if (t->screen) {
		fputs("\033[?1049h\033[?25l\033[?7l", t->screen);
		fflush(t->screen);
	}
	if (t->keys >= 0)
		tcsetattr(t->keys, TCSANOW, &t->during);
}

static void leave(const struct terminal *t)
{
	if (t->screen) {
		fputs("\033[?7h\033[?25h\033[?1049l", t->screen);
		fflush(t->screen);
	}
	if (t->keys >= 0)
		tcsetattr(t->keys, TCSANOW, &t->before);
}

/* Until somebody has us go on. */
static void rest(const struct terminal *t)
{
	leave(t);
	kill(getpid(), SIGSTOP);
	enter(t);
}

void terminal_take(struct terminal *t, FILE *in, FILE *out)
{
	t->screen = out;
	if (tcgetattr(fileno(in), &t->before) == 0) {
		t->during = t->before;
		t->during.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t->during.c_cc[VMIN] = 1;
		t->during.c_cc[VTIME] = 0;
		t->keys = fileno(in);
	}
	enter(t);
}

bool terminal_take_raw(struct terminal *t, FILE *in)
{
	if (tcgetattr(fileno(in), &t->before) < 0)
		return false;
	t->during = t->before;
	cfmakeraw(&t->during);
	t->keys = fileno(in);
	enter(t);
	return true;
}

void terminal_close(struct terminal *t)
{
	sigset_t set = watched();

	leave(t);
	if (t->signals >= 0)
		close(t->signals);
	t->signals = t->keys = -1;
	t->screen = NULL;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

size_t terminal_polled(const struct terminal *t, struct pollfd fds[2])
{
	size_t n = 0;

	fds[n++] = (struct pollfd){.fd = t->signals, .events = POLLIN};
	if (t->keys >= 0)
		fds[n++] = (struct pollfd){.fd = t->keys, .events = POLLIN};
	return n;
}

enum terminal_event terminal_read(struct terminal *t, const struct pollfd *fds,
				  char *ret_key)
{
	struct signalfd_siginfo info;

	if (fds[0].revents &&
	    read(t->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			rest(t);
		return info.ssi_signo == SIGWINCH || info.ssi_signo == SIGTSTP
			       ? TERMINAL_RESIZE
			       : TERMINAL_STOP;
	}
	if (t->keys < 0 || !fds[1].revents)
		return TERMINAL_NONE;
	if (read(t->keys, ret_key, 1) == 1)
		return TERMINAL_KEY;
	return TERMINAL_STOP; /* nobody is there any more */
}

void terminal_size(FILE *out, size_t *ret_columns, size_t *ret_rows)
{
	struct winsize size = {0};

	*ret_columns = *ret_rows = 0;
	if (!isatty(fileno(out)))
		return;
	if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
}

void terminal_interrupt(void)
{
	signal(SIGINT, SIG_DFL);
	raise(SIGINT);
}
