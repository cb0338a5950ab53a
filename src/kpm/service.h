#pragma once
// An archive that is a central service (mistletoe-catalog): an index that is fetched with one conditional
// request, and packages by their digest, which are kept for ever. The last answers are kept on this machine:
//
//   index.json   what the service answered
//   etag         what it called that
//   blobs/<hex>  packages that were used
//
// Any thread, many processes.

#include <string>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "http/transport.h"
#include "kpm/k3.h"
#include "registry/package_files.h"

namespace mist::kpm {

struct ServiceKube {
  K3 k3;
  std::string digest;  ///< "sha256:…"
  bool yanked = false;
  std::string yank_reason = {};  ///< empty: none was given
};

struct ServiceIndex {
  std::vector<ServiceKube> kubes;
  /// Of entries that can't be read, which are left out: the first of them. Each has the detail BrokenKube.
  std::vector<Error> problems;
  std::size_t unread = 0;  ///< how many those are
};

/// Invalid: it isn't the address of a service. http is only for this machine: nobody there changes what
/// comes.
Result<std::string> service_url(std::string_view text);

class Service {
 public:
  Service(FileSystem& files, Path directory, std::string url)
      : files_(files), directory_(std::move(directory)), url_(std::move(url)) {}

  /// Failed or killed, the last index stays. Errors: of the transport; NotFound, Invalid: no such service
  /// there; Retryable: it can't answer now.
  Status update(http::Transport& transport, const Context& context) const;
  /// As of the last update. NotFound: there was none. `name` is the archive's.
  Result<ServiceIndex> index(const std::string& name) const;
  /// From this machine, or else from the service. Invalid: other bytes than the digest says.
  Result<registry::PackageContent> package(const std::string& digest, http::Transport& transport,
                                           const Context& context) const;

 private:
  Result<http::Response> get(http::Transport& transport, const std::string& path, http::Headers headers,
                             std::uint64_t limit, const Context& context) const;

  FileSystem& files_;
  Path directory_;
  std::string url_;
};

}  // namespace mist::kpm
