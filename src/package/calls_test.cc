#include "package/calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "package/guests_for_tests.h"
#include "testing/temp_dir.h"
#include "testing/yaml.h"

namespace mist::package {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::yaml;
using wasm::RecordingEvents;

constexpr std::string_view kUsers = R"({
  inputs: {type: object, properties: {name: {type: string}, users: {type: array, items: {type: object,
    properties: {username: {type: string}}, required: [username]}}}, additionalProperties: false},
  exports: {type: object, properties: {port: {type: integer}}, required: [port]}})";

std::shared_ptr<const ResolvedPackage> resolved(std::string id, Source source,
                                                Dependencies dependencies = {}) {
  source.dependencies = std::move(dependencies);
  return std::make_shared<const ResolvedPackage>(ResolvedPackage{std::move(id), std::move(source)});
}

// A database that exports its port.
std::shared_ptr<const ResolvedPackage> database(std::string_view exports = R"({"port":3306})") {
  const std::string result =
      fmt::format(R"({{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{{"result":"Ok",)"
                  R"("files":{{"db.yaml":"kind: Secret"}},"exports":{}}}}})",
                  exports);
  return resolved("test/databases/mariadb", described(saying(result), "mariadb", kUsers));
}

// One whose answers hold a secret of its own.
std::shared_ptr<const ResolvedPackage> vault(std::string id = "test/vault") {
  return resolved(std::move(id), described(asking({R"({"op":"secret.get","name":"root","kind":"password"})"}),
                                           "vault", "{}"));
}

RenderRequest calling_request() {
  RenderRequest request;
  request.release_name = "shop";
  request.release_namespace = "web";
  request.user_values = Value::object();
  request.capabilities = [] { return Result<Capabilities>(Capabilities{"v1.36.0", {"v1"}}); };
  return request;
}

// With `dependencies` resolved, and declared under their names.
Source calling(Source source, Dependencies dependencies) {
  std::string declared;
  for (const auto& [name, package] : dependencies)
    declared += fmt::format("{}{{name: {}, package: {}}}", declared.empty() ? "" : ", ", name, package->id);
  source = described(std::move(source), "platform", fmt::format("{{dependencies: [{}]}}", declared));
  source.dependencies = std::move(dependencies);
  return source;
}

Source platform(std::initializer_list<std::string_view> requests, Dependencies dependencies) {
  return calling(asking(requests), std::move(dependencies));
}

Result<Rendered> render_calling(const Source& source, const RenderRequest& request) {
  NullEventSink events;
  Renderer renderer({}, events);
  return renderer.render(source, request, {});
}

Value data_of(const Rendered& rendered, std::size_t object) {
  const Value* const data = rendered.objects.at(object).object.value().find("data");
  return data == nullptr ? Value() : *data;
}

std::string refusal(const Result<Rendered>& rendered, std::size_t object = 0) {
  EXPECT_TRUE(rendered.ok()) << rendered.error().to_line();
  return rendered.ok() ? std::string(data_of(*rendered, object).string_at({"error", "message"})) : "";
}

TEST(Calls, GiveFilesAndExportsOfTheCalledPackage) {
  const auto rendered = render_calling(
      platform({R"({"op":"package.call","package":"mariadb","input":{"users":[{"username":"a"}]}})"},
               {{"mariadb", database()}}),
      calling_request());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  const Value answer = data_of(*rendered, 0);
  EXPECT_EQ(*answer.at_path({"ok", "exports"}), yaml("{port: 3306}"));
  EXPECT_EQ(*answer.at_path({"ok", "files"}), yaml("{db.yaml: 'kind: Secret'}"));
  EXPECT_EQ(rendered->asked.size(), 1U);
}

TEST(Calls, ErrorsNameThePathThroughThePackages) {
  const auto rendered = render_calling(
      platform(
          {R"({"op":"package.call","package":"mariadb","input":{"users":[{"username":"a"},{"username":7}]}})"},
          {{"mariadb", database()}}),
      calling_request());
  EXPECT_EQ(refusal(rendered), "platform → mariadb: inputs.users[1].username: must be string, is integer 7");
}

TEST(Calls, OfUndeclaredPackagesAreRefused) {
  const auto rendered =
      render_calling(platform({R"({"op":"package.call","package":"mariadbb"})"}, {{"mariadb", database()}}),
                     calling_request());
  EXPECT_THAT(refusal(rendered), HasSubstr("platform declares no dependency \"mariadbb\""));
}

TEST(Calls, ExportsMustFitTheirSchema) {
  const auto rendered = render_calling(platform({R"({"op":"package.call","package":"mariadb"})"},
                                                {{"mariadb", database(R"({"port":"many"})")}}),
                                       calling_request());
  EXPECT_THAT(refusal(rendered),
              HasSubstr("platform → mariadb: the exports of mariadb don't fit its own schema"));
  EXPECT_THAT(refusal(rendered), HasSubstr("exports.port: must be integer"));
}

TEST(Calls, InputsOfTheRequestAreChecked) {
  for (const std::string_view wrong :
       {R"({"op":"package.call"})", R"({"op":"package.call","package":7})",
        R"({"op":"package.call","package":"mariadb","input":[]})",
        R"({"op":"package.call","package":"mariadb","input":{"name":"Not A Label"}})",
        R"({"op":"package.call","package":"mariadb","version":"1"})"}) {
    const auto rendered = render_calling(platform({wrong}, {{"mariadb", database()}}), calling_request());
    EXPECT_THAT(refusal(rendered), HasSubstr("package.call: ")) << wrong;
  }
}

TEST(Calls, AMissingResolutionIsAnError) {
  Source source = platform({R"({"op":"package.call","package":"mariadb"})"}, {{"mariadb", database()}});
  source.dependencies.clear();
  const auto rendered = render_calling(source, calling_request());
  ASSERT_FALSE(rendered.ok());
  EXPECT_THAT(rendered.error().message, HasSubstr("test/databases/mariadb"));
}

// The text in which the vault printed what it was answered.
std::string files_text(const Rendered& rendered, std::size_t object) {
  return std::string(data_of(rendered, object).string_at({"ok", "files", "stdout.yaml"}));
}

constexpr std::string_view kCallVault = R"({"op":"package.call","package":"vault","input":{"name":"safe"}})";
constexpr std::string_view kCallOther = R"({"op":"package.call","package":"vault","input":{"name":"other"}})";

TEST(Calls, SecretsBelongToThePackageAndItsInstallName) {
  const auto one = render_calling(platform({kCallVault}, {{"vault", vault()}}), calling_request());
  const auto two =
      render_calling(platform({kCallOther, kCallVault}, {{"vault", vault()}}), calling_request());
  const auto elsewhere =
      render_calling(platform({kCallVault}, {{"vault", vault("test/copy-of-vault")}}), calling_request());
  ASSERT_TRUE(one.ok() && two.ok() && elsewhere.ok());
  EXPECT_EQ(files_text(*one, 0), files_text(*two, 1)) << "another call before it changes nothing";
  EXPECT_NE(files_text(*two, 0), files_text(*two, 1));
  EXPECT_NE(files_text(*one, 0), files_text(*elsewhere, 0)) << "a package of another id has other secrets";
  ASSERT_TRUE(one->secrets.contains("vault/safe/root"));
  EXPECT_THAT(files_text(*one, 0), HasSubstr(one->secrets.at("vault/safe/root").reveal()));
}

TEST(Calls, RotationOfOneSecretLeavesTheOthers) {
  const Source source = platform({kCallVault, kCallOther}, {{"vault", vault()}});
  RenderRequest request = calling_request();
  const auto before = render_calling(source, request);
  request.rotations = {{"vault/safe/root", 1}};
  const auto after = render_calling(source, request);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(files_text(*before, 0), files_text(*after, 0));
  EXPECT_EQ(files_text(*before, 1), files_text(*after, 1));
}

// A package that calls itself cannot be resolved; one that is deep can.
TEST(Calls, DepthIsBounded) {
  std::shared_ptr<const ResolvedPackage> below = database();
  const std::string_view spec = "{dependencies: [{name: next, package: test/next}]}";
  for (std::size_t i = 0; i < CallTree::kMostDepth; ++i)
    below = resolved(fmt::format("test/{}", i),
                     described(asking({R"({"op":"package.call","package":"next","input":{"name":"link"}})"}),
                               "link", spec),
                     {{"next", below}});
  const auto rendered = render_calling(below->source, calling_request());
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().kind, ErrorKind::Trap);
  EXPECT_THAT(rendered.error().message, HasSubstr("more than 16 deep"));
}

// A chain in which each package grows its memory before it calls the next one.
TEST(Calls, PackagesThatWaitForOneAnotherShareTheirMemory) {
  RendererOptions options;
  options.limits.memory_bytes = options.engine_limits.memory_bytes = std::uint64_t{1} << 20;
  const std::string_view grow = "(drop (memory.grow (i32.const 9)))";  // to 10 pages of 64 KiB
  const auto vault_of = [&](std::string_view first) {
    return resolved(
        "test/vault",
        described(asking({R"({"op":"log","level":"info","message":"here"})"}, "", first), "vault", "{}"));
  };
  NullEventSink events;
  Renderer renderer(options, events);
  const std::string_view must_grow =
      "(if (i32.eq (memory.grow (i32.const 9)) (i32.const -1)) (then unreachable))";
  const Source alone = vault_of(must_grow)->source;
  ASSERT_TRUE(renderer.render(alone, calling_request(), {}).ok());
  const auto rendered = renderer.render(
      calling(asking({kCallVault}, "", grow), {{"vault", vault_of(must_grow)}}), calling_request(), {});
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().kind, ErrorKind::Trap);
  EXPECT_THAT(rendered.error().message, HasSubstr("platform → vault"));
  EXPECT_THAT(rendered.error().because, HasSubstr("that all have together"));
}

// One of the calls stays below the limit. Exports count as files do.
TEST(Calls, CalledPackagesShareTheirOutput) {
  RendererOptions options;
  options.limits.output_bytes = options.engine_limits.output_bytes = std::uint64_t{40} << 10;
  const std::string result =
      fmt::format(R"({{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{{"result":"Ok",)"
                  R"("files":{{}},"exports":{{"text":"{}"}}}}}})",
                  std::string(std::size_t{25} << 10, 'x'));
  const auto large = resolved("test/vault", described(saying(result), "vault", "{}"));
  NullEventSink events;
  Renderer renderer(options, events);
  const auto one = renderer.render(platform({kCallVault}, {{"vault", large}}), calling_request(), {});
  EXPECT_TRUE(one.ok()) << one.error().to_line();
  const auto two =
      renderer.render(platform({kCallVault, kCallOther}, {{"vault", large}}), calling_request(), {});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().kind, ErrorKind::Trap);
  EXPECT_THAT(two.error().to_line(), HasSubstr("the called packages, ./vault.wasm among them, gave more"));
}

constexpr std::string_view kLookForX = R"({"op":"lookup","apiVersion":"v1","kind":"ConfigMap","name":"x"})";
constexpr std::string_view kCallNext = R"({"op":"package.call","package":"next","input":{"name":"link"}})";
constexpr int kLinks = 6;

// A chain of called packages, each of which makes these requests.
Source chain_of(std::initializer_list<std::string_view> requests) {
  std::shared_ptr<const ResolvedPackage> below =
      resolved("test/last", described(asking({kLookForX}), "last", "{}"));
  for (int i = 1; i < kLinks; ++i)
    below =
        resolved(fmt::format("test/{}", i),
                 described(asking(requests), "link", "{dependencies: [{name: next, package: test/next}]}"),
                 {{"next", below}});
  return platform({kCallNext}, {{"next", below}});
}

// Each takes 0.2 s to be answered, before or after it called the next one.
TEST(Calls, PackagesThatWaitForOneAnotherShareTheirTime) {
  const Source before = chain_of({kLookForX, kCallNext}), after = chain_of({kCallNext, kLookForX});
  int asked = 0;
  RenderRequest request = calling_request();
  request.lookup = [&](const LookupAsker&, const Value&) -> Result<Value> {
    ++asked;
    burn(std::chrono::milliseconds(200));
    return Value();
  };
  const auto render_within = [&](const Source& source, Duration time) {
    RendererOptions options;
    options.limits.guest_time = options.engine_limits.guest_time = time;
    NullEventSink events;
    Renderer renderer(options, events);
    asked = 0;
    return renderer.render(source, request, {});
  };
  for (const Source& source : {before, after}) {
    const auto rendered = render_within(source, std::chrono::seconds(60));
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
    EXPECT_EQ(asked, kLinks);
    const auto stopped = render_within(source, std::chrono::milliseconds(500));
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::Trap);
    EXPECT_LT(asked, kLinks);
  }
}

TEST(Calls, TheTreeSaysWhoCalledWhom) {
  const auto app = [](std::string_view name) {
    return resolved(
        fmt::format("test/{}", name),
        described(asking({kCallVault}), name, "{dependencies: [{name: vault, package: test/vault}]}"),
        {{"vault", vault()}});
  };
  const auto rendered = render_calling(
      platform({R"({"op":"package.call","package":"one"})", R"({"op":"package.call","package":"two"})"},
               {{"one", app("one")}, {"two", app("two")}}),
      calling_request());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  std::vector<std::string> calls;
  for (const CallEdge& each : calls_of(*rendered))
    calls.push_back(
        fmt::format("{}/{} {} {}/{}", each.caller_id, each.caller_install, each.name, each.id, each.install));
  EXPECT_THAT(calls,
              ::testing::ElementsAre("test/one/shop-one vault test/vault/safe", "/ one test/one/shop-one",
                                     "test/two/shop-two vault test/vault/safe", "/ two test/two/shop-two"));
}

TEST(Calls, ErrorsOfTheCalledPackagesOwnCallsNameTheWholePath) {
  const auto app = resolved("test/app",
                            described(asking({R"({"op":"package.call","package":"cache"})"}), "app",
                                      "{dependencies: [{name: vault, package: test/vault}]}"),
                            {{"vault", vault()}});
  const auto rendered = render_calling(platform({R"({"op":"package.call","package":"app"})"}, {{"app", app}}),
                                       calling_request());
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_THAT(files_text(*rendered, 0),
              HasSubstr("platform → app: package.call: app declares no dependency \\\"cache\\\""));
}

// A known render of the caller depends on the answer it would get now, not on the one it got then.
TEST(Calls, AKnownRenderOfTheCallerEndsWithTheCalledPackagesBytes) {
  testing::TempDir directory;
  SystemRandom random;
  RendererOptions options;
  options.render_cache = directory.path();
  options.random = &random;
  NullEventSink events;
  Renderer renderer(options, events);
  const auto text_with = [&](std::string_view exports) {
    const auto rendered = renderer.render(
        platform({R"({"op":"package.call","package":"mariadb"})"}, {{"mariadb", database(exports)}}),
        calling_request(), {});
    EXPECT_TRUE(rendered.ok()) << rendered.error().to_line();
    return rendered.ok() ? std::pair(rendered->files.at("stdout.yaml"), calls_of(*rendered).size())
                         : std::pair(std::string(), std::size_t{0});
  };
  const auto first = text_with(R"({"port":1})");
  EXPECT_EQ(text_with(R"({"port":1})"), first) << "known: who called whom too";
  EXPECT_THAT(text_with(R"({"port":2})").first, HasSubstr(R"("port":2)"));
}

/// Renders one source again and again, with known renders, in a cluster that changes between them.
struct KnownCallsTest : ::testing::Test {
  KnownCallsTest() {
    options.render_cache = directory.path();
    options.random = &random;
    request.lookup = [this](const LookupAsker&, const Value&) -> Result<Value> { return found; };
  }
  Result<Rendered> render(const Source& source) {
    Renderer renderer(options, events);
    return renderer.render(source, request, {});
  }

  testing::TempDir directory;
  SystemRandom random;
  RendererOptions options;
  RenderRequest request = calling_request();
  RecordingEvents events;
  Value found;
};

// Found by a program that makes one request and prints the same text whatever it is answered.
constexpr std::string_view kFixed = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fixed"}})";

// The called package asks the same before and makes nothing of the answer.
TEST_F(KnownCallsTest, TheCallersOwnLookupCountsAlthoughACalledPackageMadeIt) {
  const Source source =
      platform({R"({"op":"package.call","package":"c"})", kLookForX},
               {{"c", resolved("test/c", described(asking_and_saying(kLookForX, kFixed), "c", "{}"))}});
  const auto text_with = [&](std::string_view answer) {
    found = yaml(answer);
    const auto rendered = render(source);
    EXPECT_TRUE(rendered.ok()) << rendered.error().to_line();
    return rendered.ok() ? rendered->files.at("stdout.yaml") : std::string();
  };
  const std::string first = text_with("{data: {a: before}}");
  EXPECT_THAT(first, HasSubstr("before"));
  EXPECT_EQ(text_with("{data: {a: before}}"), first);
  EXPECT_THAT(text_with("{data: {a: after}}"), HasSubstr("after"));
}

// Both packages make the same call of the same install.
TEST_F(KnownCallsTest, TheCallersOwnCallCountsAlthoughACalledPackageMadeIt) {
  constexpr std::string_view kCallShared =
      R"({"op":"package.call","package":"db","input":{"name":"shared"}})";
  const auto source_with = [&](std::string_view exports) {
    const auto db = database(exports);
    const auto app = resolved("test/app",
                              described(asking_and_saying(kCallShared, kFixed), "app",
                                        "{dependencies: [{name: db, package: test/databases/mariadb}]}"),
                              {{"db", db}});
    return platform({R"({"op":"package.call","package":"app"})", kCallShared}, {{"app", app}, {"db", db}});
  };
  for (const std::string_view port : {"1", "1", "2"}) {
    const auto rendered = render(source_with(fmt::format(R"({{"port":{}}})", port)));
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
    EXPECT_THAT(rendered->files.at("stdout.yaml"), HasSubstr(fmt::format(R"("port":{})", port)));
    EXPECT_EQ(calls_of(*rendered).size(), 3U) << "who called whom too";
  }
}

TEST_F(KnownCallsTest, QuestionsMadeOfAnEarlierAnswerAreNotThoseOfTheNextRender) {
  const Source source = described(
      asking_with_the_answer(kLookForX, R"({"op":"secret.get","name":"db","kind":"password","length":)", "}"),
      "app", "{}");
  for (const int length : {24, 32, 24}) {
    found = Value(length);
    const auto rendered = render(source);
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
    EXPECT_EQ(data_of(*rendered, 0).string_at({"ok", "value"}).size(), static_cast<std::size_t>(length))
        << rendered->files.at("stdout.yaml");
  }
}

TEST_F(KnownCallsTest, CallsMadeOfAnEarlierAnswerLeaveNoEdge) {
  const Source source =
      calling(asking_with_the_answer(kLookForX, R"({"op":"package.call","package":"vault","input":)", "}"),
              {{"vault", vault()}});
  for (const std::string_view name : {"one", "two", "one"}) {
    found = Value::object({{"name", name}});
    const auto rendered = render(source);
    ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
    const std::vector<CallEdge> edges = calls_of(*rendered);
    ASSERT_EQ(edges.size(), 1U) << rendered->files.at("stdout.yaml");
    EXPECT_EQ(edges[0].install, name);
    EXPECT_EQ(rendered->calls->answers().size(), 1U);
  }
}

TEST_F(KnownCallsTest, MessagesOfCalledPackagesAreShownOnce) {
  const auto noisy =
      resolved("test/vault",
               described(asking({R"({"op":"log","level":"info","message":"rendered"})"}), "vault", "{}"));
  const Source source = platform({kCallVault, kLookForX}, {{"vault", noisy}});
  for (const int answer : {1, 1, 2}) {
    found = Value(answer);
    ASSERT_TRUE(render(source).ok());
    EXPECT_THAT(events.take_messages(), ::testing::ElementsAre("package: rendered")) << answer;
  }
}

/// Counts what it can't compile.
class NoCompiler final : public wasm::Compiler {
 public:
  Result<std::string> compile(std::span<const std::byte>, std::string_view name,
                              const wasm::CompileSettings&) override {
    ++asked;
    return error(ErrorKind::Internal, "{} isn't compiled here", name);
  }
  int asked = 0;
};

TEST(Calls, KnownRendersNeedNoCodeAndTheirInputsAndExportsAreCheckedBefore) {
  testing::TempDir directory;
  SystemRandom random;
  RendererOptions options;
  options.render_cache = directory.path();
  options.random = &random;
  NullEventSink events;
  const Source fine = platform({R"({"op":"package.call","package":"mariadb"})"}, {{"mariadb", database()}});
  const Source odd = platform({R"({"op":"package.call","package":"mariadb"})"},
                              {{"mariadb", database(R"({"port":"many"})")}});
  RenderRequest wrong = calling_request();
  wrong.user_values = yaml("{users: 7}");
  {
    Renderer renderer(options, events);
    ASSERT_TRUE(renderer.render(fine, calling_request(), {}).ok());
    EXPECT_THAT(refusal(renderer.render(odd, calling_request(), {})), HasSubstr("exports.port"));
    EXPECT_THAT(refusal(renderer.render(odd, calling_request(), {})), HasSubstr("exports.port"))
        << "not kept";
  }
  const auto compiler = std::make_shared<NoCompiler>();
  options.compiler = compiler;
  Renderer renderer(options, events);
  const auto again = renderer.render(fine, calling_request(), {});
  EXPECT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(compiler->asked, 0);
  EXPECT_FALSE(renderer.render(database()->source, wrong, {}).ok());
  EXPECT_EQ(compiler->asked, 0) << "its values are refused before its code is loaded";
  EXPECT_FALSE(renderer.render(vault()->source, calling_request(), {}).ok());
  EXPECT_EQ(compiler->asked, 1);
}

TEST(Calls, EqualOnesAreRenderedOnce) {
  const auto noisy =
      resolved("test/vault",
               described(asking({R"({"op":"log","level":"info","message":"rendered"})"}), "vault", "{}"));
  RecordingEvents events;
  Renderer renderer({}, events);
  const Source source = platform({kCallVault, kCallVault, kCallOther}, {{"vault", noisy}});
  ASSERT_TRUE(renderer.render(source, calling_request(), {}).ok());
  EXPECT_EQ(events.take_messages().size(), 2U);
}

// It is shown in errors, and a piece of a secret isn't found there.
TEST(Calls, ASecretThatTheCalledPackageRefusesIsNotInTheRefusal) {
  const auto strict =
      resolved("test/strict",
               described(saying(""), "strict",
                         "{inputs: {type: object, properties: {value: {type: string, maxLength: 63}}}}"));
  const auto rendered = render_calling(
      calling(asking_with_the_answer(R"({"op":"secret.get","name":"db","kind":"hex"})",
                                     R"({"op":"package.call","package":"strict","input":)", "}"),
              {{"strict", strict}}),
      calling_request());
  const std::string said = refusal(rendered);
  EXPECT_THAT(said, HasSubstr("inputs.value: must have at most 63 characters"));
  ASSERT_TRUE(rendered.ok());
  const std::string secret = rendered->secrets.at("db").reveal();
  ASSERT_EQ(secret.size(), 64U);
  for (std::size_t at = 0; at + 16 <= secret.size(); ++at)
    EXPECT_THAT(said, Not(HasSubstr(secret.substr(at, 16))));
}

TEST(Calls, ErrorsOfTheCallerHoldNoSecretOfTheCalled) {
  NullEventSink events;
  Renderer renderer({}, events);
  // Writes its answer to stderr; then it fails.
  const Source source = calling(asking({kCallVault},
                                       "(call $say (i32.const 2) (i32.const 32768) (i32.const 250))"
                                       "(call $exit (i32.const 1))"),
                                {{"vault", vault()}});
  const auto failed = renderer.render(source, calling_request(), {});
  const auto rendered = render_calling(platform({kCallVault}, {{"vault", vault()}}), calling_request());
  ASSERT_FALSE(failed.ok());
  ASSERT_TRUE(rendered.ok());
  EXPECT_THAT(failed.error().because, HasSubstr("***"));
  EXPECT_THAT(failed.error().because, Not(HasSubstr(rendered->secrets.at("vault/safe/root").reveal())));
}

TEST(Calls, ATrapOfTheCalledPackageEndsTheCaller) {
  const auto broken =
      resolved("test/vault", described(Source{"./broken.wasm", "broken", "", "sha256:2",
                                              wasm::assemble(R"((module (memory (export "memory") 1)
                                       (func (export "_start") unreachable)))")},
                                       "vault", "{}"));
  const auto rendered = render_calling(platform({kCallVault}, {{"vault", broken}}), calling_request());
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().kind, ErrorKind::Trap);
  EXPECT_THAT(rendered.error().message, HasSubstr("platform → vault"));
}

}  // namespace
}  // namespace mist::package
