#pragma once
// Programs in a sandbox of bubblewrap: namespaces of their own, no capabilities, no environment of ours. They
// see the system's programs and public certificates, read-only, and of the rest what they are given; they may
// write to /tmp, which is in memory, and where they are told to. The kernel's keyrings (keyrings(7)), which
// namespaces don't separate, are refused to them. Pure but for the two that ask the machine; any thread.
//
// Files that belong to a user whom the sandbox doesn't know show the overflow user as their owner there:
// those of root, unless root made the sandbox.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"

namespace mist {

inline constexpr std::string_view kBubblewrap = "bwrap";
inline constexpr const char* kSandboxSearchPath = "/usr/local/bin:/usr/bin:/bin";

enum class SandboxNetwork : std::uint8_t {
  None,  ///< not even a loopback that anybody else has
  Host,  ///< this machine's, and what it needs to look up names
};

/// The places of a sandbox beside the system's.
struct SandboxView {
  struct Bind {
    Path from;  ///< on this machine
    Path to;    ///< in the sandbox
  };
  SandboxNetwork network = SandboxNetwork::None;
  std::optional<std::uint64_t> temporary_bytes = {};  ///< of all files in /tmp; see can_limit_tmpfs()
  std::vector<Bind> read_only = {};
  std::vector<Path> hidden = {};  ///< empty directories in the place of some within `read_only`
  std::vector<Bind> writable = {};
  std::map<std::string, std::string> environment = {};  ///< beside PATH, HOME and LANG
  Path directory = "/";                                 ///< where the program begins
};

/// The program with its arguments in a sandbox: a command of bubblewrap. It has no environment itself,
/// because it is process 1 of the sandbox, whose environment can be read there.
Command sandboxed(const SandboxView& view, std::vector<std::string> program);

/// Before 0.7.0, bubblewrap could not limit a tmpfs.
bool can_limit_tmpfs(ProcessRunner& processes, const Context& context);

/// Whether this machine lets us make sandboxes. Errors: NotFound (no bubblewrap), Forbidden (no namespaces
/// for us, in bubblewrap's own words), Timeout, Cancelled.
Status check_sandboxes(ProcessRunner& processes, const Context& context);

}  // namespace mist
