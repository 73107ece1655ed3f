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
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
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

void terminal_take(struct terminal *t, FILE *in, FILE *out)
{
	struct termios raw;

	t->screen = out;
	/* The other screen, no cursor, and long lines are cut. */
	fputs("\033[?1049h\033[?25l\033[?7l", out);
	fflush(out);
	if (tcgetattr(fileno(in), &t->before) < 0)
		return;
	raw = t->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(fileno(in), TCSANOW, &raw) == 0)
		t->keys = fileno(in);
}

void terminal_close(struct terminal *t)
{
	sigset_t set = watched();

	if (t->screen) {
		fputs("\033[?7h\033[?25h\033[?1049l", t->screen);
		fflush(t->screen);
	}
	if (t->keys >= 0)
		tcsetattr(t->keys, TCSANOW, &t->before);
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
	    read(t->signals, &info, sizeof(info)) == sizeof(info))
		return info.ssi_signo == SIGWINCH ? TERMINAL_RESIZE
						  : TERMINAL_STOP;
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
