#pragma once
// Names of things in an OCI registry. Plain values; any thread.
//
//   oci://<host>[:<port>]/<path>[:<tag or version range>][@sha256:<digest>]
//
// Paths and tags are those of the distribution specification ("Pulling manifests"). A version may be written
// with its '+', which no tag can hold (tags.h). A range is told from a tag by a character that no tag has, or
// by ".x" at its end: ^1.4, ~1.4.2, 1.4.x, ">=1.2 <2", *.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/digest.h"

namespace mist::oci {

inline constexpr std::string_view kScheme = "oci://";

struct Repository {
  std::string host;  ///< lower case, with the port where one is written: "registry.example:5000"
  std::string path;  ///< "team/shop"
  /// A package from elsewhere chose it: all requests to it are http::Request::public_only.
  bool public_only = false;

  /// "oci://host/path". Errors: Invalid, also for a tag or digest behind it.
  static Result<Repository> parse(std::string_view text);

  std::string name() const { return path.substr(path.rfind('/') + 1); }  ///< the last segment of the path
  std::string host_name() const;  ///< without its port: "registry.example", "[::1]"
  std::string str() const;        ///< "oci://host/path"
  /// The same text for each way to write the repository: see canonical_host. Trust is decided by it.
  std::string identity() const;
  friend bool operator==(const Repository&, const Repository&) = default;
};

/// A tag, a range or a digest is there, or two of them.
struct Reference {
  Repository repository;
  std::string tag;                       ///< as the registry has it: '_' for '+'; empty: none
  std::string range;                     ///< that SemVerRange::parse accepts; empty: none. Never beside a tag
  std::optional<crypto::Digest> digest;  ///< of the manifest; it decides, whatever the tag points to

  /// Errors: Invalid, saying which part is wrong and how it is written.
  static Result<Reference> parse(std::string_view text);
  /// The same, but neither tag nor digest need to be there.
  static Result<Reference> parse_destination(std::string_view text);

  /// `parse` reads it back to an equal reference.
  std::string str() const;
  friend bool operator==(const Reference&, const Reference&) = default;
};

/// The beginning of repositories, "oci://host" or "oci://host/path", without slashes at its end. Errors:
/// Invalid, also for a tag, a range or a digest behind it.
Result<std::string> parse_prefix(std::string_view text);

/// "host" or "host:port", as `login` takes it; "https://host/" gives "host". Errors: Invalid.
Result<std::string> parse_host(std::string_view text);

/// Why a host, in lower case and with its port where there is one, is none; empty: it is one.
std::string host_objection(std::string_view host);
/// Whether it can stand between the slashes of a repository's path.
bool is_path_segment(std::string_view text);

/// True for 127.0.0.0/8, ::1 and localhost, with or without a port.
bool is_loopback_host(std::string_view host);

/// Other names of Docker Hub, docker.io.
inline constexpr std::string_view kDockerHubNames[] = {"index.docker.io", "registry-1.docker.io",
                                                       "registry.hub.docker.com"};
/// One of the ways to write a host: in lower case, without the port that https or http stands for or zeros
/// before another one, and docker.io for all names of Docker Hub.
std::string canonical_host(std::string_view host);

/// The host that serves the API: Docker Hub has another than its name.
std::string api_host(std::string_view host);

}  // namespace mist::oci
