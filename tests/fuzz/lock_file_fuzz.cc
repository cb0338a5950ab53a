// mistletoe.lock: any bytes are a lock file or an error with a place; what was read prints to the same again.
#include "resolve/lock_file.h"

#include "targets.h"

namespace mist::fuzz {

void lock_file(std::string_view bytes) {
  using resolve::LockFile;
  const auto lock = LockFile::parse(bytes, "mistletoe.lock");
  if (!lock.ok()) {
    const Error& e = lock.error();
    if (e.message.empty() || !e.where || e.where->file != "mistletoe.lock")
      fail("an error without message or place", e.to_line());
    return;
  }
  if (!lock->check_consistent().ok() && lock->packages().empty()) fail("nothing is inconsistent", "");
  const std::string printed = lock->to_text();
  const auto again = LockFile::parse(printed, "printed");
  if (!again.ok()) fail("the printed form can't be read", again.error().to_line() + "\n" + printed);
  if (again->to_text() != printed) fail("the printed form means something else", printed);
}

}  // namespace mist::fuzz
