#pragma once
// The options of mistletoe-operator, from flags and a configuration file. Any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "package/renderer_options.h"

namespace mist::operator_ {

struct Options {
  std::string kubeconfig, context, ns, listen, otlp_endpoint, default_account;
  std::string releases, release_selector;
  std::string lease_duration = "15s", release_workers = "16", workers = "8", log_format = "text";
  std::vector<std::string> watch_namespaces;  ///< empty: all
  std::string webhook_listen, webhook_service = "mistletoe-operator", webhook_url;
  std::string webhook_certificate, webhook_key, webhook_authority;
  std::string memory_limit, time_limit;  ///< empty: the usual ones of engines and packages
  bool elect = false, sharding = false, verbose = false, version = false, help = false, crds = false;

  // Of texts that parse_options() has looked at.
  Duration term() const;
  int release_worker_count() const;
  int worker_count() const;
  bool logs_json() const { return log_format == "json"; }
  /// Of packages and engines, for which hints of errors then name these flags and no others.
  void set_limits(package::RendererOptions& renderer) const;
};

/// The text of `--help`.
std::string_view usage();

/// `--config FILE` is read first, and flags count over it. The file is YAML: `apiVersion: mistletoe.dev/v1`,
/// `kind: OperatorConfig`, and the flags' names in camel case (`leaderElect: true`). Errors: Usage (a flag
/// that isn't known, a value that isn't one), Invalid (the file, with its line), of FileSystem.
Result<Options> parse_options(std::span<const std::string_view> arguments, const FileSystem& files);

}  // namespace mist::operator_
