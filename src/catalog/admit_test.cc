#include "catalog/admit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/rate_limit.h"
#include "catalog/webhook.h"
#include "encoding/json.h"
#include "kpm/k3.h"
#include "package/guests_for_tests.h"
#include "testing/fake_clock.h"
#include "wasm/binary.h"

namespace mist::catalog {
namespace {

using encoding::SemVer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

registry::PackageTree tree(std::initializer_list<registry::PackageFile> files) {
  registry::TreeBuilder builder("test");
  for (const registry::PackageFile& file : files) EXPECT_TRUE(builder.add(file.path, file.bytes).ok());
  auto made = std::move(builder).finish();
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

Result<Admitted> admitted(std::string_view k3, const std::string& version = "1.2.3") {
  return admit(tree({{"K3.yaml", std::string(k3)}, {"manifests/a.yaml", "a: 1\n"}, {"README.md", "# Hi\n"}}),
               "etcd", *SemVer::parse(version));
}

std::string version_text(std::string_view tag) {
  const auto version = version_of_tag(tag, "etcd");
  return version ? version->to_string() : "none";
}

TEST(Tags, NameVersionsInAFewWays) {
  for (const char* tag : {"1.2.3", "v1.2.3", "etcd-1.2.3", "etcd-v1.2.3", "etcd/v1.2.3", "etcd/1.2.3"})
    EXPECT_EQ(version_text(tag), "1.2.3") << tag;
  EXPECT_EQ(version_text("v1.2.3-rc.1"), "1.2.3-rc.1");
  for (const char* tag :
       {"latest", "v1.2", "nginx-1.2.3", "etcd1.2.3", "vv1.2.3", "v01.2.3", "etcd-", "", "../1.2.3"})
    EXPECT_EQ(version_text(tag), "none") << tag;
}

TEST(Tags, AreReadWithTheCommitThatAnnotatedOnesMean) {
  const std::string a(40, 'a');
  const std::string b(40, 'b');
  const auto tags = parse_remote_tags(a + "\trefs/tags/v1.0.0\n" + a + "\trefs/tags/v2.0.0\n" + b +
                                      "\trefs/tags/v2.0.0^{}\n" + "nonsense\n" + a + "\trefs/heads/main\n" +
                                      a + "\trefs/tags/--upload-pack=x\n");
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags[0].commit, a);
  EXPECT_EQ(tags[1].name, "v2.0.0");
  EXPECT_EQ(tags[1].commit, b);
}

TEST(Admit, ReadsAKube) {
  const auto found = admitted(
      "name: etcd\nversion: 1.2.3\ndescription: One\nhome: https://example.com\ndetails: More\n"
      "maintainers: [Ann <ann@example.com>]\ndependencies: [{name: disk, version: ^1.0}]\nvalues: {replicas: "
      "1}\n");
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->facts.format, "Kube");
  EXPECT_EQ(found->facts.description, "One");
  EXPECT_EQ(found->readme, "# Hi\n");
  EXPECT_EQ(found->facts.dependencies.at(0).name, "disk");
  EXPECT_FALSE(found->facts.takes_name);
  EXPECT_THAT(found->facts.files, ElementsAre("K3.yaml", "README.md", "manifests/a.yaml"));
  EXPECT_EQ(PackageFacts::from_value(found->facts.to_value()).to_value(), found->facts.to_value());
}

TEST(Admit, ReadsAChart) {
  const auto found =
      admit(tree({{"Chart.yaml", "apiVersion: v2\nname: etcd\nversion: 1.2.3\ndescription: One\n"},
                  {"values.yaml", "replicas: 1\n"},
                  {"templates/a.yaml", "a: 1\n"}}),
            "etcd", *SemVer::parse("1.2.3"));
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->facts.format, "Helm chart");
  EXPECT_EQ(found->facts.description, "One");
  EXPECT_TRUE(found->facts.takes_name);
}

// Every page that lists it would print them, and every client of kpm would get them.
TEST(Admit, RefusesAKubeWithWordsWithoutEnd) {
  const auto refusal = [](const std::string& more) {
    const auto found = admitted("name: etcd\nversion: 1.2.3\n" + more);
    EXPECT_FALSE(found.ok()) << more.size();
    return found.ok() ? Error() : found.error();
  };
  const auto xs = [](std::size_t size) { return std::string(size, 'x'); };
  EXPECT_TRUE(admitted("name: etcd\nversion: 1.2.3\ndescription: " + xs(1024) + "\n").ok());
  const Error words = refusal("description: " + xs(1025) + "\n");
  EXPECT_EQ(words.kind, ErrorKind::Invalid);
  EXPECT_EQ(words.message, "the description in K3.yaml has 1025 bytes, and the catalog takes 1024");
  EXPECT_THAT(refusal("# " + xs(70'000) + "\n").message, HasSubstr("K3.yaml has 70"));
  EXPECT_TRUE(admitted("name: etcd\nversion: 1.2.3\n# " + xs(60'000) + "\n").ok());
  EXPECT_THAT(refusal("home: https://example.com/" + xs(1024) + "\n").message, HasSubstr("the home"));
  EXPECT_THAT(refusal("maintainers: [" + xs(300) + "]\n").message, HasSubstr("a maintainer"));
  std::string many;
  for (int i = 0; i < 51; ++i) many += fmt::format("- m{}\n", i);
  EXPECT_THAT(refusal("maintainers:\n" + many).message, HasSubstr("51 maintainers"));
}

TEST(Admit, ClipsTheWordsOfCharts) {
  std::string chart = "apiVersion: v2\nname: etcd\nversion: 1.2.3\nhome: https://example.com/" +
                      std::string(2000, 'x') + "\ndescription: " + std::string(100'000, 'x') +
                      "\nmaintainers:\n";
  for (int i = 0; i < 60; ++i) chart += fmt::format("- name: m{}{}\n", i, std::string(300, 'x'));
  const auto found =
      admit(tree({{"Chart.yaml", chart}, {"templates/a.yaml", "a: 1\n"}}), "etcd", *SemVer::parse("1.2.3"));
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  const PackageFacts& facts = found->facts;
  EXPECT_EQ(facts.description.size(), 1024U);
  EXPECT_EQ(facts.details.size(), 64U << 10);
  EXPECT_EQ(facts.home, "");
  ASSERT_EQ(facts.maintainers.size(), 50U);
  EXPECT_EQ(facts.maintainers[0].size(), 200U);
}

TEST(Admit, MakesASchemaOfDefaultsWhereThereIsNone) {
  const auto found = admitted(
      "name: etcd\nversion: 1.2.3\nvalues: {replicas: 2, image: {tag: '1.0', pull: true}, ratio: 0.5, hosts: "
      "[a], "
      "more: {}, none: null}\n");
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(encoding::to_json(found->facts.inputs),
            R"({"type":"object","properties":{"replicas":{"type":"integer","default":2},)"
            R"("image":{"type":"object","properties":{"tag":{"type":"string","default":"1.0"},)"
            R"("pull":{"type":"boolean","default":true}}},"ratio":{"type":"number","default":0.5},)"
            R"("hosts":{"type":"array","default":["a"]},"more":{"type":"object","default":{}},"none":{}},)"
            R"("$comment":"Made from the defaults: the package has no schema"})");
  EXPECT_TRUE(admitted("name: etcd\nversion: 1.2.3\n")->facts.inputs.is_null());
}

TEST(Admit, LeavesOutInputsThatNoPageCouldShow) {
  const auto inputs_of = [](std::size_t size) {
    const auto found = admit(tree({{"Chart.yaml", "apiVersion: v2\nname: etcd\nversion: 1.2.3\n"},
                                   {"values.yaml", "a: " + std::string(size, 'x') + "\n"},
                                   {"values.schema.json", R"({"properties": {"a": {"description": ")" +
                                                              std::string(size, 'x') + R"("}}})"}}),
                             "etcd", *SemVer::parse("1.2.3"));
    EXPECT_TRUE(found.ok()) << found.error().to_line();
    return std::pair(!found->facts.inputs.is_null(), !found->facts.defaults.empty());
  };
  EXPECT_EQ(inputs_of(1000), std::pair(true, true));
  EXPECT_EQ(inputs_of(300'000), std::pair(false, false));
}

TEST(Admit, RefusesOtherNamesAndVersionsThanTheTagSays) {
  EXPECT_THAT(admitted("name: nginx\nversion: 1.2.3\n").error().message,
              HasSubstr("the project is called etcd"));
  EXPECT_THAT(admitted("name: etcd\nversion: 1.2.4\n").error().message, HasSubstr("the tag says 1.2.3"));
  const auto broken = admitted("name: etcd\nversion: 1.2.3\nnmae: x\n");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().where->line, 3U);
  EXPECT_FALSE(
      admit(tree({{"K3.yaml", "name: etcd\nversion: 1.2.3\n"}}), "etcd", *SemVer::parse("1.2.3")).ok())
      << "it has no manifests";
}

registry::PackageModule module_of(std::string_view spec, std::string_view name = "etcd") {
  return std::get<wasm::ModuleBytes>(package::described(package::saying("a: 1\n"), name, spec).content);
}

Result<Admitted> admitted_module(registry::PackageModule module, package::Files beside = {}) {
  return admit_module({.module = std::move(module), .path = "dist/package.wasm", .beside = std::move(beside)},
                      "etcd", *SemVer::parse("1.2.3"));
}

TEST(AdmitModule, ReadsWhatItSaysOfItself) {
  const auto found = admitted_module(
      module_of("{version: 1.2.3, description: \"One\\nAnd more\", home: 'https://example.com', "
                "maintainers: [Ann <ann@example.com>], dependencies: [{name: disk, package: a/disk, version: "
                "^1.0}], inputs: {type: object, properties: {size: {type: integer, default: 3}}}}"),
      {{"README.md", "# Hi\n"}});
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  const PackageFacts& facts = found->facts;
  EXPECT_EQ(facts.format, "WebAssembly module");
  EXPECT_EQ(facts.module, "dist/package.wasm");
  EXPECT_THAT(facts.files, ElementsAre("package.wasm"));
  EXPECT_EQ(facts.description, "One");
  EXPECT_EQ(facts.details, "One\nAnd more");
  EXPECT_EQ(facts.home, "https://example.com");
  EXPECT_EQ(facts.dependencies.at(0).name, "disk");
  EXPECT_EQ(facts.inputs.int_at({"properties", "size", "default"}), 3);
  EXPECT_EQ(found->readme, "# Hi\n");
  EXPECT_EQ(PackageFacts::from_value(facts.to_value()).to_value(), facts.to_value());
  const auto k3 = kpm::parse_k3(facts.k3, "K3.yaml");
  ASSERT_TRUE(k3.ok()) << k3.error().to_line();
  EXPECT_EQ(k3->full_name(), "etcd-1.2.3");
  EXPECT_EQ(k3->description, "One");
  EXPECT_TRUE(k3->dependencies.empty()) << "what it calls is no release that must be there";
}

TEST(AdmitModule, AK3BesideItIsWhatKpmReads) {
  const package::Files k3{
      {"K3.yaml", "name: etcd\nversion: 1.2.3\ndescription: Two\ndependencies: [{name: disk}]\n"}};
  const auto found = admitted_module(module_of("{version: 1.2.3, description: One}"), k3);
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->facts.description, "Two");
  EXPECT_EQ(found->facts.k3, k3.at("K3.yaml"));
  EXPECT_EQ(found->facts.dependencies.at(0).name, "disk");
  EXPECT_FALSE(found->facts.takes_name);
  EXPECT_THAT(admitted_module(module_of("{version: 1.2.3}"), {{"K3.yaml", "name: etcd\nversion: 1.2.4\n"}})
                  .error()
                  .message,
              HasSubstr("K3.yaml has version 1.2.4"));
}

TEST(AdmitModule, BoundsItsWords) {
  const auto found =
      admitted_module(module_of("{version: 1.2.3, description: \"" + std::string(100'000, 'x') + "\"}"));
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ(found->facts.description.size(), 1024U);
  EXPECT_LT(found->facts.k3.size(), 70'000U);
  EXPECT_THAT(
      admitted_module(module_of("{version: 1.2.3}"),
                      {{"K3.yaml", "name: etcd\nversion: 1.2.3\n#" + std::string(70'000, 'x') + "\n"}})
          .error()
          .message,
      HasSubstr("K3.yaml has"));
}

TEST(AdmitModule, RefusesOtherNamesAndVersionsThanTheTagSays) {
  EXPECT_EQ(admitted_module(module_of("{version: 1.2.4}")).error().message,
            "package.wasm has version 1.2.4, and the tag says 1.2.3");
  EXPECT_THAT(admitted_module(module_of("{}")).error().message, HasSubstr("has version none"));
  EXPECT_THAT(admitted_module(module_of("{version: 1.2.3}", "nginx")).error().message,
              HasSubstr("package.wasm is of nginx, and the project is called etcd"));
}

TEST(AdmitModule, RefusesWhatIsNoModuleOrSaysNothing) {
  const auto refusal = [](std::string bytes) {
    const auto found = admitted_module(registry::PackageModule(std::move(bytes)));
    EXPECT_FALSE(found.ok());
    if (found.ok()) return std::string();
    EXPECT_EQ(found.error().kind, ErrorKind::Invalid);
    return found.error().to_line();
  };
  const auto with_section = [](std::string_view text) {
    return *wasm::with_custom_section(crypto::as_bytes(wasm::kEmptyModule), "m", wasm::kPackageSection, text);
  };
  EXPECT_THAT(refusal("<html>"), HasSubstr("HTML"));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal(std::string(wasm::kEmptyModule)), HasSubstr("no section mistletoe.package"));
  EXPECT_THAT(refusal(std::string(wasm::kEmptyModule) + std::string("\0\xff\xff\xff\xff\x0f", 6)),
              HasSubstr("truncated"));
  EXPECT_THAT(refusal(with_section("a: [")), HasSubstr("package.wasm"));
  EXPECT_THAT(refusal(with_section("kind: Pod\n")), HasSubstr("MistPackage"));
  EXPECT_THAT(refusal(with_section(std::string(2u << 20, ' '))), HasSubstr("more than 1048576"));
  const std::string one = with_section("{}");
  EXPECT_THAT(refusal(one + one.substr(8)), HasSubstr("more than one"));
}

// A few kilobytes that a compiler needs minutes for.
TEST(AdmitModule, RefusesWhatNoCompilerShouldGet) {
  std::string body("\1\xff\xff\x0f\x7f", 5);  // 262,143 locals of i32
  body += '\x0b';
  std::string code("\1", 1);
  code += static_cast<char>(body.size());
  code += body;
  std::string module(wasm::kEmptyModule);
  module += std::string("\1\4\1\x60\0\0\3\2\1\0", 10);
  module += '\x0a';
  module += static_cast<char>(code.size());
  module += code;
  const auto described = package::with_metadata(
      module,
      "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: etcd}, spec: {version: 1.2.3}}",
      "m");
  ASSERT_TRUE(described.ok()) << described.error().to_line();
  const auto found = admitted_module(registry::PackageModule(*described));
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().to_line(), HasSubstr("locals"));
}

// The signature is that of GitHub's documentation ("Validating webhook deliveries").
TEST(Webhook, KnowsTheSignaturesOfThree) {
  const SecretString secret("It's a Secret to Everybody");
  const std::string hmac = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const std::string body = "Hello, World!";
  EXPECT_TRUE(is_genuine({{"x-hub-signature-256", "sha256=" + hmac}}, body, secret));
  EXPECT_TRUE(is_genuine({{"X-Gitea-Signature", hmac}}, body, secret));
  EXPECT_TRUE(is_genuine({{"X-Gitlab-Token", secret.reveal()}}, body, secret));
  EXPECT_FALSE(is_genuine({{"X-Hub-Signature-256", "sha256=" + hmac}}, body + "!", secret));
  EXPECT_FALSE(is_genuine({{"X-Hub-Signature-256", hmac}}, body, secret)) << "without its prefix";
  EXPECT_FALSE(is_genuine({{"X-Hub-Signature-256", "sha256="}}, body, secret));
  EXPECT_FALSE(is_genuine({{"X-Gitlab-Token", "other"}}, body, secret));
  EXPECT_FALSE(is_genuine({}, body, secret));
  EXPECT_FALSE(is_genuine({{"X-Gitlab-Token", ""}}, body, SecretString()));
}

TEST(RateLimits, FillAgainWithTime) {
  mist::testing::FakeClock clock;
  RateLimit limit(clock, 2, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.wait_for("a"), 0);
  EXPECT_EQ(limit.wait_for("a"), 1);
  EXPECT_EQ(limit.wait_for("b"), 0) << "another's";
  clock.advance(std::chrono::milliseconds(600));
  EXPECT_EQ(limit.wait_for("a"), 0);
  EXPECT_EQ(limit.wait_for("a"), 1);
  RateLimit none(clock, 0, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(none.wait_for("a"), 0);
}

}  // namespace
}  // namespace mist::catalog
