#include "package/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/guests_for_tests.h"
#include "package/renderer.h"
#include "testing/yaml.h"
#include "wasm/test_support.h"

namespace mist::package {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::yaml;
using wasm::RecordingEvents;

SecretScope scope() { return {{}, "shop", "web", {}}; }

Result<Value> ask(Host& host, std::string_view text) {
  const Value request = yaml(text);
  return host.answer(request.string_at("op"), request);
}

TEST(Host, GivesTheSameSecretWhateverElseIsAsked) {
  NullEventSink events;
  Host one(scope(), events);
  Host two(scope(), events);
  ASSERT_TRUE(ask(two, "{op: secret.get, name: other, kind: password}").ok());
  const auto a = ask(one, "{op: secret.get, name: db, kind: password}");
  const auto b = ask(two, "{op: secret.get, name: db, kind: password}");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(*a, *ask(one, "{op: secret.get, name: db, kind: password}")) << "and again";
  EXPECT_EQ(a->string_at("value").size(), 24U);
  EXPECT_EQ(one.secrets().at("db").reveal(), a->string_at("value"));
}

TEST(Host, SwitchesTheStreamOfRandomBytes) {
  NullEventSink events;
  Host host(scope(), events);
  const auto stream = host.stream();
  EXPECT_EQ(*stream, "");
  ASSERT_TRUE(ask(host, "{op: random.stream, name: templates/a.yaml}").ok());
  EXPECT_EQ(*stream, "templates/a.yaml");
  EXPECT_FALSE(ask(host, "{op: random.stream}").ok());
  EXPECT_FALSE(ask(host, fmt::format("{{op: random.stream, name: {}}}", std::string(1025, 'x'))).ok());
  EXPECT_EQ(*stream, "templates/a.yaml");
}

TEST(Host, HidesWhatTheGuestWasToldInSecretAlsoInEarlierLines) {
  RecordingEvents events;
  Host host(scope(), events);
  host.hold_lines();
  ASSERT_TRUE(ask(host, "{op: log, level: warn, message: early topSecret77}").ok());
  EXPECT_TRUE(ask(host, "{op: secret.hide, value: topSecret77}").ok());
  ASSERT_TRUE(ask(host, "{op: log, level: info, message: late dG9wU2VjcmV0Nzc= topSecret77}").ok());
  EXPECT_TRUE(events.take_messages().empty());
  host.show_held();
  EXPECT_THAT(events.take_messages(), ElementsAre("package: early ***", "package: late *** ***"));
  ASSERT_TRUE(ask(host, "{op: log, level: info, message: topSecret77}").ok());
  EXPECT_THAT(events.take_messages(), ElementsAre("package: ***")) << "shown at once";
  EXPECT_TRUE(host.questions().empty()) << "no digest of it is kept";
  EXPECT_FALSE(ask(host, "{op: secret.hide}").ok());
}

TEST(Host, OneNameIsOneSecret) {
  NullEventSink events;
  Host host(scope(), events);
  ASSERT_TRUE(ask(host, "{op: secret.get, name: db, kind: password}").ok());
  const auto other = ask(host, "{op: secret.get, name: db, kind: hex}");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("another form"));
}

TEST(Host, KeysComeWithTheirPublicHalf) {
  NullEventSink events;
  Host host(scope(), events);
  for (const std::string_view kind : {"ed25519", "ecdsa"}) {
    const auto key = ask(host, fmt::format("{{op: secret.get, name: {}, kind: {}}}", kind, kind));
    ASSERT_TRUE(key.ok());
    EXPECT_THAT(std::string(key->string_at("value")), HasSubstr("PRIVATE KEY"));
    EXPECT_THAT(std::string(key->string_at("publicKey")), HasSubstr("PUBLIC KEY"));
  }
}

TEST(Host, RecordsEachQuestionOnceAndOnlyAsDigest) {
  NullEventSink events;
  Host host(scope(), events);
  ASSERT_TRUE(ask(host, "{op: secret.get, name: db, kind: password}").ok());
  ASSERT_TRUE(ask(host, "{op: secret.get, kind: password, name: db}").ok());
  ASSERT_TRUE(ask(host, "{op: log, level: info, message: hi}").ok());
  ASSERT_TRUE(ask(host, "{op: secret.get, name: api, kind: password}").ok());
  const std::vector<Exchange> asked = host.take_exchanges();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].operation, "secret.get");
  Host other({{std::byte{1}}, "shop", "web", {}}, events);
  ASSERT_TRUE(ask(other, "{op: secret.get, name: db, kind: password}").ok());
  EXPECT_NE(other.take_exchanges()[0].digest, asked[0].digest) << "another answer";
}

// A digest says nothing of who asked: the caller's own question counts although a called package asked it.
TEST(Host, ItsOwnQuestionIsRecordedAlthoughACalledPackageAskedTheSame) {
  NullEventSink events;
  const auto look = [](const LookupAsker&, const Value&) -> Result<Value> {
    return yaml("{kind: ConfigMap}");
  };
  constexpr std::string_view kLook = "{op: lookup, kind: ConfigMap, name: a}";
  Host called(scope(), events);
  called.answer_lookup(look, {});
  ASSERT_TRUE(ask(called, kLook).ok());
  ASSERT_TRUE(ask(called, "{op: lookup, kind: ConfigMap, name: b}").ok());
  const std::vector<Exchange> nested = called.take_exchanges();
  Host host(scope(), events);
  host.answer_lookup(look, {});
  host.answer_calls([&](const Value&, std::uint64_t) -> Result<CallAnswer> {
    return CallAnswer{.value = Value::object(), .asked = nested};
  });
  ASSERT_TRUE(ask(host, "{op: package.call, package: c}").ok());
  ASSERT_TRUE(ask(host, kLook).ok());
  EXPECT_EQ(host.questions().size(), 2U);
  EXPECT_EQ(host.answers().size(), 2U);
  EXPECT_EQ(host.take_exchanges().size(), 3U) << "each once";
}

TEST(Host, SaysWhatItCanNotGive) {
  NullEventSink events;
  Host host(scope(), events);
  EXPECT_THAT(ask(host, "{op: package.call}").error().message, HasSubstr("can't be called here"));
  EXPECT_TRUE(ask(host, "{op: lookup, name: a}")->is_null()) << "without a cluster there are no objects";
  EXPECT_TRUE(ask(host, "{op: lookup}")->find("items")->as_array().empty());
  EXPECT_FALSE(host.repeatable()) << "a render that lived on without it isn't kept";
  host.answer_lookup(
      [](const LookupAsker&, const Value&) -> Result<Value> { return Value::object({{"kind", "Secret"}}); },
      {});
  EXPECT_EQ(ask(host, "{op: lookup, kind: Secret}")->string_at("kind"), "Secret");
  EXPECT_EQ(host.questions().size(), 3U);
  const auto unknown = ask(host, "{op: secrets.get}");
  EXPECT_EQ(unknown.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(unknown.error().hint, HasSubstr("secret.get"));
  EXPECT_THAT(host.answer("\x1b[2J", Value::object()).error().message, HasSubstr("\\x1b"));
}

TEST(Host, AsksTheClusterNothingMoreOnceItWasRefused) {
  NullEventSink events;
  Host host(scope(), events);
  int asked = 0;
  host.answer_lookup(
      [&](const LookupAsker&, const Value&) -> Result<Value> {
        ++asked;
        return error(ErrorKind::Forbidden, "not granted");
      },
      {});
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(ask(host, "{op: lookup, kind: Secret}").error().message, HasSubstr("not granted"));
  EXPECT_EQ(asked, 1);
}

// A package that adds a secret before every line makes the search begin again each time.
TEST(Host, SecretsTimesLogLinesAreBounded) {
  RecordingEvents events;
  const auto shared = std::make_shared<SharedSecrets>();
  Host host(scope(), events, shared);
  int asked = 0;
  host.answer_lookup(
      [&](const LookupAsker&, const Value&) -> Result<Value> {
        return Value::object(
            {{"apiVersion", "v1"},
             {"kind", "Secret"},
             {"metadata", Value::object({{"namespace", "a"}, {"name", fmt::format("s{}", asked)}})},
             {"stringData", Value::object({{"key", fmt::format("{:0>100000}", ++asked)}})}});
      },
      {});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(ask(host, "{op: lookup, kind: Secret}").ok());
    ASSERT_TRUE(host.answer("log", Value::object({{"level", "info"},
                                                  {"message", "it is " + fmt::format("{:0>100000}", asked)}}))
                    .ok());
  }
  const std::vector<std::string> lines = events.take_messages();
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(lines.front(), "package: it is ***");
  EXPECT_THAT(lines.back(), HasSubstr("left out"));
  EXPECT_LE(shared->bytes_of_masks(), SharedSecrets::kMostMasked);
}

TEST(Host, LogLinesAreEscapedBoundedAndWithoutSecrets) {
  RecordingEvents events;
  Host host(scope(), events);
  const auto secret = ask(host, "{op: secret.get, name: db, kind: password}");
  ASSERT_TRUE(ask(host, "{op: log, level: warn, message: \"red \\e[31m\\nline\"}").ok());
  ASSERT_TRUE(
      host.answer("log", Value::object({{"op", "log"},
                                        {"level", "info"},
                                        {"message", "it is " + std::string(secret->string_at("value"))}}))
          .ok());
  ASSERT_TRUE(
      host.answer("log", Value::object({{"level", "debug"}, {"message", std::string(9999, 'x')}})).ok());
  const std::vector<std::string> lines = events.take_messages();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "package: red \\x1b[31m\\nline");
  EXPECT_EQ(lines[1], "package: it is ***");
  EXPECT_EQ(lines[2].size(), std::string("package: ").size() + Host::kLongestLine + std::string(" …").size());
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(ask(host, "{op: log, level: info, message: hi}").ok());
  EXPECT_EQ(events.take_messages().size(), Host::kMostLines - 3 + 1);
  for (const std::string_view wrong :
       {"{op: log}", "{op: log, level: info}", "{op: log, level: loud, message: a}",
        "{op: log, level: info, message: 5}", "{op: log, level: info, message: a, to: b}"}) {
    EXPECT_EQ(ask(host, wrong).error().kind, ErrorKind::Invalid) << wrong;
  }
}

Result<Rendered> render(const Source& source, const RenderRequest& request, EventSink& events) {
  Renderer renderer({}, events);
  RenderRequest complete = request;
  complete.release_name = "web";
  complete.release_namespace = "shop";
  complete.user_values = Value::object();
  complete.capabilities = [] { return Result<Capabilities>(Capabilities{"v1.36.0", {"v1"}}); };
  return renderer.render(source, complete, {});
}

std::string_view answer_in(const Rendered& rendered, std::size_t object) {
  return rendered.objects.at(object).object.value().string_at({"data", "ok", "value"});
}

constexpr std::string_view kDb = R"({"op":"secret.get","name":"db","kind":"password"})";
constexpr std::string_view kApi = R"({"op":"secret.get","name":"api","kind":"hex","length":16})";

TEST(Render, SecretsReachTheGuestAndStay) {
  RecordingEvents events;
  const auto one = render(asking({kDb}), {}, events);
  ASSERT_TRUE(one.ok()) << one.error().to_line();
  EXPECT_EQ(answer_in(*one, 0).size(), 24U);
  EXPECT_EQ(one->asked.size(), 1U);
  EXPECT_EQ(one->secrets.at("db").reveal(), answer_in(*one, 0));
  const auto two = render(asking({kApi, kDb}), {}, events);
  ASSERT_TRUE(two.ok()) << two.error().to_line();
  EXPECT_EQ(answer_in(*two, 1), answer_in(*one, 0)) << "another secret shifts none";
  EXPECT_EQ(answer_in(*two, 0).size(), 16U);
  for (const std::string& line : events.take_messages())
    EXPECT_EQ(line.find(answer_in(*one, 0)), std::string::npos) << line;
}

TEST(Render, RotatesOneSecretAlone) {
  NullEventSink events;
  const Source source = asking({kDb, kApi});
  const auto before = render(source, {}, events);
  RenderRequest request;
  request.rotations = {{"db", 1}};
  const auto after = render(source, request, events);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(answer_in(*before, 0), answer_in(*after, 0));
  EXPECT_EQ(answer_in(*before, 1), answer_in(*after, 1));
}

TEST(Render, ErrorsAndLogsOfGuestsHoldNoSecret) {
  RecordingEvents events;
  // Writes its answer to stderr; then it fails.
  const auto failed = render(asking({kDb},
                                    "(call $say (i32.const 2) (i32.const 32768) (i32.const 45))"
                                    "(call $exit (i32.const 1))"),
                             {}, events);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().because, HasSubstr(R"({"ok":{"value":"***")"));
  const auto logged =
      render(asking({kDb}, "(call $say (i32.const 2) (i32.const 32768) (i32.const 45))"), {}, events);
  ASSERT_TRUE(logged.ok());
  EXPECT_THAT(events.take_messages(), ElementsAre(HasSubstr(R"("value":"***")")));
}

TEST(Render, AQuietOneSaysNothing) {
  RecordingEvents events;
  const Source source = asking({R"({"op":"log","level":"warn","message":"hi"})"},
                               "(call $say (i32.const 2) (i32.const 32768) (i32.const 5))");
  RenderRequest request;
  request.quiet = true;
  ASSERT_TRUE(render(source, request, events).ok());
  EXPECT_THAT(events.take_messages(), ElementsAre());
  ASSERT_TRUE(render(source, {}, events).ok());
  EXPECT_THAT(events.take_messages(), ElementsAre("package: hi", HasSubstr("{\"ok\"")));
}

}  // namespace
}  // namespace mist::package
