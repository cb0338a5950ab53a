#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/package_flags.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

constexpr Flag kFlags[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help = "The package from now on; without it the one that the release has",
     .completion = Completion::Package},
    {.name = "reuse-values",
     .help = "Merge the values given here into those that the release has, instead of replacing them"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kValuesFlags,  kDeployFlags, kPruneFlags,
                                 kLockFlags,        kSandboxFlags, kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl upgrade web -p team/hello-web:0.2.0", "Another version, the same values"},
    {"mistctl upgrade web -s replicas=5 --reuse-values --wait", "One value more, the same package"},
};

// The revision whose package and values the release has: the deployed one, or what a first install tried.
const release::Revision* stored(const action::ReleaseState& state) {
  if (state.deployed) return &*state.deployed;
  return state.unfinished.empty() ? nullptr : &state.unfinished.back();
}

class Upgrade {
 public:
  Upgrade(const Invocation& invocation, World& world, kube::Client& client)
      : invocation_(invocation), world_(world), client_(client) {}

  Status prepare() {
    if (has_values(invocation_)) {
      MIST_TRY(given_, read_values(invocation_, world_));
    }
    if (invocation_.has("package")) {
      MIST_TRY(source_, fetch_package(world_, invocation_.text("package")));
    }
    MIST_TRY(renderer_, open_renderer(invocation_, world_));
    return {};
  }

  Result<action::RenderedRelease> render(const action::ReleaseState& state) {
    const release::Revision* revision = stored(state);
    if (!source_) {
      if (revision == nullptr)
        return error(ErrorKind::Usage, "release {} has no package yet", state.id.display())
            .with_hint("name it with -p PACKAGE");
      MIST_TRY(source_, fetch_package(world_, revision->package.reference));
      MIST_TRY_VOID(refuse_changed_bytes(*revision));
    }
    return render_release(*renderer_, *source_, state, values(revision), client_, world_.context);
  }

 private:
  encoding::Value values(const release::Revision* revision) const {
    encoding::Value before = revision == nullptr || !revision->user_values.is_object()
                                 ? encoding::Value::object()
                                 : revision->user_values;
    if (!given_) return before;
    if (!invocation_.enabled("reuse-values")) return *given_;
    encoding::Value merged = before;
    encoding::merge_into(merged, *given_);
    return merged;
  }

  // A path on this machine or a branch may have other content every day; a version of a registry may not.
  Status refuse_changed_bytes(const release::Revision& revision) {
    const std::string& reference = source_->reference;
    if (revision.package.digest == source_->digest || reference.starts_with('/') ||
        reference.starts_with("git+"))
      return {};
    Error failure = error(ErrorKind::Conflict, "{} is not what the release was made from", reference);
    failure.because = fmt::format("its digest is {}, it was {}", source_->digest, revision.package.digest);
    failure.hint = fmt::format("if the new bytes are wanted, say so with -p {}", reference);
    return failure;
  }

  const Invocation& invocation_;
  World& world_;
  kube::Client& client_;
  std::optional<encoding::Value> given_;
  std::optional<package::Source> source_;
  std::unique_ptr<package::Renderer> renderer_;
};

Result<ExitCode> run_upgrade(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  Upgrade upgrade(invocation, world, *cluster.client);
  MIST_TRY_VOID(upgrade.prepare());
  const auto render = [&](const action::ReleaseState& state) { return upgrade.render(state); };
  MIST_TRY(const action::DeployReport report,
           action::deploy(cluster.environment, id, action::upgrade_intent(render), deploy_options(invocation),
                          world.context));
  print_deploy_report(invocation, world, report, "is upgraded");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kUpgradeCommand{.path = "upgrade",
                                        .summary = "Change a release: another package, other values, or both",
                                        .run = run_upgrade,
                                        .arguments = kReleaseArgument,
                                        .flags = kGroups,
                                        .examples = kExamples};

}  // namespace mist::cli
