/* A small web server: a Deployment and its Service. A package is a program that reads one JSON document from
 * standard input and prints objects. If it ends with another code than 0, what it wrote to standard error is
 * the reason. */
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

enum { max_input = 1 << 20 };

static char input[max_input];

/* As mistletoe.yaml describes them; the host has checked them and put the defaults in. A slice of JSON is
 * YAML for the same value, quotes included, so that no input can change the structure of what is printed. */
struct inputs {
  struct json_slice name, replicas, image, service_type;
};

static struct json_slice required(struct json_slice data, const char* key) {
  const struct json_slice value = json_member(data, key);
  if (value.text == NULL) {
    fprintf(stderr, "the input document has no data.%s\n", key);
    exit(1);
  }
  return value;
}

static void print_value(const char* before, struct json_slice value) {
  printf("%s%.*s\n", before, (int)value.length, value.text);
}

/* They find the Pods: a Deployment's selector can't change, so these stay as they are for ever. */
static void print_labels(const char* indent, const struct inputs* in) {
  printf("%sapp.kubernetes.io/name: my-package\n%s", indent, indent);
  print_value("app.kubernetes.io/instance: ", in->name);
}

static void print_deployment(const struct inputs* in) {
  puts("apiVersion: apps/v1\nkind: Deployment\nmetadata:");
  print_value("  name: ", in->name);
  puts("  labels:");
  print_labels("    ", in);
  puts("spec:");
  print_value("  replicas: ", in->replicas);
  puts("  selector:\n    matchLabels:");
  print_labels("      ", in);
  puts("  template:\n    metadata:\n      labels:");
  print_labels("        ", in);
  puts(
      "    spec:\n"
      "      securityContext:\n"
      "        runAsNonRoot: true\n"
      "        seccompProfile: {type: RuntimeDefault}\n"
      "      containers:\n"
      "      - name: web");
  print_value("        image: ", in->image);
  puts(
      "        ports: [{name: http, containerPort: 8080}]\n"
      "        readinessProbe: {httpGet: {path: /, port: http}}\n"
      "        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}\n"
      "        resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 64Mi}}");
}

static void print_service(const struct inputs* in) {
  puts("---\napiVersion: v1\nkind: Service\nmetadata:");
  print_value("  name: ", in->name);
  puts("  labels:");
  print_labels("    ", in);
  puts("spec:");
  print_value("  type: ", in->service_type);
  puts("  selector:");
  print_labels("    ", in);
  puts("  ports: [{name: http, port: 80, targetPort: http}]");
}

int main(void) {
  const size_t length = fread(input, 1, sizeof input, stdin);
  if (length == sizeof input) {
    fprintf(stderr, "the input document has 1 MiB or more, and this package takes less\n");
    return 1;
  }
  const struct json_slice document = {input, length};
  const struct json_slice data = json_member(document, "data");
  const struct inputs in = {
      .name = required(data, "name"),
      .replicas = required(data, "replicas"),
      .image = required(data, "image"),
      .service_type = required(data, "serviceType"),
  };
  print_deployment(&in);
  print_service(&in);
  return 0;
}
