/* The client's own commands; the nouns come from the kinds. */
#include "cli/apply.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "cli/top.h"
#include "cli/verbs.h"

static const struct command_example login_examples[] = {
	{"To a server of your own on this machine:",
	 "muster login --token-file ./var/admin.token"},
	{"To another one, typing the token; it is kept as context 'prod':",
	 "muster login https://muster.example.org --context prod"},
	{"At an OpenID issuer, agreeing in a browser on any machine:",
	 "muster login https://muster.example.org --issuer corp"},
	{0},
};

static const struct command_example logout_examples[] = {
	{"Forget the token of the context in use:", "muster logout"},
	{0},
};

static const struct command_example whoami_examples[] = {
	{"Who you are, and what you may do where:", "muster whoami"},
	{"What somebody else may do, as far as you may act for them:",
	 "muster whoami --as 0190c1b4-6a3e-7c52-9d0f-3b1a5e8f2c47"},
	{0},
};

static const struct command_example context_examples[] = {
	{"See them:", "muster context list"},
	{"Work with another one from now on:", "muster context use prod"},
	{0},
};

static const struct command_example version_examples[] = {
	{"Both, for a script:", "muster version -o json"},
	{0},
};

static const struct command_example completion_examples[] = {
	{"For this shell:", "source <(muster completion bash)"},
	{"For good (bash, zsh, fish):",
	 "muster completion bash >~/.local/share/bash-completion/completions/"
	 "muster"},
	{NULL, "muster completion zsh >~/.zfunc/_muster"},
	{NULL,
	 "muster completion fish >~/.config/fish/completions/muster.fish"},
	{0},
};

static const struct command_example help_examples[] = {
	{"What there is:", "muster help"},
	{"What a command takes:", "muster help project create"},
	{0},
};

static const struct command_example man_examples[] = {
	{"Read a page:", "muster man project | man -l -"},
	{"Write them all:", "muster man --all /usr/local/share/man/man1"},
	{0},
};

static const struct command_example apply_examples[] = {
	{"See what it would do, then do it:", "muster apply -f web/ --plan"},
	{NULL, "muster apply -f web/ --wait"},
	{"All that the team's manifests say, and nothing else of theirs:",
	 "muster apply -f web/ --prune --label team=web --yes"},
	{0},
};

static const struct command_example diff_examples[] = {
	{"Whether anything has drifted, for a script:",
	 "muster diff -f web/ >/dev/null || echo it has"},
	{0},
};

static const struct command_example top_examples[] = {
	{"A project's, until 'q' is pressed:", "muster top --project web"},
	{"Once, for a report:", "muster top --once"},
	{0},
};

static const struct command_example console_examples[] = {
	{"Its serial line, until Ctrl-]:", "muster console web-1"},
	{"What it says, into a file:", "muster console web-1 </dev/null >log"},
	{"Its screen, for noVNC:", "muster console web-1 --vnc"},
	{0},
};

static const struct command_example ssh_examples[] = {
	{"A shell, or a command:", "muster ssh web-1"},
	{NULL, "muster ssh web-1 uname -a"},
	{"As somebody else, with a port of its own:",
	 "muster ssh web-1 --user root --ssh-option "
	 "LocalForward=8080:localhost:80"},
	{"So that ssh, scp and others find it:",
	 "muster ssh web-1 --print-config >>~/.ssh/config"},
	{0},
};

const struct command cli_commands[] = {
	{"apply", "Make what manifests say", "",
	 "A manifest is YAML documents of any kind: {kind, name, project or "
	 "network, spec}; where the API has ids a manifest may have names.  "
	 "They are put in order, the plan is shown, and on a terminal you are "
	 "asked; then what is missing is created and what differs is changed. "
	 " A field that a manifest leaves out gets its default.  Applied "
	 "again, there is nothing to do.\n\n"
	 "Nothing is done when any document is wrong, or when something would "
	 "restart or destroy a machine and --allow does not say that it may.",
	 apply_examples, apply_options, .run = apply_run},
	{"diff", "Show what differs from manifests", "",
	 "What 'apply' would do, and nothing is done.  Exits with 1 when "
	 "there is a difference, with 0 when there is none.",
	 diff_examples, diff_options, .run = apply_diff},
	{"top", "Show machines as they are, and go on", "",
	 "The instances of a project, or all that you see: their states, what "
	 "is being done to them and why they are not as they are wanted, how "
	 "much of the quota is used, and what happened lately.  'q' ends it, "
	 "'j' and 'k' scroll.",
	 top_examples, top_options, .run = top_run},
	{"console", "Open an instance's serial console", "NAME-OR-ID",
	 "Its serial line in this terminal: all keys go to the machine, but "
	 "the one that ends it.  When the input is no terminal it is sent as "
	 "it is, and what the machine says is followed after its end, until "
	 "it closes the line or Ctrl-C.  A line has one end: whoever opens it "
	 "takes it from who had it, where the provider has it so.\n\n"
	 "Where the provider has consoles of its own, and with --vnc, an "
	 "address is printed: see 'muster instance console'.",
	 console_examples, console_options, .fields = COMMAND_NARROW,
	 .noun = "instance", .run = console_run},
	{"ssh", "Log in to an instance", "NAME-OR-ID [COMMAND...]",
	 "Runs ssh with what is needed: where the instance is reached "
	 "(a published port, its public or its private address), who logs in "
	 "(as the image says), the host key that the guest was given, so that "
	 "nothing is trusted at first sight, and a certificate of five minutes "
	 "for a key that is made for this login, from the authority that the "
	 "instance trusts; or the key that was made with the instance; or your "
	 "own keys, when it was given those.  All of it goes away with the "
	 "session.  What follows the name is the command; it exits with what "
	 "that exits with, and with 255 when there was no way in.\n\n"
	 "An instance that is on its way is waited for until its guest "
	 "answers, at most --timeout: ten minutes when that is not said.",
	 ssh_examples, ssh_options, .fields = COMMAND_NARROW,
	 .noun = "instance", .passes_on = true, .run = ssh_run},
	{"login", "Sign in to a server", "[SERVER]",
	 "Asks the server whether the token is good, and then keeps both as a "
	 "context in ~/.config/muster/config.yaml (mode 0600), which is used "
	 "from then on.  The token comes from --token-file, --token or "
	 "MUSTER_TOKEN; else it is asked for.\n\n"
	 "With --issuer you sign in at an OpenID issuer that the server is "
	 "configured with: by a code that you enter on any machine's browser, "
	 "or with --browser by one on this machine.  What it gives is kept in "
	 "the context, and renewed before it expires.",
	 login_examples, login_options, .run = session_login},
	{"logout", "Sign out: forget the token", "",
	 "The context stays, without a token.  An issuer that gave it is told "
	 "to let go of the session; a token that the server made stays good "
	 "until it is deleted there.",
	 logout_examples, .run = session_logout},
	{"whoami", "Say who you are, and what you may do where", "",
	 "As the server sees it.", whoami_examples, .run = session_whoami},
	{"context", "Choose among the servers you have signed in to", NULL,
	 "A context is a server with its token.  The one in use is what "
	 "commands talk to, unless --context, --server or the environment say "
	 "otherwise.",
	 context_examples, .children = context_commands},
	{"version", "Print the versions of client and server", "",
	 "Asks the server for its own, unless --client says that only this "
	 "program is meant.",
	 version_examples, version_options, .run = session_version},
	{"completion", "Write a completion script for a shell", "bash|zsh|fish",
	 "The script knows every command and option, and asks the server for "
	 "the names of things.",
	 completion_examples, .run = session_completion},
	{"help", "Explain a command", "[COMMAND...]",
	 "Without a command, lists them all.", help_examples,
	 .run = session_help},
	{"man", "Write manual pages", "[COMMAND]",
	 "Prints the page of a command, or of muster itself, as roff.",
	 man_examples, man_options, .run = session_man},
	{0},
};
