/* Enough of a JSON reader (RFC 8259) for a package in C: finds one string in a document. */
#pragma once

#include <stddef.h>

/* The place of a value inside a document. `text` is NULL when there is none. */
struct json_slice {
  const char* text;
  size_t length;
};

/* The value of `key` in the object at `object`; an empty slice when `object` is not an object or lacks the
 * key. Of keys that are written with escapes only the plain spelling is found. */
struct json_slice json_member(struct json_slice object, const char* key);

/* Whether `value` is a string. Its slice, quotes included, is itself a YAML scalar for the same text. */
int json_is_string(struct json_slice value);
