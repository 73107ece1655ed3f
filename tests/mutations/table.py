"""table - safeguards, and how the source reads without each.

A row is one safeguard: its name, the rule that it keeps (docs/reliability.md),
the edits that remove it (file, text, text instead) and the tests that are to
notice, cheapest first.  The simulation of the whole is asked before them,
unless it cannot see such a thing (whole=False).

tools/mutations runs them; check.py keeps the texts in step with the source.
"""


class Mutation:
    def __init__(self, name, rule, edits, tests="", whole=True):
        self.name = name
        self.rule = rule
        self.edits = edits
        self.tests = tests.split()
        self.whole = whole


MUTATIONS = [
    # 1. No lost machine, no second machine.
    Mutation(
        "what is not durable is not acted on", 1,
        [("src/store/history.c",
          "	v = e ? entry_at(e, at ? at : s->durable) : NULL;\n",
          "	v = e ? entry_at(e, at ? at : s->newest) : NULL;\n"),
         ("src/store/history.c",
          "	while (!*ret_gone && c->revision < s->durable) {\n",
          "	while (!*ret_gone && c->revision < s->newest) {\n"),
         ("src/store/store.c",
          "	if (t->change)\n"
          "		list_add(&s->open, &t->link);\n",
          "	if (t->change) {\n"
          "		for (size_t i = 0; i < t->change->n; i++)\n"
          "			t->change->versions[i]->entry->cache->changed =\n"
          "				t->change->revision;\n"
          "		list_add(&s->open, &t->link);\n"
          "		wake_watchers(s);\n"
          "	}\n")],
        "backend_edges backend_model"),
    Mutation(
        "a launch that is repeated has the same token", 1,
        [("src/reconcile/machine_spec.c",
          "	c->spec.token = kept(a, s->attempt.token);\n",
          "	c->spec.token = arena_printf(a, \"%.20s%lld\",\n"
          "				     s->attempt.token,\n"
          "				     (long long)work_now(w));\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "the token says which try and which offering", 1,
        [("src/model/server.c",
          "	snprintf(name, sizeof(name), \"launch/%lld/%s/%s/%s\",\n"
          "		 (long long)s->attempt.number, s->asked.flavor_id,\n"
          "		 s->asked.zone ? s->asked.zone : \"\",\n"
          "		 market_names[s->asked.market]);\n",
          "	snprintf(name, sizeof(name), \"launch\");\n")],
        "machine machine_faults machine_seeds"),
    Mutation(
        "a machine carries its server's tag", 1,
        [("src/reconcile/machine_spec.c",
          "	to[n++] = (struct field_tag){TAG_SERVER, server};\n",
          "	to[n++] = (struct field_tag){TAG_SERVER, i->uid};\n"),
         ("src/reconcile/machine_spec.c",
          "	c->spec.server = c->server;\n",
          "	c->spec.server = c->uid;\n")],
        "machine_faults"),
    Mutation(
        "what was asked for before a crash may be there", 1,
        [("src/reconcile/machine_view.c",
          "	if (s->meta.created_at <= k->started && at < before)\n"
          "		at = before;\n",
          "")],
        "machine_faults machine_seeds"),
    Mutation(
        "what was on its way when we died may still arrive", 1,
        [("src/reconcile/machine_view.c",
          "	int64_t before = k->started + "
          "(k->facts ? k->facts->call_ms : 0);\n",
          "	int64_t before = k->started;\n")],
        "machine_view"),
    Mutation(
        "a start is not before what was written", 1,
        [("src/reconcile/engine.c",
          "	e->started = store_time(conf->store);\n",
          "	e->started = clock_wall(conf->clock);\n")],
        "machine_faults"),
    Mutation(
        "a launch that is written nowhere is not forgotten", 1,
        [("src/reconcile/machine.c",
          "	return s && !s->status.provider_id && !s->attempt.spent &&\n"
          "	       memo->number == s->number &&\n",
          "	return false && memo->number == s->number &&\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "no clear answer is no refusal", 1,
        [("src/reconcile/machine_refused.c",
          "	case ERR_RATE:\n"
          "		return REFUSED_UNKNOWN;\n",
          "	case ERR_RATE:\n"
          "		return REFUSED_NOW;\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "a machine whose id is not known is looked for by its tag", 1,
        [("src/reconcile/machine_plan.c",
          "	} else if (!s->status.provider_id) {\n"
          "		plan_search(v, ret);\n",
          "	} else if (!s->status.provider_id) {\n"
          "		plan_do(ret, MACHINE_GONE);\n")],
        "machine_plan machine_faults machine_seeds"),
    Mutation(
        "it is looked for when it can be seen", 1,
        [("src/reconcile/machine_plan.c",
          "	if (v->now < sure)\n"
          "		plan_rest(ret, sure);\n"
          "	else\n"
          "		plan_do(ret, MACHINE_FIND);\n",
          "	plan_do(ret, sure ? MACHINE_FIND : MACHINE_FIND);\n")],
        "machine_plan machine_seeds"),
    Mutation(
        "one that is stopped is found, too", 1,
        [("src/reconcile/machine_call.c",
          "			if (c->n_found < MACHINE_FOUND_MOST)\n",
          "			if (m[i].state != INSTANCE_RUNNING &&\n"
          "			    m[i].state != INSTANCE_PENDING)\n"
          "				continue;\n"
          "			if (c->n_found < MACHINE_FOUND_MOST)\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "without tokens a launch is repeated when the first can be seen", 1,
        [("src/reconcile/machine_launch_plan.c",
          "	else if (v->called_at && !facts->launch_tokens && "
          "v->now < sure)\n"
          "		plan_rest(ret, sure);\n",
          "	else if (sure < 0)\n"
          "		plan_rest(ret, sure);\n")],
        "machine_plan machine_faults machine_seeds"),
    Mutation(
        "an answer is of the try that it was asked for", 1,
        [("src/reconcile/machine_record.c",
          "	return d->has_server && strcmp(d->i.uid, c->uid) == 0 &&\n"
          "	       strcmp(d->s.meta.id, c->server) == 0 &&\n"
          "	       d->s.attempt.number == c->attempt &&\n"
          "	       d->s.status.phase != SERVER_GONE;\n",
          "	return d->has_server && c->uid != NULL;\n")],
        "machine_record"),
    Mutation(
        "what is gone is not brought back by a call under way", 1,
        [("src/reconcile/machine_record.c",
          "	       d->s.attempt.number == c->attempt &&\n"
          "	       d->s.status.phase != SERVER_GONE;\n",
          "	       d->s.attempt.number == c->attempt;\n")],
        "machine_record", whole=False),
    Mutation(
        "a resize that was not written down is found", 4,
        [("src/reconcile/machine_live_plan.c",
          "(!flavor_fits(v) || has_drifted(v)) &&\n",
          "(!flavor_fits(v) || (has_drifted(v) && v->now < 0)) &&\n")],
        "machine_live", whole=False),
    Mutation(
        "one thing at a time is done about an object", 1,
        [("src/reconcile/work.c",
          "	if (w->state == WORK_WAITING)\n"
          "		queue_now(w);\n"
          "	else\n"
          "		w->poked = w->asking.stale = true;\n",
          "	if (w->state == WORK_WAITING || w->state == WORK_ASKING)\n"
          "		queue_now(w);\n"
          "	else\n"
          "		w->poked = w->asking.stale = true;\n")],
        "engine"),
    Mutation(
        "machines that do not boot are not made for ever", 1,
        [("src/reconcile/machine_launch_plan.c",
          "	if (v->s->attempt.refused >= MACHINE_REFUSED_MOST &&\n"
          "	    !plan_was_parked(v))\n",
          "	if (v->s->attempt.refused < 0)\n")],
        "machine_plan machine_faults"),
    Mutation(
        "a launch's token says which machine it is", 1,
        [("src/provider/libvirt/domain.c",
          "	uuid_v5(whose, token, out);\n",
          "	uuid_v5(whose, token ? \"\" : whose, out);\n")],
        "domain", whole=False),

    # 2. One instance, one server.
    Mutation(
        "a second match is an error, not the first one", 2,
        [("src/reconcile/machine_outcome.c",
          "	if (c->n_found > 1) {\n"
          "		found_several(d, c);\n",
          "	if (c->n_found > 1000) {\n"
          "		found_several(d, c);\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "a name is one instance's", 2,
        [("src/api/instances.c",
          "	if (!other)\n"
          "		return 0;\n"
          "	return err_at(err, ERR_CONFLICT, \"/name\",\n",
          "	if (!other || !other->deleted_at)\n"
          "		return 0;\n"
          "	return err_at(err, ERR_CONFLICT, \"/name\",\n")],
        "regional instances"),
    Mutation(
        "our tags are not for callers to set", 2,
        [("src/api/objects.c",
          "		if (strncmp(t[i].key, \"muster/\", 7) == 0 &&\n",
          "		if (strncmp(t[i].key, \"muster//\", 8) == 0 &&\n")],
        "instances validation nouns"),
    Mutation(
        "a volume is one instance's", 2,
        [("src/reconcile/machine_view.c",
          "	       (!v->status.instance_id ||\n"
          "		strcmp(v->status.instance_id, i->meta.id) == 0);\n",
          "	       i->meta.id;\n")],
        "machine_faults machine"),

    # 3. Quota is charged with the object.
    Mutation(
        "quota is charged in the transaction", 3,
        [("src/api/instances.c",
          "	return charge(c, tx, &instance_kind, i, &plan.amounts, "
          "err);\n",
          "	return 0;\n")],
        "quota instances"),
    Mutation(
        "what does not fit is refused", 3,
        [("src/identity/quota.c",
          "	if (used <= limit)\n"
          "		return 0;\n",
          "	if (used <= limit || k)\n"
          "		return 0;\n")],
        "quota_sim"),
    Mutation(
        "a refusal for quota rests on what is not durable, too", 3,
        [("src/identity/quota.c",
          "	/* Others' writes, not yet durable, may be why. */\n"
          "	tx_rest_on_all(tx);\n",
          "")],
        "quota_sim sim"),
    Mutation(
        "a limit is not set below what is used", 3,
        [("src/identity/quota.c",
          "	if (limit == FIELD_NONE || used <= limit)\n"
          "		return 0;\n",
          "	if (limit == FIELD_NONE || used <= limit || kind)\n"
          "		return 0;\n")],
        "quota_sim quota"),
    Mutation(
        "quota is released when the machine is gone", 3,
        [("src/api/instances.c",
          "	if (!c->plan)\n"
          "		return 0;\n"
          "	plan = losses(c, tx, i);\n",
          "	if (!c->plan) {\n"
          "		char id[37];\n"
          "\n"
          "		quota_allocation_id(i->organization_id, i->meta.id, id);\n"
          "		return tx_delete(tx, &allocation_kind, id, err);\n"
          "	}\n"
          "	plan = losses(c, tx, i);\n")],
        "instances quota"),

    # 4. Nothing destructive unasked.
    Mutation(
        "what destroys is asked about first", 4,
        [("src/api/instance_plan.c",
          "	else if (p->change->need > allowed)\n"
          "		return ask(c, tx, p, err);\n",
          "	else if (p->change->need > allowed + 100)\n"
          "		return ask(c, tx, p, err);\n")],
        "instances"),
    Mutation(
        "one change at a time is made of a machine", 4,
        [("src/api/instance_plan.c",
          "	if (p->change->action && now->action && "
          "instance_was_launched(p->old))\n",
          "	if (p->change->action < 0)\n")],
        "instances"),
    Mutation(
        "a machine that ran and failed is its owner's to decide about", 4,
        [("src/reconcile/machine_plan.c",
          "	if (has_run(v) || s->status.state == INSTANCE_RUNNING)\n",
          "	if (s->status.state == INSTANCE_RUNNING)\n")],
        "machine_plan monitor"),
    Mutation(
        "a machine that ran and is gone is not replaced", 4,
        [("src/reconcile/machine_launch_plan.c",
          "	if (has_run(v)) {\n"
          "		plan_lost(v, ret);\n"
          "		return;\n"
          "	}\n",
          "")],
        "machine_plan machine_faults monitor"),
    Mutation(
        "a plan changes nothing", 4,
        [("src/api/objects.c",
          "	if (c->plan)\n"
          "		return call_plan(c, \"update\", new);\n",
          "	if (c->plan)\n"
          "		call_plan(c, \"update\", new);\n")],
        "instances nouns"),
    Mutation(
        "If-Match names what is there", 4,
        [("src/api/call.c",
          "	if (!want || call_matches(want, have))\n"
          "		return 0;\n",
          "	if (!want || have)\n"
          "		return 0;\n")],
        "sim nouns"),

    # 5. Delete is two-stage and always ends.
    Mutation(
        "the machine goes first, the documents last", 5,
        [("src/reconcile/machine_plan.c",
          "	if (!s || s->status.phase == SERVER_GONE || "
          "was_never_launched(v))\n",
          "	if (!s || s->status.phase)\n")],
        "machine_plan machine_faults"),
    Mutation(
        "that a machine is terminated is read back", 5,
        [("src/reconcile/machine_outcome.c",
          "	s->status.state = INSTANCE_TERMINATING;\n"
          "	s->status.deadline = draft_deadline(d, "
          "INSTANCE_TERMINATING);\n",
          "	s->status.state = INSTANCE_TERMINATED;\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "not found is believed after the consistency window", 5,
        [("src/reconcile/machine_outcome.c",
          "	       c->call.began >= answered + "
          "(int64_t)v->facts->consistency_ms;\n",
          "	       c->call.began;\n")],
        "machine_faults machine_seeds"),
    Mutation(
        "a clock that leaps makes no window shorter", 5,
        [("src/base/steady.c",
          "	if (at - s->at > SLACK_MS + passed / 1000)\n"
          "		s->even = at;\n",
          "")],
        "steady machine_faults"),
    Mutation(
        "a deletion is delayed by nothing that was in the way before", 5,
        [("src/reconcile/machine_plan.c",
          "	else if (s->status.phase == SERVER_LEAVING &&\n"
          "		 s->status.reason.retry_at > v->now)\n"
          "		plan_rest(ret, s->status.reason.retry_at);\n",
          "	else if (plan_hold(v, ret))\n"
          "		return;\n")],
        "machine_plan machine_faults machine_seeds"),
    Mutation(
        "a machine that does not go is asked to again", 5,
        [("src/reconcile/machine_plan.c",
          "		if (s->status.deadline && "
          "v->now >= s->status.deadline)\n"
          "			plan_do(ret, MACHINE_TERMINATE);\n"
          "		else\n"
          "			plan_look(v, ret);\n",
          "		plan_look(v, ret);\n")],
        "machine_plan machine_faults"),
    Mutation(
        "what is protected is not deleted", 5,
        [("src/api/instances.c",
          "	if (i->spec.delete_protection)\n"
          "		return err_set(err, ERR_CONFLICT,\n",
          "	if (i->spec.delete_protection && c->plan)\n"
          "		return err_set(err, ERR_CONFLICT,\n")],
        "instances"),
    Mutation(
        "what is protected does not go with what it is in", 5,
        [("src/api/protect.c",
          "		if (in->spec.delete_protection && "
          "!in->meta.deleted_at)\n",
          "		if (in->spec.delete_protection && "
          "in->meta.deleted_at)\n")],
        "instances cascade"),
    Mutation(
        "a machine that does not boot is given up at its deadline", 5,
        [("src/reconcile/machine_plan.c",
          "	else if (s->status.deadline && "
          "v->now >= s->status.deadline)\n"
          "		give_up(ret, ERR_TIMEOUT,",
          "	else if (s->status.deadline < 0)\n"
          "		give_up(ret, ERR_TIMEOUT,")],
        "machine_plan machine_faults"),
    Mutation(
        "a machine that does not stop loses its power at its deadline", 5,
        [("src/reconcile/machine_plan.c",
          "	if (!s->status.deadline || v->now < s->status.deadline) {\n",
          "	if (s->status.deadline >= 0) {\n")],
        "machine_plan machine"),
    Mutation(
        "a guest that does not come up is not waited for for ever", 5,
        [("src/reconcile/machine_live_plan.c",
          "	if (v->now >= r->since + (int64_t)v->facts->launch_ms)\n",
          "	if (r->since < 0)\n")],
        "machine_live reach", whole=False),

    # 6. References hold.
    Mutation(
        "what is in use is not deleted", 6,
        [("src/store/reference.c",
          "	return users.n ? -1 : 0;\n",
          "	return 0;\n")],
        "sim nouns"),
    Mutation(
        "nothing new refers to what is being deleted", 6,
        [("src/store/reference.c",
          "	if (target && !target->deleted_at)\n"
          "		return 0;\n",
          "	if (target)\n"
          "		return 0;\n")],
        "regional cascade instances"),
    Mutation(
        "what is in a container goes before it", 6,
        [("src/reconcile/cascade.c",
          "		if (!is_left(c, d))\n"
          "			continue;\n",
          "		if (!is_left(c, d) || d)\n"
          "			continue;\n")],
        "engine cascade"),

    # 7. Invisible is 404.
    Mutation(
        "what a caller does not see is not there", 7,
        [("src/api/permit.c",
          "	if (!permit_sees(c, k, object))\n"
          "		return err_set(err, ERR_NOT_FOUND, \"there is no %s "
          "%s\", k->name,\n",
          "	if (!object)\n"
          "		return err_set(err, ERR_NOT_FOUND, \"there is no %s "
          "%s\", k->name,\n")],
        "matrix"),
    Mutation(
        "a verb has a permission of its own", 7,
        [("src/api/permit.c",
          "	if (verb == VERB_READ || may(c, k, verb, "
          "kind_owner(k, object)))\n",
          "	if (verb || may(c, k, verb, kind_owner(k, object)))\n")],
        "matrix"),
    Mutation(
        "nothing refers to another organization's", 7,
        [("src/store/reference.c",
          "	if (!target || is_foreign(k, target, owner) ||\n",
          "	if (!target ||\n")],
        "matrix regional tenants rules"),
    Mutation(
        "a watch shows what its caller sees", 7,
        [("src/api/watch.c",
          "	return filters_match(&w->filters, object) &&\n"
          "	       permit_sees(w->call, w->call->noun->kind, object);\n",
          "	return object && filters_match(&w->filters, object);\n")],
        "tenants rules"),
    Mutation(
        "a ticket opens a console once", 7,
        [("src/api/consoles.c",
          "		if (!l->relay && now < l->until &&\n",
          "		if (now < l->until &&\n")],
        "consoles", whole=False),
    Mutation(
        "a ticket is good for its instance", 7,
        [("src/api/consoles.c",
          "		    strcmp(l->instance, instance) == 0 &&\n",
          "		    instance &&\n")],
        "consoles", whole=False),
    Mutation(
        "who may not have a console any more loses it", 7,
        [("src/api/consoles.c",
          "		else if (l->relay && check_line(l, &err) < 0)\n",
          "		else if (!l->relay && check_line(l, &err) < 0)\n")],
        "consoles", whole=False),

    # 8. Absent from a list is not gone.
    Mutation(
        "a list that is not whole says nothing", 8,
        [("src/reconcile/monitor.c",
          "	if (c->call.err.code || !p) {\n"
          "		give_up(w, m, &c->call.err);\n"
          "		return;\n"
          "	}\n"
          "	for (size_t i",
          "	if (!p) {\n"
          "		give_up(w, m, &c->call.err);\n"
          "		return;\n"
          "	}\n"
          "	for (size_t i")],
        "monitor"),
    Mutation(
        "what is missing from a list is looked at", 8,
        [("src/reconcile/monitor.c",
          "			look(w, s);\n"
          "			return true;\n",
          "			add_sighting(sweep, s, sweep->began)->gone = "
          "true;\n")],
        "monitor"),
    Mutation(
        "one look does not make it gone", 8,
        [("src/reconcile/monitor.c",
          "	if (map_get(&m->lost, s->meta.id))\n"
          "		add_sighting(m->sweep, s, began)->gone = true;\n",
          "	add_sighting(m->sweep, s, began)->gone = true;\n")],
        "monitor"),
    Mutation(
        "mass disappearance trips the breaker", 8,
        [("src/reconcile/monitor_plan.c",
          "	return missing > most && missing > accepted;\n",
          "	return missing > most && missing > accepted && !of;\n")],
        "monitor_plan monitor"),
    Mutation(
        "a list says nothing of what was written after it", 8,
        [("src/reconcile/monitor_plan.c",
          "		return began >= since + (int64_t)f->consistency_ms;\n",
          "		return began || since || f;\n")],
        "monitor_plan monitor"),
    Mutation(
        "what was written since it was compared stays", 8,
        [("src/reconcile/monitor_write.c",
          "	if (!i || s->meta.revision != g->revision || "
          "i->meta.deleted_at ||\n",
          "	if (!i || i->meta.deleted_at ||\n")],
        "monitor machine_seeds"),
    Mutation(
        "what cannot be seen is not said to run", 8,
        [("src/reconcile/machine_record.c",
          "	d.s.status.stale_since = d.now;\n",
          "	d.s.status.stale_since = 0;\n")],
        "looks"),
    Mutation(
        "more news than can be kept are news of all", 8,
        [("src/reconcile/notices.c",
          "		n->all = true;\n"
          "		n->n = 0;\n"
          "		return;\n",
          "		return;\n")],
        "notices reach", whole=False),
    Mutation(
        "one answer that is missing is no guest that is down", 8,
        [("src/provider/libvirt/guests.c",
          "	if (was && g->failures < DOUBTS_MOST) {\n",
          "	if (was && g->failures < 1) {\n")],
        "guests", whole=False),
    Mutation(
        "what a guest answered was asked in this run of it", 8,
        [("src/provider/libvirt/guests.c",
          "	if (g && g->run == t->run) {\n",
          "	if (g) {\n")],
        "guests", whole=False),

    # 9. Orphans.
    Mutation(
        "what is young is no orphan", 9,
        [("src/reconcile/monitor_plan.c",
          "	return began >=\n"
          "	       since + (int64_t)f->launch_ms + "
          "(int64_t)f->consistency_ms;\n",
          "	return began >= 0 || since || f;\n")],
        "monitor_plan monitor"),
    Mutation(
        "an orphan is removed after its quarantine", 9,
        [("src/reconcile/monitor_plan.c",
          "	return r->spec.orphan_policy == ORPHANS_REMOVE && !owner &&\n"
          "	       now >= o->quarantined_until;\n",
          "	return r->spec.orphan_policy == ORPHANS_REMOVE && !owner && now "
          "&& o;\n")],
        "monitor_plan monitor"),
    Mutation(
        "orphans are removed where that is configured", 9,
        [("src/reconcile/monitor_plan.c",
          "	return r->spec.orphan_policy == ORPHANS_REMOVE && !owner &&\n"
          "	       now >= o->quarantined_until;\n",
          "	return r && !owner && now >= o->quarantined_until;\n")],
        "monitor_plan monitor"),
    Mutation(
        "what carries the tag of a server that is there is kept", 9,
        [("src/reconcile/monitor_plan.c",
          "	return r->spec.orphan_policy == ORPHANS_REMOVE && !owner &&\n",
          "	return r->spec.orphan_policy == ORPHANS_REMOVE &&\n")],
        "monitor_plan monitor"),
    Mutation(
        "nothing without our installation is an orphan", 9,
        [("src/reconcile/monitor.c",
          "	if (!ours || strcmp(ours, work_installation(w)) != 0)\n"
          "		return;\n",
          "")],
        "monitor"),
    Mutation(
        "what is found by its tag is of our installation", 9,
        [("src/reconcile/machine_call.c",
          "			if (!is_ours(p, &m[i]))\n"
          "				continue;\n",
          "")],
        "machine_faults"),
    Mutation(
        "an orphan is looked at afresh before it goes", 9,
        [("src/reconcile/monitor_orphans.c",
          "	c->ours = same(field_tag_get(&m.tags, TAG_INSTALLATION),\n"
          "		       c->installation) &&\n"
          "		  same(field_tag_get(&m.tags, TAG_SERVER), "
          "c->what.of);\n",
          "	c->ours = true;\n")],
        "monitor"),
    Mutation(
        "a thing that somebody is known for is no orphan", 9,
        [("src/reconcile/monitor_things.c",
          "	if (owner && is_known(w, rows[t->kind].row, owner, t))\n",
          "	if (owner && !is_known(w, rows[t->kind].row, owner, t))\n")],
        "sweep"),
    Mutation(
        "things that could not be listed stay as they were", 9,
        [("src/reconcile/monitor_orphans.c",
          "	return o->kind != ORPHAN_MACHINE && !w->things;\n",
          "	return o->kind < ORPHAN_MACHINE && !w->things;\n")],
        "sweep"),

    # 10. Errors are data; retries have a pace.
    Mutation(
        "what fails is tried further and further apart", 10,
        [("src/reconcile/retry.c",
          "	return wait - (int64_t)random_below(r, (uint64_t)wait / 4 + "
          "1);\n",
          "	return (int64_t)random_below(r, (uint64_t)wait / wait);\n")],
        "retry engine"),
    Mutation(
        "a provider is asked no oftener than it allows", 10,
        [("src/reconcile/ledger.c",
          "	if (l->per_second && (have = credit(l, now)) < ONE)\n",
          "	if (l->per_second && (have = credit(l, now)) > ONE)\n")],
        "ledger engine"),
    Mutation(
        "a provider that is too busy is left alone", 10,
        [("src/reconcile/ledger.c",
          "	return when > l->blocked_until ? when : l->blocked_until;\n",
          "	return when;\n")],
        "ledger engine"),
    Mutation(
        "one that is full up can be asked to make room", 10,
        [("src/reconcile/ledger.c",
          "	       (err->code != ERR_NONE && !is_full_up(err) &&\n",
          "	       (err->code != ERR_NONE && err->code != ERR_RATE &&\n"),
         ("src/reconcile/ledger.c",
          "static bool is_full_up(const struct err *err)\n"
          "{\n"
          "	return err->code == ERR_CAPACITY || err->code == ERR_QUOTA;\n"
          "}\n", "")],
        "ledger", whole=False),
    Mutation(
        "news are followed no oftener than it is worth asking", 10,
        [("src/reconcile/machine.c",
          "	if (step->what == MACHINE_REST && v->now < next)\n",
          "	if (step->what == MACHINE_REST && next < 0)\n")],
        "reach", whole=False),

    # 11. Secrets.
    Mutation(
        "secrets are not shown", 11,
        [("src/base/field_encode.c",
          "	if (f->flags & FIELD_SECRET && view == FIELD_PUBLIC)\n",
          "	if (f->flags & FIELD_SECRET && view > FIELD_PUBLIC + 1000)\n")],
        "field secrets"),
    Mutation(
        "secrets are sealed at rest", 11,
        [("src/store/secret.c",
          "	if (c->has_secrets && s->conf.keys)\n",
          "	if (c->has_secrets && !s)\n")],
        "secrets"),
    Mutation(
        "what host keys follow from is a secret", 11,
        [("src/model/server.c",
          "	{\"hostKeySeed\", FIELD_STRING, FIELD_READ_ONLY | "
          "FIELD_SECRET,\n",
          "	{\"hostKeySeed\", FIELD_STRING, FIELD_READ_ONLY,\n")],
        "reach", whole=False),
    Mutation(
        "each root disk has a host key of its own", 11,
        [("src/model/server.c",
          "	snprintf(name, sizeof(name), \"host key/%lld\", "
          "(long long)disk);\n",
          "	snprintf(name, sizeof(name), \"host key/%d\", disk > 0);\n")],
        "reach", whole=False),
    Mutation(
        "what is packed has a ceiling", 11,
        [("src/base/gunzip.c",
          "		if (!buf_ok(out))\n"
          "			return Z_BUF_ERROR;\n", "")],
        "gunzip userdata", whole=False),
    Mutation(
        "an image names no other file", 11,
        [("src/provider/libvirt/qcow2.c",
          "	if (q->backing_at || q->backing_len)\n",
          "	if (q->backing_at && q->backing_at > q->file_len)\n")],
        "qcow2", whole=False),
    Mutation(
        "an image has its data in itself", 11,
        [("src/provider/libvirt/qcow2.c",
          "	if (q->data_file)\n",
          "	if (q->data_file && !q->size)\n")],
        "qcow2", whole=False),
    Mutation(
        "files are imported from one folder", 11,
        [("src/provider/libvirt/import.c",
          "	    strchr(path + len + 1, '/') || !path[len + 1])\n",
          "	    !path[len + 1])\n")],
        "images", whole=False),
    Mutation(
        "no link leads out of that folder", 11,
        [("src/provider/libvirt/import.c",
          "	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | "
          "O_NONBLOCK);\n",
          "	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);\n")],
        "images", whole=False),

    # 12. Acknowledged is durable.
    Mutation(
        "a write is answered when it is on the disk", 12,
        [("src/store/store.c",
          "	s->backend->ops->commit(s->backend, &s->batch);\n",
          "	finish_batch(s);\n"
          "	s->backend->ops->commit(s->backend, &s->batch);\n"),
         ("src/store/store.c",
          "	case BATCH_DONE:\n"
          "		finish_batch(s);\n",
          "	case BATCH_DONE:\n")],
        "sim"),
    Mutation(
        "a refusal is held until what it rests on is durable", 12,
        [("src/store/store.c",
          "	else if (t->rests_on > s->durable)\n"
          "		list_add(&s->held, &t->link);\n",
          "")],
        "sim"),
    Mutation(
        "a request that is repeated is done once", 12,
        [("src/api/key.c",
          "	if (c->key)\n"
          "		tx_remember(tx, c->key, c->digest, k, id);\n",
          "	if (c->key && !tx)\n"
          "		tx_remember(tx, c->key, c->digest, k, id);\n")],
        "sim nouns"),
    Mutation(
        "a key stands for one request", 12,
        [("src/api/key.c",
          "	if (strcmp(digest, c->digest) != 0)\n",
          "	if (strlen(digest) != strlen(c->digest))\n")],
        "sim nouns"),
    Mutation(
        "an event's id is told with the last of its revision", 12,
        [("src/api/watch.c",
          "	uint64_t id = e->last ? e->now.revision : 0;\n",
          "	uint64_t id = e->now.revision;\n")],
        "sim"),
    Mutation(
        "a watch that fell behind is told so", 12,
        [("src/store/history.c",
          "	*ret_gone = c->revision + 1 < s->history.first;\n",
          "	*ret_gone = false;\n"
          "	if (c->revision + 1 < s->history.first)\n"
          "		c->revision = s->history.first - 1;\n")],
        "backend_model sim"),
    Mutation(
        "what a snapshot needs is kept until it is over", 12,
        [("src/store/history.c",
          "		if (oldest->revision >=\n"
          "		    CONTAINER_OF(l, struct pin, link)->revision)\n"
          "			return false;\n",
          "		if (!oldest)\n"
          "			return false;\n")],
        "sim backend"),
    Mutation(
        "time does not go back in the log", 12,
        [("src/store/store.c",
          "	return steady_now(&s->time);\n",
          "	return clock_wall(s->conf.clock);\n")],
        "backend sim"),
    Mutation(
        "what a refused commit wrote is taken back", 12,
        [("src/store/store.c",
          "	while (s->newest > s->durable) {\n"
          "		change_undo(s, history_pop(s));\n"
          "		s->newest--;\n"
          "	}\n",
          "	s->durable = s->newest;\n")],
        "sim"),
]
