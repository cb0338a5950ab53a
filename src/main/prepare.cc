// mist-prepare MODULE OUTPUT: runs the start-up of an engine once and writes the module that begins behind it
// (wasm/snapshot.h). A tool of the build; a module without mistletoe_prepare is copied.

#include <cstdio>
#include <span>
#include <string>

#include "base/event.h"
#include "base/fs.h"
#include "wasm/snapshot.h"

namespace {

mist::Status run(const mist::Path& from, const mist::Path& to) {
  mist::HostFileSystem files;
  MIST_TRY(std::string module, files.read(from));
  mist::NullEventSink events;
  mist::wasm::RuntimeOptions runtime_options;
  runtime_options.stack_bytes = std::size_t{4} << 20;
  MIST_TRY(mist::wasm::Runtime runtime, mist::wasm::Runtime::create(runtime_options, events));
  mist::wasm::SnapshotOptions options;
  options.limits.guest_time = std::chrono::seconds(60);
  options.limits.memory_bytes = std::uint64_t{512} << 20;
  options.again = mist::wasm::PrepareAgain::Yes;
  // Not a memory of the name: the bytes of the export section.
  if (module.find(options.function) != std::string::npos) {
    MIST_TRY(module, mist::wasm::prepare_module(runtime, std::as_bytes(std::span(module)),
                                                from.filename().string(), options, mist::Context()));
  }
  return files.write(to, module);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: mist-prepare MODULE OUTPUT\n", stderr);
    return 2;
  }
  const mist::Status status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "mist-prepare: %s\n", status.error().to_line().c_str());
  return 1;
}
