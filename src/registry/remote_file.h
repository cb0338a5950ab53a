#pragma once
// A single file from the web: what a kustomization may name by its URL, and what chart repositories consist
// of. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "http/resolve.h"
#include "http/transport.h"
#include "registry/package_files.h"

namespace mist::registry {

/// http without TLS: to this machine alone, or wherever the user says so.
enum class PlainHttp : bool { ThisMachine, Everywhere };

/// How a file is reached, besides by https.
struct FileReach {
  PlainHttp plain = PlainHttp::ThisMachine;
  /// The chart repository, as the user named it, that leads to the file; it and its redirects lead where
  /// oci_reach.h lets them. Empty: the transport judges addresses.
  std::string repository = {};
  http::Resolver resolve = http::resolve_host;
};

/// Whether a request to `to`, where the answer from `from` leads, must be http::Request::public_only; `reach`
/// has a repository. Errors: Invalid (it may not lead there).
Result<bool> judged_hop(const FileReach& reach, std::string_view from, const std::string& to);

/// The fact of an error: the server answered that it doesn't give the file out, or led to where nobody may
/// follow, and would do so again.
struct FileRefused {};

/// Its content; nothing if the server has no such file, or only a page for people (HTML). Follows redirects.
/// Errors: Invalid (a URL that isn't https, or http to this machine; one that the repository may not lead to;
/// too large), Forbidden, both with FileRefused if the server said so; Retryable (network, a server that
/// fails, or takes longer than `most` bytes may), Timeout (of the context), Cancelled. `most`: bytes.
Result<std::optional<std::string>> fetch_remote_file(http::Transport& transport, const std::string& url,
                                                     const Context& context, const FileReach& reach = {},
                                                     std::uint64_t most = kMaxPackageBytes);

/// By what a server tells whether a file is still the same (RFC 9110, section 8.8).
struct FileValidators {
  std::string etag, last_modified;
  friend bool operator==(const FileValidators&, const FileValidators&) = default;
};

struct CheckedFile {
  std::optional<std::string> content;  ///< nothing: there is no such file, or it is unchanged
  bool unchanged = false;
  FileValidators validators = {};
};

/// The same, unless it is as `known` says.
Result<CheckedFile> fetch_changed_file(http::Transport& transport, const std::string& url,
                                       const FileValidators& known, const Context& context,
                                       const FileReach& reach = {}, std::uint64_t most = kMaxPackageBytes);

}  // namespace mist::registry
