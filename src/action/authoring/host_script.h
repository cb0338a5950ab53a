#pragma once
// Runs the script of a Kube that the sandbox can't run: the host's Python inside bubblewrap, which sees the
// system's programs and the Kube's files, has no network, and may write to a copy of manifests/ and nothing
// else. The user's consent is remembered by the digest of all files of the Kube, so that one changed byte
// asks again. Blocking; any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/event.h"
#include "base/fs.h"
#include "base/process.h"
#include "crypto/digest.h"
#include "package/pre_install.h"

namespace mist::action {

/// Of all files, and so of everything that such a script can run or read of its Kube.
crypto::Digest host_script_digest(const package::Files& files);

/// Limits on a script with all that it starts.
struct HostScriptLimits {
  std::chrono::seconds time = std::chrono::minutes(5);
  std::chrono::seconds processor_time = std::chrono::minutes(2);
  std::size_t threads = 256;  ///< of all processes; each has at least one
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint64_t file_bytes = std::uint64_t{64} << 20;        ///< of each file
  std::uint64_t temporary_bytes = std::uint64_t{256} << 20;  ///< of all files in /tmp, which are in memory
  std::uint64_t output_bytes = std::uint64_t{4} << 20;
};

class HostScripts {
 public:
  /// Whether the user allows this one, which was never allowed before. Forbidden: no.
  using Consent = std::function<Status(const package::HostScript&, const crypto::Digest&)>;

  /// `remembered` and `scratch`: directories, which needn't be there yet. The rest outlives this.
  HostScripts(FileSystem& files, ProcessRunner& processes, EventSink& events, Path remembered, Path scratch,
              const HostScriptLimits& limits = {})
      : files_(files),
        processes_(processes),
        events_(events),
        remembered_(std::move(remembered)),
        scratch_(std::move(scratch)),
        limits_(limits) {}

  bool is_allowed(const crypto::Digest& digest) const;
  Status allow(const crypto::Digest& digest);

  /// The files in manifests/ afterwards. Errors: of `consent`; NotFound (there is no bubblewrap); Invalid
  /// (the script failed, in its own words, or went over a limit); Timeout; Cancelled.
  Result<package::Files> run(const package::HostScript& script, const Consent& consent,
                             const Context& context);

 private:
  Command sandboxed(const Path& package, const Path& manifests, const Context& context);
  Error exceeded(TreeLimit limit) const;
  Result<package::Files> run_in(const package::HostScript& script, const Path& directory,
                                const Context& context);

  FileSystem& files_;
  ProcessRunner& processes_;
  EventSink& events_;
  Path remembered_;
  Path scratch_;
  HostScriptLimits limits_;
};

}  // namespace mist::action
