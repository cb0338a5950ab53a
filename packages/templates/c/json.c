#include "json.h"

#include <string.h>

/* Deeper documents are refused instead of recursing towards the end of the stack. */
enum { max_depth = 256 };

struct reader {
  const char* at;
  const char* end;
};

static void skip_space(struct reader* r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) r->at++;
}

static int take(struct reader* r, char expected) {
  skip_space(r);
  if (r->at == r->end || *r->at != expected) return 0;
  r->at++;
  return 1;
}

static int skip_string(struct reader* r) {
  if (!take(r, '"')) return 0;
  while (r->at < r->end && *r->at != '"') {
    if (*r->at == '\\') r->at++;
    if (r->at < r->end) r->at++;
  }
  return take(r, '"');
}

static int skip_value(struct reader* r, int depth);

static int skip_list(struct reader* r, char close, int depth) {
  if (take(r, close)) return 1;
  do {
    if (close == '}' && !(skip_string(r) && take(r, ':'))) return 0;
    if (!skip_value(r, depth + 1)) return 0;
  } while (take(r, ','));
  return take(r, close);
}

static int skip_value(struct reader* r, int depth) {
  if (depth > max_depth) return 0;
  if (take(r, '{')) return skip_list(r, '}', depth);
  if (take(r, '[')) return skip_list(r, ']', depth);
  if (r->at < r->end && *r->at == '"') return skip_string(r);
  const char* begin = r->at;
  while (r->at < r->end && !strchr(",]} \t\r\n", *r->at)) r->at++;
  return r->at > begin;
}

struct json_slice json_member(struct json_slice object, const char* key) {
  const struct json_slice none = {NULL, 0};
  const size_t key_length = strlen(key);
  if (!object.text) return none;
  struct reader r = {object.text, object.text + object.length};
  if (!take(&r, '{')) return none;
  do {
    skip_space(&r);
    const char* found = r.at;
    if (!skip_string(&r)) return none;
    const size_t found_length = (size_t)(r.at - found) - 2;
    if (!take(&r, ':')) return none;
    skip_space(&r);
    const char* value = r.at;
    if (!skip_value(&r, 0)) return none;
    if (found_length == key_length && memcmp(found + 1, key, key_length) == 0)
      return (struct json_slice){value, (size_t)(r.at - value)};
  } while (take(&r, ','));
  return none;
}

int json_is_string(struct json_slice value) { return value.text && value.length >= 2 && *value.text == '"'; }
