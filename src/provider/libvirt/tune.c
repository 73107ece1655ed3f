#include "provider/libvirt/tune.h"

#include "provider/libvirt/domain.h"

enum { SHARES_USUAL = 1024 };

static bool has_disk_limits(const struct flavor_options *f)
{
	return f && (f->disk_iops || f->disk_mib_per_second);
}

static bool has_cpu_limits(const struct flavor_options *f)
{
	return f && (f->cpu_percent || f->cpu_shares);
}

static int tune_disk(const struct found *m, const char *disk,
		     const struct flavor_options *to, struct err *err)
{
	virTypedParameterPtr params = NULL;
	int n = 0, room = 0, r = -1;
	unsigned long long bytes = (unsigned long long)to->disk_mib_per_second
				   << 20;

	if (virTypedParamsAddULLong(&params, &n, &room,
				    VIR_DOMAIN_BLOCK_IOTUNE_TOTAL_BYTES_SEC,
				    bytes) == 0 &&
	    virTypedParamsAddULLong(&params, &n, &room,
				    VIR_DOMAIN_BLOCK_IOTUNE_TOTAL_IOPS_SEC,
				    (unsigned long long)to->disk_iops) == 0)
		r = virDomainSetBlockIoTune(m->domain, disk, params, n,
					    VIR_DOMAIN_AFFECT_CONFIG);
	virTypedParamsFree(params, n);
	return r < 0 ? host_err(m->host, "limit the machine's disks", err) : 0;
}

static int tune_cpu(const struct found *m, const struct flavor_options *to,
		    struct err *err)
{
	long long quota =
		to->cpu_percent ? CPU_PERIOD_US / 100 * to->cpu_percent : -1;
	virTypedParameterPtr params = NULL;
	int n = 0, room = 0, r = -1;

	if (virTypedParamsAddULLong(
		    &params, &n, &room, VIR_DOMAIN_SCHEDULER_CPU_SHARES,
		    (unsigned long long)(to->cpu_shares ? to->cpu_shares
							: SHARES_USUAL)) == 0 &&
	    virTypedParamsAddULLong(&params, &n, &room,
				    VIR_DOMAIN_SCHEDULER_VCPU_PERIOD,
				    CPU_PERIOD_US) == 0 &&
	    virTypedParamsAddLLong(&params, &n, &room,
				   VIR_DOMAIN_SCHEDULER_VCPU_QUOTA, quota) == 0)
		r = virDomainSetSchedulerParametersFlags(
			m->domain, params, n, VIR_DOMAIN_AFFECT_CONFIG);
	virTypedParamsFree(params, n);
	return r < 0 ? host_err(m->host, "limit the machine's processors", err)
		     : 0;
}

int tune(const struct found *m, const struct flavor_options *from,
	 const struct flavor_options *to, struct err *err)
{
	struct host_powers powers;

	if (m->host->fake)
		return 0;
	if ((has_disk_limits(from) || has_disk_limits(to)) &&
	    (tune_disk(m, "vda", to, err) < 0 ||
	     (to->local_gib && tune_disk(m, "vdc", to, err) < 0)))
		return -1;
	if (!has_cpu_limits(from) && !has_cpu_limits(to))
		return 0;
	if (host_powers(m->host, &powers, err) < 0)
		return -1;
	return powers.limits ? tune_cpu(m, to, err) : 0;
}
