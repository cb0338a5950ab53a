#include "package/kube_render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/fs.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "package/calls.h"
#include "package/guests_for_tests.h"
#include "package/looked_up.h"
#include "testing/temp_dir.h"
#include "testing/yaml.h"

namespace mist::package {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

constexpr std::string_view kDatabasePassword = "s3cret-of-db";

std::string engine_answer(std::string_view data) {
  return fmt::format(R"({{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{{{}}}}})", data);
}
std::string script_answer(std::string_view exports = "{}") {
  return engine_answer(fmt::format(R"("result":"Ok","files":{{}},"exports":{})", exports));
}
std::string manifest_answer(std::string_view text) {
  return engine_answer(fmt::format(R"("result":"Ok","files":{{"manifests/a.yaml":"{}"}})", text));
}

std::string all_words(const Error& failure) {
  return fmt::format("{}\n{}\n{}", failure.to_line(), failure.because,
                     failure.where ? failure.where->excerpt : std::string());
}

// Guests that answer as they are told stand for the engines of scripts and of templates.
class KubeRenders : public ::testing::Test {
 protected:
  KubeRenders() {
    request_.release_name = "shop";
    request_.release_namespace = "web";
    request_.user_values = Value::object();
    request_.capabilities = [] { return Result<Capabilities>(Capabilities{"v1.36.0", {"v1"}}); };
    request_.lookup = [](const LookupAsker&, const Value&) -> Result<Value> {
      return testing::yaml(fmt::format(
          "{{apiVersion: v1, kind: Secret, metadata: {{name: db, namespace: web}}, data: {{k: {}}}}}",
          base64_encode(kDatabasePassword)));
    };
  }

  Result<Rendered> render(const Source& script, const std::string& of_templates) {
    const std::array shas{put_engine("python", script), put_engine("jinja", saying(of_templates))};
    const std::array digests{EngineDigest{"python", shas[0]}, EngineDigest{"jinja", shas[1]}};
    RendererOptions options;
    options.engines = EngineStore(dir_.path(), digests);
    Renderer renderer(std::move(options), events_);
    return renderer.render(kube_, request_, Context());
  }

  Source kube_{"./kube", "kube", "", "sha256:0",
               Files{{"K3.yaml", "name: kube\nversion: 1.0.0\n"}, {std::string(kPreInstallScript), ""}}};
  RenderRequest request_;
  NullEventSink events_;

 private:
  // Its digest.
  std::string put_engine(std::string_view name, const Source& guest) {
    const auto bytes = std::get<wasm::ModuleBytes>(guest.content).bytes();
    EXPECT_TRUE(HostFileSystem().write(dir_.path() / fmt::format("{}.wasm", name), **bytes).ok());
    return crypto::sha256(**bytes).hex();
  }

  testing::TempDir dir_;
};

constexpr std::string_view kLookForDatabase =
    R"({"op":"lookup","apiVersion":"v1","kind":"Secret","namespace":"web","name":"db"})";

TEST_F(KubeRenders, NobodyPrintsASecretThatTheScriptLookedUp) {
  const Source script = asking_and_saying(kLookForDatabase, script_answer());
  const auto rendered =
      render(script, manifest_answer(R"(apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n)"));
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  EXPECT_THAT(rendered->looked_up, Contains(Key("web/db k")));
  const auto unreadable = render(script, manifest_answer(fmt::format("password: {}", kDatabasePassword)));
  ASSERT_FALSE(unreadable.ok());
  EXPECT_THAT(all_words(unreadable.error()), HasSubstr("password: ***"));
  EXPECT_THAT(all_words(unreadable.error()), Not(HasSubstr(kDatabasePassword)));
  const auto refused =
      render(script, engine_answer(fmt::format(R"("result":"Err","message":"no {}")", kDatabasePassword)));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(all_words(refused.error()), HasSubstr("no ***"));
}

TEST_F(KubeRenders, NobodyPrintsWhatTheRequestHides) {
  hide_text(request_.hidden, "hunter2-secret");
  request_.user_values = testing::yaml("{admin: {password: hunter2-secret}}");
  const Source script = saying(script_answer());
  const auto words = [&](const std::string& of_templates) {
    const auto rendered = render(script, of_templates);
    EXPECT_FALSE(rendered.ok());
    return rendered.ok() ? std::string() : all_words(rendered.error());
  };
  EXPECT_THAT(words(engine_answer(R"("result":"Err","message":"no hunter2-secret")")), HasSubstr("no ***"));
  const std::string unreadable = words(manifest_answer("password: hunter2-secret"));
  EXPECT_THAT(unreadable, HasSubstr("password: ***"));
  EXPECT_THAT(unreadable, Not(HasSubstr("hunter2")));
  std::get<Files>(kube_.content)["values.schema.json"] =
      R"({"properties": {"admin": {"properties": {"password": {"minLength": 20}}}}})";
  EXPECT_THAT(words(manifest_answer("")),
              HasSubstr(R"(admin.password: must have at least 20 characters, is "***")"));
}

TEST_F(KubeRenders, ADefaultThatSomebodyTookFitsTheSchema) {
  std::get<Files>(kube_.content)["values.schema.json"] =
      R"({"properties": {"admin": {"properties": {"password": {"type": "string"}}}}})";
  request_.user_values = testing::yaml("{admin: {password: {kpm.take-default: true}}}");
  const Source script = saying(script_answer(
      R"({"question":{"name":"domain","prompt":"Where?","type":"text","default":"a.example"}})"));
  EXPECT_THAT(all_words(render(script, manifest_answer("")).error()),
              HasSubstr("must be string, is an object"))
      << "where nobody is asked, it is a value";
  request_.interactive = true;
  const auto next = render(script, manifest_answer(""));
  ASSERT_FALSE(next.ok());
  ASSERT_NE(next.error().detail<Unanswered>(), nullptr) << all_words(next.error());
  EXPECT_EQ(next.error().detail<Unanswered>()->question.name, "domain");
  const auto done = render(saying(script_answer()), manifest_answer(""));
  EXPECT_TRUE(done.ok()) << done.error().to_line();
}

TEST_F(KubeRenders, PackagesThatTheScriptCallsAreCallsOfTheRender) {
  std::get<Files>(kube_.content)["mistletoe.yaml"] =
      "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: kube},"
      " spec: {engine: jinja, dependencies: [{name: db, package: test/db}]}}";
  kube_.dependencies.emplace(
      "db", std::make_shared<const ResolvedPackage>(
                ResolvedPackage{"test/db", described(saying(manifest_answer("kind: Secret")), "db", "{}")}));
  const auto rendered = render(asking_and_saying(R"({"op":"package.call","package":"db"})", script_answer()),
                               manifest_answer(R"(apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n)"));
  ASSERT_TRUE(rendered.ok()) << rendered.error().to_line();
  const std::vector<CallEdge> calls = calls_of(*rendered);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].id, "test/db");
  EXPECT_EQ(calls[0].install, "shop-db");
}

}  // namespace
}  // namespace mist::package
