// libFuzzer target: any bytes are a lock file or an error with a place; what was read prints to the same
// again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "resolve/lock_file.h"

namespace {

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using mist::resolve::LockFile;
  const auto lock =
      LockFile::parse(std::string_view(reinterpret_cast<const char*>(data), size), "mistletoe.lock");
  if (!lock.ok()) {
    const mist::Error& e = lock.error();
    if (e.message.empty() || !e.where || e.where->file != "mistletoe.lock")
      fail("an error without message or place", e.to_line());
    return 0;
  }
  if (!lock->check_consistent().ok() && lock->packages().empty()) fail("nothing is inconsistent", "");
  const std::string printed = lock->to_text();
  const auto again = LockFile::parse(printed, "printed");
  if (!again.ok()) fail("the printed form can't be read", again.error().to_line() + "\n" + printed);
  if (again->to_text() != printed) fail("the printed form means something else", printed);
  return 0;
}
