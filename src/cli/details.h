/*
 * details - one document for the eye: a line for each field, in the order that
 * the server has, with names beside ids and ages beside times.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

void details_print(struct cli *c, const struct kind *k, const struct node *doc);
