#include "action/authoring/host_script.h"

#include <fmt/format.h>

#include <unistd.h>

#include "base/bubblewrap.h"
#include "base/scratch_directory.h"
#include "base/text.h"
#include "config/paths.h"
#include "registry/local_source.h"

namespace mist::action {
namespace {

using package::Files;
using package::HostScript;

constexpr std::string_view kManifests = "manifests";
constexpr std::size_t kMostLines = 200;

Status write_files(FileSystem& files, const Path& directory, const Files& content) {
  for (const auto& [path, text] : content) {
    const Path file = directory / path;
    MIST_TRY_VOID(files.make_directories(file.parent_path(), 0700));
    MIST_TRY_VOID(files.write(file, text));
  }
  return {};
}

Files files_of_part(const Files& files, std::string_view directory, bool inside) {
  const std::string prefix = fmt::format("{}/", directory);
  Files found;
  for (const auto& [path, text] : files) {
    if (path.starts_with(prefix) != inside) continue;
    found.emplace(inside ? path.substr(prefix.size()) : path, text);
  }
  return found;
}

}  // namespace

crypto::Digest host_script_digest(const Files& files) {
  crypto::Hasher hasher;
  for (const auto& [path, content] : files) hasher.field(path).field(content);
  return hasher.finish();
}

bool HostScripts::is_allowed(const crypto::Digest& digest) const {
  return files_.exists(remembered_ / digest.hex());
}

Status HostScripts::allow(const crypto::Digest& digest) {
  MIST_TRY_VOID(config::make_private_directory(files_, remembered_));
  return files_.write(remembered_ / digest.hex(), "");
}

Result<Files> HostScripts::run(const HostScript& script, const Consent& consent, const Context& context) {
  const crypto::Digest digest = host_script_digest(script.files);
  if (!is_allowed(digest)) {
    MIST_TRY_VOID(consent(script, digest));
    MIST_TRY_VOID(allow(digest));
  }
  MIST_TRY_VOID(config::make_private_directory(files_, scratch_));
  // One process has one name here, and one thread of it renders.
  const ScratchDirectory scratch(files_,
                                 scratch_ / fmt::format("{}-{}", digest.hex().substr(0, 16), ::getpid()));
  MIST_TRY_VOID(files_.remove_all(scratch.path()));
  const Activity activity(
      events_, fmt::format("running {} of {} on this machine", package::kPreInstallScript, script.package));
  return run_in(script, scratch.path(), context);
}

Command HostScripts::sandboxed(const Path& package, const Path& manifests, const Context& context) {
  SandboxView view{.read_only = {{package, "/package"}},
                   .writable = {{manifests, fmt::format("/package/{}", kManifests)}},
                   .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}},
                   .directory = "/package"};
  if (can_limit_tmpfs(processes_, context)) view.temporary_bytes = limits_.temporary_bytes;
  Command command = mist::sandboxed(view, {"python3", std::string(package::kPreInstallScript)});
  command.output_limit = limits_.output_bytes;
  command.file_limit = limits_.file_bytes;
  // Of bubblewrap, whose first process adopts what the script leaves. When that one is killed, the kernel
  // ends all of its PID namespace.
  command.tree = {.threads = limits_.threads,
                  .memory_bytes = limits_.memory_bytes,
                  .processor_time = limits_.processor_time};
  return command;
}

Error HostScripts::exceeded(TreeLimit limit) const {
  const auto ended = [](std::string_view what, std::string_view bound) {
    return error(ErrorKind::Invalid, "{} was ended: it used more {} than it may", package::kPreInstallScript,
                 what)
        .with_because(fmt::format("with all that it starts, a script may have {}", bound))
        .with_hint("a script that only needs to make values and manifests uses far less; tell its author");
  };
  switch (limit) {
    case TreeLimit::Threads:
      return ended("processes and threads", fmt::format("{} of them at once", limits_.threads));
    case TreeLimit::Memory:
      return ended("memory", fmt::format("{} MiB", limits_.memory_bytes >> 20));
    case TreeLimit::ProcessorTime:
      return ended("processor time", fmt::format("{} s", limits_.processor_time.count()));
  }
  return error(ErrorKind::Internal, "an unknown limit");
}

Result<Files> HostScripts::run_in(const HostScript& script, const Path& directory, const Context& context) {
  const Path package = directory / "package";
  const Path manifests = directory / kManifests;
  MIST_TRY_VOID(files_.make_directories(package / kManifests, 0700));
  MIST_TRY_VOID(files_.make_directories(manifests, 0700));
  MIST_TRY_VOID(write_files(files_, package, files_of_part(script.files, kManifests, false)));
  MIST_TRY_VOID(write_files(files_, manifests, files_of_part(script.files, kManifests, true)));
  Command command = sandboxed(package, manifests, context);
  command.input = script.input;
  auto ran = processes_.run(command, context.with_timeout(limits_.time));
  if (!ran.ok() && ran.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::NotFound, "{} can't run on this machine without bubblewrap",
                 package::kPreInstallScript)
        .with_because("no script of a package runs here unconfined, and there is no program bwrap in PATH")
        .with_hint("install it: apt-get install bubblewrap, or dnf install bubblewrap");
  const std::string frame =
      fmt::format("while running {} of {} on this machine", package::kPreInstallScript, script.package);
  if (!ran.ok()) return std::move(ran).error().with_frame(frame);
  if (ran->exceeded) return exceeded(*ran->exceeded).with_frame(frame);
  if (ran->exit_code != 0)
    return error(ErrorKind::Invalid, "{} ended with the exit code {}", package::kPreInstallScript,
                 ran->exit_code)
        .with_because(escape_controls(trim(ran->err.empty() ? ran->out : ran->err), true))
        .with_frame(frame);
  std::size_t shown = 0;
  for (const std::string_view line : split(ran->out, '\n'))
    if (!line.empty() && ++shown <= kMostLines) events_.info(escape_controls(line));
  // Links that lead out of it are refused.
  MIST_TRY(const registry::PackageTree tree, registry::read_directory_tree(files_, manifests).in(frame));
  Files made;
  for (const registry::PackageFile& file : tree.files)
    made.emplace(fmt::format("{}/{}", kManifests, file.path), file.bytes);
  return made;
}

}  // namespace mist::action
