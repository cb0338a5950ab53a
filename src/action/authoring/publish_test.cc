#include "action/authoring/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/gzip.h"
#include "encoding/tar.h"
#include "oci/annotation.h"
#include "registry/oci_fixture.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using registry::testing::MemoryRegistry;
using release::RenderedObject;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Publish : public ::testing::Test {
 protected:
  static RenderedObject object(std::string_view text) {
    return {*apimachinery::Object::from_value(testing::yaml(text)), "all.yaml", 1};
  }

  static std::string secret(std::string_view password) {
    return fmt::format("apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{password: {}}}\n",
                       password);
  }
  static constexpr std::string_view kMap =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {a: \"1\"}\n";

  static constexpr std::string_view kSum = "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5";
  static constexpr std::string_view kOtherSum =
      "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
  static std::string deployment(std::string_view checksum, std::string_view variable) {
    return fmt::format(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, annotations: {{sum: \"{}\"}}}}\n"
        "spec: {{value: {}}}\n",
        checksum, variable);
  }

  using Objects = std::vector<RenderedObject>;

  // A package that gives `objects`, and with another seed `other`.
  static render::RenderedRelease rendered(Objects objects, const Objects& other = {}) {
    render::RenderedRelease result{};
    result.package = {"oci://reg.example/team/shop:1.4.0", "shop", "1.4.0", "sha256:01"};
    result.objects = std::move(objects);
    result.fixed = {SecretString(std::string(32, 's')), "2026-01-02T03:04:05Z"};
    if (!other.empty()) {
      result.drawn.unnamed = true;
      result.again = [other](const render::RenderVariant& variant, const Context&) -> Result<Objects> {
        EXPECT_TRUE(variant.other_seed);
        return other;
      };
    }
    return result;
  }

  Result<Publication> prepared(Objects objects, const Objects& other, DrawnSecrets secrets) {
    return prepare_publication(rendered(std::move(objects), other), {.secrets = secrets}, events, Context());
  }
  Publication publication(Objects objects) {
    auto result = prepared(std::move(objects), {}, DrawnSecrets::Refuse);
    EXPECT_TRUE(result.ok()) << result.error().to_line();
    return *std::move(result);
  }
  static std::vector<encoding::TarFile> files_in(const oci::Artifact& artifact) {
    const auto tar = encoding::gunzip(artifact.blobs.at(1).bytes, 1 << 20);
    EXPECT_TRUE(tar.ok());
    return encoding::read_tar(*tar, "the layer").value_or({});
  }
  registry::PushReport published(const Publication& what,
                                 std::string_view where = "oci://reg.example/deploy/shop:prod") {
    registry::OciClient client = registry.client();
    auto report = publish(client, what, *oci::Reference::parse_destination(where), {}, Context());
    EXPECT_TRUE(report.ok()) << report.error().to_line();
    return *std::move(report);
  }

  MemoryRegistry registry;
  testing::RecordedEvents events;
};

TEST_F(Publish, AFileForEachObjectInFluxsLayout) {
  const auto artifact = artifact_of(publication({object(deployment("x", "y")), object(kMap)}));
  ASSERT_TRUE(artifact.ok()) << artifact.error().to_line();
  const auto document = oci::parse_document(artifact->manifest, oci::kManifestType, "it");
  ASSERT_TRUE(document.ok());
  const auto& manifest = std::get<oci::Manifest>(*document);
  EXPECT_EQ(manifest.config.media_type, "application/vnd.cncf.flux.config.v1+json");
  ASSERT_EQ(manifest.layers.size(), 1u);
  EXPECT_EQ(manifest.layers[0].media_type, "application/vnd.cncf.flux.content.v1.tar+gzip");
  EXPECT_EQ(manifest.annotations,
            (oci::Annotations{{"org.opencontainers.image.created", "2026-01-02T03:04:05Z"},
                              {"org.opencontainers.image.revision", "1.4.0@sha256:01"},
                              {"org.opencontainers.image.source", "oci://reg.example/team/shop:1.4.0"},
                              {"org.opencontainers.image.title", "shop"},
                              {"org.opencontainers.image.version", "1.4.0"}}));
  const std::vector<encoding::TarFile> files = files_in(*artifact);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "deployment.apps-web.yaml");
  EXPECT_EQ(files[1].path, "shop/configmap-web.yaml");
  EXPECT_EQ(testing::yaml(files[1].bytes), testing::yaml(kMap));
}

TEST_F(Publish, TheOrderOfObjectsDoesNotCount) {
  EXPECT_EQ(artifact_of(publication({object(kMap), object(deployment("x", "y"))}))->digest,
            artifact_of(publication({object(deployment("x", "y")), object(kMap)}))->digest);
}

TEST_F(Publish, NamesThatAreNoFileNamesStayApart) {
  const auto role = [](std::string_view name) {
    return object(fmt::format(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: \"{}\"}}\n", name));
  };
  const std::string longest(253, 'a');
  const auto files =
      files_in(*artifact_of(publication({role("a:b"), role("a_b"), role("../x"), role(longest)})));
  ASSERT_EQ(files.size(), 4u);
  for (const encoding::TarFile& file : files) {
    EXPECT_THAT(file.path, Not(HasSubstr("/")));
    EXPECT_THAT(file.path, Not(HasSubstr(":")));
    EXPECT_LE(file.path.size(), 140u);
  }
}

TEST_F(Publish, ALocalPathIsNoSource) {
  render::RenderedRelease local = rendered({object(kMap)});
  local.package.reference = "/home/alice/shop";
  const auto prepared = prepare_publication(local, {}, events, Context());
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->source, "");
  EXPECT_THAT(artifact_of(*prepared)->manifest, Not(HasSubstr("alice")));
  const auto said = prepare_publication(local, {.source = "https://git.example/x", .revision = "main@sha1:0"},
                                        events, Context());
  ASSERT_TRUE(said.ok());
  EXPECT_THAT(artifact_of(*said)->manifest, HasSubstr(R"("https://git.example/x")"));
  EXPECT_THAT(artifact_of(*said)->manifest, HasSubstr(R"("main@sha1:0")"));
}

TEST_F(Publish, CredentialsInUrlsAreNotPublished) {
  render::RenderedRelease release = rendered({object(kMap)});
  const auto said = prepare_publication(release,
                                        {.source = "https://ci:geheim@git.example/x.git?token=geheim&ref=a",
                                         .revision = "https://ci:geheim@git.example/x@sha1:0"},
                                        events, Context());
  ASSERT_TRUE(said.ok()) << said.error().to_line();
  EXPECT_EQ(said->source, "https://git.example/x.git?ref=a");
  EXPECT_EQ(said->revision, "https://git.example/x@sha1:0");
  EXPECT_THAT(artifact_of(*said)->manifest, Not(HasSubstr("geheim")));
  EXPECT_THAT(events.messages,
              ElementsAre(AllOf(HasSubstr("--source has credentials"), Not(HasSubstr("geheim"))),
                          AllOf(HasSubstr("--revision has credentials"), Not(HasSubstr("geheim")))));
  release.package.reference = "git+https://ci:geheim@git.example/x.git";
  release.package.name = "https://ci:geheim@git.example/x";
  const auto of_package = prepare_publication(release, {}, events, Context());
  ASSERT_TRUE(of_package.ok()) << of_package.error().to_line();
  EXPECT_EQ(of_package->source, "git+https://git.example/x.git");
  EXPECT_THAT(artifact_of(*of_package)->manifest, Not(HasSubstr("geheim")));
}

TEST_F(Publish, DrawnSecretsAreRefusedWithTheirNamesAndTheFlag) {
  const auto refused = prepared({object(secret("one")), object(kMap)}, {object(secret("two")), object(kMap)},
                                DrawnSecrets::Refuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(refused.error().because, HasSubstr("Secret db: .stringData.password"));
  EXPECT_THAT(refused.error().because, Not(HasSubstr("one")));
  EXPECT_THAT(refused.error().hint, HasSubstr("--secrets=external"));
  EXPECT_TRUE(prepared({object(secret("one"))}, {object(secret("two"))}, DrawnSecrets::Include).ok());
}

TEST_F(Publish, ASecretOfTheUserIsTheirOwn) {
  EXPECT_TRUE(prepared({object(secret("given")), object(kMap)}, {object(secret("given")), object(kMap)},
                       DrawnSecrets::Refuse)
                  .ok());
}

TEST_F(Publish, ExternalSecretsAreLeftOutAndTheirChecksumsStay) {
  const auto published =
      prepared({object(secret("one")), object(deployment(kSum, "same"))},
               {object(secret("two")), object(deployment(kOtherSum, "same"))}, DrawnSecrets::External);
  ASSERT_TRUE(published.ok()) << published.error().to_line();
  ASSERT_EQ(published->left_out.size(), 1u);
  EXPECT_EQ(published->left_out[0].display(), "Secret db");
  ASSERT_EQ(published->objects.size(), 1u);
  EXPECT_THAT(artifact_of(*published)->manifest, HasSubstr(R"("mistletoe.dev/secrets":"external")"));
}

TEST_F(Publish, ASecretInAnotherObjectIsNeverLeftToChance) {
  for (const DrawnSecrets policy : {DrawnSecrets::Refuse, DrawnSecrets::External}) {
    const auto refused =
        prepared({object(deployment("sum", "one"))}, {object(deployment("sum", "two"))}, policy);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().because, HasSubstr("Deployment web: .spec.value"));
    EXPECT_THAT(refused.error().hint, HasSubstr("not all of these are"));
  }
}

// The package's drawn password, in annotations that differ with the seed.
TEST_F(Publish, ASecretThatCanBeReadInAnAnnotationIsRefused) {
  const auto annotated = [](std::string_view kind, std::string_view text) {
    return object(fmt::format(
        "apiVersion: v1\nkind: {}\nmetadata: {{name: web, annotations: {{x: \"{}\"}}}}\n", kind, text));
  };
  const auto templated = [](std::string_view kind, std::string_view text) {
    return object(
        fmt::format("apiVersion: apps/v1\nkind: {}\nmetadata: {{name: web}}\n"
                    "spec: {{template: {{metadata: {{annotations: {{x: \"{}\"}}}}}}}}\n",
                    kind, text));
  };
  const auto prepare = [&](const RenderedObject& now, const RenderedObject& other, bool named,
                           DrawnSecrets policy) {
    Objects objects{now}, others{other};
    if (!named) {
      objects.push_back(object(secret("tr0ub4dor")));
      others.push_back(object(secret("anotherOne")));
    }
    render::RenderedRelease release = rendered(std::move(objects), others);
    if (named) release.secrets.emplace("db", SecretString("tr0ub4dor"));
    return prepare_publication(std::move(release), {.secrets = policy}, events, Context());
  };
  for (const bool named : {true, false}) {
    for (const std::string_view text : {"tr0ub4dor", "proxy_set_header X \\\"tr0ub4dor\\\";", "dHIwdWI0ZG9y",
                                        "dTp0cjB1YjRkb3I=", "rod4bu0rt"}) {
      for (const DrawnSecrets policy : {DrawnSecrets::Refuse, DrawnSecrets::External}) {
        const auto plain = prepare(annotated("ConfigMap", text), annotated("ConfigMap", "-"), named, policy);
        ASSERT_FALSE(plain.ok()) << text;
        EXPECT_THAT(plain.error().because, HasSubstr("ConfigMap web: .metadata.annotations"));
        EXPECT_THAT(plain.error().to_line(), Not(HasSubstr("tr0ub4dor")));
        EXPECT_FALSE(
            prepare(templated("Deployment", text), templated("Deployment", "-"), named, policy).ok());
      }
    }
    const auto sum = prepare(annotated("ConfigMap", kSum), annotated("ConfigMap", kOtherSum), named,
                             DrawnSecrets::External);
    EXPECT_TRUE(sum.ok()) << sum.error().to_line();
  }
}

// The password is Tr0ub4dor&3xyzXYZ012, or fully another one.
TEST_F(Publish, APartOrAnotherFormOfASecretInAnAnnotationIsRefused) {
  const auto annotated = [](std::string_view key, std::string_view text) {
    return object(
        fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, annotations: {{{}: \"{}\"}}}}\n",
                    key, text));
  };
  const auto prepare = [&](const RenderedObject& now, const RenderedObject& other) {
    return prepared({object(secret("Tr0ub4dor&3xyzXYZ012")), now},
                    {object(secret("AnotherOne~98765432a")), other}, DrawnSecrets::External);
  };
  for (const std::string_view text :
       {"Tr0ub4dor&3xyzXY", "TR0UB4DOR&3XYZXYZ012", "r0ub4", "Ge0ho4qbe&3klmKLM012", "54723075623464",
        "5472307562346f6f0000000000000000000000005472307562346400000000000", "12345678"}) {
    const auto refused = prepare(annotated("x", text), annotated("x", "-"));
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().because, HasSubstr("ConfigMap web: .metadata.annotations.x"));
    EXPECT_THAT(refused.error().to_line(), Not(HasSubstr(text)));
  }
  EXPECT_FALSE(prepare(annotated("Tr0ub4dor", kSum), annotated("AnotherOne", kSum)).ok()) << "a name";
  EXPECT_TRUE(prepare(annotated("x", kSum), annotated("x", kOtherSum)).ok());
  EXPECT_TRUE(prepare(annotated("x", fmt::format("sha256:{}", kSum)), annotated("x", kOtherSum)).ok());
}

TEST_F(Publish, AKeyThatIsCalledLikeAnnotationsIsNone) {
  const auto map = [](std::string_view text) {
    return object(
        fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\n"
                    "data: {{x.metadata.annotations: {}}}\n",
                    text));
  };
  EXPECT_FALSE(prepared({map("part")}, {map("other")}, DrawnSecrets::Refuse).ok());
}

TEST_F(Publish, HooksOfAnInstallAreOrdinaryObjectsAndTestsAreLeftOut) {
  const auto job = [](std::string_view name, std::string_view hook) {
    return object(
        fmt::format("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {}, annotations: "
                    "{{helm.sh/hook: \"{}\"}}}}\n",
                    name, hook));
  };
  render::RenderedRelease chart =
      rendered({object(kMap), job("migrate", "pre-install,pre-upgrade"), job("bye", "pre-delete"),
                job("check", "test"), job("odd", "never")});
  chart.package.engine = "helm";
  const auto prepared = prepare_publication(chart, {}, events, Context());
  ASSERT_TRUE(prepared.ok()) << prepared.error().to_line();
  std::vector<std::string> names;
  for (const RenderedObject& each : prepared->objects) names.emplace_back(each.object.name());
  EXPECT_THAT(names, ElementsAre("web", "migrate"));
  EXPECT_THAT(events.messages, ElementsAre(HasSubstr("odd")));
}

TEST_F(Publish, WhatCannotBeAppliedIsRefused) {
  const auto twice = prepared({object(kMap), object(kMap)}, {}, DrawnSecrets::Refuse);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("is rendered twice"));
  EXPECT_EQ(prepared({}, {}, DrawnSecrets::Refuse).error().kind, ErrorKind::Invalid);
}

TEST_F(Publish, TheSameIsNotPushedAgain) {
  const registry::PushReport first = published(publication({object(kMap)}));
  EXPECT_FALSE(first.was_there);
  EXPECT_EQ(first.pushed.str(), "oci://reg.example/deploy/shop:prod@" + first.pushed.digest->str());
  const std::size_t requests = registry.web.count();
  EXPECT_TRUE(published(publication({object(kMap)})).was_there);
  EXPECT_EQ(registry.web.count(), requests + 1);
  // Rendered elsewhere, later: only the time differs.
  Publication later = publication({object(kMap)});
  later.created = "2027-01-01T00:00:00Z";
  const registry::PushReport again = published(later);
  EXPECT_TRUE(again.was_there);
  EXPECT_EQ(again.pushed.digest, first.pushed.digest);
  later.revision = "main@sha1:1";
  EXPECT_FALSE(published(later).was_there);
}

TEST_F(Publish, WithoutATagItIsTheVersionAndThatStays) {
  EXPECT_EQ(published(publication({object(kMap)}), "oci://reg.example/deploy/shop").pushed.tag, "1.4.0");
  registry::OciClient client = registry.client();
  const auto refused =
      publish(client, publication({object(deployment("x", "y"))}),
              *oci::Reference::parse_destination("oci://reg.example/deploy/shop"), {}, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
}

// A signature under a version counts only if the artifact states that version; the package may have another.
TEST_F(Publish, AVersionInTheTagIsTheVersionThatTheArtifactStates) {
  const auto stated = [&](std::string_view tag) {
    published(publication({object(kMap)}), fmt::format("oci://reg.example/deploy/shop:{}", tag));
    const auto document =
        oci::parse_document(registry.manifests.at(std::string(tag)), oci::kManifestType, "the manifest");
    return std::get<oci::Manifest>(*document).annotations.at(std::string(oci::kVersionAnnotation));
  };
  EXPECT_EQ(stated("3.0.1"), "3.0.1");
  EXPECT_EQ(stated("3.0.1_b.5"), "3.0.1+b.5");
  EXPECT_EQ(stated("v1.4.0"), "1.4.0");
  EXPECT_EQ(stated("prod"), "1.4.0") << "the package's own";
}

TEST_F(Publish, OnlyAWholeVersionIsATagByItself) {
  registry::OciClient client = registry.client();
  for (const char* const version : {"", "prod", "1.4", "x/../../../other/manifests/y", "1.4.0/../prod"}) {
    Publication what = publication({object(kMap)});
    what.package.version = version;
    const auto refused = publish(
        client, what, *oci::Reference::parse_destination("oci://reg.example/deploy/shop"), {}, Context());
    ASSERT_FALSE(refused.ok()) << version;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid) << version;
    EXPECT_EQ(refused.error().hint, "name a tag: oci://reg.example/deploy/shop:prod");
  }
  EXPECT_EQ(registry.web.count(), 0u);
}

class PublishedDiffs : public Publish {
 protected:
  Result<PublishedDiff> diff(Objects now, const Objects& other = {}) {
    registry::OciClient client = registry.client();
    return diff_published(client, {"shop", "shop"},
                          *oci::Reference::parse("oci://reg.example/deploy/shop:prod"),
                          rendered(std::move(now), other), {}, {}, events, Context());
  }
};

TEST_F(PublishedDiffs, NameWhatARenderHasOtherwise) {
  const registry::PushReport there = published(publication({object(kMap), object(deployment("a", "b"))}));
  const auto same = diff({object(deployment("a", "b")), object(kMap)});
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_FALSE(same->changes());
  EXPECT_EQ(same->unchanged, 2u);
  EXPECT_EQ(same->published.digest, there.pushed.digest);
  const auto other = diff({object(deployment("a", "c")), object(secret("x"))});
  ASSERT_TRUE(other.ok()) << other.error().to_line();
  std::vector<LineChange> changes;
  for (const RecordedDiff& each : other->objects) changes.push_back(each.change);
  EXPECT_THAT(changes, ElementsAre(LineChange::Added, LineChange::Same, LineChange::Removed));
}

TEST_F(PublishedDiffs, SecretsThatWereLeftOutAreNotLookedAt) {
  const Objects one{object(secret("one")), object(kMap)}, two{object(secret("two")), object(kMap)};
  published(*prepared(one, two, DrawnSecrets::External));
  const auto same = diff(one, two);
  ASSERT_TRUE(same.ok()) << same.error().to_line();
  EXPECT_THAT(same->objects, IsEmpty());
}

TEST_F(PublishedDiffs, AnArchiveThatUnpacksToNoEndIsRefused) {
  const std::string bomb = *encoding::gzip(std::string(std::size_t{200} << 20, '\0'));
  ASSERT_LT(bomb.size(), std::size_t{1} << 20);
  registry.publish("prod", oci::rendered_artifact(bomb, {}));
  const auto refused = diff({object(kMap)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
}

TEST_F(PublishedDiffs, AnArtifactThatIsNoYamlIsRefused) {
  registry.publish("prod", oci::module_artifact(std::string("\0asm\1\0\0\0", 8), {}));
  const auto refused = diff({object(kMap)});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("no rendered objects"));
}

}  // namespace
}  // namespace mist::action
