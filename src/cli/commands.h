#pragma once
// Every command of mistctl, in one visible list (commands.cc).

#include "cli/parse/command.h"

namespace mist::cli {

extern const Command kGenerateCommand;
extern const Command kInstallCommand;
extern const Command kUpgradeCommand;
extern const Command kSearchCommand;
extern const Command kRegistryIndexCommand;
extern const Command kPushCommand;
extern const Command kPullCommand;
extern const Command kSignCommand;
extern const Command kVerifyCommand;
extern const Command kPublishCommand;
extern const Command kLoginCommand;
extern const Command kLogoutCommand;
extern const Command kRollbackCommand;
extern const Command kRecoverCommand;
extern const Command kDiffCommand;
extern const Command kPlanCommand;
extern const Command kApplyPlanCommand;
extern const Command kUninstallCommand;
extern const Command kListCommand;
extern const Command kStatusCommand;
extern const Command kHistoryCommand;
extern const Command kGraphCommand;
extern const Command kDriftCommand;
extern const Command kTestCommand;
extern const Command kInspectPackageCommand;
extern const Command kInspectReleaseCommand;
extern const Command kPackageInitCommand;
extern const Command kPackageLintCommand;
extern const Command kPackageTestCommand;
extern const Command kPackageBuildCommand;
extern const Command kPackageLockCommand;
extern const Command kPackageOutdatedCommand;
extern const Command kPackageWhyCommand;
extern const Command kBlueprintInitCommand;
extern const Command kBlueprintFromYamlCommand;
extern const Command kBlueprintCheckCommand;
extern const Command kBlueprintCrdCommand;
extern const Command kBlueprintGraphCommand;
extern const Command kBlueprintSimulateCommand;
extern const Command kBlueprintTestCommand;
extern const Command kBlueprintRbacCommand;
extern const Command kBlueprintStatusCommand;
extern const Command kBlueprintWhyCommand;
extern const Command kDependencyBuildCommand;
extern const Command kDependencyUpdateCommand;
extern const Command kDependencyListCommand;
extern const Command kEnginesListCommand;
extern const Command kEnginesCompileCommand;
extern const Command kVersionCommand;
extern const Command kHelpCommand;
extern const Command kCompletionBashCommand;
extern const Command kCompletionZshCommand;
extern const Command kCompletionFishCommand;
extern const Command kDoctorCommand;
extern const Command kArgocdConfigCommand;
extern const Command kArgocdDiscoverCommand;
extern const Command kArgocdGenerateCommand;
extern const Command kArgocdParametersCommand;
extern const Command kCompleteCommand;
extern const Command kManualPagesCommand;
extern const Command kConfigViewCommand;
extern const Command kConfigPathCommand;
extern const Command kRegistryAddCommand;
extern const Command kRegistryListCommand;
extern const Command kRegistryRemoveCommand;
extern const Command kRegistryUpdateCommand;
extern const Command kRegistryMirrorAddCommand;
extern const Command kRegistryMirrorListCommand;
extern const Command kRegistryMirrorRemoveCommand;
extern const Command kRegistryTagsCommand;
extern const Command kRegistryCopyCommand;
extern const Command kRegistryTagCommand;
extern const Command kRegistryDeleteCommand;
extern const Command kRegistryAttachedCommand;
extern const Command kMirrorCommand;
extern const Command kKpmListCommand;
extern const Command kKpmSearchCommand;
extern const Command kKpmInfoCommand;
extern const Command kKpmGetCommand;
extern const Command kKpmDiffCommand;
extern const Command kKpmInstallCommand;
extern const Command kKpmUpgradeCommand;
extern const Command kKpmStatusCommand;
extern const Command kKpmHistoryCommand;
extern const Command kKpmRollbackCommand;
extern const Command kKpmUninstallCommand;
extern const Command kKpmUpdateCommand;
extern const Command kKpmTestCommand;
extern const Command kKpmArchiveAddCommand;
extern const Command kKpmArchiveListCommand;
extern const Command kKpmArchiveRemoveCommand;
extern const Command kKpmHelpCommand;

const CommandTable& command_table();

}  // namespace mist::cli
