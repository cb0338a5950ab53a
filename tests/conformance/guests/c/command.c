/* The namespace package as an ABI v1 command in C: JSON on standard input, plain Kubernetes YAML on standard
 * output, and the other way to fail: a non-zero exit code with the message on standard error. */
#include <stdio.h>

#include "json.h"

enum { max_input = 1 << 20 };

static char input[max_input];

int main(void) {
  const size_t length = fread(input, 1, sizeof input, stdin);
  if (length == sizeof input) {
    fprintf(stderr, "the input document has 1 MiB or more, and this package takes less\n");
    return 1;
  }
  const struct json_slice document = {input, length};
  const struct json_slice name = json_member(json_member(document, "data"), "name");
  if (!json_is_string(name)) {
    fprintf(stderr, "the input document has no text at data.name\n");
    return 1;
  }
  printf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %.*s\n", (int)name.length, name.text);
  return 0;
}
