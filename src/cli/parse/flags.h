#pragma once
// Flags that several commands share. A name or letter takes a value in all commands or in none
// (commands_test.cc checks it): that is what lets flags precede the command's name.

#include <array>

#include "cli/parse/command.h"

namespace mist::cli {

inline constexpr std::string_view kColorChoices[] = {"auto", "always", "never"};
inline constexpr std::string_view kEventsChoices[] = {"auto", "lines", "jsonl"};
inline constexpr Flag kGlobalFlagList[] = {
    {.name = "kubeconfig",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Cluster configuration; without it $KUBECONFIG, then ~/.kube/config, then the service account "
             "of the Pod that it runs in",
     .completion = Completion::File,
     .rare = true},
    {.name = "context",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Context of the kubeconfig to use instead of its current one",
     .completion = Completion::Context},
    {.name = "namespace",
     .letter = 'n',
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Namespace of the release; without it the context's, then \"default\"",
     .completion = Completion::Namespace},
    {.name = "color",
     .type = FlagType::Choice,
     .value = "WHEN",
     .help = "Colors: auto is on a terminal, unless NO_COLOR is set or TERM is dumb",
     .fallback = "auto",
     .choices = kColorChoices,
     .rare = true},
    {.name = "events",
     .type = FlagType::Choice,
     .value = "FORM",
     .help = "Progress on standard error: auto is a live picture on a terminal and lines elsewhere; jsonl is "
             "one JSON object for each event",
     .fallback = "auto",
     .choices = kEventsChoices,
     .rare = true},
    {.name = "quiet", .letter = 'q', .help = "No progress; only results, warnings and errors", .rare = true},
    {.name = "verbose",
     .letter = 'v',
     .type = FlagType::Count,
     .help = "Say more: each step and how long it took",
     .rare = true},
    {.name = "help", .letter = 'h', .help = "Print the usual flags"},
    {.name = "help-all", .help = "Print all flags"},
};
inline constexpr FlagGroup kGlobalFlags{"Global flags", kGlobalFlagList};

/// `-o` of commands whose plain form is text for people.
inline constexpr std::string_view kOutputChoices[] = {"table", "json", "yaml"};
inline constexpr Flag kOutputFlagList[] = {
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help = "How to print the result",
     .fallback = "table",
     .choices = kOutputChoices},
};
inline constexpr FlagGroup kOutputFlags{"Output flags", kOutputFlagList};

/// `--lines` of commands that print a unified diff.
inline constexpr Flag kLinesFlag{.name = "lines",
                                 .letter = 'U',
                                 .type = FlagType::Number,
                                 .value = "COUNT",
                                 .help = "Unchanged lines around each change",
                                 .fallback = "3"};

/// `--yes` of commands that ask before they delete or change much.
inline constexpr Flag kConfirmFlagList[] = {
    {.name = "yes", .letter = 'y', .help = "Don't ask"},
};
inline constexpr FlagGroup kConfirmFlags{"Confirmation flags", kConfirmFlagList};

}  // namespace mist::cli
