#pragma once
// Whether only this user can change what a directory holds: its owner and mode, and those of every directory
// that leads there. A file below a directory that somebody else may write to is that person's file, whatever
// its own owner says, since they can put another in its place. The rule is that of OpenSSH's StrictModes,
// carried up to the root. Any thread.

#include "base/fs.h"

namespace mist {

/// Whom a directory may belong to, beside root.
struct SafeOwners {
  unsigned user = 0;  ///< the user that this process runs as
  unsigned also = 0;  ///< the user who ran sudo (as git trusts SUDO_UID); `user`, if nobody did
  static SafeOwners of_process();
};

/// Succeeds when every directory on the way to `path` (absolute), links resolved, belongs to one of `owners`
/// or to root, and nobody else may write into it. Allowed beside that: sticky directories such as /tmp on the
/// way, as long as the next step belongs to one of `owners`; and writing by root's group or by the user's own
/// private group (named as the user, without other members, no access list). The check ends at the first part
/// that doesn't exist; in a sticky directory that is made (mode 0700) first, else somebody else could make
/// it. Errors: Forbidden (which directory, why), and those of FileSystem.
Status check_safe_directory(const Path& path, const SafeOwners& owners = SafeOwners::of_process());

/// The same of a file: also of its own owner and mode, and of those of what a link leads to. A file that
/// isn't there is as safe as its directory. Succeeds for what is no regular file, and on a disk that is
/// mounted read-only, such as a ConfigMap's volume, whose modes say nothing. Same errors.
Status check_safe_file(const Path& path, const SafeOwners& owners = SafeOwners::of_process());

}  // namespace mist
