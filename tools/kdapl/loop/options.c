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

/* A number from @min to @max; exits if it is none */
unsigned long long parse_number(const char *option, const char *text, unsigned long long min,
				unsigned long long max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno || n < min || n > max)
		die(EXIT_USAGE, "%s: expected a number from %llu to %llu, got \"%s\"", option,
		    min, max, text);
	return n;
}

/* The module takes a value as one word, so it must have no white space */
void check_word(const char *option, const char *text, size_t max)
{
	if (!*text || strlen(text) >= max || strpbrk(text, " \t\n"))
		die(EXIT_USAGE, "%s: expected one word, got \"%s\"", option, text);
}

/* Add "key=value" to a command for a module */
void append(char *line, size_t len, const char *key, const char *value)
{
	size_t at = strlen(line);

	if ((size_t)snprintf(line + at, len - at, "%s%s=%s", at ? " " : "", key, value) >=
	    len - at)
		die(EXIT_USAGE, "the options are too long");
}
