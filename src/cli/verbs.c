#include "cli/verbs.h"

#include "model/group.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/token.h"
#include "model/volume.h"

static const char *const allow_words[] = {"restart", "rebuild", NULL};

#define ALLOW_OPTION                                                           \
	{                                                                      \
		"allow", .argument = "WORD",                                   \
			 .doc = "What it may do to the machine: restart it, "  \
				"or rebuild it, which loses what is on its "   \
				"root disk.",                                  \
			 .choices = allow_words                                \
	}
#define WAIT_OPTION                                                            \
	{                                                                      \
		"wait", .doc = "Show the steps, and return when it is done, "  \
			       "at most --timeout later."                      \
	}

static const struct command_option update_options[] = {
	{"file", 'f', .argument = "FILE",
	 .doc = "Read the document from a YAML or JSON file, '-' for standard "
		"input; flags override what it says."},
	{"merge", .doc = "Merge the file into what is there, rather than "
			 "replace it; null removes."},
	{"if-match", .argument = "REVISION",
	 .doc = "Refuse if it has changed since that revision."},
	ALLOW_OPTION,
	{"plan", .doc = "Only show what would be done; nothing changes."},
	{"wait", .flags = OPTION_MAYBE, .argument = "STATE",
	 .doc = "Show the steps, and return when it is done or in that state, "
		"at most --timeout later."},
	{0},
};

static const struct command_option plan_options[] = {
	{"file", 'f', .argument = "FILE",
	 .doc = "Read the document from a YAML or JSON file, '-' for standard "
		"input; flags override what it says."},
	{"merge", .doc = "Merge the file into what is there, rather than "
			 "replace it; null removes."},
	{0},
};

static const struct command_option wait_options[] = {
	WAIT_OPTION,
	{0},
};

static const struct command_option reboot_options[] = {
	{"hard", .doc = "Do not ask the guest: as if its power failed."},
	WAIT_OPTION,
	{0},
};

static const struct command_option rebuild_options[] = {
	{"image", .argument = "NAME-OR-ID",
	 .doc = "Boot this image from now on; otherwise the one it has.",
	 .refers = "image"},
	ALLOW_OPTION,
	{"plan", .doc = "Only show what would be done; nothing changes."},
	WAIT_OPTION,
	{0},
};

static const struct command_option build_options[] = {
	{"to", .argument = "FILE",
	 .doc = "Where the image goes; without this and --region, to "
		"tiny.qcow2 or debian.qcow2."},
	{"data", .argument = "DIR",
	 .doc = "The server's data folder, for --region; ./var by default."},
	{0},
};

static const struct command_option snapshot_options[] = {
	{"name", .argument = "NAME", .doc = "What the image is called."},
	WAIT_OPTION,
	{0},
};

static const struct command_option output_options[] = {
	{"length", .argument = "N", .doc = "The last N bytes of it."},
	{0},
};

static const struct command_option certificate_options[] = {
	{"public-key", .argument = "FILE",
	 .doc = "The public key that it is for: ~/.ssh/id_ed25519.pub."},
	{"seconds", .argument = "N", .doc = "How long it is to hold."},
	{"principal", .flags = OPTION_MANY, .argument = "NAME",
	 .doc = "As whom to log in.  May be repeated."},
	{"write", .doc = "Write it to KEY-cert.pub, where ssh finds it."},
	{0},
};

static const struct command_option key_options[] = {
	{"to", .argument = "FILE",
	 .doc = "Write it to a new file that you alone can read."},
	{"force", .doc = "Print it even on a terminal."},
	{0},
};

static const struct command_option events_options[] = {
	{"limit", .argument = "N", .doc = "The newest N."},
	{0},
};

static const struct command_example update_examples[] = {
	{"See what another image would do to it, and then do it:",
	 "muster instance plan web-1 --image debian-13"},
	{NULL, "muster instance update web-1 --image debian-13 --allow rebuild "
	       "--wait"},
	{"What can be done while it runs needs no word:",
	 "muster instance update web-1 --security-group web --tag env=prod"},
	{0},
};

static const struct command_example plan_examples[] = {
	{"What a larger flavor would do, and cost:",
	 "muster instance plan web-1 --flavor large"},
	{0},
};

static const struct command_example start_examples[] = {
	{"Two of them, until they run:",
	 "muster instance start web-1 web-2 --wait"},
	{0},
};

static const struct command_example stop_examples[] = {
	{"Until it is off:", "muster instance stop web-1 --wait"},
	{0},
};

static const struct command_example reboot_examples[] = {
	{"One that no longer answers:", "muster instance reboot web-1 --hard"},
	{0},
};

static const struct command_example rebuild_examples[] = {
	{"From its image again:",
	 "muster instance rebuild web-1 --allow rebuild --wait"},
	{0},
};

static const struct command_example snapshot_examples[] = {
	{"Make an image of it:",
	 "muster {noun} snapshot my-{noun} --name golden --wait"},
	{0},
};

static const struct command_option address_options[] = {
	{"vnc", .doc = "Of its screen, not of its serial line."},
	{0},
};

static const struct command_example console_examples[] = {
	{"Where its console is:", "muster instance console web-1"},
	{"And its screen, for noVNC and the like:",
	 "muster instance console web-1 --vnc"},
	{0},
};

static const struct command_example output_examples[] = {
	{"What it said when it booted:", "muster instance consoleoutput web-1"},
	{0},
};

static const struct command_example certificate_examples[] = {
	{"For an hour, then log in with it:",
	 "muster instance sshcertificate web-1 --public-key "
	 "~/.ssh/id_ed25519.pub --seconds 3600 --write"},
	{0},
};

static const struct command_example key_examples[] = {
	{"Into a file, then log in with it:",
	 "muster instance sshkey web-1 --to web-1.key"},
	{NULL, "ssh -i web-1.key debian@203.0.113.7"},
	{0},
};

static const struct command_example events_examples[] = {
	{"What happened to it:", "muster {noun} events my-{noun}"},
	{0},
};

static const struct command_example explain_examples[] = {
	{"Why it does not run:", "muster instance explain web-1"},
	{0},
};

static const struct command_example pause_examples[] = {
	{"Leave it alone for a while:", "muster {noun} pause my-{noun}"},
	{NULL, "muster {noun} resume my-{noun}"},
	{0},
};

static const struct command_example sync_examples[] = {
	{"After the provider got a new flavor:",
	 "muster region sync my-region"},
	{0},
};

static const struct command_example accept_examples[] = {
	{"After an account was emptied on purpose:",
	 "muster region accept my-region"},
	{0},
};

static const struct command_option orphans_options[] = {
	{"plan", .doc = "Say what is removed, or would be, and when; nothing "
			"is done."},
	{0},
};

static const struct command_example build_examples[] = {
	{"To a file:", "muster image build tiny --to tiny.qcow2"},
	{"For a project, in the region of the server that runs here:",
	 "muster image build debian --region local --project web"},
	{0},
};

static const struct command_example orphans_examples[] = {
	{"What was left behind there:", "muster region orphans my-region"},
	{"And what would be removed, and when:",
	 "muster region orphans my-region --plan"},
	{0},
};

#define EVENTS_VERB                                                            \
	{                                                                      \
		"events", "Show what happened to {a} {noun}", "NAME-OR-ID",    \
			"The newest last.  The same reason again is counted "  \
			"in the same line.",                                   \
			events_examples, events_options,                       \
			.fields = COMMAND_NARROW, .run = story_events          \
	}
#define SNAPSHOT_VERB                                                          \
	{                                                                      \
		"snapshot", "Make an image of {a} {noun}", "NAME-OR-ID",       \
			"The image belongs to the same project; others can "   \
			"be made from it.",                                    \
			snapshot_examples, snapshot_options,                   \
			.fields = COMMAND_NARROW, .run = machine_snapshot      \
	}
#define PAUSE_VERB(what)                                                       \
	{                                                                      \
		"pause", "Leave {nouns} alone until they are resumed",         \
			"NAME-OR-ID...", what, pause_examples,                 \
			.fields = COMMAND_NARROW, .run = machine_act           \
	}
#define RESUME_VERB                                                            \
	{                                                                      \
		"resume", "Take a pause back", "NAME-OR-ID...",                \
			"What was asked for meanwhile is done now.",           \
			pause_examples, .fields = COMMAND_NARROW,              \
					.run = machine_act                     \
	}

static const struct command_option get_options[] = {
	{"max-staleness", .argument = "DURATION",
	 .doc = "When what is known of its machine is older, have it looked at "
		"first: 5s, 1m."},
	{0},
};

static const struct command_example get_examples[] = {
	{"By name:", "muster instance get my-instance"},
	{"As a document that 'update -f' reads:",
	 "muster instance get my-instance -o yaml"},
	{"As its machine is now:",
	 "muster instance get my-instance --max-staleness 5s"},
	{0},
};

static const struct command instance_verbs[] = {
	{"get", "Show an instance", "NAME-OR-ID...",
	 "Prints every field of one or several.  What is shown of a machine "
	 "was "
	 "so at status.observedAt, and has been confirmed since by the looks "
	 "at "
	 "all machines of its region; when these fail for long its state is "
	 "unknown.",
	 get_examples, get_options, .fields = COMMAND_NARROW, .run = noun_get},
	{"update", "Change {a} {noun}", "[NAME-OR-ID]",
	 "Flags change just what they name; an empty value removes a field.  "
	 "With a file the whole document is replaced, or with --merge the "
	 "file is merged into it.\n\n"
	 "What would restart the machine or destroy something is refused, with "
	 "the plan, unless --allow says that it is meant.",
	 update_examples, update_options, .fields = COMMAND_UPDATE,
	 .run = noun_update},
	{"plan", "Show what an update would do to {a} {noun}", "[NAME-OR-ID]",
	 "Takes what update takes, and changes nothing: what is done to the "
	 "machine, what is lost, price and quota before and after.",
	 plan_examples, plan_options, .fields = COMMAND_UPDATE,
	 .run = noun_plan},
	{"start", "Start {nouns}", "NAME-OR-ID...",
	 "One that runs already stays as it is.", start_examples, wait_options,
	 .fields = COMMAND_NARROW, .run = machine_act},
	{"stop", "Stop {nouns}", "NAME-OR-ID...",
	 "The machine stays, and its disks with it; what it costs meanwhile is "
	 "the provider's to say.",
	 stop_examples, wait_options, .fields = COMMAND_NARROW,
	 .run = machine_act},
	{"reboot", "Reboot {nouns}", "NAME-OR-ID...",
	 "Asks the guest, or with --hard does not.", reboot_examples,
	 reboot_options, .fields = COMMAND_NARROW, .run = machine_act},
	{"rebuild", "Give {nouns} a new root disk", "NAME-OR-ID...",
	 "What is on the root disk is lost: --allow rebuild says that this is "
	 "meant.  Volumes stay.",
	 rebuild_examples, rebuild_options, .fields = COMMAND_NARROW,
	 .run = machine_act},
	SNAPSHOT_VERB,
	{"console", "Say where {a} {noun}'s console is", "NAME-OR-ID",
	 "Prints an address that is good once and for a short while: a "
	 "WebSocket, unless the provider has its own.  'muster console' opens "
	 "it.",
	 console_examples, address_options, .fields = COMMAND_NARROW,
	 .run = machine_console},
	{"consoleoutput", "Show what {a} {noun} wrote to its console",
	 "NAME-OR-ID",
	 "As far as the provider has kept it.  On a terminal its control "
	 "characters are shown, not obeyed.",
	 output_examples, output_options, .fields = COMMAND_NARROW,
	 .run = machine_output},
	{"sshcertificate", "Get a certificate to log in with", "NAME-OR-ID",
	 "Signed by the authority that the instance trusts "
	 "(sshCertificateAuthorityId), when the server holds its key.  It is "
	 "printed, or written beside the key.",
	 certificate_examples, certificate_options, .fields = COMMAND_NARROW,
	 .run = machine_certificate},
	{"sshkey", "Get the private key that was made for {a} {noun}",
	 "NAME-OR-ID",
	 "Of an instance that was created with --ssh-key generated.",
	 key_examples, key_options, .fields = COMMAND_NARROW,
	 .run = machine_key},
	EVENTS_VERB,
	{"explain", "Say why {a} {noun} is as it is", "NAME-OR-ID",
	 "What it is and what it waits for, which candidates were refused and "
	 "why, what is being done to it, what happened lately, and what to do "
	 "next.",
	 explain_examples, .fields = COMMAND_NARROW, .run = story_explain},
	PAUSE_VERB("Nothing is asked of its provider meanwhile, but that it "
		   "is deleted when that is wanted."),
	RESUME_VERB,
	{0},
};

static const struct command volume_verbs[] = {
	SNAPSHOT_VERB,
	EVENTS_VERB,
	{0},
};

static const struct command region_verbs[] = {
	{"sync", "Read a region's flavors and images now", "NAME-OR-ID...",
	 "They are read every now and then anyway.", sync_examples,
	 wait_options, .fields = COMMAND_NARROW, .run = machine_act},
	{"accept", "Accept that the machines that a region misses are gone",
	 "NAME-OR-ID...",
	 "When too many machines are missing from the provider's list at once, "
	 "nothing is done about them.  This says that it is so: each is looked "
	 "at once more, and its instance is shown as terminated when it is not "
	 "there.",
	 accept_examples, .fields = COMMAND_NARROW, .run = machine_act},
	{"orphans", "List what a region has of ours that is nobody's",
	 "NAME-OR-ID",
	 "Machines, networks, security groups, images and volumes that carry "
	 "this installation's tags, and that nobody is known for.  They are "
	 "only shown, unless spec.orphanPolicy of the region is remove.",
	 orphans_examples, orphans_options, .fields = COMMAND_NARROW,
	 .run = region_orphans},
	PAUSE_VERB("Nothing is asked of its provider meanwhile."),
	RESUME_VERB,
	EVENTS_VERB,
	{0},
};

static const struct command image_verbs[] = {
	{"build", "Make a guest image on this machine", "tiny|debian",
	 "From Debian packages, which this machine's apt-get downloads as far "
	 "as they are not installed; nothing is installed here, and nothing "
	 "needs root.  'tiny' is a Linux that boots in seconds, with an SSH "
	 "server and little else: for tests and first steps.  'debian' is "
	 "Debian with cloud-init, for use; it takes some minutes.\n\n"
	 "The image goes to a file, whose SHA-256 is printed, or to a region "
	 "that the server on this machine has: then the other flags say what "
	 "the image is called and whose it is.",
	 build_examples, build_options, .fields = COMMAND_CREATE,
	 .run = image_build},
	EVENTS_VERB,
	{0},
};

static const struct command backed_verbs[] = {
	EVENTS_VERB,
	{0},
};

static const struct {
	const struct kind *kind;
	const struct command *verbs;
} rows[] = {
	{&organization_kind, usage_verbs}, {&project_kind, usage_verbs},
	{&token_kind, token_verbs},        {&group_kind, group_verbs},
	{&region_kind, region_verbs},      {&image_kind, image_verbs},
	{&network_kind, backed_verbs},     {&securitygroup_kind, backed_verbs},
	{&volume_kind, volume_verbs},      {&instance_kind, instance_verbs},
};

const struct command *noun_own_verbs(const struct kind *k)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].kind == k)
			return rows[i].verbs;
	return NULL;
}
