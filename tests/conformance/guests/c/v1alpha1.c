/* The namespace package in ABI v1alpha1 in C, as a reactor: it exports _initialize, and imports nothing,
 * because nothing of wasi-libc that it uses needs the system. Reads its input as JSON, which a host may
 * always send, as JSON is YAML. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* How a text crosses the border: two little-endian u32. */
struct text {
  const char* address;
  uint32_t length;
};
_Static_assert(sizeof(struct text) == 8, "the host reads two u32");

/* What a host shows without running anything; the host reads it from the module's bytes. */
__asm__(
    ".section .custom_section.mistletoe.package,\"\",@\n"
    ".ascii \"{\\\"apiVersion\\\":\\\"mistletoe.dev/v1\\\",\\\"kind\\\":\\\"MistPackage\\\",\"\n"
    ".ascii "
    "\"\\\"metadata\\\":{\\\"name\\\":\\\"namespace-example\\\"},\\\"spec\\\":{\\\"version\\\":\\\"0.1.2\\\"}"
    "}\"\n"
    ".text\n");

static const char info_document[] =
    "apiVersion: mistletoe.dev/v1alpha1\n"
    "kind: MistPackage\n"
    "metadata:\n"
    "  name: namespace-example\n"
    "  labels:\n"
    "    mistletoe.dev/group: mistletoe-examples\n";
static const struct text info_text = {info_document, sizeof info_document - 1};

static const char no_name[] =
    "apiVersion: mistletoe.dev/v1alpha1\n"
    "kind: MistResult\n"
    "data:\n"
    "  result: Err\n"
    "  message: the input document has no text at data.name\n";
static const char before_name[] =
    "apiVersion: mistletoe.dev/v1alpha1\n"
    "kind: MistResult\n"
    "data:\n"
    "  result: Ok\n"
    "  files:\n"
    "    namespace.yaml: |\n"
    "      apiVersion: v1\n"
    "      kind: Namespace\n"
    "      metadata:\n"
    "        name: ";

EXPORT("__mistletoe_info") const struct text* info(void) { return &info_text; }

EXPORT("__mistletoe_alloc") void* alloc(uint32_t length) { return malloc(length ? length : 1); }

EXPORT("__mistletoe_dealloc") void dealloc(void* address, uint32_t length) {
  (void)length;
  free(address);
}

EXPORT("__mistletoe_generate") const struct text* generate(const char* input, uint32_t length) {
  static struct text result;
  const struct json_slice document = {input, length};
  struct json_slice name = json_member(json_member(document, "data"), "name");
  const char* prefix = before_name;
  if (!json_is_string(name)) {
    prefix = no_name;
    name = (struct json_slice){"", 0};
  }
  const size_t prefix_length = strlen(prefix);
  char* text = malloc(prefix_length + name.length + 1);
  if (!text) __builtin_trap();
  memcpy(text, prefix, prefix_length);
  memcpy(text + prefix_length, name.text, name.length);
  text[prefix_length + name.length] = '\n';
  result = (struct text){text, (uint32_t)(prefix_length + name.length + 1)};
  return &result;
}
