#include "provider/libvirt/backup.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/xml.h"

#define XML_MOST ((size_t)64 << 10)

enum {
	AGENT_SECONDS = 10, /* for the guest to answer */
	GLANCE_MS = 100,
	MOST_MS = 6 * 3600 * 1000,
};

static int write_wish(const struct backup *b, struct buf *out, struct err *err)
{
	struct xml *x = xml_new();

	xml_begin(x, "domainbackup");
	xml_attr(x, "mode", "push");
	xml_begin(x, "disks");
	xml_begin(x, "disk");
	xml_attr(x, "name", b->target);
	xml_attr(x, "backup", "yes");
	xml_attr(x, "type", "file");
	xml_begin(x, "target");
	xml_attr(x, "file", b->path);
	xml_end(x);
	xml_begin(x, "driver");
	xml_attr(x, "type", "qcow2");
	xml_end(x);
	xml_end(x);
	xml_end(x);
	xml_end(x);
	return xml_finish(x, out, err);
}

static void glance(const struct backup *b)
{
	const struct provider_conf *conf = b->host->lv->conf;

	conf->sleep(conf->ctx, GLANCE_MS);
}

/* What the machine does besides running; VIR_DOMAIN_JOB_NONE: nothing. */
static int work_of(const struct backup *b, int *ret, struct err *err)
{
	virDomainJobInfo info;

	if (virDomainGetJobInfo(b->domain, &info) < 0) {
		host_err(b->host, "ask what the machine does", err);
		return -1;
	}
	*ret = info.type;
	return 0;
}

/* A backup runs, perhaps one that nobody waits for any more. */
static int end_older(const struct backup *b, struct err *err)
{
	char *xml = virDomainBackupGetXMLDesc(b->domain, 0);
	int work;

	if (!xml)
		return 0;
	free(xml);
	if (virDomainAbortJob(b->domain) < 0)
		return host_err(b->host, "end an older copy", err);
	do {
		glance(b);
		if (work_of(b, &work, err) < 0)
			return -1;
	} while (work != VIR_DOMAIN_JOB_NONE && !atomic_load(b->stop));
	return 0;
}

/* Whether it ended well, as libvirt has kept it. */
static int judge(const struct backup *b, struct err *err)
{
	virTypedParameterPtr params = NULL;
	const char *why = NULL;
	int type, n = 0, success = 0;

	if (virDomainGetJobStats(b->domain, &type, &params, &n,
				 VIR_DOMAIN_JOB_STATS_COMPLETED) < 0)
		return host_err(b->host, "ask how the copy went", err);
	if (virTypedParamsGetBoolean(params, n, VIR_DOMAIN_JOB_SUCCESS,
				     &success) < 1)
		success = type == VIR_DOMAIN_JOB_COMPLETED;
	if (!success) {
		virTypedParamsGetString(params, n, VIR_DOMAIN_JOB_ERRMSG, &why);
		err_set(err, ERR_UNAVAILABLE,
			"host %s: the copy failed: %.200s", b->host->name,
			why ? why : "it was ended");
	}
	virTypedParamsFree(params, n);
	return success ? 0 : -1;
}

static int wait_for(const struct backup *b, struct err *err)
{
	uint64_t until = clock_mono(&clock_system) + MOST_MS;
	bool aborted = false;
	int work;

	for (;;) {
		if (work_of(b, &work, err) < 0)
			return -1;
		if (work == VIR_DOMAIN_JOB_NONE ||
		    work == VIR_DOMAIN_JOB_COMPLETED ||
		    work == VIR_DOMAIN_JOB_FAILED ||
		    work == VIR_DOMAIN_JOB_CANCELLED)
			break;
		if (!aborted && (atomic_load(b->stop) ||
				 clock_mono(&clock_system) > until)) {
			virDomainAbortJob(b->domain);
			aborted = true;
		}
		glance(b);
	}
	return judge(b, err);
}

void backup_let_go(virDomainPtr domain)
{
	virDomainAgentSetResponseTimeout(domain, AGENT_SECONDS, 0);
	virDomainFSThaw(domain, NULL, 0, 0);
}

int backup_take(struct backup *b, struct err *err)
{
	struct buf xml = BUF_INIT(XML_MOST);
	int rc = end_older(b, err);

	if (rc == 0)
		rc = write_wish(b, &xml, err);
	if (rc == 0) {
		virDomainAgentSetResponseTimeout(b->domain, AGENT_SECONDS, 0);
		b->frozen = virDomainFSFreeze(b->domain, NULL, 0, 0) > 0;
		rc = virDomainBackupBegin(
			b->domain, buf_str(&xml), NULL,
			VIR_DOMAIN_BACKUP_BEGIN_REUSE_EXTERNAL);
		if (rc < 0)
			host_err(b->host, "begin to copy the disk", err);
		/* Whatever came of it, and whoever froze it: a guest must
		 * not be left standing. */
		backup_let_go(b->domain);
	}
	buf_release(&xml);
	return rc < 0 ? -1 : wait_for(b, err);
}
