#pragma once
// GitUrl: an address that we let git talk to. https and ssh (also as "git@host:path"); file:// and plain
// paths, which mean the same; http only to this machine. Everything else (git://, ext::, an option in
// disguise) is refused before git sees it. A plain value; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "http/resolve.h"

namespace mist::registry {

class GitUrl {
 public:
  enum class Transport { Https, Ssh, File, LoopbackHttp };

  /// A relative path becomes absolute below `directory`. Errors: Invalid, with what is possible as hint; the
  /// message shows no credentials.
  static Result<GitUrl> parse(std::string_view text, const Path& directory);

  const std::string& text() const { return text_; }  ///< as git takes it; may carry credentials
  std::string display() const;                       ///< without credentials
  Transport transport() const { return transport_; }
  /// Without user and port, IPv6 in brackets; empty: a path of this machine.
  std::string_view host() const;
  /// git's name of the protocol, for `protocol.<name>.allow`.
  std::string_view protocol() const;

  /// The same address for one that a package names: https, at a host whose addresses are all public. git is
  /// told to use those and no others, and to follow no redirects, so that nobody can have another answer by
  /// the time it asks. Errors: Forbidden; of `resolve`.
  Result<GitUrl> limited_to_public(const http::Resolver& resolve) const;
  bool public_only() const { return public_only_; }
  /// The same address, from which git follows no redirects: where they lead, nobody has judged.
  GitUrl without_redirects() const;
  /// git's settings for calls to it: "http.followRedirects=false".
  const std::vector<std::string>& settings() const { return settings_; }

 private:
  GitUrl(std::string text, Transport transport) : text_(std::move(text)), transport_(transport) {}
  std::string text_;
  Transport transport_;
  std::vector<std::string> settings_;
  bool public_only_ = false;
};

/// True if the host of the URL is this machine: nobody on the way could change what it delivers.
bool is_this_machine(std::string_view url);

/// A branch, tag or commit that may be given to git: no option, no range, no refspec.
bool is_git_ref(std::string_view text);
/// 40 or 64 lower-case hexadecimal digits.
bool is_commit(std::string_view text);

}  // namespace mist::registry
