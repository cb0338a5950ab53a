// mistctl package lock, outdated and why.

#include "action/authoring/package_lock.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "view/deployments.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Argument kSource{
    .name = "SOURCE",
    .help =
        "A directory with mistletoe.yaml or a kustomization, or a module; without it the current directory",
    .arity = Arity::Optional,
    .completion = Completion::Package};

Result<action::LockedSource> read_source(const Invocation& invocation, Machine& machine) {
  const std::string given = invocation.argument("SOURCE");
  return action::read_locked_source(machine.files, given.empty() ? Path(".") : Path(given));
}

std::string counted(std::size_t packages, std::size_t remotes) {
  if (remotes == 0) return plural(packages, "package");
  if (packages == 0) return plural(remotes, "remote base");
  return fmt::format("{}, {}", plural(packages, "package"), plural(remotes, "remote base"));
}

// lock

constexpr Argument kLockArguments[] = {kSource};
constexpr Flag kPackageLockFlags[] = {
    {.name = "update",
     .type = FlagType::Texts,
     .value = "PACKAGE",
     .help = "Take the newest version of this package that fits, or what this remote base is now, whatever "
             "is locked"},
    {.name = "update-all", .help = "The same of everything that is locked"},
    kLockedFlag,
    kPlainHttpFlag,
};
constexpr FlagGroup kLockGroups[] = {{"Flags", kPackageLockFlags}, kOutputFlags};
constexpr Example kLockExamples[] = {
    {"mistctl package lock ./platform", "Writes ./platform/mistletoe.lock; what is locked and fits stays"},
    {"mistctl package lock ./platform --update mistletoe/databases/mariadb",
     "A newer version of one package"},
    {"mistctl package lock ./overlay", "Locks the commits of an overlay's remote bases"},
    {"mistctl package lock ./platform --locked", "For CI: fails if the lock is not up to date"},
};

Result<ExitCode> run_package_lock(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::LockedSource source, read_source(invocation, machine));
  MIST_TRY(const auto packages, open_packages(invocation, machine));
  const std::vector<std::string> update = invocation.texts("update");
  action::LockChoices choices{.update = {update.begin(), update.end()},
                              .update_all = invocation.enabled("update-all"),
                              .locked = invocation.enabled(kLockedFlag.name)};
  if (choices.locked && (choices.update_all || !choices.update.empty()))
    return error(ErrorKind::Usage, "--locked changes nothing, so it doesn't go with --update");
  MIST_TRY(const action::LockReport report,
           action::resolve_lock(source, choices, *packages, machine.context));
  const std::string text = report.lock.to_text();
  const bool written = !source.lock || source.lock->to_text() != text;
  if (written && !choices.locked) MIST_TRY_VOID(machine.files.write(source.lock_file, text, kUsersFile));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format,
                Value::object({{"file", source.lock_file.string()},
                               {"written", written && !choices.locked},
                               {"packages", report.lock.packages().size()},
                               {"remotes", report.lock.remotes().size()},
                               {"changes", view::packages_value(report.changes)}}));
    return ExitCode::Ok;
  }
  for (const action::PackageChange& each : report.changes) machine.out.write(action::to_text(each) + "\n");
  const std::string count = counted(report.lock.packages().size(), report.lock.remotes().size());
  machine.out.write(fmt::format("{}: {}, {}\n", escape_controls(source.lock_file.string()), count,
                                written && !choices.locked ? "written" : "up to date"));
  return ExitCode::Ok;
}

// outdated

using LockedTag = render::Packages::Tag;

// As JSON has it; empty: it is where it was.
std::string_view tag_word(LockedTag tag) {
  switch (tag) {
    case LockedTag::AsLocked:
      break;
    case LockedTag::Moved:
      return "moved";
    case LockedTag::Gone:
      return "gone";
  }
  return {};
}

std::string tag_line(const action::OutdatedPackage& package) {
  if (package.tag == LockedTag::AsLocked) return {};
  return fmt::format("{} {}: its tag in the registry {}; the locked bytes are still used\n",
                     escape_controls(package.package), package.locked,
                     package.tag == LockedTag::Gone ? "is gone" : "was moved to another manifest");
}

std::string remote_line(const action::OutdatedRemote& remote) {
  if (!remote.outdated()) return {};
  const std::string name = escape_controls(remote.name);
  if (remote.now.empty()) return fmt::format("{}: it is locked, and nothing names it any more\n", name);
  return fmt::format("{}: {} is locked, it is {} now\n", name, remote.locked, remote.now);
}

// Nobody else says how old they may be.
void note_local_copies(const std::vector<action::OutdatedPackage>& all, EventSink& events) {
  std::set<std::string> noted;
  for (const action::OutdatedPackage& each : all)
    if (!each.local_copy.empty() && noted.insert(each.local_copy).second)
      events.info(fmt::format(
          "the versions in {} are those of its local copy: mistctl registry update {} asks the server",
          each.local_copy, each.local_copy));
}

constexpr Argument kOutdatedArguments[] = {kSource};
constexpr Flag kOutdatedFlags[] = {kPlainHttpFlag};
constexpr FlagGroup kOutdatedGroups[] = {{"Flags", kOutdatedFlags}, kOutputFlags};
constexpr Example kOutdatedExamples[] = {
    {"mistctl package outdated ./platform", "Which dependencies have newer versions, and do they fit?"},
};

Result<ExitCode> run_package_outdated(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::LockedSource source, read_source(invocation, machine));
  MIST_TRY(const auto packages, open_packages(invocation, machine));
  MIST_TRY(const std::vector<action::OutdatedPackage> all,
           action::outdated_packages(source, *packages, machine.context));
  MIST_TRY(const std::vector<action::OutdatedRemote> remotes,
           action::outdated_remotes(source, *packages, machine.context));
  note_local_copies(all, *machine.events);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array list;
    for (const action::OutdatedPackage& each : all)
      list.push_back(Value::object({{"package", each.package},
                                    {"locked", text_or_null(each.locked)},
                                    {"fits", text_or_null(each.fits)},
                                    {"newest", text_or_null(each.newest)},
                                    {"tag", text_or_null(tag_word(each.tag))},
                                    {"outdated", each.outdated()}}));
    Value::Array bases;
    for (const action::OutdatedRemote& each : remotes)
      bases.push_back(Value::object({{"name", each.name},
                                     {"locked", each.locked},
                                     {"now", text_or_null(each.now)},
                                     {"outdated", each.outdated()}}));
    print_value(machine, format,
                Value::object({{"packages", Value(std::move(list))}, {"remotes", Value(std::move(bases))}}));
    return ExitCode::Ok;
  }
  Table table({"PACKAGE", "LOCKED", "FITS", "NEWEST"});
  const auto shown = [](const std::string& version) { return version.empty() ? std::string("-") : version; };
  std::string tags;
  for (const action::OutdatedPackage& each : all) {
    if (each.outdated())
      table.add({{each.package}, {shown(each.locked)}, {shown(each.fits)}, {shown(each.newest)}});
    tags += tag_line(each);
  }
  std::string moved;
  for (const action::OutdatedRemote& each : remotes) moved += remote_line(each);
  if (!table.empty())
    machine.out.write(table.render(machine.color_out));
  else if (tags.empty() && moved.empty())
    machine.out.write(fmt::format("{}: all are the newest there are\n", counted(all.size(), remotes.size())));
  machine.out.write(tags + moved);
  return ExitCode::Ok;
}

// why

constexpr Argument kWhyArguments[] = {
    {.name = "PACKAGE", .help = "Its name without a version: mistletoe/databases/mariadb"}, kSource};
constexpr FlagGroup kWhyGroups[] = {{"Flags", kOutdatedFlags}, kOutputFlags};
constexpr Example kWhyExamples[] = {
    {"mistctl package why mistletoe/databases/mariadb ./platform",
     "Who asks for it, and for which versions?"},
};

Result<ExitCode> run_package_why(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const action::LockedSource source, read_source(invocation, machine));
  MIST_TRY(const auto packages, open_packages(invocation, machine));
  MIST_TRY(const action::PackageReasons reasons,
           action::why_package(source, invocation.argument("PACKAGE"), *packages, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array askers;
    for (const action::PackageAsker& each : reasons.askers)
      askers.push_back(Value::object(
          {{"path", Value(Value::Array(each.path.begin(), each.path.end()))}, {"range", each.range}}));
    print_value(machine, format,
                Value::object({{"package", reasons.package},
                               {"version", reasons.version},
                               {"askers", Value(std::move(askers))}}));
    return ExitCode::Ok;
  }
  std::string text = fmt::format("{} {}\n", escape_controls(reasons.package), reasons.version);
  for (const action::PackageAsker& each : reasons.askers)
    text += fmt::format("  {} asks for {}\n", escape_controls(join(each.path, " → ")), each.range);
  machine.out.write(text);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageLockCommand{
    .path = "package lock",
    .summary = "Choose versions of a package's dependencies and write mistletoe.lock",
    .run = run_package_lock,
    .arguments = kLockArguments,
    .flags = kLockGroups,
    .examples = kLockExamples,
    .cluster = ClusterUse::None};

constinit const Command kPackageOutdatedCommand{
    .path = "package outdated",
    .summary = "List dependencies of a package that have newer versions, and remote bases that moved",
    .run = run_package_outdated,
    .arguments = kOutdatedArguments,
    .flags = kOutdatedGroups,
    .examples = kOutdatedExamples,
    .cluster = ClusterUse::None};

constinit const Command kPackageWhyCommand{.path = "package why",
                                           .summary = "Say who asks for a dependency, and for which versions",
                                           .run = run_package_why,
                                           .arguments = kWhyArguments,
                                           .flags = kWhyGroups,
                                           .examples = kWhyExamples,
                                           .cluster = ClusterUse::None};

}  // namespace mist::cli
