// SPDX-License-Identifier: GPL-2.0
/*
 * Values of options, and the commands for a module that are made of them. A wrong value ends the
 * tool.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

/* Add "key=value" to a command for a module */
void append(char *line, size_t len, const char *key, const char *value)
{
	size_t at = strlen(line);

	if ((size_t)snprintf(line + at, len - at, "%s%s=%s", at ? " " : "", key, value) >=
	    len - at)
		die(EXIT_USAGE, "the options are too long");
}

static bool is_number(const char *text, unsigned long long min, unsigned long long max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno && n >= min && n <= max;
}

static bool is_one_of(const char *text, const char * const *names)
{
	while (*names && strcmp(*names, text))
		names++;
	return *names;
}

/* Check a value that is not a list. The module takes it as one word */
static void check_word(const struct value *v, const char *arg, const struct argp_state *state)
{
	if (!*arg || strlen(arg) > v->most || strpbrk(arg, " \t\n"))
		argp_error(state, "--%s: expected one word, got \"%s\"", v->name, arg);
}

static void check_list(const struct value *v, const char *arg, const struct argp_state *state)
{
	char *copy = strdup(arg), *rest = copy, *item;
	unsigned int n = 0;

	if (!copy)
		die(EXIT_ENVIRONMENT, "out of memory");
	while ((item = strsep(&rest, ","))) {
		if (v->names && !is_one_of(item, v->names))
			argp_error(state, "--%s: \"%s\" is unknown", v->name, item);
		if (!v->names && !is_number(item, v->min, v->max))
			argp_error(state, "--%s: expected a number from %llu to %llu, got \"%s\"",
				   v->name, v->min, v->max, item);
		if (v->most && ++n > v->most)
			argp_error(state, "--%s: at most %u values are allowed", v->name,
				   v->most);
	}
	free(copy);
}

/*
 * Check the value of an option, and add it to the command for the module. Returns false if the
 * table lacks the option.
 */
bool take_value(const struct value *v, int opt, const char *arg, const struct argp_state *state,
		char *line, size_t len)
{
	while (v->opt && v->opt != opt)
		v++;
	if (!v->opt)
		return false;
	if (v->names || v->max)
		check_list(v, arg, state);
	else
		check_word(v, arg, state);
	if (v->key)
		append(line, len, v->key, arg);
	return true;
}
