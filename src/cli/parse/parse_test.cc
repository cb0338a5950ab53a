#include "cli/parse/parse.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

Result<ExitCode> nothing(const Invocation&, Machine&) { return ExitCode::Ok; }

constexpr std::string_view kOutputs[] = {"yaml", "json", "dir="};
constexpr std::string_view kDryRuns[] = {"client", "server"};
constexpr Flag kInstallFlags[] = {
    {.name = "package", .letter = 'p', .type = FlagType::Text, .value = "PACKAGE", .required = true},
    {.name = "values", .letter = 'f', .type = FlagType::Texts, .value = "FILE"},
    {.name = "set", .letter = 's', .type = FlagType::Texts, .value = "K=V"},
    {.name = "wait", .letter = 'w'},
    {.name = "timeout", .type = FlagType::Duration, .value = "TIME", .fallback = "5m"},
    {.name = "retries", .type = FlagType::Number, .value = "N", .fallback = "3"},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .fallback = "yaml",
     .choices = kOutputs},
    {.name = "dry-run", .type = FlagType::Choice, .value = "WHERE", .choices = kDryRuns, .implied = "client"},
};
constexpr FlagGroup kInstallGroups[] = {{"Flags", kInstallFlags}};
constexpr Argument kNameArgument[] = {{.name = "NAME"}};
constexpr Argument kNamesArgument[] = {{.name = "FIRST"}, {.name = "REST", .arity = Arity::Any}};
constexpr Command kInstall{
    .path = "install", .run = nothing, .arguments = kNameArgument, .flags = kInstallGroups};
constexpr Command kStatus{.path = "status", .run = nothing, .arguments = kNamesArgument};
constexpr Command kRelease{
    .path = "inspect release", .run = nothing, .arguments = kNameArgument, .alias = "inspect install"};
constexpr Argument kOptionalArgument[] = {
    {.name = "NAME"}, {.name = "REVISION", .arity = Arity::Optional, .refuses_empty = true}};
constexpr Argument kPatternArgument[] = {{.name = "PATTERN", .arity = Arity::Optional}};
constexpr Command kFind{.path = "find", .run = nothing, .arguments = kPatternArgument};
constexpr Command kRollback{.path = "rollback", .run = nothing, .arguments = kOptionalArgument};
constexpr Command kPackage{.path = "inspect package", .run = nothing};
constexpr Command kDeep{.path = "inspect deep one", .run = nothing, .arguments = kNameArgument};
constexpr Command kDeeper{.path = "inspect deep two", .run = nothing};
constexpr const Command* kCommands[] = {&kInstall, &kStatus, &kRelease,  &kPackage,
                                        &kDeep,    &kDeeper, &kRollback, &kFind};
constexpr CommandGroup kGroups[] = {{"inspect", "Look"}, {"inspect deep", "Look deep"}};
constexpr CommandTable kTable{kCommands, kGroups};

Result<Parsed> parse_words(std::string_view line) {
  std::vector<std::string> args;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) args.emplace_back(word);
  return parse(args, kTable);
}

Invocation parsed(std::string_view line) {
  auto result = parse_words(line);
  EXPECT_TRUE(result.ok()) << line << ": " << (result.ok() ? "" : result.error().to_line());
  return std::get<Invocation>(*result);
}

Error refused(std::string_view line) {
  auto result = parse_words(line);
  EXPECT_FALSE(result.ok()) << line;
  if (result.ok()) return {};
  EXPECT_EQ(result.error().kind, ErrorKind::Usage) << line;
  EXPECT_FALSE(result.error().hint.empty()) << line;
  return result.error();
}

TEST(Parse, ReadsEveryFormOfAFlag) {
  for (const std::string_view line :
       {"install shop -p x -n a", "install shop -px -na", "install shop -p=x -n=a", "-n a install -p x shop",
        "install --package x --namespace a shop", "install --package=x --namespace=a -- shop"}) {
    const Invocation invocation = parsed(line);
    EXPECT_EQ(invocation.text("package"), "x") << line;
    EXPECT_EQ(invocation.text("namespace"), "a") << line;
    EXPECT_EQ(invocation.argument("NAME"), "shop") << line;
  }
}

TEST(Parse, AnEmptyOptionalArgumentIsNotOneThatIsLeftOutWhereThatMeansSomethingElse) {
  const auto found = parse(std::vector<std::string>{"find", ""}, kTable);
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(std::get<Invocation>(*found).argument("PATTERN"), "");
  EXPECT_EQ(parsed("rollback shop").argument("REVISION"), "");
  EXPECT_EQ(parsed("rollback shop 3").argument("REVISION"), "3");
  const auto result = parse(std::vector<std::string>{"rollback", "shop", ""}, kTable);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Usage);
  EXPECT_EQ(result.error().message, "mistctl rollback can't use an empty REVISION");
}

TEST(Parse, FlagsOfACommandMayStandBeforeIt) {
  EXPECT_EQ(parsed("--set a=1 -f v.yaml -p x install shop").texts("set"), std::vector<std::string>{"a=1"});
}

TEST(Parse, CombinesShortFlags) {
  const Invocation invocation = parsed("install shop -vqvwp x");
  EXPECT_EQ(invocation.count("verbose"), 2);
  EXPECT_TRUE(invocation.enabled("quiet"));
  EXPECT_TRUE(invocation.enabled("wait"));
  EXPECT_EQ(invocation.text("package"), "x");
}

TEST(Parse, KeepsTheOrderOfRepeatedFlags) {
  const Invocation invocation = parsed("install shop -p x -f a -s 1 -f - -s 2");
  EXPECT_EQ(invocation.texts("values"), (std::vector<std::string>{"a", "-"}));
  ASSERT_EQ(invocation.given().size(), 5u);
  EXPECT_EQ(invocation.given()[2].value, "1");
}

TEST(Parse, UsesFallbacksAndImpliedValues) {
  const Invocation bare = parsed("install shop -p x");
  EXPECT_EQ(bare.duration("timeout"), std::chrono::minutes(5));
  EXPECT_EQ(bare.number("retries"), 3);
  EXPECT_EQ(bare.text("output"), "yaml");
  EXPECT_FALSE(bare.enabled("wait"));
  EXPECT_EQ(bare.text("dry-run"), "");
  EXPECT_EQ(parsed("install -p x --dry-run shop").text("dry-run"), "client");
  EXPECT_EQ(parsed("install -p x --dry-run=server shop").text("dry-run"), "server");
  EXPECT_FALSE(parsed("install -p x --wait=false shop").enabled("wait"));
}

TEST(Parse, AChoiceMayCarryAValue) {
  EXPECT_EQ(parsed("install shop -p x -o dir=out").text("output"), "dir=out");
  EXPECT_EQ(refused("install shop -p x -o dir=").hint, "one of yaml, json, dir=");
}

TEST(Parse, TellsWhichOfTwoValuesCameTwice) {
  const Error failure = refused("install shop -p x -p y");
  EXPECT_EQ(failure.message, "--package is given twice");
  EXPECT_EQ(failure.because, "first \"x\", then \"y\"");
}

TEST(Parse, SuggestsTheNearestFlag) {
  EXPECT_EQ(refused("install shop -p x --pakage y").hint, "did you mean --package?");
  EXPECT_EQ(refused("install shop -p x y").message, "mistctl install can't use the argument \"y\"");
  EXPECT_EQ(refused("install shop -p x --name y").hint, "did you mean --namespace?");
  EXPECT_EQ(refused("install shop -p x --zzzzzz").hint, "mistctl install --help lists them");
}

TEST(Parse, SaysWhoseFlagItIs) {
  const Error failure = refused("status shop --set a=1");
  EXPECT_EQ(failure.message, "mistctl status has no flag --set");
  EXPECT_EQ(failure.hint, "--set is a flag of install; see mistctl status --help");
  EXPECT_EQ(refused("status shop -f x").message, "mistctl status has no flag -f");
}

TEST(Parse, SuggestsTheNearestCommand) {
  EXPECT_EQ(refused("instal shop").hint, "did you mean mistctl install?");
  EXPECT_EQ(refused("inspect relase x").hint, "did you mean mistctl inspect release?");
  EXPECT_EQ(refused("inspect").hint, "mistctl inspect release|package|deep");
}

TEST(Parse, MissingPartsShowTheUsageLine) {
  EXPECT_EQ(refused("install -p x").message, "mistctl install needs NAME");
  const Error failure = refused("install shop");
  EXPECT_EQ(failure.message, "mistctl install needs --package PACKAGE");
  EXPECT_EQ(failure.hint, "mistctl install NAME -p PACKAGE [flags]");
  EXPECT_EQ(refused("status").hint, "mistctl status FIRST [REST]... [flags]");
}

TEST(Parse, AForgottenValueDoesNotSwallowTheNextFlag) {
  const Error failure = refused("install shop -p --wait");
  EXPECT_EQ(failure.message, "-p needs a value, but the flag --wait follows");
  EXPECT_EQ(failure.hint, "--package=--wait if that is the value");
  EXPECT_EQ(parsed("install shop -p=--wait").text("package"), "--wait");
  EXPECT_EQ(refused("install shop -p").message, "-p needs a value");
}

TEST(Parse, ChecksTypes) {
  EXPECT_EQ(refused("install shop -p x --retries 3x").message, "--retries can't be \"3x\"");
  EXPECT_EQ(refused("install shop -p x --retries=-1").message, "--retries can't be \"-1\"");
  EXPECT_EQ(refused("install shop -p x --timeout 5").message, "--timeout can't be \"5\"");
  EXPECT_EQ(refused("install shop -p x --timeout=-5s").message, "--timeout can't be \"-5s\"");
  EXPECT_EQ(refused("install shop -p x --wait=yes").hint, "true or false");
  EXPECT_EQ(refused("install shop -p x --color red").hint, "one of auto, always, never");
  EXPECT_EQ(refused("install shop -p x --verbose=3").message, "--verbose takes no value, but got \"3\"");
}

TEST(Parse, DoubleDashEndsTheFlags) {
  EXPECT_EQ(parsed("status -- a -n --set").arguments("REST"), (std::vector<std::string>{"-n", "--set"}));
}

TEST(Parse, HelpWinsOverWhatIsMissing) {
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("install --help")).command, &kInstall);
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("-h inspect install")).command, &kRelease);
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("inspect -h")).group, "inspect");
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("")).command, nullptr);
}

TEST(Parse, AGroupMayHoldAGroup) {
  const Invocation invocation = parsed("inspect deep -n a one shop");
  EXPECT_EQ(&invocation.command(), &kDeep);
  EXPECT_EQ(invocation.argument("NAME"), "shop");
  EXPECT_EQ(refused("inspect deep").hint, "mistctl inspect deep one|two");
  EXPECT_EQ(refused("inspect deep oen").hint, "did you mean mistctl inspect deep one?");
  EXPECT_EQ(refused("inspect dep one").hint, "did you mean mistctl inspect deep?");
  EXPECT_EQ(refused("inspect deep two x").message, "mistctl inspect deep two can't use the argument \"x\"");
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("inspect deep --help")).group, "inspect deep");
  EXPECT_EQ(std::get<HelpTopic>(*parse_words("inspect deep one --help")).command, &kDeep);
}

TEST(Parse, AnAliasIsTheCommand) { EXPECT_EQ(&parsed("inspect install x").command(), &kRelease); }

TEST(Parse, SeesThatJsonIsWanted) {
  const auto wants = [](std::vector<std::string> args) { return asks_for_json(args, kTable); };
  EXPECT_TRUE(wants({"list", "-o", "json"}));
  EXPECT_TRUE(wants({"list", "--output=json"}));
  EXPECT_TRUE(wants({"-ojson", "--bad"}));
  EXPECT_TRUE(wants({"list", "-qojson"}));
  EXPECT_TRUE(wants({"list", "-qvo", "json"}));
  EXPECT_FALSE(wants({"list", "-nojson"})) << "that is the namespace ojson";
  EXPECT_FALSE(wants({"list", "-q", "json", "-"}));
  EXPECT_FALSE(wants({"list", "-o", "yaml"}));
  EXPECT_FALSE(wants({"list", "--", "-o", "json"}));
}

}  // namespace
}  // namespace mist::cli
