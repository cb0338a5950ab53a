#pragma once
// The commit of a git checkout on this machine that a package's files are of. The bytes that were read are
// held against the commit's own objects, so that no filter, hook or setting of the checkout, which may be
// somebody else's, is run or believed. Any thread.

#include <optional>
#include <string>

#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"
#include "registry/package_files.h"

namespace mist::registry {

struct SourceCommit {
  std::string url;     ///< of the remote "origin", without credentials; empty: none, or a path of a machine
  std::string commit;  ///< in full
  std::string path;    ///< of the package in the repository; empty: its top
  bool clean = false;  ///< the package's files are those of the commit
};

/// `source`: the file or directory that `content` was read from, absolute. Files in charts/ that the commit
/// lacks don't count if it has Chart.lock, which names them. Nothing: it is in no checkout. Errors: of Git
/// (no git program, no commit yet), of PackageModule::bytes.
Result<std::optional<SourceCommit>> source_commit(const FileSystem& files, ProcessRunner& processes,
                                                  const Path& source, const PackageContent& content,
                                                  const Context& context);

}  // namespace mist::registry
