#pragma once
// Flags that the commands on releases share, and what they mean. One thread.

#include <set>
#include <string>

#include "action/deploy/deploy.h"
#include "action/uninstall.h"
#include "cli/machine.h"
#include "cli/package_flags.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "render/release_renderer.h"

namespace mist::cli {

inline constexpr Argument kReleaseArgument[] = {
    {.name = "NAME", .help = "Name of the release", .completion = Completion::Release},
};

inline constexpr Flag kAllowLookupFlag{
    .name = "allow-lookup",
    .type = FlagType::Texts,
    .value = "NAMESPACE[/KIND[/NAME]]",
    .help =
        "Let the package read these objects beside the release's own, but no Secrets; '*': of the whole "
        "cluster. The release remembers it",
    .completion = Completion::Namespace,
    .rare = true};
inline constexpr Flag kAllowLookupSecretsFlag{
    .name = "allow-lookup-secrets",
    .type = FlagType::Texts,
    .value = "NAMESPACE[/NAME]",
    .help = "Let the package read these Secrets beside the release's own. The release remembers it",
    .completion = Completion::Namespace,
    .rare = true};
inline constexpr Flag kRevokeLookupFlag{
    .name = "revoke-lookup",
    .help = "Take back what the release remembers of --allow-lookup and --allow-lookup-secrets",
    .rare = true};

/// Of a Kube.
inline constexpr Flag kAllowHostScriptsFlag{
    .name = "allow-host-scripts",
    .type = FlagType::Text,
    .value = "DIGEST",
    .help =
        "Run a Kube's scripts/pre-install.py that the sandbox can't run on this machine, in bubblewrap; "
        "asks first, unless the DIGEST of exactly this Kube is given",
    .implied = "ask",
    .rare = true};

inline constexpr std::string_view kDryRunChoices[] = {"none", "client", "server"};
inline constexpr Flag kWaitFlag{.name = "wait", .help = "Return only when every object is ready"};
inline constexpr Flag kNoWaitForJobsFlag{
    .name = "no-wait-for-jobs",
    .help = "With --wait: a Job is ready when it has begun, not when it ends",
    .rare = true};
inline constexpr Flag kTimeoutFlag{
    .name = "timeout",
    .type = FlagType::Duration,
    .value = "TIME",
    .help = "How long --wait, each hook and each wait for another object may take",
    .fallback = "5m"};
inline constexpr Flag kDryRunFlag{.name = "dry-run",
                                  .type = FlagType::Choice,
                                  .value = "WHERE",
                                  .help = "Only show the plan; server: let the API server check it too",
                                  .fallback = "none",
                                  .choices = kDryRunChoices,
                                  .implied = "client"};
inline constexpr Flag kExplainFlag{
    .name = "explain", .help = "Say what the plan does to each object and why, before it is carried out"};
inline constexpr Flag kForceConflictsFlag{
    .name = "force-conflicts", .help = "Take fields that other field managers own", .rare = true};
inline constexpr Flag kReplaceFlag{
    .name = "replace", .help = "Delete and recreate what can't be changed in place", .rare = true};
inline constexpr Flag kRollbackOnFailureFlag{
    .name = "rollback-on-failure",
    .help = "Should it fail, return to the deployed revision, or remove what a first install made"};
inline constexpr Flag kHistoryMaxFlag{
    .name = "history-max",
    .type = FlagType::Number,
    .value = "N",
    .help = "How many revisions are kept; the deployed one and the last two always are; 0: all",
    .fallback = "10",
    .rare = true};
inline constexpr Flag kAdoptFromFlag{.name = "adopt-from",
                                     .type = FlagType::Texts,
                                     .value = "MANAGER",
                                     .help =
                                         "Of adopted objects, also take the fields of this field manager; "
                                         "those of Helm and kubectl are taken anyway",
                                     .rare = true};
inline constexpr Flag kTakeOverFlag{.name = "take-over-from",
                                    .type = FlagType::Text,
                                    .value = "NAMESPACE/NAME",
                                    .help = "Take objects over that belong to this release",
                                    .completion = Completion::ReleaseAnywhere,
                                    .rare = true};
inline constexpr Flag kAllowEmptyFlag{.name = "allow-empty",
                                      .help = "Delete all objects of the release if the package makes none",
                                      .rare = true};
inline constexpr Flag kNoHooksFlag{.name = "no-hooks", .help = "Run no hooks of a chart", .rare = true};
inline constexpr Flag kSkipCrdsFlag{.name = "skip-crds",
                                    .help = "Leave the objects of a chart's crds/ as they are in the cluster",
                                    .rare = true};
inline constexpr Flag kForceCrdsFlag{
    .name = "force-crds",
    .help = "Upgrade a chart's CRDs even if they no longer fit the objects that exist",
    .rare = true};
inline constexpr Flag kDeployFlagList[] = {
    kAllowLookupFlag,
    kAllowLookupSecretsFlag,
    kRevokeLookupFlag,
    kAllowHostScriptsFlag,
    kWaitFlag,
    kNoWaitForJobsFlag,
    kTimeoutFlag,
    kDryRunFlag,
    kExplainFlag,
    kNoHooksFlag,
    kSkipCrdsFlag,
    kForceCrdsFlag,
    kSkipSchemaFlag,
    {.name = "create-namespace", .help = "Create the release's namespace if it does not exist"},
    kForceConflictsFlag,
    kReplaceFlag,
    kAllowEmptyFlag,
    {.name = "adopt", .help = "Take objects into the release that exist already and belong to nobody"},
    kAdoptFromFlag,
    kTakeOverFlag,
    kRollbackOnFailureFlag,
    kHistoryMaxFlag,
};
inline constexpr FlagGroup kDeployFlags{"Deployment flags", kDeployFlagList};

/// Of commands that apply what is recorded.
inline constexpr Flag kRecordedFlagList[] = {kWaitFlag,    kNoWaitForJobsFlag, kTimeoutFlag,
                                             kDryRunFlag,  kExplainFlag,       kForceConflictsFlag,
                                             kReplaceFlag, kHistoryMaxFlag,    kNoHooksFlag};
inline constexpr FlagGroup kRecordedFlags{"Deployment flags", kRecordedFlagList};

/// Flags for what a plan may do; of the commands that only look.
inline constexpr Flag kPlanFlagList[] = {
    kAllowLookupFlag,
    kAllowLookupSecretsFlag,
    kRevokeLookupFlag,
    kNoHooksFlag,
    kSkipCrdsFlag,
    kForceCrdsFlag,
    kSkipSchemaFlag,
    {.name = "create-namespace", .help = "Create the release's namespace if it does not exist"},
    kForceConflictsFlag,
    kReplaceFlag,
    kAllowEmptyFlag,
    {.name = "adopt", .help = "Take objects into the release that exist already and belong to nobody"},
    kAdoptFromFlag,
    kTakeOverFlag,
};
inline constexpr FlagGroup kPlanFlags{"Planning flags", kPlanFlagList};

inline constexpr Flag kPruneFlagList[] = {
    {.name = "delete-crds",
     .help = "Also delete CustomResourceDefinitions, and with them every object of their kinds",
     .rare = true},
    {.name = "delete-pvcs",
     .help = "Also delete PersistentVolumeClaims, and with them their data",
     .rare = true},
    {.name = "delete-namespaces",
     .help = "Also delete namespaces that were there before, or hold objects of others",
     .rare = true},
};
inline constexpr FlagGroup kPruneFlags{"Deletion flags", kPruneFlagList};

inline constexpr Flag kLockFlagList[] = {
    {.name = "lock-wait",
     .type = FlagType::Duration,
     .value = "TIME",
     .help = "How long to wait while somebody else changes the release",
     .fallback = "0s",
     .rare = true},
};
inline constexpr FlagGroup kLockFlags{"Lock flags", kLockFlagList};

inline constexpr Flag kClockFlagList[] = {
    {.name = "clock",
     .type = FlagType::Text,
     .value = "TIME",
     .help = "Time that the package sees: now, frozen (when the release was first installed) or "
             "2026-01-02T15:04:05Z; "
             "it stays so until it is changed",
     .rare = true},
};
inline constexpr FlagGroup kClockFlags{"Clock flags", kClockFlagList};

inline constexpr std::string_view kAllSecrets = "*";
inline constexpr Flag kRotateFlagList[] = {
    {.name = "rotate-secrets",
     .type = FlagType::Texts,
     .value = "NAME",
     .help = "Draw the package's secret of that name again, or all of them",
     .implied = kAllSecrets,
     .rare = true},
};
inline constexpr FlagGroup kRotateFlags{"Secrets flags", kRotateFlagList};

inline constexpr Flag kSeedFileFlag{.name = "seed-file",
                                    .type = FlagType::Text,
                                    .value = "FILE",
                                    .help = "Take seed and clock from this file, as generate does",
                                    .completion = Completion::File,
                                    .rare = true};

/// A client of the chosen cluster with what actions need beside it.
struct Cluster {
  std::unique_ptr<kube::Client> client;
  action::Environment environment;
};
Result<Cluster> open_cluster(const Invocation& invocation, Machine& machine);

/// NAME in the release namespace: -n, else the context's, else "default"; with the words that hints need to
/// find that cluster again.
Result<release::ReleaseId> release_id(const Invocation& invocation, const kube::Client& client);

/// The same of a command that takes several names, each once.
Result<std::vector<release::ReleaseId>> release_ids(const Invocation& invocation, const kube::Client& client);

/// Of a command that works on several releases, and goes on with the others when it fails on one.
struct ReleaseFailure {
  release::ReleaseId id;
  Error failure;
};
/// The first failure, naming its release, with a frame for each of the others; none of none.
std::optional<Error> failure_of_several(std::vector<ReleaseFailure> failures);

/// "3" and "v3" are the same revision. Usage: it is not a number; an empty text is none.
Result<int> revision_number(const Invocation& invocation, const std::string& text);
/// Of a flag; nothing: it isn't given.
Result<std::optional<int>> revision_of(const Invocation& invocation, std::string_view flag);

/// Of a command with kHistoryMaxFlag.
int history_max(const Invocation& invocation);

action::DeployOptions deploy_options(const Invocation& invocation);
/// Those of them that say how it is carried out, not what: waiting, rolling back, how much history is kept.
void read_run_flags(const Invocation& invocation, action::DeployOptions& options);
apply::PruneRules prune_rules(const Invocation& invocation);
/// The controllers that --adopt-from names. Usage: a controller of the cluster.
Result<std::set<std::string>> adopt_from(const Invocation& invocation);
/// The release that --take-over-from names. Usage: it is no NAMESPACE/NAME, or `ours`.
Result<std::optional<release::ReleaseId>> take_over_from(const Invocation& invocation,
                                                         const release::ReleaseId& ours);
/// Of kPlanFlags and kPruneFlags, for commands that only look.
Result<action::DeployOptions> plan_options(const Invocation& invocation, const release::ReleaseId& ours);

/// From kClockFlags, kRotateFlags and those of renders, where the command has them. Usage: a time that is
/// none.
Result<render::RenderChoices> render_choices(const Invocation& invocation, const Machine& machine);

/// Of a release that went back to a recorded revision: Differences, where the server kept something as it
/// was.
ExitCode exit_code_of(const action::DeployReport& report);

/// Prints what a deployment did, or would do.
void print_deploy_report(const Invocation& invocation, Machine& machine, const action::DeployReport& report,
                         std::string_view did);

}  // namespace mist::cli
