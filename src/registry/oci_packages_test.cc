#include "registry/oci_packages.h"

#include <gtest/gtest.h>

#include <array>

#include "crypto/keys.h"
#include "encoding/gzip.h"
#include "encoding/tar.h"
#include "registry/chart_archive.h"
#include "registry/oci_fixture.h"
#include "registry/oci_signatures.h"
#include "registry/registry.h"
#include "registry/subchart_source.h"
#include "testing/home_fixture.h"

namespace mist::registry {
namespace {

using testing::MemoryRegistry;

const std::string kCode("\0asm\1\0\0\0", 8);
constexpr std::string_view kShopReference = "oci://reg.example/team/shop";

class OciRegistries : public mist::testing::HomeFixture {
 protected:
  /// As another process would have: only the disk is shared.
  Registries::Dependencies dependencies() {
    Registries::Dependencies all = registries_on(remote.web);
    all.signers = signers;
    return all;
  }
  Result<Fetched> fetch(const std::string& rest) {
    Registries registries(dependencies());
    auto parsed = registries.parse(std::string(kShopReference) + rest);
    if (!parsed) return std::move(parsed).error();
    return registries.fetch(*parsed, Context());
  }
  std::string failure(const std::string& rest) {
    const auto fetched = fetch(rest);
    return fetched.ok() ? "no error" : fetched.error().to_line();
  }
  /// How many requests that cost.
  std::size_t requests(const std::string& rest) {
    const std::size_t before = remote.web.count();
    const auto fetched = fetch(rest);
    EXPECT_TRUE(fetched.ok()) << fetched.error().to_line();
    return remote.web.count() - before;
  }
  /// From now on, packages are fetched to be rendered.
  void remember_signers() { signers = NewSigners::Remember; }
  /// With a key that `seed` makes.
  void sign(const crypto::Digest& manifest, unsigned char seed) {
    std::array<std::byte, crypto::kKeyBytes> bytes{};
    bytes.fill(std::byte{seed});
    const auto key = crypto::PrivateKey::parse(crypto::p256_key(bytes)->private_pem);
    ASSERT_TRUE(key.ok()) << key.error().to_line();
    OciClient client = remote.client();
    const auto report = sign_artifact(client, {testing::repository_of(kShopReference), {}, {}, manifest},
                                      *key, {.now = clock.now()}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
  }
  static oci::Artifact module(const std::string& more = {}) { return oci::module_artifact(kCode + more, {}); }

  MemoryRegistry remote;
  NewSigners signers = NewSigners::Leave;
};

TEST_F(OciRegistries, TwoRequestsWithNothingHereOneForATagNoneForADigest) {
  const std::string digest = "@" + remote.publish("1.4.0", module()).str();
  EXPECT_EQ(requests(":1.4.0"), 2u);
  EXPECT_EQ(requests(":1.4.0"), 1u);
  EXPECT_EQ(requests(digest), 0u);
  EXPECT_EQ(requests(":1.4.0" + digest), 0u);
  EXPECT_EQ(requests(":^1"), 2u);
}

// The tag of signatures, the referrers, and their tag where there is no such API.
TEST_F(OciRegistries, WhoeverRendersAPackageAsksForItsSignersOnce) {
  const std::string digest = "@" + remote.publish("1.4.0", module()).str();
  remote.publish("1.5.0", module("b"));
  remember_signers();
  EXPECT_EQ(requests(":1.4.0"), 2u + 3u);
  EXPECT_EQ(requests(":1.4.0"), 1u);
  EXPECT_EQ(requests(digest), 0u);
  signers = NewSigners::Leave;
  EXPECT_EQ(requests(":1.5.0"), 2u);
  signers = NewSigners::Remember;
  EXPECT_EQ(requests(":1.5.0"), 1u + 3u) << "it was only copied before";
}

TEST_F(OciRegistries, ADigestWhoseBytesAreHereAsksNobodyForSigners) {
  const std::string digest = "@" + remote.publish("1.4.0", module()).str();
  EXPECT_EQ(requests(":1.4.0"), 2u);
  remember_signers();
  EXPECT_EQ(requests(digest), 0u);
  remote.away = true;
  EXPECT_EQ(requests(digest), 0u);
  EXPECT_EQ(failure(":1.4.0"), "no error");
  ASSERT_EQ(events.messages.size(), 1u) << "that the registry is away, and nothing of signatures";
  EXPECT_NE(events.messages.front().find("is taken as it was when it was last fetched"), std::string::npos);
}

TEST_F(OciRegistries, WhatIsCopiedIsHeldToTheSignersOfWhatWasRendered) {
  const crypto::Digest first = remote.publish("1.4.0", module()),
                       second = remote.publish("1.5.0", module("b")),
                       third = remote.publish("1.6.0", module("c"));
  sign(first, 1);
  sign(third, 1);
  EXPECT_EQ(failure(":1.4.0"), "no error");
  EXPECT_EQ(failure(":1.5.0"), "no error") << "it was copied: nothing is remembered of its signer";
  remember_signers();
  EXPECT_EQ(failure(":1.4.0"), "no error");
  signers = NewSigners::Leave;
  sign(second, 2);
  EXPECT_NE(failure(":1.5.0").find("what was used of it before is signed by key"), std::string::npos)
      << failure(":1.5.0");
  EXPECT_NE(failure("@" + second.str()).find("what was used of it before"), std::string::npos);
  EXPECT_EQ(failure(":1.6.0"), "no error");
}

// Before there was a signature, nobody relied on the version that the manifest says.
TEST_F(OciRegistries, AnUnsignedVersionMayHaveAnotherTag) {
  const oci::About facts{.title = {}, .version = "1.3.0", .description = {}};
  const crypto::Digest manifest = remote.publish("1.4.0", oci::module_artifact(kCode, facts));
  remember_signers();
  EXPECT_EQ(failure(":1.4.0"), "no error");
  remote.publish("1.5.0", oci::module_artifact(kCode, facts));
  sign(manifest, 1);
  paths.state = paths.home / "another-machine";
  EXPECT_NE(failure(":1.5.0").find("says that it is version 1.3.0"), std::string::npos) << failure(":1.5.0");
}

TEST_F(OciRegistries, WhatWasFetchedNamesItsManifest) {
  const crypto::Digest manifest = remote.publish("1.4.0", module());
  const auto fetched = fetch(":^1.2");
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  EXPECT_EQ(fetched->resolved.to_string(), fmt::format("{}:1.4.0@{}", kShopReference, manifest.str()));
  EXPECT_EQ(fetched->digest, crypto::sha256(kCode));
}

TEST_F(OciRegistries, ARangeTakesTheNewestVersion) {
  remote.publish("1.4.0", module("a"));
  ASSERT_TRUE(fetch(":^1").ok());
  remote.publish("1.5.0", module("b"));
  remote.publish("2.0.0", module("c"));
  EXPECT_EQ(fetch(":^1")->digest, crypto::sha256(kCode + "b"));
  EXPECT_NE(failure(":^3").find("there is no version ^3"), std::string::npos);
  EXPECT_EQ(fetch(":^3").error().hint, "the newest there: 2.0.0, 1.5.0, 1.4.0");
}

// No signature holds "1.99" to a version, so an old one could come back under it.
TEST_F(OciRegistries, ARangeTakesNoTagThatMayMove) {
  remote.publish("v1.4.0", module("new"));
  remote.publish("1.99", module("old"));
  remote.publish("20240601", module("of a build"));
  for (const char* range : {":^1.4", ":>=1.2", ":*"}) {
    const auto fetched = fetch(range);
    ASSERT_TRUE(fetched.ok()) << range << ": " << fetched.error().to_line();
    EXPECT_EQ(fetched->digest, crypto::sha256(kCode + "new")) << range;
  }
  const auto none = fetch(":^1.5");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_NE(none.error().because.find("are left out: 20240601, 1.99"), std::string::npos)
      << none.error().because;
  EXPECT_EQ(none.error().hint, "the newest there: v1.4.0");
  EXPECT_EQ(fetch(":1.99")->digest, crypto::sha256(kCode + "old")) << "by its name it is what it was";
}

TEST_F(OciRegistries, TagsThatMayMoveAreNotListedAsVersions) {
  Registries registries(dependencies());
  ASSERT_TRUE(registries.add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  const oci::Repository shop = testing::repository_of(kShopReference);
  const auto listed = [&] { return join(*registries.list_versions(shop, Context()), " "); };
  remote.publish("1.4", module("a"));
  const auto none = registries.list_versions(shop, Context());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_NE(none.error().hint.find(fmt::format("{}:1.4", kShopReference)), std::string::npos)
      << none.error().hint;
  remote.publish("1.4.0", module("a"));
  remote.publish("1.5.0_b.1", module("b"));
  EXPECT_EQ(listed(), "1.5.0+b.1 1.4.0");
  EXPECT_EQ(join(*registries.list_versions("team", "shop", Context()), " "), "1.4.0 1.5.0+b.1");
}

TEST_F(OciRegistries, AChartsDependencyTakesNoTagThatMayMove) {
  remote.publish("v1.4.0", module("a"));
  remote.publish("1.99", module("b"));
  Registries registries(dependencies());
  SubchartSource source({.registries = registries, .transport = {}}, temp.path());
  ChartDependency wanted{"shop", "^1.4", "oci://reg.example/team"};
  const auto newest = source.newest(wanted, Context());
  ASSERT_TRUE(newest.ok()) << newest.error().to_line();
  EXPECT_EQ(*newest, "v1.4.0");
  wanted.version = ">=1.5";
  const auto none = source.newest(wanted, Context());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().because.find("1.99"), std::string::npos) << none.error().because;
}

TEST_F(OciRegistries, AVersionThatMovedIsRefused) {
  remote.publish("1.4.0", module("a"));
  ASSERT_TRUE(fetch(":1.4.0").ok());
  const crypto::Digest moved = remote.publish("1.4.0", module("b"));
  const auto refused = fetch(":1.4.0");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_NE(refused.error().because.find(crypto::sha256(kCode + "b").str()), std::string::npos);
  EXPECT_TRUE(fetch("@" + moved.str()).ok());
}

TEST_F(OciRegistries, NothingIsPinnedOfBytesThatTheReferencesDigestRefuses) {
  Registries registries(dependencies());
  ASSERT_TRUE(registries.add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  const PackageRef wanted =
      *PackageRef::parse(fmt::format("team/shop:1.4.0@{}", crypto::sha256(kCode + "right").str()));
  remote.publish("1.4.0", module("foreign"));
  const auto refused = registries.fetch(wanted, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  remote.publish("1.4.0", module("right"));
  const auto repaired = registries.fetch(wanted, Context());
  EXPECT_TRUE(repaired.ok()) << repaired.error().to_line();
}

TEST_F(OciRegistries, AVersionThatMovedIsTakenByThoseThatNameItsBytes) {
  Registries registries(dependencies());
  ASSERT_TRUE(registries.add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  const auto get = [&](const std::string& reference) {
    const auto fetched = registries.fetch(*PackageRef::parse(reference), Context());
    return fetched ? fetched->digest.str() : fetched.error().to_line();
  };
  const std::string first = crypto::sha256(kCode + "a").str(), second = crypto::sha256(kCode + "b").str();
  remote.publish("1.4.0", module("a"));
  ASSERT_EQ(get("team/shop:1.4.0"), first);
  remote.publish("1.4.0", module("b"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get("team/shop:1.4.0@" + second), second);
    EXPECT_NE(get("team/shop:1.4.0").find("isn't what it was when it was first used here"),
              std::string::npos);
  }
  EXPECT_NE(get("team/shop:1.4.0@" + first).find("digest mismatch"), std::string::npos);
}

TEST_F(OciRegistries, TheSignersOfRefusedBytesAreNotRemembered) {
  remember_signers();
  Registries registries(dependencies());
  ASSERT_TRUE(registries.add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  const auto named = [&](const std::string& tag) {
    const std::string right = crypto::sha256(kCode + "right").str();
    return registries.fetch(*PackageRef::parse(fmt::format("team/shop:{}@{}", tag, right)), Context());
  };
  // Also under a tag that may move.
  for (const std::string tag : {"prod", "1.4.0"}) {
    sign(remote.publish(tag, module("foreign, " + tag)), 1);
    const auto refused = named(tag);
    ASSERT_FALSE(refused.ok()) << tag;
    EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  }
  sign(remote.publish("1.4.0", module("right")), 2);
  const auto repaired = named("1.4.0");
  EXPECT_TRUE(repaired.ok()) << repaired.error().to_line();
  sign(remote.publish("1.5.0", module("foreign, too")), 1);
  EXPECT_NE(failure(":1.5.0").find("before is signed by key"), std::string::npos) << failure(":1.5.0");
}

TEST_F(OciRegistries, TheSignersOfAVersionThatMovedAreNotRemembered) {
  remember_signers();
  remote.publish("1.4.0", module("right"));
  ASSERT_TRUE(fetch(":1.4.0").ok());
  sign(remote.publish("1.4.0", module("foreign")), 1);
  EXPECT_NE(failure(":1.4.0").find("isn't what it was"), std::string::npos) << failure(":1.4.0");
  sign(remote.publish("1.5.0", module("right, too")), 2);
  EXPECT_EQ(failure(":1.5.0"), "no error");
  sign(remote.publish("1.6.0", module("foreign, too")), 1);
  EXPECT_NE(failure(":1.6.0").find("before is signed by key"), std::string::npos) << failure(":1.6.0");
}

TEST_F(OciRegistries, NothingIsPinnedOfAChartThatIsNotTheDependency) {
  const auto publish = [&](std::string_view version) {
    const PackageTree chart{{{"Chart.yaml", fmt::format("{{name: shop, version: {}}}", version)}}};
    const auto artifact = artifact_of(PackageContent(chart), {});
    ASSERT_TRUE(artifact.ok()) << artifact.error().to_line();
    remote.publish("1.4.0", *artifact);
  };
  Registries registries(dependencies());
  SubchartSource source({.registries = registries, .transport = {}}, temp.path());
  const ChartDependency locked{"shop", "1.4.0", "oci://reg.example/team"};
  publish("1.3.0");
  const auto refused = source.fetch(locked, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("isn't the version that its tag says"), std::string::npos);
  publish("1.4.0");
  const auto repaired = source.fetch(locked, Context());
  ASSERT_TRUE(repaired.ok()) << repaired.error().to_line();
  EXPECT_EQ(repaired->version, "1.4.0");
}

// A chart repository at https://charts.example, whose entry leads to the registry.
class ListedInAChartRepository : public OciRegistries {
 protected:
  ListedInAChartRepository() {
    remote.before = [this](const http::Request& request) -> std::optional<http::Response> {
      if (!request.url.starts_with("https://charts.example/")) return std::nullopt;
      return http::Response{.status = 200,
                            .headers = {},
                            .body = fmt::format("entries: {{shop: [{{version: 1.4.0, {}}}]}}\n", entry)};
    };
  }
  std::string fetch_listed(const std::string& url, const std::string& digest = {}) {
    entry = fmt::format("urls: ['{}'], digest: '{}'", url, digest);
    Registries registries(dependencies());
    SubchartSource source(
        {.registries = registries,
         .transport = [this] { return std::make_unique<mist::testing::ForwardingTransport>(remote.web); }},
        temp.path());
    const ChartDependency locked{"shop", "1.4.0", "https://charts.example"};
    const auto packed = source.fetch(locked, Context());
    return packed ? packed->version : packed.error().to_line();
  }

  const PackageTree tree{{{"Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.4.0\n"}}};
  const std::string archive = *pack_chart(tree, "shop");
  const crypto::Digest manifest = remote.publish(
      "1.4.0", oci::chart_artifact(archive, encoding::Value::object({{"name", "shop"}, {"version", "1.4.0"}}),
                                   {}, ""));
  const std::string there = std::string(kShopReference) + ":1.4.0";
  std::string entry;
};

TEST_F(ListedInAChartRepository, AChartHasTheDigestThatItsEntrySays) {
  const std::string refused = fetch_listed(there, crypto::sha256("another").hex());
  EXPECT_NE(refused.find("isn't the chart shop 1.4.0 of its index"), std::string::npos) << refused;
  EXPECT_EQ(fetch_listed(there, crypto::sha256(archive).hex()), "1.4.0");
  EXPECT_EQ(fetch_listed(there, manifest.str()), "1.4.0");
  EXPECT_EQ(fetch_listed(there), "1.4.0");
  const std::string range = fetch_listed(std::string(kShopReference) + ":^1");
  EXPECT_NE(range.find("is a range"), std::string::npos) << range;
}

TEST_F(ListedInAChartRepository, AnEntryLeadsToRegistriesAsToFiles) {
  for (const char* url : {"oci://localhost:5000/team/shop:1.4.0", "oci://127.0.0.1/team/shop:1.4.0"}) {
    const std::size_t before = remote.web.count();
    const std::string refused = fetch_listed(url);
    EXPECT_NE(refused.find("can't be trusted"), std::string::npos) << refused;
    EXPECT_EQ(remote.web.count(), before + 1) << "the index alone";
  }
  ASSERT_EQ(fetch_listed(there), "1.4.0");
  EXPECT_TRUE(remote.web.requests().back().public_only);
  // The user named that one.
  ASSERT_TRUE(
      Registries(dependencies()).add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  ASSERT_EQ(fetch_listed(there), "1.4.0");
  EXPECT_FALSE(remote.web.requests().back().public_only);
}

TEST_F(OciRegistries, AManifestIsReadWhereverItsTagIs) {
  const crypto::Digest locked = remote.publish("1.4.0", module("a"));
  const PackageRef reference = *PackageRef::parse(fmt::format("{}:1.4.0", kShopReference));
  remote.publish("1.4.0", module("b"));
  const auto moved = Registries(dependencies()).fetch_manifest(reference, locked, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(moved->digest, crypto::sha256(kCode + "a"));
  EXPECT_EQ(moved->resolved.to_string(), fmt::format("{}:1.4.0@{}", kShopReference, locked.str()));
  EXPECT_TRUE(fetch(":1.4.0").ok()) << "nothing was recorded for the tag";

  remote.manifests.erase("1.4.0");
  paths.cache = temp.path() / "another cache";
  EXPECT_TRUE(Registries(dependencies()).fetch_manifest(reference, locked, Context()).ok());
  const auto none = Registries(dependencies()).fetch_manifest(reference, crypto::sha256("none"), Context());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound) << none.error().to_line();

  Registries named(dependencies());
  ASSERT_TRUE(named.add(registry_with_oci("team", "oci://reg.example/team"), Context()).ok());
  const PackageRef by_name = *PackageRef::parse("team/shop:1.4.0");
  EXPECT_TRUE(named.fetch_manifest(by_name, locked, Context()).ok());
  const auto meant = named.oci_reference(by_name);
  ASSERT_TRUE(meant.ok() && *meant);
  EXPECT_EQ((*meant)->str(), fmt::format("{}:1.4.0", kShopReference));
}

TEST_F(OciRegistries, AVersionThatMovedIsTakenWhereThatIsWanted) {
  remote.publish("1.4.0", module("a"));
  ASSERT_TRUE(fetch(":1.4.0").ok());
  remote.publish("1.4.0", module("b"));
  const PackageRef reference = *PackageRef::parse(fmt::format("{}:1.4.0", kShopReference));
  const auto moved = Registries(dependencies()).fetch_moved(reference, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(moved->digest, crypto::sha256(kCode + "b"));
  EXPECT_TRUE(fetch(":1.4.0").ok()) << "it is the known one now";
}

// As `mistctl verify --accept-changed`, which the refusal names.
TEST_F(OciRegistries, AVersionThatMovedIsAcceptedOnceSomebodySaysSo) {
  const oci::Reference tagged = *oci::Reference::parse(fmt::format("{}:1.4.0", kShopReference));
  const auto accept = [&] {
    Registries registries(dependencies());
    OciSource* const source = *registries.oci_source();
    const auto raw = source->manifest(tagged.repository, tagged.tag, Context());
    EXPECT_TRUE(raw.ok());
    return registries.accept_bytes(*source, tagged, *raw, Context());
  };
  remote.publish("1.4.0", module("a"));
  EXPECT_TRUE(accept());
  remote.publish("1.4.0", module("b"));
  ASSERT_EQ(failure(":1.4.0"), "no error") << "accepting a version that was never used pins nothing";
  remote.publish("1.4.0", module("c"));
  const auto refused = fetch(":1.4.0");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().hint.find(
                "mistctl verify oci://reg.example/team/shop:1.4.0 --accept-changed, with --key FILE"),
            std::string::npos)
      << refused.error().hint;
  const Status accepted = accept();
  ASSERT_TRUE(accepted.ok()) << accepted.error().to_line();
  EXPECT_EQ(failure(":1.4.0"), "no error");
  remote.publish("1.4.0", module("b"));
  EXPECT_NE(failure(":1.4.0"), "no error") << "these are not the version's bytes any more";
}

// mirror.example is asked before reg.example, and may give out other bytes.
class OciRegistriesWithAMirror : public OciRegistries {
 protected:
  OciRegistriesWithAMirror() {
    web.otherwise([this](const http::Request& request, const Context& context) -> Result<http::Response> {
      const bool to_mirror = request.url.starts_with("https://mirror.example/");
      return (to_mirror ? mirror : remote).web.send(request, context);
    });
  }
  // Through the mirror, or from the registry itself.
  std::string fetched(bool mirrored, bool only = false) {
    const std::string mirrors =
        mirrored
            ? fmt::format("\n  - {{prefix: reg.example, places: ['oci://mirror.example/copies'], only: {}}}",
                          only)
            : " []";
    EXPECT_TRUE(files
                    .write(paths.config_file,
                           "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  mirrors:" +
                               mirrors + "\n")
                    .ok());
    Registries::Dependencies all = registries_on(web);
    all.signers = signers;
    Registries registries(std::move(all));
    const auto package =
        registries.fetch(*PackageRef::parse(fmt::format("{}:1.4.0", kShopReference)), Context());
    return package ? package->digest.str() : package.error().to_line();
  }
  static std::string digest(const std::string& more) { return crypto::sha256(kCode + more).str(); }
  MemoryRegistry mirror;
  mist::testing::FakeTransport web;
};

TEST_F(OciRegistriesWithAMirror, BytesThatOnlyItVouchedForGiveWayToTheRegistrys) {
  mirror.publish("1.4.0", module("lie"));
  remote.publish("1.4.0", module("truth"));
  EXPECT_EQ(fetched(true), digest("lie")) << "it was copied: nobody asked for signatures";
  mirror.publish("1.4.0", module("another lie"));
  EXPECT_NE(fetched(true).find("isn't what it was when it was first used here"), std::string::npos);
  EXPECT_EQ(fetched(false), digest("truth"));
  ASSERT_EQ(events.messages.size(), 1u);
  EXPECT_NE(events.messages.front().find("don't trust that mirror"), std::string::npos);
  mirror.publish("1.4.0", module("lie"));
  EXPECT_NE(fetched(true).find("isn't what it was"), std::string::npos) << "the registry's word is kept";
  remote.publish("1.4.0", module("moved"));
  EXPECT_NE(fetched(false).find("isn't what it was"), std::string::npos);
}

TEST_F(OciRegistriesWithAMirror, BytesThatMoreThanItsWordVouchedForStay) {
  // The configuration trusts it alone.
  mirror.publish("1.4.0", module("a"));
  EXPECT_EQ(fetched(true, true), digest("a"));
  remote.publish("1.4.0", module("b"));
  EXPECT_NE(fetched(false).find("isn't what it was"), std::string::npos);
  // The registry said at the first use that it has them.
  paths.state = paths.home / "another-machine";
  remember_signers();
  remote.publish("1.4.0", module("a"));
  EXPECT_EQ(fetched(true), digest("a"));
  remote.publish("1.4.0", module("b"));
  EXPECT_NE(fetched(false).find("isn't what it was"), std::string::npos);
  // It confirmed later what the mirror gave out.
  paths.state = paths.home / "third-machine";
  signers = NewSigners::Leave;
  EXPECT_EQ(fetched(true), digest("a"));
  remote.publish("1.4.0", module("a"));
  EXPECT_EQ(fetched(false), digest("a"));
  remote.publish("1.4.0", module("b"));
  EXPECT_NE(fetched(false).find("isn't what it was"), std::string::npos);
}

TEST_F(OciRegistries, AVersionIsHeldAgainstItsBytesWithoutKeepingAny) {
  oci::Reference tagged = *oci::Reference::parse(fmt::format("{}:1.4.0", kShopReference));
  const auto held = [&] {
    Registries registries(dependencies());
    const auto raw = (*registries.oci_source())->manifest(tagged.repository, tagged.tag, Context());
    EXPECT_TRUE(raw.ok());
    return registries.check_bytes(tagged, *raw, Context());
  };
  const auto published = [&](std::string_view title, const std::string& code) {
    remote.publish(tagged.tag, oci::module_artifact(
                                   code, {.title = std::string(title), .version = {}, .description = {}}));
  };
  published("a", kCode);
  EXPECT_TRUE(held()) << "it was never used";
  published("a", kCode + "b");
  EXPECT_TRUE(held()) << "nor was it recorded";
  ASSERT_TRUE(fetch(":1.4.0").ok());
  EXPECT_TRUE(held());
  published("b", kCode + "b");
  EXPECT_TRUE(held()) << "the same bytes under another manifest";
  published("a", kCode);
  const Status moved = held();
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(moved.error().because, fmt::format("it was {}, now it is {}", crypto::sha256(kCode + "b").str(),
                                               crypto::sha256(kCode).str()));
  published("b", kCode + "b");
  EXPECT_TRUE(fetch(":1.4.0").ok()) << failure(":1.4.0");
  // Other tags may move.
  tagged.tag = "prod";
  published("a", kCode);
  ASSERT_TRUE(fetch(":prod").ok());
  published("b", kCode + "b");
  EXPECT_TRUE(held());
}

TEST_F(OciRegistries, AHostInPlaceOfARegistrysNameLacksItsScheme) {
  Registries registries(dependencies());
  const auto failed = registries.fetch(*PackageRef::parse("reg.example/team/shop:1.4.0"), Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().hint.find("did you mean oci://reg.example/team/shop:1.4.0?"), std::string::npos)
      << failed.error().hint;
  const auto versions = registries.list_versions("reg.example", "team/shop", Context());
  ASSERT_FALSE(versions.ok());
  EXPECT_NE(versions.error().hint.find("did you mean oci://reg.example/team/shop?"), std::string::npos);
  for (const std::string_view text :
       {"reg.example:5000/team/shop:1.4.0", "oci:reg.example:5000/team/shop:1.4.0",
        "oci:/reg.example:5000/team/shop:1.4.0"}) {
    const auto parsed = registries.parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().hint, "did you mean oci://reg.example:5000/team/shop:1.4.0?") << text;
  }
}

TEST_F(OciRegistries, OtherTagsMayMove) {
  remote.publish("prod", module("a"));
  ASSERT_TRUE(fetch(":prod").ok());
  remote.publish("prod", module("b"));
  EXPECT_EQ(fetch(":prod")->digest, crypto::sha256(kCode + "b"));
}

TEST_F(OciRegistries, TheSameContentUnderAnotherManifestIsTheSameVersion) {
  remote.publish("1.4.0", oci::module_artifact(kCode, {.title = "a", .version = {}, .description = {}}));
  ASSERT_TRUE(fetch(":1.4.0").ok());
  remote.publish("1.4.0", oci::module_artifact(kCode, {.title = "b", .version = {}, .description = {}}));
  EXPECT_TRUE(fetch(":1.4.0").ok()) << failure(":1.4.0");
}

TEST_F(OciRegistries, AKnownVersionNeedsNoRegistry) {
  remote.publish("1.4.0", module());
  remote.publish("prod", module());
  ASSERT_TRUE(fetch(":1.4.0").ok());
  ASSERT_TRUE(fetch(":prod").ok());
  remote.away = true;
  const auto fetched = fetch(":1.4.0");
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  EXPECT_EQ(fetched->digest, crypto::sha256(kCode));
  EXPECT_FALSE(events.messages.empty());
  EXPECT_NE(failure(":prod").find("does not answer"), std::string::npos);
  EXPECT_NE(failure(":1.3.0").find("does not answer"), std::string::npos);
}

TEST_F(OciRegistries, AChartIsItsArchive) {
  const std::string archive = *encoding::gzip(encoding::write_tar(
      std::vector<encoding::TarFile>{{"shop/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.4.0}"}}));
  TreeBuilder builder("x");
  ASSERT_TRUE(builder.add("shop-1.4.0.tgz", archive).ok());
  const auto artifact = artifact_of(PackageContent(*std::move(builder).finish()), {});
  ASSERT_TRUE(artifact.ok()) << artifact.error().to_line();
  EXPECT_EQ(artifact->blobs[0].bytes, R"({"apiVersion":"v2","name":"shop","version":"1.4.0"})");
  remote.publish("1.4.0", *artifact);
  const auto fetched = fetch(":1.4.0");
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  const auto& tree = std::get<PackageTree>(fetched->content);
  ASSERT_EQ(tree.files.size(), 1u);
  EXPECT_EQ(tree.files[0], (PackageFile{"shop.tgz", archive}));
}

TEST_F(OciRegistries, ADirectoryWithAChartIsPackedAsHelmDoes) {
  TreeBuilder builder("x");
  ASSERT_TRUE(builder.add("Chart.yaml", "{name: shop, version: 1.4.0, description: d}").ok());
  ASSERT_TRUE(builder.add(".a", "first by its name").ok());
  const auto artifact = artifact_of(PackageContent(*std::move(builder).finish()), {});
  ASSERT_TRUE(artifact.ok()) << artifact.error().to_line();
  const auto packed = encoding::read_tar(*encoding::gunzip(artifact->blobs[1].bytes, 1 << 20), "x");
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->at(0).path, "shop/Chart.yaml");
  EXPECT_EQ(packed->at(1).path, "shop/.a");
  EXPECT_NE(artifact->manifest.find(R"("org.opencontainers.image.description":"d")"), std::string::npos);
}

TEST_F(OciRegistries, AChartIsPushedWithWhatItDependsOn) {
  const auto pushed = [](const std::string& subchart) {
    TreeBuilder builder("x");
    EXPECT_TRUE(builder.add("Chart.yaml", "{name: shop, version: 1.4.0, dependencies: [{name: db}]}").ok());
    EXPECT_TRUE(builder.add(subchart, "x").ok());
    return artifact_of(PackageContent(*std::move(builder).finish()), {});
  };
  EXPECT_TRUE(pushed("charts/db/Chart.yaml").ok());
  EXPECT_TRUE(pushed("charts/db-1.0.0.tgz").ok());
  ASSERT_FALSE(pushed("charts/dbx/Chart.yaml").ok());
  EXPECT_NE(pushed("charts/db.txt").error().message.find("depends on db"), std::string::npos);
}

TEST_F(OciRegistries, AChartThatSaysNothingIsRefused) {
  for (const std::string& archive : {std::string("no archive"), *encoding::gzip(encoding::write_tar({})),
                                     *encoding::gzip(encoding::write_tar(std::vector<encoding::TarFile>{
                                         {"shop/Chart.yaml", "name: shop"}}))}) {
    TreeBuilder builder("x");
    ASSERT_TRUE(builder.add("shop.tgz", archive).ok());
    EXPECT_FALSE(artifact_of(PackageContent(*std::move(builder).finish()), {}).ok());
  }
}

TEST_F(OciRegistries, ATreeComesBackAsItWas) {
  TreeBuilder builder("x");
  ASSERT_TRUE(builder.add("a.yaml", "kind: ConfigMap").ok());
  ASSERT_TRUE(builder.add("b/c.yaml", std::string(2000, 'x')).ok());
  const PackageTree tree = *std::move(builder).finish();
  remote.publish("1.4.0", *artifact_of(PackageContent(tree), {}));
  const auto fetched = fetch(":1.4.0");
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_line();
  EXPECT_EQ(std::get<PackageTree>(fetched->content), tree);
  EXPECT_EQ(requests(":1.4.0"), 1u);
}

TEST_F(OciRegistries, ATreeThatLeavesItsPlaceIsRefused) {
  for (const char* path : {"../a.yaml", "/etc/passwd", "a/../../b", ".git/config/../x"}) {
    const std::string archive =
        *encoding::gzip(encoding::write_tar(std::vector<encoding::TarFile>{{path, "x"}}));
    remote.publish("t", oci::tree_artifact(archive, {}));
    EXPECT_NE(failure(":t"), "no error") << path;
  }
}

TEST_F(OciRegistries, AGzipBombIsRefused) {
  // 65 MiB of zeros are 64 KiB.
  const std::string bomb = *encoding::gzip(
      encoding::write_tar(std::vector<encoding::TarFile>{{"a", std::string((std::size_t{65} << 20), '\0')}}));
  ASSERT_LT(bomb.size(), std::size_t{1} << 20);
  remote.publish("t", oci::tree_artifact(bomb, {}));
  EXPECT_NE(failure(":t").find("unpacks to more than 67108864 bytes"), std::string::npos) << failure(":t");
}

TEST_F(OciRegistries, ThePackageOfAnIndexIsTaken) {
  const oci::Artifact artifact = module();
  const crypto::Digest inner = remote.publish("inner", artifact);
  remote.publish("multi",
                 fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[)"
                             R"({{"mediaType":"{}","digest":"{}","size":{}}}]}})",
                             oci::kIndexType, oci::kManifestType, inner.str(), artifact.manifest.size()));
  // The document's own type counts only when the registry says the same.
  const std::string index = remote.manifests.at("multi");
  remote.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (!request.url.ends_with("/manifests/multi")) return std::nullopt;
    return http::Response{
        .status = 200, .headers = {{"Content-Type", std::string(oci::kManifestType)}}, .body = index};
  };
  const auto refused = fetch(":multi");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_line().find("the registry sent it as"), std::string::npos);
  remote.before = {};
  const auto chosen = fetch(":multi");
  ASSERT_TRUE(chosen.ok()) << chosen.error().to_line();
  EXPECT_EQ(chosen->digest, crypto::sha256(kCode));
}

// "SIGNER DIGEST" stands for a provenance file, and a signer for a keyring.
Result<trust::CheckedProvenance> shop_signed_by(const std::string& keyring, const std::string& provenance,
                                                WallTime, const Context&) {
  const std::vector<std::string_view> words = split(provenance, ' ');
  trust::CheckedProvenance checked;
  if (words[0] != keyring) checked.fault = "another key";
  checked.signer = trust::ProvenanceSigner{.key_id = "1",
                                           .fingerprint = std::string(words[0]),
                                           .identities = {},
                                           .algorithm = {},
                                           .signed_at = {}};
  checked.name = "shop";
  checked.version = "1.4.0";
  checked.files = {{"shop-1.4.0.tgz", std::string(words[1])}};
  return checked;
}

TEST_F(OciRegistries, NothingIsRememberedOfATagWhoseChartTheKeyringDidNotSign) {
  const auto publish = [&](const std::string& notes, std::string_view signer) {
    const PackageTree tree{
        {{"Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.4.0\n"}, {"notes", notes}}};
    const std::string archive = *pack_chart(tree, "shop");
    const auto chart = encoding::Value::object({{"name", "shop"}, {"version", "1.4.0"}});
    remote.publish("1.4.0", oci::chart_artifact(archive, chart, {},
                                                fmt::format("{} {}", signer, crypto::sha256(archive).str())));
  };
  const auto verified = [&]() -> Status {
    Registries::Dependencies with_signatures = dependencies();
    with_signatures.check_provenance = shop_signed_by;
    Registries registries(std::move(with_signatures));
    MIST_TRY(const PackageRef parsed, registries.parse(std::string(kShopReference) + ":1.4.0"));
    const auto ring = std::make_shared<const trust::Keyring>(
        trust::Keyring{.file = "ring", .bytes = "ann", .digest = crypto::sha256("ann")});
    MIST_TRY(VerifiedPackage package, registries.fetch_verified(parsed, ring, Context()));
    return std::move(package.verdict.judged);
  };
  publish("evil", "bob");
  const Status refused = verified();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  publish("good", "ann");
  const Status accepted = verified();
  EXPECT_TRUE(accepted.ok()) << accepted.error().to_line();
  // From now on the version has these bytes.
  publish("better", "ann");
  const Status changed = verified();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Conflict);
}

TEST_F(OciRegistries, NothingOfAFailedFetchIsKept) {
  const oci::Artifact artifact = module();
  remote.publish("1.4.0", artifact);
  remote.blobs[artifact.blobs[1].descriptor.digest.str()][7] = '\1';
  EXPECT_NE(failure(":1.4.0").find("is not what its digest says"), std::string::npos);
  remote.publish("1.4.0", artifact);
  EXPECT_EQ(requests(":1.4.0"), 2u);
}

}  // namespace
}  // namespace mist::registry
