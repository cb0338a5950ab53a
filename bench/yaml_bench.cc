// MB/s of our YAML reader and printer over one file, beside libyaml's bare event loop, which is what reading
// costs at least. Usage: yaml_bench FILE SECONDS

#include <yaml.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/fs.h"
#include "encoding/yaml.h"

namespace {

double rate(std::size_t size, double seconds, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();
  const auto began = Clock::now();
  double passed = 0;
  int runs = 0;
  while (passed < seconds) {
    work();
    ++runs;
    passed = std::chrono::duration<double>(Clock::now() - began).count();
  }
  return static_cast<double>(size) * runs / passed / 1e6;
}

void bare_events(const std::string& text) {
  yaml_parser_t parser;
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  bool done = false;
  while (!done) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) == 0) std::abort();
    done = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: yaml_bench FILE SECONDS\n");
    return 2;
  }
  const auto text = mist::HostFileSystem().read(argv[1]);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.error().to_line().c_str());
    return 1;
  }
  const double seconds = std::atof(argv[2]);
  const auto value = mist::encoding::parse_yaml(*text);
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.error().to_line().c_str());
    return 1;
  }
  std::printf("events %.1f\n", rate(text->size(), seconds, [&] { bare_events(*text); }));
  std::printf("parse %.1f\n", rate(text->size(), seconds, [&] { (void)mist::encoding::parse_yaml(*text); }));
  std::printf("print %.1f\n", rate(text->size(), seconds, [&] { (void)mist::encoding::to_yaml(*value); }));
  return 0;
}
