#include "cli/kubes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/places.h"
#include "registry/oci_trust.h"

namespace mist::cli {
namespace {

// Steps are on standard output, and what happens between them on standard error: on one terminal they stand
// in the order in which they came. run() reports what couldn't be written.
void flush_steps(Machine& machine) { [[maybe_unused]] const Status flushed = machine.out.flush(); }

void name_working_copy(Machine& machine, const kpm::Kube& copy) {
  tell_step(machine, fmt::format("Using your working copy {}/", copy.directory.string()));
}

}  // namespace

void tell_step(Machine& machine, std::string_view text) {
  machine.out.write(fmt::format("---> {}\n", escape_controls(text)));
  flush_steps(machine);
}

void tell_caution(Machine& machine, std::string_view text) {
  if (machine.json_events) return machine.events->warn(std::string(text));
  flush_steps(machine);
  const ScreenPause pause(machine.screen);
  machine.err.write(fmt::format("!!-> {}\n", escape_controls(text)));
}

Result<kpm::Catalog> read_kpm_catalog(Machine& machine, const kpm::Home& home, std::string_view wanted) {
  MIST_TRY(kpm::Catalog catalog, home.catalog(machine.context));
  if (wanted.find('/') != std::string_view::npos) return catalog;
  for (const kpm::Unread& each : catalog.unread)
    tell_caution(machine, fmt::format("WARNING: {}{}{}", each.why.to_line(),
                                      each.why.hint.empty() ? "" : "; ", each.why.hint));
  return catalog;
}

// No rule is for Kubes of archives, but where the policy can't be read, nothing is used.
Result<kpm::Kube> unpack_kube(Machine& machine, kpm::Home& home, const kpm::Listed& listed, bool say) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  if (const auto policy = registry::load_trust_policy(machine.files, paths); !policy.ok())
    return Error(policy.error()).with_frame(fmt::format("while fetching {}", listed.k3.full_name()));
  if (listed.yanked)
    tell_caution(machine, fmt::format("WARNING: {} was yanked{}{}", listed.k3.full_name(),
                                      listed.yank_reason.empty() ? "" : ": ", listed.yank_reason));
  const bool is_here = machine.files.exists(home.root() / listed.k3.full_name());
  MIST_TRY(kpm::Kube kube, home.unpack(listed, machine.context));
  if (say && !is_here) {
    tell_step(machine, fmt::format("Downloading {}", listed.k3.full_name()));
    tell_step(machine, fmt::format("Cached files into {}/", kube.directory.string()));
  }
  return kube;
}

bool is_directory_text(std::string_view wanted) {
  return wanted.starts_with('/') || wanted == "." || wanted == ".." || wanted.starts_with("./") ||
         wanted.starts_with("../");
}

Result<kpm::Kube> obtain_kube(Machine& machine, kpm::Home& home, const std::string& wanted, bool say) {
  if (is_directory_text(wanted))
    return error(ErrorKind::Invalid, "{} is a directory, and a Kube is named as [ARCHIVE/]NAME[:VERSION]",
                 escape_controls(wanted))
        .with_hint(fmt::format("mistctl install NAME -p {0} installs a directory; kpm test {0} tests it",
                               escape_controls(wanted)));
  MIST_TRY(std::optional<kpm::Kube> copy, home.working_copy(wanted));
  if (copy) {
    if (say) name_working_copy(machine, *copy);
    return *std::move(copy);
  }
  MIST_TRY(const kpm::Catalog catalog, read_kpm_catalog(machine, home, wanted));
  MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
  return unpack_kube(machine, home, listed, say);
}

Result<kpm::K3> KubeDependencies::find(const std::string& name, std::span<const kpm::Dependency> needs) {
  MIST_TRY(std::optional<kpm::Kube> copy, home_.working_copy(name));
  const auto is_fit = [&](const kpm::Dependency& need) { return kpm::fits(need, copy->k3.version); };
  if (copy && std::ranges::all_of(needs, is_fit))
    return std::get<kpm::Kube>(found_.insert_or_assign(name, *std::move(copy)).first->second).k3;
  if (!catalog_) {
    MIST_TRY(catalog_, read_kpm_catalog(machine_, home_));
  }
  MIST_TRY(kpm::Listed listed, kpm::Home::choose_for(*catalog_, name, needs));
  return std::get<kpm::Listed>(found_.insert_or_assign(name, std::move(listed)).first->second).k3;
}

Result<kpm::Kube> KubeDependencies::obtain(const std::string& name, bool say) {
  const auto& found = found_.at(name);
  if (const auto* const listed = std::get_if<kpm::Listed>(&found))
    return unpack_kube(machine_, home_, *listed, say);
  const auto& copy = std::get<kpm::Kube>(found);
  if (say) name_working_copy(machine_, copy);
  return copy;
}

}  // namespace mist::cli
