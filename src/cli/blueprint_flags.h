#pragma once
// Flags and helpers that the commands for authors of blueprints share. One thread.

#include "action/authoring/blueprint_source.h"
#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "reconcile/scenario.h"

namespace mist::cli {

inline constexpr Argument kBlueprintSource{
    .name = "SOURCE",
    .help = "The blueprint's directory, its blueprint.ncl, or the manifest of its ConfigMap",
    .completion = Completion::File};

inline constexpr Flag kInstanceFileFlag{.name = "instance",
                                        .type = FlagType::Text,
                                        .value = "FILE",
                                        .help = "The custom resource whose graph it is, as YAML or JSON",
                                        .completion = Completion::File};
inline constexpr Flag kScenarioFlag{.name = "scenario",
                                    .type = FlagType::Text,
                                    .value = "FILE",
                                    .help = "Events that happen to it and around it: a list, or a test case",
                                    .completion = Completion::File};

inline constexpr Argument kNewBlueprintName{.name = "NAME",
                                            .help = "The blueprint's name; its kind is that in PascalCase"};
inline constexpr Argument kNewBlueprintDirectory{.name = "DIR",
                                                 .help = "Where to; without it a new directory of that name",
                                                 .arity = Arity::Optional,
                                                 .completion = Completion::Directory};
inline constexpr Flag kBlueprintGroupFlag{.name = "group",
                                          .type = FlagType::Text,
                                          .value = "GROUP",
                                          .help = "API group of its kind",
                                          .fallback = "example.com"};

/// Of a new blueprint: the name becomes that of a ConfigMap, a kind, and a part of labels. Errors: Usage.
Status check_blueprint_names(const std::string& name, const std::string& group);

/// The only blueprint at SOURCE.
Result<action::BlueprintSource> blueprint_source(const Invocation& invocation, Machine& machine);

/// The scenario of --instance and --scenario; nullopt: neither was given. Errors: Usage (no instance), of the
/// files.
Result<std::optional<reconcile::Scenario>> scenario_of(const Invocation& invocation, Machine& machine);

}  // namespace mist::cli
