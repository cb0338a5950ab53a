// kpm: the Kubernetes Package Manager's commands over $KPM_HOME (src/kpm) and the release engine. The lines
// that begin with "--->" and "!!->" are those of its document.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "action/deploy/look.h"
#include "action/recover/labelled.h"
#include "action/run_tests.h"
#include "action/uninstall.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "cli/command_hint.h"
#include "cli/commands.h"
#include "cli/kpm_home.h"
#include "cli/kube_questions.h"
#include "cli/output/help.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/release_flags.h"
#include "cli/wanted_release.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "kpm/cluster.h"
#include "kpm/dependencies.h"
#include "kpm/home.h"
#include "registry/local_source.h"
#include "registry/package_blob.h"
#include "release/command_text.h"

namespace mist::cli {
namespace {

using encoding::Value;
using registry::PackageTree;

void step(World& world, std::string_view text) {
  world.out.write(fmt::format("---> {}\n", escape_controls(text)));
}

// Among events for programs it is one of these, of which each line is a JSON object.
void caution(World& world, std::string_view text) {
  if (world.json_events) return world.events->warn(std::string(text));
  const ScreenPause pause(world.screen);
  world.err.write(fmt::format("!!-> {}\n", escape_controls(text)));
}

// With a warning for each archive that gave nothing; of no concern to somebody who names the archive.
Result<kpm::Catalog> read_catalog(World& world, const kpm::Home& home, std::string_view wanted = {}) {
  MIST_TRY(kpm::Catalog catalog, home.catalog(world.context));
  if (wanted.find('/') != std::string_view::npos) return catalog;
  for (const kpm::Unread& each : catalog.unread)
    caution(world, fmt::format("WARNING: {}{}{}", each.why.to_line(), each.why.hint.empty() ? "" : "; ",
                               each.why.hint));
  return catalog;
}

constexpr Argument kKube[] = {
    {.name = "KUBE", .help = "[ARCHIVE/]NAME[:VERSION]; without a version the newest release"}};

// update

void warn_incomplete(World& world, const kpm::Archive& archive, const Error& why) {
  caution(world, fmt::format("WARNING: The contents of some Kubes of {} are missing: {}", archive.name,
                             why.to_line()));
  caution(world, "Installing one of them asks its server; kpm update fetches what is missing.");
}

Result<ExitCode> run_update(const Invocation&, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  MIST_TRY(const std::vector<kpm::Archive> archives, home.archives());
  if (archives.empty()) return std::move(home.catalog(world.context)).error();
  step(world, "Fetching updates...");
  std::optional<Error> failed;
  for (const kpm::Archive& each : archives) {
    Result<std::optional<Error>> updated = home.update(each, world.context);
    if (updated.ok()) {
      if (*updated) warn_incomplete(world, each, **updated);
      continue;
    }
    if (failed) caution(world, failed->to_line());
    failed = std::move(updated).error();
    if (failed->kind == ErrorKind::Cancelled) break;
  }
  if (failed) return *std::move(failed);
  MIST_TRY(const kpm::Catalog catalog, read_catalog(world, home));
  for (const Error& problem : catalog.problems) caution(world, fmt::format("WARNING: {}", problem.to_line()));
  step(world, "Done");
  return ExitCode::Ok;
}

// search

constexpr Argument kPattern[] = {{.name = "PATTERN",
                                  .help = "Part of a name or description; without one every Kube",
                                  .arity = Arity::Optional}};

std::string search_line(const kpm::Listed& listed) {
  return fmt::format("\t{}: {}\n", listed.k3.name, escape_controls(listed.k3.description));
}

// A Kube of an archive with its versions that aren't yanked, in the order of the archive. It is described as
// the version is that install would choose.
Value kubes_value(const std::vector<const kpm::Listed*>& found) {
  Value kubes = Value::array();
  for (std::size_t i = 0; i < found.size();) {
    const kpm::Listed* chosen = found[i];
    Value versions = Value::array();
    const auto is_same = [&](const kpm::Listed& each) {
      return each.archive == chosen->archive && each.k3.name == chosen->k3.name;
    };
    for (; i < found.size() && is_same(*found[i]); ++i) {
      if (kpm::is_preferred(found[i]->k3.version, chosen->k3.version)) chosen = found[i];
      versions.push_back(found[i]->k3.version.to_string());
    }
    kubes.push_back(Value::object({{"archive", chosen->archive},
                                   {"name", chosen->k3.name},
                                   {"description", text_or_null(chosen->k3.description)},
                                   {"version", chosen->k3.version.to_string()},
                                   {"versions", std::move(versions)}}));
  }
  return kubes;
}

Result<ExitCode> run_search(const Invocation& invocation, World& world) {
  MIST_TRY(const kpm::Home home, open_kpm_home(world));
  MIST_TRY(const kpm::Catalog catalog, read_catalog(world, home));
  const std::string pattern = lower_case(invocation.argument("PATTERN"));
  std::vector<const kpm::Listed*> found;
  for (const kpm::Listed& each : catalog.kubes)
    if (!each.yanked && lower_case(search_line(each)).find(pattern) != std::string::npos)
      found.push_back(&each);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, Value::object({{"kubes", kubes_value(found)}}));
    return ExitCode::Ok;
  }
  std::vector<std::string> lines;
  for (const kpm::Listed* const each : found)
    if (std::string line = search_line(*each); std::ranges::find(lines, line) == lines.end())
      lines.push_back(std::move(line));
  if (lines.empty()) world.events->info("no Kube fits; kpm update reads what is new");
  for (const std::string& line : lines) world.out.write(line);
  return ExitCode::Ok;
}

constexpr FlagGroup kKpmSearchGroups[] = {kOutputFlags};

// info

void field(World& world, std::string_view name, std::string_view text) {
  if (!text.empty()) world.out.write(fmt::format("\t{}: {}\n", name, escape_controls(text)));
}

std::string provides(const PackageTree& tree) {
  constexpr std::string_view kManifests = "manifests/";
  std::vector<std::string> names;
  for (const registry::PackageFile& file : tree.files) {
    if (file.path == registry::kModuleFile) return file.path;
    if (file.path.starts_with(kManifests)) names.push_back(file.path.substr(kManifests.size()));
  }
  return join(names, " ");
}

Result<ExitCode> run_info(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  const std::string wanted = invocation.argument("KUBE");
  MIST_TRY(const std::optional<kpm::Kube> copy, home.working_copy(wanted));
  kpm::K3 k3;
  PackageTree tree;
  std::string yanked;
  if (copy) {
    k3 = copy->k3;
    MIST_TRY(tree, registry::read_directory_tree(world.files, copy->directory));
  } else {
    MIST_TRY(const kpm::Catalog catalog, read_catalog(world, home, wanted));
    MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
    k3 = listed.k3;
    if (listed.yanked) yanked = listed.yank_reason.empty() ? "no reason was given" : listed.yank_reason;
    MIST_TRY(tree, home.tree_of(listed, world.context));
  }
  field(world, "Name", k3.name);
  field(world, "Description", k3.description);
  field(world, "Version", k3.version.to_string());
  field(world, "Yanked", yanked);
  field(world, "Website", k3.home);
  field(world, "Maintainers", join(k3.maintainers, ", "));
  std::vector<std::string> needs;
  for (const kpm::Dependency& each : k3.dependencies)
    needs.push_back(fmt::format("{} ({})", each.name, each.range.text()));
  field(world, "Dependencies", join(needs, ", "));
  field(world, "Provides", provides(tree));
  if (copy) field(world, "Working copy", copy->directory.string());
  if (!k3.details.empty()) {
    world.out.write("\tDetails:\n");
    for (const std::string_view line : split(k3.details, '\n'))
      world.out.write(fmt::format("\t  {}\n", escape_controls(line)));
  }
  return ExitCode::Ok;
}

// get

Result<ExitCode> run_get(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  const std::string wanted = invocation.argument("KUBE");
  MIST_TRY(const kpm::Catalog catalog, read_catalog(world, home, wanted));
  MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
  MIST_TRY(const kpm::Kube kube, home.get(listed, world.context));
  step(world, fmt::format("Downloading {}", listed.k3.name));
  step(world, fmt::format("Cached files into {}/", kube.directory.string()));
  if (kube.is_module())
    step(world,
         fmt::format("{} is a WebAssembly module, in which nothing can be edited: set values (-f, --set) "
                     "when you install it",
                     kube.package.filename().string()));
  return ExitCode::Ok;
}

// install

constexpr Flag kInstallFlags[] = {
    {.name = "name",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Name of the release; without it the Kube's"},
    {.name = "force", .help = "Go on although dependencies aren't satisfied"},
    {.name = "with-dependencies", .help = "Install what is missing first, from the archives"},
};
constexpr FlagGroup kInstallGroups[] = {{"Flags", kInstallFlags},
                                        kValuesFlags,
                                        kDeployFlags,
                                        kClockFlags,
                                        kLockFlags,
                                        kSandboxFlags,
                                        kOutputFlags};
constexpr Flag kUpgradeFlags[] = {kReuseValuesFlag};
constexpr FlagGroup kUpgradeGroups[] = {{"Flags", kInstallFlags},
                                        {"Flags of upgrades", kUpgradeFlags},
                                        kValuesFlags,
                                        kDeployFlags,
                                        kPruneFlags,
                                        kClockFlags,
                                        kRotateFlags,
                                        kLockFlags,
                                        kSandboxFlags,
                                        kOutputFlags};
constexpr Example kUpgradeExamples[] = {
    {"kpm upgrade etcd-standalone", "The newest version of the archives, the same values"},
    {"kpm upgrade etcd-standalone:3.6.1 -s replicas=3 --reuse-values", "That version, and one value more"},
};
constexpr Example kInstallExamples[] = {
    {"kpm install etcd-standalone", "The newest version of the archives, or your working copy"},
    {"kpm install ponycorn --with-dependencies --wait", "With what it needs, and wait until all runs"},
};

void name_working_copy(World& world, const kpm::Kube& copy) {
  step(world, fmt::format("Using your working copy {}/", copy.directory.string()));
}

Result<kpm::Kube> unpacked(World& world, kpm::Home& home, const kpm::Listed& listed, bool say) {
  if (listed.yanked)
    caution(world, fmt::format("WARNING: {} was yanked{}{}", listed.k3.full_name(),
                               listed.yank_reason.empty() ? "" : ": ", listed.yank_reason));
  const bool is_here = world.files.exists(home.root() / listed.k3.full_name());
  MIST_TRY(kpm::Kube kube, home.unpack(listed, world.context));
  if (say && !is_here) {
    step(world, fmt::format("Downloading {}", listed.k3.full_name()));
    step(world, fmt::format("Cached files into {}/", kube.directory.string()));
  }
  return kube;
}

Result<kpm::Kube> obtain(World& world, kpm::Home& home, const std::string& wanted, bool say) {
  MIST_TRY(std::optional<kpm::Kube> copy, home.working_copy(wanted));
  if (copy) {
    if (say) name_working_copy(world, *copy);
    return *std::move(copy);
  }
  MIST_TRY(const kpm::Catalog catalog, read_catalog(world, home, wanted));
  MIST_TRY(const kpm::Listed listed, kpm::Home::choose(catalog, wanted));
  return unpacked(world, home, listed, say);
}

// Finds what others need: a working copy if it fits, else of the archives, which are read once. Nothing is
// unpacked before the plan is made.
class Dependencies {
 public:
  Dependencies(World& world, kpm::Home& home) : world_(world), home_(home) {}

  Result<kpm::K3> find(const std::string& name, std::span<const kpm::Dependency> needs) {
    MIST_TRY(std::optional<kpm::Kube> copy, home_.working_copy(name));
    const auto is_fit = [&](const kpm::Dependency& need) { return kpm::fits(need, copy->k3.version); };
    if (copy && std::ranges::all_of(needs, is_fit))
      return std::get<kpm::Kube>(found_.insert_or_assign(name, *std::move(copy)).first->second).k3;
    if (!catalog_) {
      MIST_TRY(catalog_, read_catalog(world_, home_));
    }
    MIST_TRY(kpm::Listed listed, kpm::Home::choose_for(*catalog_, name, needs));
    return std::get<kpm::Listed>(found_.insert_or_assign(name, std::move(listed)).first->second).k3;
  }

  Result<kpm::Kube> obtain(const std::string& name, bool say) {
    const auto& found = found_.at(name);
    if (const auto* const listed = std::get_if<kpm::Listed>(&found))
      return unpacked(world_, home_, *listed, say);
    const auto& copy = std::get<kpm::Kube>(found);
    if (say) name_working_copy(world_, copy);
    return copy;
  }

 private:
  World& world_;
  kpm::Home& home_;
  std::optional<kpm::Catalog> catalog_ = {};
  std::map<std::string, std::variant<kpm::Kube, kpm::Listed>> found_ = {};
};

// Of a release that is there: its own values are kept, unless others are given.
Values of_upgrade(const Invocation& invocation) {
  const bool replaced = has_values(invocation) && !invocation.enabled(kReuseValuesFlag.name);
  return replaced ? Values::Alone : Values::Merged;
}

// Answers are merged as --set-json is, so --set and what comes after it goes over them.
Error hidden_answer(const std::string& name) {
  return error(ErrorKind::Invalid,
               "nothing was changed, because a value of the command line hides the answer to {}",
               escape_controls(name))
      .with_hint(fmt::format("leave {} out of the values, or give its value there", escape_controls(name)));
}

// Lets the Kube's script ask until it has all answers; they are among the values then. Nothing is written.
Status answer_questions(const Invocation& invocation, World& world, const Cluster& cluster,
                        const release::ReleaseId& id, const kpm::Kube& kube,
                        const action::DeployOptions& options, Values kind,
                        std::vector<package::ValuesInput>& values) {
  constexpr std::size_t kMostQuestions = 100;
  if (!world.files.exists(kube.directory / package::kPreInstallScript) || !can_ask(world)) return {};
  std::vector<package::ValuesInput> known = values;
  std::set<std::string> asked;
  while (asked.size() < kMostQuestions) {
    MIST_TRY(render::WantedRelease wanted,
             wanted_package(invocation, world, cluster, id, kube.package.string(), known,
                            {.values = kind, .questions = Questions::Asked}));
    const action::Intent intent = action::preview_intent(render_of(wanted, world));
    const auto look = action::look(cluster.environment, id, intent, options, world.context);
    if (look.ok()) return {};
    const auto* const open = look.error().detail<package::Unanswered>();
    // The deployment reports any other error.
    if (open == nullptr) return {};
    if (!asked.insert(open->question.name).second) return hidden_answer(open->question.name);
    MIST_TRY(const Answered answer, ask_question(world, open->question));
    known.push_back(answer.value);
    if (!answer.keeps_default) values.push_back(answer.value);
  }
  return error(ErrorKind::Invalid, "the script of {} asks more than {} questions", kube.k3.name,
               kMostQuestions);
}

// Those that may be what isn't there, of which some would be installed a second time.
std::vector<kpm::Unreadable> in_question(const kpm::InstallPlan& plan,
                                         std::vector<kpm::Unreadable> unreadable) {
  std::erase_if(unreadable, [&](const kpm::Unreadable& each) {
    return std::ranges::none_of(plan.missing,
                                [&](const std::string& name) { return may_be_of(each, name); }) &&
           std::ranges::none_of(plan.unavailable, [&](const kpm::Dependency& dependency) {
             return may_be_of(each, dependency.name);
           });
  });
  return unreadable;
}

Status ask_to_go_on(const Invocation& invocation, World& world, const kpm::InstallPlan& plan,
                    const std::vector<kpm::Unreadable>& all_unreadable) {
  const std::vector<kpm::Unreadable> unreadable = in_question(plan, all_unreadable);
  const bool may_be_there = !plan.missing.empty() && !unreadable.empty();
  if (plan.unavailable.empty() && !may_be_there) return {};
  for (const kpm::Unreadable& each : unreadable)
    caution(world, fmt::format("WARNING: Release {} may be a dependency, but can't be read: {}",
                               each.release.display(), each.why.to_line()));
  for (const kpm::Dependency& each : plan.unavailable)
    caution(world, fmt::format("WARNING: Dependency {} ({}) does not seem to be satisfied.", each.name,
                               each.range.text()));
  if (!plan.unavailable.empty()) caution(world, "This package may not function correctly.");
  if (may_be_there)
    caution(world, fmt::format("One of these may be installed a second time: {}.", join(plan.missing, ", ")));
  if (invocation.enabled("force")) return {};
  if (!can_ask(world) && plan.unavailable.empty())
    return error(ErrorKind::Forbidden,
                 "nothing was changed, because a dependency may be installed already and nobody can be asked")
        .with_hint("--force installs it all the same");
  if (!can_ask(world))
    return error(ErrorKind::Forbidden,
                 "nothing was changed, because a dependency is missing and nobody can be asked")
        .with_hint("--with-dependencies installs what is missing; --force goes on without it");
  MIST_TRY_VOID(world.out.flush());
  const ScreenPause pause(world.screen);
  world.err.write("Continue? ");
  MIST_TRY(const std::optional<std::string> answer, world.in.read_line(world.context));
  const std::string word = lower_case(trim(answer.value_or("")));
  if (word == "y" || word == "yes") return {};
  return error(ErrorKind::Forbidden, "nothing was changed, because the answer was no");
}

enum class Verb : std::uint8_t { Install, Upgrade };

bool is_dry(const Invocation& invocation) { return deploy_options(invocation).dry_run != action::DryRun::No; }

// A command, with all that it takes to find the same release again.
std::string upgrade_text(std::string_view kube, const release::ReleaseId& id) {
  const std::string named = id.name == kube.substr(0, kube.find(':')) ? "" : " --name " + id.name;
  return fmt::format("kpm upgrade {}{} -n {}{}", kube, named, id.ns, id.cluster_words);
}

// With the hint of this program, where the release is there already.
action::Intent install_intent(action::Render render, const std::string& kube) {
  action::Intent intent = action::install_intent(std::move(render));
  intent.check = [check = std::move(intent.check), kube](const action::ReleaseState& state) {
    Status done = check(state);
    if (done.ok() || !state.deployed) return done;
    return Status(std::move(done).error().with_hint(upgrade_text(kube, state.id) + " changes it"));
  };
  return intent;
}

Result<release::ReleaseId> release_named(const Invocation& invocation, const Cluster& cluster,
                                         const std::string& name) {
  MIST_TRY(const release::ReleaseName checked, release::ReleaseName::parse(name));
  return release::ReleaseId{cluster.client->default_namespace(), checked.str(), cluster_words(invocation)};
}

// A Kube and a version that nobody named have to be those that an upgrade is about.
Status check_is_newer(const kpm::Kube& kube, bool is_named, const action::ReleaseState& state) {
  if (!state.deployed) return {};
  const release::PackageInfo& package = state.deployed->package;
  if (package.name != kube.k3.name)
    return error(ErrorKind::Conflict, "release {} was made of the package {}, and not of the Kube {}",
                 state.id.display(), package.name, kube.k3.name)
        .with_hint(fmt::format("{} replaces it by the Kube, and --name NAME names another release",
                               release::command_text("upgrade", state.id, "-p " + kube.package.string())));
  const auto deployed = encoding::SemVer::parse(package.version);
  if (is_named || !deployed.ok() || *deployed <= kube.k3.version) return {};
  return error(ErrorKind::Conflict, "release {} has {} {}, which is newer than the {} of the archives",
               state.id.display(), package.name, package.version, kube.k3.version.to_string())
      .with_hint(fmt::format("kpm update reads what they hold now; {} goes back",
                             upgrade_text(kube.k3.name + ":" + kube.k3.version.to_string(), state.id)));
}

// Before anything is asked or written, dependencies included.
Status check_release(World& world, const Cluster& cluster, const release::ReleaseId& id,
                     const kpm::Kube& kube, Verb verb, bool is_named, bool say) {
  MIST_TRY(const action::ReleaseState state,
           action::read_release(cluster.environment, id, world.context, action::LostRevision::Allowed));
  const action::Intent intent =
      verb == Verb::Install ? install_intent({}, kube.k3.name) : action::upgrade_intent({});
  MIST_TRY_VOID(intent.check(state));
  if (verb == Verb::Install) return {};
  MIST_TRY_VOID(check_is_newer(kube, is_named, state));
  if (say && state.deployed)
    step(world, fmt::format("Upgrading {} from {} to {}", id.name, state.deployed->package.version,
                            kube.k3.version.to_string()));
  return {};
}

Result<action::DeployReport> deploy_one(const Invocation& invocation, World& world, const Cluster& cluster,
                                        const kpm::Kube& kube, const release::ReleaseId& id, Verb verb,
                                        std::vector<package::ValuesInput> values) {
  action::DeployOptions options = deploy_options(invocation);
  MIST_TRY(options.allowed.adopt_from, adopt_from(invocation));
  MIST_TRY(options.allowed.take_over_from, take_over_from(invocation, id));
  const Values kind = verb == Verb::Upgrade ? of_upgrade(invocation) : Values::Alone;
  MIST_TRY_VOID(answer_questions(invocation, world, cluster, id, kube, options, kind, values));
  MIST_TRY(render::WantedRelease wanted, wanted_package(invocation, world, cluster, id, kube.package.string(),
                                                        std::move(values), {.values = kind}));
  if (output_format(invocation) == OutputFormat::Table && !is_dry(invocation))
    step(world, fmt::format("Running kubectl {} -f ...", verb == Verb::Install ? "create" : "apply"));
  const action::Intent intent = verb == Verb::Install ? install_intent(render_of(wanted, world), kube.k3.name)
                                                      : action::upgrade_intent(render_of(wanted, world));
  return action::deploy(cluster.environment, id, intent, options, world.context);
}

void print_deployed(const Invocation& invocation, World& world, const action::DeployReport& report,
                    Verb verb) {
  if (output_format(invocation) != OutputFormat::Table || is_dry(invocation))
    return print_deploy_report(invocation, world, report,
                               verb == Verb::Install ? "is installed" : "is upgraded");
  if (!report.message.empty()) world.out.write(escape_controls(report.message, true) + "\n");
  step(world, "Done");
}

// The values of the command are those of the Kube that was asked for, so a dependency can't be answered here.
Error of_dependency(Error failure, const std::string& name, const std::string& needed_by) {
  if (failure.detail<package::Unanswered>() != nullptr)
    failure.hint =
        fmt::format("install it by itself first, and answer it there: kpm install {} -f FILE", name);
  return std::move(failure).with_frame(fmt::format("while installing {}, which {} needs", name, needed_by));
}

Status install_dependencies(const Invocation& invocation, World& world, kpm::Home& home,
                            const Cluster& cluster, const kpm::K3& k3, bool say) {
  if (k3.dependencies.empty()) return {};
  release::Store store(*cluster.client);
  MIST_TRY(const kpm::InstalledPackages installed,
           kpm::installed_packages(store, cluster.client->default_namespace(), world.context));
  kpm::InstallPlan plan{.missing = {}, .unavailable = kpm::unsatisfied(k3, installed.packages)};
  Dependencies dependencies(world, home);
  if (invocation.enabled("with-dependencies")) {
    MIST_TRY(plan,
             kpm::plan_dependencies(k3, installed.packages,
                                    [&](const std::string& name, std::span<const kpm::Dependency> needs) {
                                      return dependencies.find(name, needs);
                                    }));
  }
  // Asked before any write, so that a no leaves the cluster as it was; so does one that can't be unpacked.
  MIST_TRY_VOID(ask_to_go_on(invocation, world, plan, installed.unreadable));
  std::vector<std::pair<std::string, kpm::Kube>> kubes;
  for (const std::string& name : plan.missing) {
    MIST_TRY(kpm::Kube kube, dependencies.obtain(name, say));
    kubes.emplace_back(name, std::move(kube));
  }
  for (const auto& [name, kube] : kubes) {
    if (say) step(world, fmt::format("Installing the dependency {}", kube.k3.full_name()));
    MIST_TRY(const release::ReleaseId id, release_named(invocation, cluster, name));
    const auto done = deploy_one(invocation, world, cluster, kube, id, Verb::Install, {});
    if (!done.ok()) return of_dependency(done.error(), name, k3.name);
    // A program reads one value, that of the Kube that was asked for.
    if (say) print_deployed(invocation, world, *done, Verb::Install);
  }
  return {};
}

Result<ExitCode> deploy_kube(const Invocation& invocation, World& world, Verb verb) {
  if (invocation.enabled("with-dependencies") && !deploy_options(invocation).rotate.nothing())
    return error(ErrorKind::Usage,
                 "--rotate-secrets is about one release, and --with-dependencies about several")
        .with_hint("upgrade first, and rotate then");
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  const bool say = output_format(invocation) == OutputFormat::Table;
  MIST_TRY(const kpm::Kube kube, obtain(world, home, invocation.argument("KUBE"), say));
  MIST_TRY(std::vector<package::ValuesInput> values, read_values(invocation, world));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(
      const release::ReleaseId id,
      release_named(invocation, cluster, invocation.has("name") ? invocation.text("name") : kube.k3.name));
  const bool is_named = kube.is_working_copy || invocation.argument("KUBE").contains(':');
  MIST_TRY_VOID(check_release(world, cluster, id, kube, verb, is_named, say && !is_dry(invocation)));
  MIST_TRY_VOID(install_dependencies(invocation, world, home, cluster, kube.k3, say));
  MIST_TRY(const action::DeployReport report,
           deploy_one(invocation, world, cluster, kube, id, verb, std::move(values)));
  print_deployed(invocation, world, report, verb);
  return ExitCode::Ok;
}

Result<ExitCode> run_install(const Invocation& invocation, World& world) {
  return deploy_kube(invocation, world, Verb::Install);
}

Result<ExitCode> run_upgrade(const Invocation& invocation, World& world) {
  return deploy_kube(invocation, world, Verb::Upgrade);
}

// test

constexpr Flag kTestFlags[] = {kTimeoutFlag,
                               kAllowLookupFlag,
                               kAllowLookupSecretsFlag,
                               kRevokeLookupFlag,
                               kAllowHostScriptsFlag,
                               kSkipSchemaFlag,
                               {.name = "keep", .help = "Leave the namespace of the test for a look at it"}};
constexpr FlagGroup kTestGroups[] = {{"Flags", kTestFlags}, kValuesFlags, kClockFlags, kSandboxFlags};

// For a look at what a create has made of which no answer came.
constexpr Duration kUnclearLimit = std::chrono::seconds(30);
constexpr Duration kUnclearPause = std::chrono::seconds(1);

struct Trial {
  const Invocation& invocation;
  World& world;
  const Cluster& cluster;
  release::ReleaseId id;
  std::string ns_uid = {};
};

Result<kube::ObjectRef> namespace_of(const Trial& trial, const Context& context) {
  MIST_TRY(kube::ResourceInfo resource, trial.cluster.client->resource_for({"", "Namespace"}, "v1", context));
  return kube::ObjectRef{std::move(resource), {}, trial.id.ns};
}

// A create isn't repeated, and Ctrl-C may come before its answer: the server may have made the namespace.
Error after_unclear_create(const Trial& trial, Error failure) {
  const Context context = Context().with_timeout(kUnclearLimit);
  const auto look = [&]() -> Status {
    MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, context));
    auto live = trial.cluster.client->get(ref, context);
    // It may still be under way.
    if (!live.ok() && live.error().kind == ErrorKind::NotFound && trial.world.clock.sleep(kUnclearPause, {}))
      live = trial.cluster.client->get(ref, context);
    if (!live.ok()) return live.error().kind == ErrorKind::NotFound ? Status() : Status(live.error());
    MIST_TRY_VOID(trial.cluster.client->remove(
        ref, {.uid = std::string(live->string_at({"metadata", "uid"}))}, context));
    return {};
  };
  if (const Status removed = look(); !removed.ok())
    caution(trial.world, fmt::format("WARNING: the namespace {} may be there, and could not be removed: {}",
                                     trial.id.ns, removed.error().to_line()));
  return failure;
}

Status make_namespace(Trial& trial) {
  using enum ErrorKind;
  MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, trial.world.context));
  auto made = trial.cluster.client->create(
      ref.resource, {},
      encoding::Value::object(
          {{"apiVersion", encoding::Value("v1")},
           {"kind", encoding::Value("Namespace")},
           {"metadata", encoding::Value::object({{"name", encoding::Value(trial.id.ns)}})}}),
      trial.world.context);
  if (!made.ok()) {
    const ErrorKind kind = made.error().kind;
    // Anything else is the server's answer that it made none.
    if (kind == Retryable || kind == Timeout || kind == Cancelled || kind == Internal)
      return after_unclear_create(trial, std::move(made).error());
    return std::move(made).error();
  }
  trial.ns_uid = made->string_at({"metadata", "uid"});
  return {};
}

// Installs it, waits until it is ready, and runs its tests.
Status try_out(const Trial& trial, const kpm::Kube& kube, std::vector<package::ValuesInput> values) {
  World& world = trial.world;
  MIST_TRY_VOID(
      answer_questions(trial.invocation, world, trial.cluster, trial.id, kube, {}, Values::Alone, values));
  MIST_TRY(render::WantedRelease wanted, wanted_package(trial.invocation, world, trial.cluster, trial.id,
                                                        kube.package.string(), std::move(values)));
  const action::Intent intent = action::install_intent(render_of(wanted, world));
  action::DeployOptions options;
  options.timeout = trial.invocation.duration("timeout");
  options.dry_run = action::DryRun::Server;
  step(world, "Letting the server check each object...");
  MIST_TRY_VOID(action::deploy(trial.cluster.environment, trial.id, intent, options, world.context));
  options.dry_run = action::DryRun::No;
  options.wait = true;
  step(world, fmt::format("Installing into the namespace {}, until it is ready...", trial.id.ns));
  MIST_TRY_VOID(action::deploy(trial.cluster.environment, trial.id, intent, options, world.context));
  MIST_TRY(const action::TestReport tests,
           action::run_tests(
               trial.cluster.environment, trial.id, {.timeout = options.timeout},
               [](const action::TestResult&) {}, world.context));
  for (const action::TestResult& each : tests.tests)
    step(world, fmt::format("{}: {}", each.key.display(), action::to_string(each.outcome)));
  const std::size_t failed = tests.count(action::TestOutcome::Failed);
  if (failed > 0)
    return error(ErrorKind::Invalid, "{} of {} failed", failed, plural(tests.tests.size(), "test"));
  if (tests.tests.empty()) step(world, "It has no tests");
  return {};
}

enum class TrialHooks : std::uint8_t { Run, Skipped };

// How many objects uninstalling left.
Result<std::size_t> uninstall_trial(const Trial& trial, TrialHooks hooks) {
  const Duration timeout = trial.invocation.duration("timeout");
  const Context context = Context().with_timeout(timeout);
  const action::UninstallOptions options{.rules = {.delete_crds = true, .delete_pvcs = true},
                                         .wait = true,
                                         .no_hooks = hooks == TrialHooks::Skipped,
                                         .timeout = timeout,
                                         .plan_again = true};
  auto plan = action::plan_uninstall(trial.cluster.environment, trial.id, options, context);
  if (!plan.ok() && plan.error().kind == ErrorKind::NotFound) return std::size_t{0};
  if (!plan.ok()) return std::move(plan).error();
  MIST_TRY(const action::UninstallReport report,
           action::uninstall(trial.cluster.environment, *std::move(plan), options, context));
  return report.retained;
}

// Words about what the release has outside of its namespace; empty: nothing. The record goes with that, so
// nothing names them any more.
std::string left_outside(const Trial& trial) {
  const Context context = Context().with_timeout(trial.invocation.duration("timeout"));
  const auto left = action::labelled_outside(trial.cluster.environment, trial.id, {}, context);
  if (!left.ok())
    return fmt::format("what it left outside of its namespace can't be listed: {}", left.error().to_line());
  std::vector<std::string> names;
  for (const apply::InventoryItem& item : *left) names.push_back(item.key.display());
  return names.empty() ? std::string()
                       : fmt::format("these are left outside of its namespace, for you to delete: {}",
                                     join(names, ", "));
}

// Each step has the whole time: an uninstall that waits for something that never goes must not keep the
// namespace here.
Status remove_namespace(const Trial& trial) {
  const Duration timeout = trial.invocation.duration("timeout");
  const Context context = Context().with_timeout(timeout);
  MIST_TRY(const kube::ObjectRef ref, namespace_of(trial, context));
  MIST_TRY_VOID(trial.cluster.client->remove(ref, {.uid = trial.ns_uid}, context));
  return apply::wait_until_gone(*trial.cluster.client, ref, trial.ns_uid, timeout, context)
      .in("while waiting for the namespace of the test to go");
}

// Cluster-scoped objects would outlive the namespace, so the release is uninstalled first; where that fails,
// again without its hooks. The namespace goes even if that fails; why it failed is told first, as that may
// hold the namespace, too.
Status clean_up(const Trial& trial) {
  World& world = trial.world;
  step(world, "Uninstalling...");
  Result<std::size_t> retained = uninstall_trial(trial, TrialHooks::Run);
  if (!retained.ok()) (void)uninstall_trial(trial, TrialHooks::Skipped);
  const bool is_clean = retained.ok() && *retained == 0;
  std::string left = is_clean ? std::string() : left_outside(trial);
  Status gone = remove_namespace(trial);
  if (is_clean) {
    MIST_TRY_VOID(std::move(gone));
    step(world, "Nothing stays");
    return {};
  }
  if (!gone.ok()) caution(world, fmt::format("WARNING: {}", gone.error().to_line()));
  Error failure = retained.ok()
                      ? error(ErrorKind::Invalid, "uninstalling left {}", plural(*retained, "object"))
                      : std::move(retained).error();
  // It says to uninstall again, and the record went with the namespace.
  if (gone.ok()) failure.hint.clear();
  if (!left.empty()) failure.frames.push_back(std::move(left));
  return failure;
}

Result<ExitCode> run_kpm_test(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  MIST_TRY(const kpm::Kube kube, obtain(world, home, invocation.argument("KUBE"), true));
  step(world, fmt::format("{} of {} is well formed", kpm::kMetadataFile, kube.k3.full_name()));
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(kube.k3.name));
  MIST_TRY(std::vector<package::ValuesInput> values, read_values(invocation, world));
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  std::array<std::byte, 4> bytes{};
  world.random.fill(bytes);
  Trial trial{invocation, world, cluster, {fmt::format("kpm-test-{}", hex(bytes)), name.str()}};
  MIST_TRY_VOID(make_namespace(trial));
  Status tried = try_out(trial, kube, std::move(values));
  if (invocation.enabled("keep")) {
    step(world, fmt::format("The namespace {} stays", trial.id.ns));
  } else {
    Status cleaned = clean_up(trial);
    if (!cleaned.ok() && !tried.ok()) caution(world, fmt::format("WARNING: {}", cleaned.error().to_line()));
    if (tried.ok()) tried = std::move(cleaned);
  }
  MIST_TRY_VOID(std::move(tried).in(fmt::format("while testing {}", kube.k3.full_name())));
  step(world, fmt::format("{} passes", kube.k3.full_name()));
  return ExitCode::Ok;
}

// uninstall

constexpr Flag kUninstallFlags[] = {
    {.name = "wait", .help = "Return only when everything is gone"},
    {.name = "ignore-not-found", .help = "A release that does not exist is no error"},
    kNoHooksFlag,
    {.name = "timeout",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "How long the whole command may take",
     .fallback = "5m"},
    {.name = "dry-run",
     .type = FlagType::Choice,
     .value = "WHERE",
     .help = "Only show what would be deleted",
     .fallback = "none",
     .choices = kDryRunChoices,
     .implied = "client"},
};
constexpr FlagGroup kUninstallGroups[] = {
    {"Flags", kUninstallFlags}, kPruneFlags, kConfirmFlags, kLockFlags, kOutputFlags};
constexpr Argument kInstalled[] = {
    {.name = "NAME", .help = "Name of the Kube, or of its release", .completion = Completion::Release}};

Result<ExitCode> run_uninstall(const Invocation& invocation, World& world) {
  return kUninstallCommand.run(invocation, world);
}

// list

constexpr Flag kListFlags[] = {{.name = "all-namespaces", .letter = 'A', .help = "Of every namespace"}};
constexpr FlagGroup kListGroups[] = {{"Flags", kListFlags}, kOutputFlags};

Value installed_value(const std::vector<release::Anchor>& anchors) {
  Value kubes = Value::array();
  for (const release::Anchor& each : anchors)
    kubes.push_back(Value::object({{"name", each.id.name},
                                   {"namespace", each.id.ns},
                                   {"version", text_or_null(each.head.package_version)},
                                   {"revision", each.head.latest},
                                   {"status", release::to_string(each.head.status)}}));
  return kubes;
}

Result<ExitCode> run_list(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  release::Store store(*cluster.client);
  const bool all = invocation.enabled("all-namespaces");
  MIST_TRY(const std::vector<release::Anchor> anchors,
           store.list_anchors(all ? std::string() : cluster.client->default_namespace(), world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, Value::object({{"kubes", installed_value(anchors)}}));
    return ExitCode::Ok;
  }
  for (const release::Anchor& each : anchors)
    world.out.write(fmt::format(
        "\t{}: {}\n", all ? each.id.display() : each.id.name,
        each.head.package_version.empty() ? "no version" : escape_controls(each.head.package_version)));
  if (anchors.empty()) world.events->info("no Kube is installed here; -A lists every namespace");
  return ExitCode::Ok;
}

// help

constexpr Argument kHelpArguments[] = {{.name = "COMMAND",
                                        .help = "One of the commands; without it all of them are listed",
                                        .arity = Arity::Optional}};

Result<ExitCode> run_kpm_help(const Invocation& invocation, World& world) {
  if (const std::string word = invocation.argument("COMMAND"); !word.empty()) {
    MIST_TRY(const HelpTopic topic, topic_of({"kpm", word}, command_table()));
    world.out.write(help_text(topic, command_table(), world.out.columns(), world.color_out));
    return ExitCode::Ok;
  }
  for (const Command* const each : command_table().commands)
    if (each->path.starts_with("kpm "))
      world.out.write(fmt::format("  {:<19} {}\n", each->path, each->summary));
  world.out.write("\nkpm help COMMAND shows more about each.\n");
  return ExitCode::Ok;
}

// archive

constexpr Argument kNewArchive[] = {{.name = "NAME", .help = "Your name for the archive"},
                                    {.name = "URL", .help = "Its git repository, or a service"}};
constexpr Flag kArchiveFlags[] = {
    {.name = "service",
     .help = "URL is a service that collects Kubes of many repositories (mistletoe-catalog)"}};
constexpr FlagGroup kArchiveGroups[] = {{"Flags", kArchiveFlags}};
constexpr Argument kArchive[] = {{.name = "NAME", .help = "Name of the archive"}};

Result<ExitCode> run_archive_add(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  MIST_TRY_VOID(home.add_archive({.name = invocation.argument("NAME"),
                                  .url = invocation.argument("URL"),
                                  .is_service = invocation.enabled("service")},
                                 world.context));
  world.events->info("kpm update reads what it holds");
  return ExitCode::Ok;
}

Result<ExitCode> run_archive_list(const Invocation&, World& world) {
  MIST_TRY(const kpm::Home home, open_kpm_home(world));
  MIST_TRY(const std::vector<kpm::Archive> archives, home.archives());
  for (const kpm::Archive& each : archives)
    world.out.write(fmt::format("\t{}: {}\n", each.name, config::redact_urls(each.url)));
  return ExitCode::Ok;
}

Result<ExitCode> run_archive_remove(const Invocation& invocation, World& world) {
  MIST_TRY(kpm::Home home, open_kpm_home(world));
  MIST_TRY_VOID(home.remove_archive(invocation.argument("NAME"), world.context));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kKpmListCommand{
    .path = "kpm list", .summary = "List the installed Kubes", .run = run_list, .flags = kListGroups};
constinit const Command kKpmSearchCommand{.path = "kpm search",
                                          .summary = "Find Kubes in the archives",
                                          .run = run_search,
                                          .arguments = kPattern,
                                          .flags = kKpmSearchGroups,
                                          .cluster = ClusterUse::None};
constinit const Command kKpmInfoCommand{.path = "kpm info",
                                        .summary = "Describe a Kube",
                                        .run = run_info,
                                        .arguments = kKube,
                                        .cluster = ClusterUse::None};
constinit const Command kKpmGetCommand{.path = "kpm get",
                                       .summary = "Make a working copy of a Kube",
                                       .run = run_get,
                                       .arguments = kKube,
                                       .cluster = ClusterUse::None};
constinit const Command kKpmInstallCommand{.path = "kpm install",
                                           .summary = "Install a Kube",
                                           .run = run_install,
                                           .arguments = kKube,
                                           .flags = kInstallGroups,
                                           .examples = kInstallExamples};
constinit const Command kKpmUpgradeCommand{.path = "kpm upgrade",
                                           .summary = "Upgrade an installed Kube",
                                           .run = run_upgrade,
                                           .arguments = kKube,
                                           .flags = kUpgradeGroups,
                                           .examples = kUpgradeExamples};
constinit const Command kKpmUninstallCommand{.path = "kpm uninstall",
                                             .summary = "Delete an installed Kube",
                                             .run = run_uninstall,
                                             .arguments = kInstalled,
                                             .flags = kUninstallGroups};
constinit const Command kKpmTestCommand{
    .path = "kpm test",
    .summary = "Install a Kube into a namespace of its own, test it, remove it",
    .run = run_kpm_test,
    .arguments = kKube,
    .flags = kTestGroups};
constinit const Command kKpmUpdateCommand{.path = "kpm update",
                                          .summary = "Read again what the archives hold",
                                          .run = run_update,
                                          .cluster = ClusterUse::None};
constinit const Command kKpmHelpCommand{.path = "kpm help",
                                        .summary = "List the commands, or describe one",
                                        .run = run_kpm_help,
                                        .arguments = kHelpArguments,
                                        .cluster = ClusterUse::None};
constinit const Command kKpmArchiveAddCommand{.path = "kpm archive-add",
                                              .summary = "Configure an archive",
                                              .run = run_archive_add,
                                              .arguments = kNewArchive,
                                              .flags = kArchiveGroups,
                                              .cluster = ClusterUse::None};
constinit const Command kKpmArchiveListCommand{.path = "kpm archive-list",
                                               .summary = "List the configured archives",
                                               .run = run_archive_list,
                                               .cluster = ClusterUse::None};
constinit const Command kKpmArchiveRemoveCommand{.path = "kpm archive-remove",
                                                 .summary = "Forget an archive and what was read from it",
                                                 .run = run_archive_remove,
                                                 .arguments = kArchive,
                                                 .cluster = ClusterUse::None};

}  // namespace mist::cli
