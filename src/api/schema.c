#include "api/schema.h"

#include <string.h>

#include "base/field_ops.h"

static void add_string(struct buf *out, const char *s)
{
	json_add_string(out, s, strlen(s));
}

static void add_type(struct buf *out, const char *type, enum schema_use use)
{
	if (use == SCHEMA_PATCH)
		buf_addf(out, "\"type\":[\"%s\",\"null\"]", type);
	else
		buf_addf(out, "\"type\":\"%s\"", type);
}

/* The limits bind what is asked for; what is answered may be older. */
static void add_text(const struct field *f, enum schema_use use,
		     struct buf *out)
{
	add_type(out, "string", use);
	if (use == SCHEMA_READ && !f->format)
		return;
	if (f->format && f->format->name)
		buf_addf(out, ",\"format\":\"%s\"", f->format->name);
	if (f->format && f->format->pattern) {
		buf_adds(out, ",\"pattern\":");
		add_string(out, f->format->pattern);
	}
	if (f->min)
		buf_addf(out, ",\"minLength\":%lld", (long long)f->min);
	buf_addf(out, ",\"maxLength\":%lld",
		 (long long)(f->max ? f->max : FIELD_STRING_MOST));
}

static void add_enum(const struct field *f, enum schema_use use,
		     struct buf *out)
{
	add_type(out, "string", use);
	buf_adds(out, ",\"enum\":[");
	for (int i = 1; f->names[i]; i++) {
		buf_adds(out, i > 1 ? "," : "");
		add_string(out, f->names[i]);
	}
	buf_adds(out, use == SCHEMA_PATCH ? ",null]" : "]");
}

static void add_int(const struct field *f, enum schema_use use, struct buf *out)
{
	add_type(out, "integer", use);
	if (f->min || f->max)
		buf_addf(out, ",\"minimum\":%lld,\"maximum\":%lld",
			 (long long)f->min, (long long)f->max);
}

static void add_tags(enum schema_use use, struct buf *out)
{
	add_type(out, "object", use);
	buf_addf(out, ",\"maxProperties\":%d,\"propertyNames\":{\"pattern\":",
		 FIELD_TAGS_MOST);
	add_string(out, format_tag.pattern);
	buf_adds(out, "},\"additionalProperties\":{");
	add_type(out, "string", use);
	buf_adds(out, ",\"maxLength\":256}");
}

static void add_value(const struct field *f, enum schema_use use,
		      struct buf *out);

static void add_list(const struct field *f, enum schema_use use,
		     struct buf *out)
{
	struct field item = *f;

	item.type = f->item;
	item.min = item.max = 0;
	add_type(out, "array", use);
	buf_addf(out, ",\"maxItems\":%lld,\"items\":{",
		 (long long)(f->max ? f->max : FIELD_LIST_MOST));
	add_value(&item, use == SCHEMA_PATCH ? SCHEMA_CREATE : use, out);
	buf_addc(out, '}');
}

static void add_members(const struct field *fields, enum schema_use use,
			struct buf *out);

static void add_value(const struct field *f, enum schema_use use,
		      struct buf *out)
{
	switch (f->type) {
	case FIELD_STRING:
		add_text(f, use, out);
		break;
	case FIELD_INT:
		add_int(f, use, out);
		break;
	case FIELD_BOOL:
		add_type(out, "boolean", use);
		break;
	case FIELD_TIME:
		add_type(out, "string", use);
		buf_adds(out, ",\"format\":\"date-time\"");
		break;
	case FIELD_ENUM:
		add_enum(f, use, out);
		break;
	case FIELD_RAW:
		add_type(out, "object", use);
		break;
	case FIELD_TAGS:
		add_tags(use, out);
		break;
	case FIELD_LIST:
		add_list(f, use, out);
		break;
	case FIELD_OBJECT:
		add_members(f->fields, use, out);
		break;
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

static bool is_shown(const struct field *f, enum schema_use use)
{
	if (use == SCHEMA_READ)
		return !(f->flags & FIELD_SECRET);
	return use != SCHEMA_CREATE || !(f->flags & FIELD_READ_ONLY);
}

static bool is_required(const struct field *f, enum schema_use use)
{
	if (use == SCHEMA_PATCH)
		return false;
	if (use == SCHEMA_READ)
		return strcmp(f->name, "id") == 0 ||
		       strcmp(f->name, "revision") == 0 ||
		       f->flags & FIELD_REQUIRED;
	if (use == SCHEMA_REPLACE &&
	    f->flags & (FIELD_IMMUTABLE | FIELD_SECRET))
		return false;
	return f->flags & FIELD_REQUIRED && !f->fallback;
}

static void add_property(const struct field *f, enum schema_use use,
			 struct buf *out)
{
	add_string(out, f->name);
	buf_adds(out, ":{");
	add_value(f, use, out);
	if (f->doc) {
		buf_adds(out, ",\"description\":");
		add_string(out, f->doc);
	}
	if (f->flags & FIELD_READ_ONLY)
		buf_adds(out, ",\"readOnly\":true");
	if (f->flags & FIELD_SECRET)
		buf_adds(out, ",\"writeOnly\":true");
	if (f->fallback)
		buf_addf(out, ",\"default\":%s", f->fallback);
	if (f->refers)
		buf_addf(out, ",\"x-refers-to\":\"%s\"", f->refers);
	if (f->flags & FIELD_IMMUTABLE)
		buf_adds(out, ",\"x-immutable\":true");
	buf_addc(out, '}');
}

static void add_members(const struct field *fields, enum schema_use use,
			struct buf *out)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	struct buf required = BUF_INIT(4096);
	bool first = true;

	add_type(out, "object", use);
	buf_adds(out, ",\"additionalProperties\":false,\"properties\":{");
	while ((f = field_walk_next(&w, NULL))) {
		if (!is_shown(f, use))
			continue;
		if (!first)
			buf_addc(out, ',');
		first = false;
		add_property(f, use, out);
		if (is_required(f, use))
			buf_addf(&required, "%s\"%s\"", required.len ? "," : "",
				 f->name);
	}
	buf_addc(out, '}');
	if (required.len)
		buf_addf(out, ",\"required\":[%s]", required.data);
	buf_release(&required);
}

void schema_write(const struct field *fields, enum schema_use use,
		  struct buf *out)
{
	buf_addc(out, '{');
	add_members(fields, use, out);
	buf_addc(out, '}');
}
