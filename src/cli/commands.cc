#include "cli/commands.h"

namespace mist::cli {
namespace {

// In the order in which `mistctl help` shows them.
constexpr const Command* kCommands[] = {
    &kGenerateCommand,
    &kInstallCommand,
    &kUpgradeCommand,
    &kDiffCommand,
    &kPlanCommand,
    &kApplyPlanCommand,
    &kRollbackCommand,
    &kRecoverCommand,
    &kUninstallCommand,
    &kListCommand,
    &kStatusCommand,
    &kDriftCommand,
    &kTestCommand,
    &kGraphCommand,
    &kHistoryCommand,
    &kInspectPackageCommand,
    &kInspectReleaseCommand,
    &kPackageInitCommand,
    &kPackageLintCommand,
    &kPackageTestCommand,
    &kPackageBuildCommand,
    &kPackageLockCommand,
    &kPackageOutdatedCommand,
    &kPackageWhyCommand,
    &kDependencyBuildCommand,
    &kDependencyUpdateCommand,
    &kDependencyListCommand,
    &kEnginesListCommand,
    &kEnginesCompileCommand,
    &kConfigViewCommand,
    &kConfigPathCommand,
    &kRegistryAddCommand,
    &kRegistryListCommand,
    &kRegistryRemoveCommand,
    &kRegistryUpdateCommand,
    &kPushCommand,
    &kPullCommand,
    &kLoginCommand,
    &kLogoutCommand,
    &kKpmListCommand,
    &kKpmSearchCommand,
    &kKpmInfoCommand,
    &kKpmGetCommand,
    &kKpmInstallCommand,
    &kKpmUninstallCommand,
    &kKpmUpdateCommand,
    &kKpmTestCommand,
    &kKpmArchiveAddCommand,
    &kKpmArchiveListCommand,
    &kKpmArchiveRemoveCommand,
    &kKpmHelpCommand,
    &kDoctorCommand,
    &kCompletionBashCommand,
    &kCompletionZshCommand,
    &kCompletionFishCommand,
    &kVersionCommand,
    &kHelpCommand,
    &kCompleteCommand,
    &kManualPagesCommand,
};

constexpr CommandGroup kGroups[] = {
    {"inspect", "What a package or a release consists of"},
    {"package", "For authors of packages"},
    {"dependency", "The charts that a Helm chart depends on"},
    {"engines", "What renders charts, Kustomize directories and templates"},
    {"config", "The configuration of mistctl"},
    {"registry", "Where packages come from"},
    {"kpm", "The Kubernetes Package Manager: Kubes from archives"},
    {"completion", "Completion of command lines in shells"},
};

constexpr CommandTable kTable{kCommands, kGroups};

}  // namespace

const CommandTable& command_table() { return kTable; }

}  // namespace mist::cli
