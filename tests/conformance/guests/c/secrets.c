/* Asks the host for secrets (ABI v1, module mistletoe_v1) and prints them as one Secret; the guests in Go and
 * Rust print the same bytes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

#define IMPORT(name) __attribute__((import_module("mistletoe_v1"), import_name(name)))

IMPORT("request") uint32_t host_request(const char* address, uint32_t length);
IMPORT("response") void host_response(char* address);

enum { max_text = 1 << 16 };

static char input[max_text];
static char answer[max_text];

struct secret {
  const char* key;
  const char* request;
};

static const struct secret secrets[] = {
    {"db", "{\"op\":\"secret.get\",\"name\":\"db\",\"kind\":\"password\"}"},
    {"strong",
     "{\"op\":\"secret.get\",\"name\":\"strong\",\"kind\":\"password\",\"length\":12,"
     "\"alphabet\":\"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%+-_\","
     "\"require\":[\"lower\",\"upper\",\"digit\",\"symbol\"]}"},
    {"token", "{\"op\":\"secret.get\",\"name\":\"token\",\"kind\":\"hex\",\"length\":40}"},
    {"salt", "{\"op\":\"secret.get\",\"name\":\"salt\",\"kind\":\"base64\",\"length\":16}"},
    {"id", "{\"op\":\"secret.get\",\"name\":\"id\",\"kind\":\"uuid\"}"},
    {"key", "{\"op\":\"secret.get\",\"name\":\"key\",\"kind\":\"ed25519\"}"},
};

/* The value of a secret as JSON has it, quotes included, which is a YAML scalar too. */
static struct json_slice ask(const char* request) {
  const uint32_t length = host_request(request, (uint32_t)strlen(request));
  const struct json_slice none = {NULL, 0};
  if (length > sizeof answer) return none;
  host_response(answer);
  const struct json_slice document = {answer, length};
  return json_member(json_member(document, "ok"), "value");
}

int main(void) {
  const struct json_slice document = {input, fread(input, 1, sizeof input, stdin)};
  const struct json_slice name = json_member(json_member(document, "data"), "name");
  if (!json_is_string(name)) {
    fprintf(stderr, "the input document has no text at data.name\n");
    return 1;
  }
  printf("apiVersion: v1\nkind: Secret\nmetadata:\n  name: %.*s\nstringData:\n", (int)name.length, name.text);
  for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
    const struct json_slice value = ask(secrets[i].request);
    if (!json_is_string(value)) {
      fprintf(stderr, "the host gave no secret %s\n", secrets[i].key);
      return 1;
    }
    printf("  %s: %.*s\n", secrets[i].key, (int)value.length, value.text);
  }
  return 0;
}
