#include "cli/parse/complete.h"

#include <gtest/gtest.h>

#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

Result<ExitCode> run_nothing(const Invocation&, Machine&) { return ExitCode::Ok; }

constexpr std::string_view kCompleteOutputs[] = {"json", "dir=", "yaml"};
constexpr Flag kCompleteInstallFlags[] = {
    {.name = "package", .letter = 'p', .type = FlagType::Text, .completion = Completion::Package},
    {.name = "values", .letter = 'f', .type = FlagType::Texts, .completion = Completion::File},
    {.name = "output", .letter = 'o', .type = FlagType::Choice, .choices = kCompleteOutputs},
    {.name = "wait", .help = "Return later"},
    {.name = "set", .letter = 's', .type = FlagType::Texts, .completion = Completion::ValueKey},
    {.name = "set-file", .type = FlagType::Texts, .completion = Completion::ValueKey},
    {.name = "take-over-from", .type = FlagType::Text, .completion = Completion::ReleaseAnywhere},
};
constexpr FlagGroup kCompleteGroups[] = {{"Flags", kCompleteInstallFlags}};
constexpr std::string_view kListOutputs[] = {"table"};
constexpr Flag kListFlags[] = {
    {.name = "output", .letter = 'o', .type = FlagType::Choice, .choices = kListOutputs},
};
constexpr FlagGroup kListGroups[] = {{"Flags", kListFlags}};
constexpr Command kList{.path = "list", .run = run_nothing, .flags = kListGroups};
constexpr Argument kArguments[] = {{.name = "NAME", .completion = Completion::Release}};
constexpr Argument kRegistry[] = {{.name = "NAME", .arity = Arity::Any, .completion = Completion::Registry}};
constexpr Argument kWords[] = {{.name = "COMMAND", .arity = Arity::Any, .completion = Completion::Command}};
constexpr Argument kBackArguments[] = {
    {.name = "NAME", .completion = Completion::Release},
    {.name = "REVISION", .arity = Arity::Optional, .completion = Completion::Revision},
};
constexpr Command kBack{.path = "back", .run = run_nothing, .arguments = kBackArguments};
constexpr Command kUpgrade{
    .path = "upgrade", .run = run_nothing, .arguments = kArguments, .flags = kCompleteGroups};
constexpr Command kAdd{.path = "registry add", .run = run_nothing};
constexpr Command kUpdate{.path = "registry update", .run = run_nothing, .arguments = kRegistry};
constexpr Command kHelp{.path = "help", .run = run_nothing, .arguments = kWords};
constexpr Argument kMirrorArguments[] = {
    {.name = "REGISTRY", .completion = Completion::Mirrored},
    {.name = "PLACE", .arity = Arity::Any, .completion = Completion::Mirror},
};
constexpr Argument kPlaces[] = {
    {.name = "REGISTRY"},
    {.name = "PLACE", .arity = Arity::OneOrMore, .completion = Completion::CopiesPlace}};
constexpr Command kUnmirror{
    .path = "registry mirror remove", .run = run_nothing, .arguments = kMirrorArguments};
constexpr Command kMirrorAdd{.path = "registry mirror add", .run = run_nothing, .arguments = kPlaces};
constexpr Command kHidden{.path = "__hidden", .run = run_nothing, .hidden = true};
constexpr const Command* kCompleteCommands[] = {&kUpgrade, &kAdd,    &kUpdate, &kUnmirror, &kMirrorAdd,
                                                &kHelp,    &kHidden, &kList,   &kBack};
constexpr CommandGroup kCompleteGroupsOfCommands[] = {{"registry", "Registries"},
                                                      {"registry mirror", "Mirrors"}};
constexpr CommandTable kCompleteTable{kCompleteCommands, kCompleteGroupsOfCommands};

std::vector<KnownName> names(const NameQuery& query) {
  const Completion kind = query.kind;
  const ClusterChoice& cluster = query.cluster;
  if (kind == Completion::Package) {
    if (query.typed.find(':') == std::string::npos) return {{"team/web:"}, {"team/db:"}};
    return {{"team/web:0.1.0"}, {"team/web:0.2.0"}};
  }
  if (kind == Completion::ValueKey) {
    if (query.package == "team/web:0.1.0" && query.typed.starts_with("image."))
      return {{"image.tag=", "string, latest"}, {"image.pullPolicy="}};
    return {{"image.", "What runs"}, {"replicas=", "of " + query.package + query.release}};
  }
  if (!query.release.empty()) return {{query.release + "-1"}, {query.release + "-2"}};
  if (kind == Completion::Mirrored) return {{"a.example"}, {"b.example/team"}};
  if (kind == Completion::Mirror && query.mirrored == "a.example")
    return {{"oci://m.example"}, {"oci-layout:/m"}};
  if (kind == Completion::Registry) return {{"mistletoe"}, {"team"}};
  if (kind == Completion::Namespace) return {{"default"}, {"shop"}};
  if (kind == Completion::Context)
    return {{"dev"}, {"$(touch x)"}, {"a;b"},   {"a b"}, {"`b`"},     {"~root"},
            {"a|b"}, {"a\nb"},       {"{a,b}"}, {"*"},   {"alice@h"}, {"arn:aws:eks:1/c"}};
  if (kind == Completion::Release) return {{fmt::format("{}-{}-app", cluster.context, cluster.ns)}};
  return {};
}

using Words = std::vector<std::string>;
CompletionReply at(std::string_view line) { return complete(line, kCompleteTable, names); }

TEST(Complete, Commands) {
  EXPECT_EQ(at("mistctl ").words, (Words{"back", "help", "list", "registry", "upgrade"}));
  EXPECT_EQ(at("mistctl up").words, (Words{"upgrade"}));
  EXPECT_EQ(at("mistctl registry ").words, (Words{"add", "mirror", "update"}));
  EXPECT_EQ(at("mistctl registry ").descriptions.at("mirror"), "Mirrors");
  EXPECT_EQ(at("mistctl registry mirror ").words, (Words{"add", "remove"}));
  EXPECT_EQ(at("mistctl -n shop registry u").words, (Words{"update"}));
  EXPECT_EQ(at("mistctl help registry ").words, (Words{"add", "mirror", "update"}));
}

// A package's name or a kubeconfig can't have the completing shell run anything.
TEST(Complete, NothingThatAShellWouldTakeForMoreThanAWord) {
  EXPECT_EQ(at("mistctl --context ").words, (Words{"alice@h", "arn:aws:eks:1/c", "dev"}));
}

TEST(Complete, FlagsThatMayStillBeGiven) {
  EXPECT_EQ(at("mistctl upgrade --w").words, (Words{"--wait"}));
  EXPECT_EQ(at("mistctl upgrade --wait --w").words, Words{});
  EXPECT_EQ(at("mistctl upgrade -f a --val").words, (Words{"--values"}));
  EXPECT_EQ(at("mistctl --kube").words, (Words{"--kubeconfig"}));
  EXPECT_EQ(at("mistctl registry add --w").words, Words{});
}

TEST(Complete, ValuesOfFlags) {
  EXPECT_EQ(at("mistctl upgrade -o ").words, (Words{"dir=", "json", "yaml"}));
  EXPECT_TRUE(at("mistctl upgrade -o ").no_space);
  EXPECT_EQ(at("mistctl upgrade --output=y").words, (Words{"--output=yaml"}));
  EXPECT_EQ(at("mistctl list -o ").words, (Words{"table"})) << "not those of upgrade";
  EXPECT_EQ(at("mistctl upgrade -o dir=").files, CompletionReply::Files::Directories);
  EXPECT_EQ(at("mistctl upgrade --color ").words, (Words{"always", "auto", "never"}));
  EXPECT_EQ(at("mistctl upgrade -n s").words, (Words{"shop"}));
  EXPECT_EQ(at("mistctl upgrade -f ").files, CompletionReply::Files::Files);
}

TEST(Complete, ArgumentsKnowTheScope) {
  EXPECT_EQ(at("mistctl upgrade -n shop --context=dev ").words, (Words{"dev-shop-app"}));
  EXPECT_EQ(at("mistctl upgrade app ").words, Words{}) << "takes only one";
  EXPECT_EQ(at("mistctl registry update team mi").words, (Words{"mistletoe"}));
}

TEST(Complete, Packages) {
  EXPECT_EQ(at("mistctl upgrade -p t").words, (Words{"team/"}));
  EXPECT_TRUE(at("mistctl upgrade -p t").no_space);
  EXPECT_EQ(at("mistctl upgrade -p ./").files, CompletionReply::Files::Files);
  EXPECT_EQ(at("mistctl upgrade -p team/w").words, (Words{"team/web:"}));
  EXPECT_TRUE(at("mistctl upgrade -p team/w").no_space);
  EXPECT_EQ(at("mistctl upgrade -p team/web:0.2").words, (Words{"team/web:0.2.0"}));
  EXPECT_FALSE(at("mistctl upgrade -p team/web:0.2").no_space);
  EXPECT_EQ(at("mistctl upgrade --package=team/web:0.2").words, (Words{"--package=team/web:0.2.0"}));
}

TEST(Complete, Mirrors) {
  EXPECT_EQ(at("mistctl registry mirror remove b").words, (Words{"b.example/team"}));
  EXPECT_EQ(at("mistctl registry mirror remove a.example ").words,
            (Words{"oci-layout:/m", "oci://m.example"}));
  EXPECT_EQ(at("mistctl registry mirror remove a.example oci-layout:/m ").words, (Words{"oci://m.example"}));
  EXPECT_EQ(at("mistctl registry mirror remove b.example/team ").words, Words{});
}

TEST(Complete, PlacesOfCopies) {
  EXPECT_EQ(at("mistctl registry mirror add a.example o").words,
            (Words{"oci-archive:", "oci-layout:", "oci://"}));
  EXPECT_TRUE(at("mistctl registry mirror add a.example o").no_space);
  EXPECT_EQ(at("mistctl registry mirror add a.example oci://m oci-layout:/m").files,
            CompletionReply::Files::Directories);
  EXPECT_EQ(at("mistctl registry mirror add a.example oci-archive:").files, CompletionReply::Files::Files);
}

TEST(Complete, RevisionsOfTheReleaseBefore) {
  EXPECT_EQ(at("mistctl back web ").words, (Words{"web-1", "web-2"}));
  EXPECT_EQ(at("mistctl back web v").words, (Words{"vweb-1", "vweb-2"})) << "as history prints them";
  EXPECT_EQ(at("mistctl back web 1 ").words, Words{});
}

TEST(Complete, ReleasesOfOtherNamespaces) {
  EXPECT_EQ(at("mistctl upgrade -n shop --take-over-from ").words, (Words{"default/", "shop/"}));
  EXPECT_TRUE(at("mistctl upgrade --take-over-from sh").no_space);
  EXPECT_EQ(at("mistctl upgrade -n shop --take-over-from default/").words, (Words{"default/-default-app"}));
  EXPECT_FALSE(at("mistctl upgrade --take-over-from default/").no_space);
  EXPECT_EQ(at("mistctl upgrade --take-over-from=shop/").words, (Words{"--take-over-from=shop/-shop-app"}));
}

TEST(Complete, UnderstandsQuotesAndTheEndOfFlags) {
  EXPECT_EQ(at("mistctl upgrade -n 'shop' --context \"d").words, (Words{"dev"}));
  EXPECT_EQ(at("mistctl upgrade -- --w").words, Words{});
}

TEST(Complete, BashSeesOnlyWhatFollowsItsWordBreak) {
  CompletionReply reply = at("mistctl upgrade --output=y");
  strip_to_last_break(reply, "mistctl upgrade --output=y", " =:");
  EXPECT_EQ(reply.words, (Words{"yaml"}));
  reply = at("mistctl upgrade --output=y");
  strip_to_last_break(reply, "mistctl upgrade --output=y", " ");
  EXPECT_EQ(reply.words, (Words{"--output=yaml"}));
}

TEST(Complete, BashReplacesAWordFromItsAtSignOn) {
  constexpr std::string_view kBreaks = " \t\n\"'@><=;|&(:";  // as bash begins
  const auto left = [&](std::string_view line) {
    CompletionReply reply = at(line);
    strip_to_last_break(reply, line, kBreaks);
    return reply.words;
  };
  EXPECT_EQ(left("mistctl --context alice@"), (Words{"@h"}));
  EXPECT_EQ(left("mistctl --context=alice@h"), (Words{"@h"}));
  EXPECT_EQ(left("mistctl --context=al"), (Words{"alice@h"}));
  EXPECT_EQ(left("mistctl --context al"), (Words{"alice@h"}));
  EXPECT_EQ(left("mistctl --context arn:aws:"), (Words{"eks:1/c"}));
}

TEST(Complete, KeysOfValuesAreThoseOfThePackageOrOfTheReleasesOwn) {
  EXPECT_EQ(at("mistctl upgrade web -s ").words, (Words{"image.", "replicas="}));
  EXPECT_TRUE(at("mistctl upgrade web -s ").no_space);
  EXPECT_EQ(at("mistctl upgrade web -s r").words, (Words{"replicas="}));
  EXPECT_EQ(at("mistctl upgrade web -p team/web:0.1.0 --set image.").words,
            (Words{"image.pullPolicy=", "image.tag="}));
  EXPECT_EQ(at("mistctl upgrade web --set=image.ta -p x").words, (Words{}));
  // After a comma another begins; behind = nothing is known but files.
  EXPECT_EQ(at("mistctl upgrade web -s image.tag=1,re").words, (Words{"image.tag=1,replicas="}));
  EXPECT_EQ(at("mistctl upgrade web --set=a=1,re").words, (Words{"--set=a=1,replicas="}));
  EXPECT_EQ(at("mistctl upgrade web -s replicas=").words, Words());
  EXPECT_EQ(at("mistctl upgrade web --set-file a=b").files, CompletionReply::Files::Files);
}

TEST(Complete, FlagsCommandsAndNamesAreDescribed) {
  EXPECT_EQ(at("mistctl upgrade web --wa").descriptions.at("--wait"), "Return later");
  EXPECT_EQ(at("mistctl upgrade web -s re").descriptions.at("replicas="), "of web");
  CompletionReply reply = at("mistctl upgrade web --set=re");
  strip_to_last_break(reply, "mistctl upgrade web --set=re", "=:");
  EXPECT_EQ(reply.descriptions.at("replicas="), "of web");
}

}  // namespace
}  // namespace mist::cli
