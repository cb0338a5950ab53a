#pragma once
// The Kubes that commands of kpm are about, and its lines about them: those that begin with "--->" and "!!->"
// are those of the document of kpm. One thread.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "cli/machine.h"
#include "cli/parse/flags.h"
#include "kpm/dependencies.h"
#include "kpm/home.h"

namespace mist::cli {

inline constexpr Argument kKube[] = {
    {.name = "KUBE", .help = "[ARCHIVE/]NAME[:VERSION]; without a version the newest release"}};

void tell_step(Machine& machine, std::string_view text);
/// Among events for programs it is one of these, of which each line is a JSON object.
void tell_caution(Machine& machine, std::string_view text);

/// With a warning for each archive that gave nothing; of no concern to somebody who names the archive.
Result<kpm::Catalog> read_kpm_catalog(Machine& machine, const kpm::Home& home, std::string_view wanted = {});

/// The working copy of that name, else a version of the archives, unpacked. `say`: in lines on stdout.
Result<kpm::Kube> obtain_kube(Machine& machine, kpm::Home& home, const std::string& wanted, bool say);

/// Whether it is a directory of this machine that a user names: "./web", "..", "/srv/web".
bool is_directory_text(std::string_view wanted);
/// A version of an archive, unpacked, as obtain_kube.
Result<kpm::Kube> unpack_kube(Machine& machine, kpm::Home& home, const kpm::Listed& listed, bool say);

/// Finds what others need: a working copy if it fits, else of the archives, which are read once. Nothing is
/// unpacked before the plan is made.
class KubeDependencies {
 public:
  KubeDependencies(Machine& machine, kpm::Home& home) : machine_(machine), home_(home) {}

  Result<kpm::K3> find(const std::string& name, std::span<const kpm::Dependency> needs);
  /// One that was found.
  Result<kpm::Kube> obtain(const std::string& name, bool say);

 private:
  Machine& machine_;
  kpm::Home& home_;
  std::optional<kpm::Catalog> catalog_ = {};
  std::map<std::string, std::variant<kpm::Kube, kpm::Listed>> found_ = {};
};

}  // namespace mist::cli
