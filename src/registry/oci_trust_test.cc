#include "registry/oci_trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <latch>
#include <set>
#include <thread>

#include "crypto/keys.h"
#include "registry/chart_archive.h"
#include "registry/oci_fixture.h"
#include "registry/oci_mirrors.h"
#include "registry/oci_signatures.h"
#include "testing/fake_clock.h"
#include "testing/home_fixture.h"

namespace mist::registry {
namespace {

using testing::MemoryRegistry;
using testing::repository_of;

crypto::PrivateKey key_of(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> bytes{};
  bytes.fill(std::byte{seed});
  return *crypto::PrivateKey::parse(crypto::p256_key(bytes)->private_pem);
}

class OciTrustTest : public ::testing::Test {
 protected:
  OciTrustTest() { write_policy("  default: remember\n"); }
  crypto::Digest publish(const std::string& tag, const std::string& code) {
    return remote.publish(tag, oci::module_artifact(code, {}));
  }
  void sign(const crypto::Digest& manifest, unsigned char seed) {
    OciClient client = remote.client();
    const auto report =
        sign_artifact(client, {shop, {}, {}, manifest}, key_of(seed), {.now = clock.now()}, Context());
    ASSERT_TRUE(report.ok()) << report.error().to_line();
  }
  /// As another process would.
  Status check(const crypto::Digest& manifest) {
    OciTrust trust(files, paths, clock, events, {}, recorded);
    OciClient client = remote.client();
    return trust.check(shop, manifest, [&]() -> Result<OciSource*> { return &client; }, signers, Context());
  }
  std::string failure(const crypto::Digest& manifest) {
    const Status status = check(manifest);
    return status ? "no error" : status.error().to_line();
  }
  std::size_t requests(const crypto::Digest& manifest) {
    const std::size_t before = remote.web.count();
    EXPECT_EQ(failure(manifest), "no error");
    return remote.web.count() - before;
  }
  void write_policy(const std::string& rules) {
    ASSERT_TRUE(files
                    .write(paths.trust_policy(),
                           "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec:\n" + rules)
                    .ok());
    ASSERT_TRUE(files.write(paths.home / "one.pub", key_of(1).public_key().pem()).ok());
    ASSERT_TRUE(files.write(paths.home / "two.pub", key_of(2).public_key().pem()).ok());
  }
  static std::string name_of(unsigned char seed) { return key_of(seed).public_key().fingerprint().str(); }

  mist::testing::TempDir temp;
  HostFileSystem files;
  mist::testing::RecordedEvents events;
  mist::testing::FakeClock clock;
  config::Paths paths = mist::testing::paths_below(temp.path() / "home");
  MemoryRegistry remote;
  const oci::Repository shop = repository_of("oci://reg.example/team/shop");
  NewSigners signers = NewSigners::Remember;
  RecordedSigners recorded;
};

TEST_F(OciTrustTest, WithoutAPolicyNothingIsAskedForACopy) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  signers = NewSigners::Leave;
  EXPECT_EQ(requests(manifest), 0u);
  // Nor of a registry that the policy doesn't name.
  write_policy("  rules: [{match: 'oci://other.example/**', keys: [{name: one, file: one.pub}]}]\n");
  EXPECT_EQ(requests(manifest), 0u);
  signers = NewSigners::Remember;
  EXPECT_EQ(requests(manifest), 3u);
}

TEST_F(OciTrustTest, WithoutAPolicyWhatWasSignedStaysSigned) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  sign(first, 1);
  sign(second, 2);
  EXPECT_EQ(failure(first), "no error");
  const std::string changed = failure(second);
  EXPECT_NE(changed.find("is signed by key " + name_of(2)), std::string::npos) << changed;
  EXPECT_NE(changed.find("before is signed by key " + name_of(1)), std::string::npos) << changed;
  signers = NewSigners::Leave;
  EXPECT_EQ(failure(second), changed) << "copies are held to it, too";
}

TEST_F(OciTrustTest, TheReleasesRecordHoldsWhereNobodyIsRemembered) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b"),
                       unsigned_one = publish("1.2.0", "c");
  sign(first, 1);
  sign(second, 2);
  recorded = {{shop.identity(), {name_of(1)}}};
  EXPECT_EQ(failure(first), "no error");
  for (const auto& [manifest, says] : {std::pair(second, "is signed by key " + name_of(2)),
                                       std::pair(unsigned_one, std::string("is not signed"))}) {
    ASSERT_TRUE(files.remove_all(paths.state).ok());
    const std::string refused = failure(manifest);
    EXPECT_NE(refused.find(says), std::string::npos) << refused;
    EXPECT_NE(refused.find("what the release runs of it is signed by key " + name_of(1)), std::string::npos)
        << refused;
    EXPECT_EQ(failure(first), "no error") << "nothing was remembered of the other one";
  }
  // A copy for that release is held to it, too.
  ASSERT_TRUE(files.remove_all(paths.state).ok());
  signers = NewSigners::Leave;
  EXPECT_NE(failure(second), "no error");
}

TEST_F(OciTrustTest, TheReleasesRecordHoldsWhereAnotherReleaseLearnedSomebodyElse) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  sign(second, 2);
  EXPECT_EQ(failure(second), "no error");
  recorded = {{shop.identity(), {name_of(1)}}};
  EXPECT_NE(failure(second).find("what the release runs of it"), std::string::npos);
  recorded = {{"oci://reg.example/team/other", {name_of(1)}}};
  EXPECT_EQ(failure(second), "no error") << "it is of another package";
}

TEST_F(OciTrustTest, TheReleasesRecordIsNotRememberedHere) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  sign(first, 2);
  sign(second, 2);
  recorded = {{shop.identity(), {name_of(1)}}};
  EXPECT_EQ(failure(first), "no error");
  EXPECT_NE(failure(second), "no error");
  recorded.clear();
  EXPECT_EQ(failure(second), "no error") << "others are held to both signers of the first";
}

TEST_F(OciTrustTest, TheReleasesRecordDoesNotCountBesideAnotherRule) {
  const crypto::Digest second = publish("1.1.0", "b");
  sign(second, 2);
  recorded = {{shop.identity(), {name_of(1)}}};
  for (const char* rules :
       {"  default: ignore\n", "  default: known\n",
        "  rules: [{match: 'oci://reg.example/**', keys: [{name: two, file: two.pub}]}]\n"}) {
    write_policy(rules);
    EXPECT_EQ(failure(second), "no error") << rules;
  }
}

TEST_F(OciTrustTest, TheReleasesRecordIsNotOverlookedWhileTheRegistryIsAway) {
  const crypto::Digest first = publish("1.0.0", "a");
  remote.away = true;
  EXPECT_EQ(failure(first), "no error");
  recorded = {{shop.identity(), {name_of(1)}}};
  EXPECT_NE(failure(first).find("without which it isn't used"), std::string::npos);
}

TEST_F(OciTrustTest, SignersThatSomebodyVerifiedCountForMoreThanTheReleasesRecord) {
  const crypto::Digest first = publish("1.0.0", "a");
  sign(first, 2);
  recorded = {{shop.identity(), {name_of(1)}}};
  ASSERT_NE(failure(first), "no error");
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  const auto verdict = trust.look(shop, first, client, nullptr, Context());
  ASSERT_TRUE(verdict.ok());
  ASSERT_TRUE(trust.accept(shop, first, *verdict).ok());
  EXPECT_EQ(failure(first), "no error");
  const auto used = trust.signers_of({shop.identity(), first});
  ASSERT_TRUE(used.ok() && *used);
  EXPECT_EQ((*used)->signers, std::set{name_of(2)});
  EXPECT_TRUE((*used)->verified);
}

TEST_F(OciTrustTest, OfARuleThatDoesNotRememberNoSignersAreTold) {
  const crypto::Digest first = publish("1.0.0", "a");
  sign(first, 1);
  ASSERT_EQ(failure(first), "no error");
  const auto used = [&] {
    return *OciTrust(files, paths, clock, events).signers_of({shop.identity(), first});
  };
  ASSERT_TRUE(used());
  EXPECT_EQ(used()->signers, std::set{name_of(1)});
  EXPECT_FALSE(used()->verified);
  for (const char* rules :
       {"  default: ignore\n", "  default: known\n",
        "  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n"}) {
    write_policy(rules);
    EXPECT_FALSE(used()) << rules;
  }
}

TEST_F(OciTrustTest, ANewManifestCostsTheQuestionsForSignaturesOnce) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  // The tag of signatures, the referrers, and their tag where there is no such API.
  EXPECT_EQ(requests(manifest), 3u);
  EXPECT_EQ(requests(manifest), 0u);
}

// Charts with a provenance file; an engine that takes "RING DIGEST" for one that a key of that ring signed.
class OciTrustOfCharts : public OciTrustTest {
 protected:
  OciTrustOfCharts() {
    write_policy("  rules: [{match: 'oci://reg.example/**', keyring: team.gpg}]\n");
    EXPECT_TRUE(files.write(paths.home / "team.gpg", "ann").ok());
  }
  crypto::Digest publish_chart(const std::string& tag, std::string provenance) {
    return remote.publish(
        tag, oci::chart_artifact(archive, encoding::Value::object({{"name", "shop"}, {"version", "1.0.0"}}),
                                 {}, std::move(provenance)));
  }
  static Result<trust::CheckedProvenance> answer(const std::string& keyring, const std::string& provenance) {
    trust::CheckedProvenance answer;
    if (!provenance.starts_with(keyring)) answer.fault = "another key";
    answer.signer = trust::ProvenanceSigner{
        .key_id = "1", .fingerprint = "AB", .identities = {}, .algorithm = {}, .signed_at = {}};
    answer.name = "shop";
    answer.version = "1.0.0";
    answer.files = {{"shop-1.0.0.tgz", provenance.substr(keyring.size() + 1)}};
    return answer;
  }
  /// `tag` empty: it is named by its digest.
  std::string checked(const crypto::Digest& manifest, const std::string& tag = {}) {
    return checked(shop, manifest, tag);
  }
  std::string checked(const oci::Repository& repository, const crypto::Digest& manifest,
                      const std::string& tag = {}) {
    OciTrust trust(files, paths, clock, events,
                   [](const std::string& keyring, const std::string& provenance, WallTime, const Context&) {
                     return answer(keyring, provenance);
                   });
    OciClient client = remote.client();
    Status status = trust.check(
        repository, manifest, [&]() -> Result<OciSource*> { return &client; }, signers, Context());
    if (status) status = trust.check_chart_tag({repository, tag, {}, manifest});
    return status ? "no error" : status.error().to_line();
  }

  const PackageTree tree{{{"Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n"}}};
  const std::string archive = *pack_chart(tree, "shop");
  const std::string digest = crypto::sha256(archive).str();
};

TEST_F(OciTrustOfCharts, AKeyringIsHeldAgainstTheProvenanceLayer) {
  const crypto::Digest bare = publish_chart("1.0.0", ""), good = publish_chart("1.0.1", "ann " + digest),
                       other = publish_chart("1.0.2", "bob " + digest),
                       changed = publish_chart("1.0.3", "ann sha256:00");
  EXPECT_NE(checked(bare).find("there is no layer application/vnd.cncf.helm.chart.provenance.v1.prov in"),
            std::string::npos)
      << checked(bare);
  EXPECT_EQ(checked(good), "no error");
  EXPECT_NE(checked(other).find("another key"), std::string::npos) << checked(other);
  EXPECT_NE(checked(changed).find("it is for another archive"), std::string::npos) << checked(changed);
  EXPECT_NE(checked(publish("1.0.4", "a module")).find("this is no chart"), std::string::npos);
  // Nothing of it is asked for again, for another keyring too.
  const std::size_t before = remote.web.count();
  ASSERT_TRUE(files.write(paths.home / "team.gpg", "an").ok());
  EXPECT_NE(checked(good), "no error");
  ASSERT_TRUE(files.write(paths.home / "team.gpg", "ann").ok());
  EXPECT_EQ(checked(good), "no error");
  EXPECT_EQ(remote.web.count(), before);
}

// The layers of an old version, signed as they are, in a new manifest.
TEST_F(OciTrustOfCharts, AnotherVersionOrChartIsNotWhatTheReferenceNames) {
  const crypto::Digest good = publish_chart("1.0.0", "ann " + digest);
  for (const std::string tag : {"1.0.0", "v1.0.0", "1.0", "prod", ""})
    EXPECT_EQ(checked(good, tag), "no error") << tag;
  for (const std::string tag : {"2.0.0", "v2.0.0", "1.0.0_build.2", "2.0"}) {
    const std::string refused = checked(good, tag);
    EXPECT_NE(refused.find("team/shop:" + tag + " is the chart shop 1.0.0"), std::string::npos) << refused;
  }
  const std::string elsewhere = checked(repository_of("oci://reg.example/team/db"), good);
  EXPECT_NE(elsewhere.find("it was made for the chart shop, and the repository is that of db"),
            std::string::npos)
      << elsewhere;
  EXPECT_EQ(checked(repository_of("oci://reg.example/copies/shop"), good), "no error");
  // Without a rule that wants the file, nobody asks.
  write_policy("  default: ignore\n");
  EXPECT_EQ(checked(good, "2.0.0"), "no error");
}

TEST_F(OciTrustTest, ASignedManifestKeepsToTheVersionThatItSays) {
  const auto checked = [](const std::string& tag, const std::string& version,
                          TagChosen chosen = TagChosen::ByName) {
    const oci::Artifact artifact =
        oci::module_artifact("a", {.title = {}, .version = version, .description = {}});
    const RawManifest raw{.bytes = artifact.manifest,
                          .content_type = std::string(oci::kManifestType),
                          .digest = artifact.digest};
    const Status status =
        check_signed_version({repository_of("oci://reg.example/team/shop"), tag, {}, {}}, raw, chosen);
    return status ? "no error" : status.error().to_line();
  };
  EXPECT_EQ(checked("1.5.0", "1.5.0"), "no error");
  EXPECT_EQ(checked("v1.5.0", "1.5.0"), "no error");
  EXPECT_NE(checked("1.5.0", "1.4.0").find("team/shop:1.5.0 says that it is version 1.4.0"),
            std::string::npos);
  EXPECT_NE(checked("1.5.0", "1.5.0+build.2"), "no error");
  // Nothing says a version, or nothing asks for one.
  EXPECT_EQ(checked("1.5.0", ""), "no error");
  EXPECT_EQ(checked("prod", "1.4.0"), "no error");
  EXPECT_EQ(checked("1.5", "1.4.0"), "no error");
  EXPECT_NE(checked("1.5", "1.4.0", TagChosen::ByRange), "no error");
}

TEST_F(OciTrustTest, WhatWasSignedStaysSignedByTheSameKey) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b"),
                       third = publish("1.2.0", "c"), fourth = publish("1.3.0", "d");
  sign(first, 1);
  sign(second, 1);
  sign(fourth, 2);
  EXPECT_EQ(failure(first), "no error");
  EXPECT_EQ(failure(second), "no error");
  EXPECT_NE(
      failure(third).find("is not signed, and what was used of it before is signed by key " + name_of(1)),
      std::string::npos)
      << failure(third);
  const std::string changed = failure(fourth);
  EXPECT_NE(changed.find("is signed by key " + name_of(2)), std::string::npos) << changed;
  EXPECT_NE(changed.find("before is signed by key " + name_of(1)), std::string::npos) << changed;
  // It is signed later.
  sign(third, 1);
  EXPECT_EQ(failure(third), "no error");
}

TEST_F(OciTrustTest, AVersionThatOneOfTheSignersSignedForgetsNoneOfThem) {
  const crypto::Digest old = publish("1.0.0", "a"), both = publish("1.1.0", "b"),
                       next = publish("1.2.0", "c");
  sign(old, 1);
  sign(both, 1);
  sign(both, 2);
  sign(next, 2);
  EXPECT_EQ(failure(both), "no error");
  for (const NewSigners each : {NewSigners::Leave, NewSigners::Remember}) {
    ASSERT_TRUE(files.remove_all(paths.signatures() / "manifests").ok());
    signers = each;
    EXPECT_EQ(failure(old), "no error");
    EXPECT_EQ(*trust::Memory(files, paths.signatures()).keys_of(shop.identity()),
              (std::set{name_of(1), name_of(2)}));
  }
  EXPECT_EQ(failure(next), "no error");
}

// A registry, and a mirror of it that has some of what it has.
class OciTrustAtAMirror : public OciTrustTest {
 protected:
  OciTrustAtAMirror() {
    web.otherwise([this](const http::Request& request, const Context& context) -> Result<http::Response> {
      const bool to_mirror = request.url.starts_with("https://mirror.example/");
      return (to_mirror ? mirror : remote).web.send(request, context);
    });
  }
  crypto::Digest publish_both(const std::string& tag, const std::string& code) {
    mirror.publish(tag, oci::module_artifact(code, {}));
    return publish(tag, code);
  }
  /// The mirror has what the registry has now.
  void copy_signatures(const crypto::Digest& manifest) {
    const std::string tag = oci::signature_tag(manifest);
    mirror.blobs.insert(remote.blobs.begin(), remote.blobs.end());
    mirror.publish(tag, remote.manifests.at(tag));
  }
  std::string through_mirror(const crypto::Digest& manifest, bool only = false) {
    const auto mirrored = MirroredSource::make(
        client, {{"reg.example", {"oci://mirror.example/copies"}, only}}, {files, events, temp.path()});
    EXPECT_TRUE(mirrored.ok());
    OciTrust trust(files, paths, clock, events);
    const Status status = trust.check(
        shop, manifest, [&]() -> Result<OciSource*> { return mirrored->get(); }, signers, Context());
    return status ? "no error" : status.error().to_line();
  }

  MemoryRegistry mirror;
  mist::testing::FakeTransport web;
  OciClient client{web,
                   [](const std::string&, const std::string&,
                      const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                   {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                     return std::vector<std::string>{"1.1.1.1"};
                   }}};
};

// The mirror has the package without its signature, as one does that leaves something out.
TEST_F(OciTrustAtAMirror, WhatIsSignedAtItsRegistryIsRememberedAsSigned) {
  const crypto::Digest first = publish_both("1.0.0", "a"), second = publish_both("1.1.0", "b");
  sign(first, 1);
  EXPECT_EQ(through_mirror(first), "no error");
  const std::string refused = through_mirror(second);
  EXPECT_NE(refused.find("is not signed, and what was used of it before is signed by key " + name_of(1)),
            std::string::npos)
      << refused;
  EXPECT_EQ(failure(second), refused) << "wherever it is read from";
}

TEST_F(OciTrustAtAMirror, WhatIsSignedByAnotherKeyThereIsNotRemembered) {
  const crypto::Digest first = publish_both("1.0.0", "a"), second = publish_both("1.1.0", "b");
  sign(first, 2);
  copy_signatures(first);
  const std::string tag = oci::signature_tag(first);
  remote.manifests.erase(tag);
  sign(first, 1);
  EXPECT_EQ(through_mirror(first), "no error");
  sign(second, 2);
  copy_signatures(second);
  const std::string refused = through_mirror(second);
  EXPECT_NE(refused.find("is signed by key " + name_of(2)), std::string::npos) << refused;
  EXPECT_NE(refused.find("before is signed by key " + name_of(1)), std::string::npos) << refused;
}

TEST_F(OciTrustAtAMirror, WhatItsRegistryDoesNotHaveIsNotUsedFirst) {
  const crypto::Digest real = publish("1.0.0", "a"),
                       other = mirror.publish("1.0.0", oci::module_artifact("evil", {}));
  sign(real, 1);
  const std::string refused = through_mirror(other);
  EXPECT_NE(refused.find("comes from a mirror, and reg.example doesn't have it"), std::string::npos)
      << refused;
  EXPECT_EQ(through_mirror(other, true), "no error") << "the configuration trusts the mirror alone";
}

TEST_F(OciTrustAtAMirror, AnUnsignedPackageStaysUsable) {
  const crypto::Digest first = publish_both("1.0.0", "a");
  EXPECT_EQ(through_mirror(first), "no error");
  const std::size_t before = web.count();
  EXPECT_EQ(through_mirror(first), "no error");
  EXPECT_EQ(web.count(), before) << "it is known now";
}

TEST_F(OciTrustAtAMirror, TheMirrorsWordCountsWhileTheRegistryIsAway) {
  const crypto::Digest first = publish_both("1.0.0", "a"), second = publish_both("1.1.0", "b"),
                       third = publish_both("1.2.0", "c");
  sign(first, 1);
  sign(second, 1);
  copy_signatures(second);
  remote.away = true;
  EXPECT_EQ(through_mirror(first), "no error");
  ASSERT_EQ(events.messages.size(), 1u);
  EXPECT_NE(events.messages.front().find("reg.example could not be asked for signatures"), std::string::npos);
  // That it seemed unsigned is not remembered, what is signed is.
  EXPECT_EQ(through_mirror(second), "no error");
  EXPECT_NE(through_mirror(third).find("is not signed, and what was used of it before"), std::string::npos);
  remote.away = false;
  EXPECT_EQ(through_mirror(first), "no error");
  EXPECT_NE(through_mirror(third).find("is not signed, and what was used of it before"), std::string::npos);
}

TEST_F(OciTrustAtAMirror, WhatWasSignedStaysSignedWhereNothingElseIsAsked) {
  const crypto::Digest first = publish_both("1.0.0", "a"), second = publish_both("1.1.0", "b");
  sign(first, 1);
  sign(second, 1);
  copy_signatures(first);
  EXPECT_EQ(through_mirror(first, true), "no error");
  EXPECT_NE(through_mirror(second, true).find("is not signed, and what was used of it before"),
            std::string::npos);
  EXPECT_EQ(through_mirror(second), "no error") << "the registry has its signature";
}

TEST_F(OciTrustAtAMirror, AQuestionThatIsStoppedIsNotRememberedAsUnsigned) {
  const crypto::Digest manifest = publish_both("1.0.0", "a");
  const auto mirrored = MirroredSource::make(client, {{"reg.example", {"oci://mirror.example/copies"}, true}},
                                             {files, events, temp.path()});
  ASSERT_TRUE(mirrored.ok()) << mirrored.error().to_line();
  ASSERT_TRUE((*mirrored)->manifest(shop, "1.0.0", Context()).ok());
  std::stop_source stop;
  mirror.web.next([&](const http::Request&, const Context&) -> Result<http::Response> {
    stop.request_stop();
    return error(ErrorKind::Cancelled, "stopped");
  });
  OciTrust trust(files, paths, clock, events);
  const Status status = trust.check(
      shop, manifest, [&]() -> Result<OciSource*> { return mirrored->get(); }, signers,
      Context(stop.get_token()));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
  EXPECT_FALSE(*trust.was_examined({shop.identity(), manifest}));
}

// Two processes that have looked at the signatures, each of its version, before either remembered any.
TEST_F(OciTrustTest, OfTwoFirstUsesAtOnceOneIsTheFirst) {
  const crypto::Digest manifests[] = {publish("1.0.0", "a"), publish("1.1.0", "b")};
  sign(manifests[0], 1);
  sign(manifests[1], 2);
  for (int round = 0; round < 40; ++round) {
    ASSERT_TRUE(files.remove_all(paths.state).ok());
    OciTrust one(files, paths, clock, events), other(files, paths, clock, events);
    OciTrust* const processes[] = {&one, &other};
    OciClient client = remote.client();
    std::array<Examined, 2> found;
    for (std::size_t i = 0; i < 2; ++i) {
      auto examined = processes[i]->examine(
          shop, manifests[i], [&]() -> Result<OciSource*> { return &client; }, signers, Context());
      ASSERT_TRUE(examined.ok()) << examined.error().to_line();
      found[i] = *std::move(examined);
    }
    std::array<Status, 2> kept;
    std::latch both(2);
    {
      std::array<std::jthread, 2> threads;
      for (std::size_t i = 0; i < 2; ++i)
        threads[i] = std::jthread([&, i] {
          both.arrive_and_wait();
          kept[i] = processes[i]->keep(shop, manifests[i], found[i]);
        });
    }
    ASSERT_NE(kept[0].ok(), kept[1].ok()) << "in round " << round;
    const Status& refused = kept[0] ? kept[1] : kept[0];
    EXPECT_EQ(refused.error().kind, ErrorKind::Conflict) << refused.error().to_line();
    EXPECT_EQ(*trust::Memory(files, paths.signatures()).keys_of(shop.identity()),
              std::set{name_of(kept[0] ? 1 : 2)});
  }
}

TEST_F(OciTrustTest, WhatWasUsedBeforeItWasSignedStaysUsable) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(second, 1);
  EXPECT_EQ(failure(first), "no error");
  EXPECT_EQ(failure(second), "no error");
  EXPECT_EQ(failure(first), "no error");
}

TEST_F(OciTrustTest, AKeyIsAcceptedOnceSomebodySaysSo) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  sign(second, 2);
  EXPECT_EQ(failure(first), "no error");
  EXPECT_NE(failure(second), "no error");
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  const auto verdict = trust.look(shop, second, client, nullptr, Context());
  ASSERT_TRUE(verdict.ok()) << verdict.error().to_line();
  ASSERT_TRUE(trust.accept(shop, second, *verdict).ok());
  EXPECT_EQ(failure(second), "no error");
}

// As `verify --key` with another key than the one that is remembered.
TEST_F(OciTrustTest, AVersionThatThisMachineRefusesIsToldFromOneThatIsSigned) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  sign(second, 2);
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  const auto here = [&](const crypto::Digest& manifest) {
    const auto verdict = trust.look(shop, manifest, client, nullptr, Context());
    EXPECT_TRUE(verdict.ok());
    return trust.judge_here({shop.identity(), manifest}, shop.identity(), verdict->proofs);
  };
  EXPECT_TRUE(here(second)) << "nobody is remembered";
  ASSERT_EQ(failure(first), "no error");
  EXPECT_TRUE(here(first));
  EXPECT_EQ(here(second).error().to_line(), failure(second));
  write_policy("  default: ignore\n");
  EXPECT_TRUE(
      OciTrust(files, paths, clock, events).judge_here({shop.identity(), second}, shop.identity(), {}))
      << "the policy remembers nobody";
}

// As `verify --key`: somebody else who may write to the registry signed it too.
TEST_F(OciTrustTest, OnlyTheSignerThatWasNamedIsLearned) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b"),
                       third = publish("1.2.0", "c");
  write_policy("  default: known\n");
  sign(first, 1);
  sign(first, 2);
  sign(second, 2);
  sign(third, 1);
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  const auto named = [](unsigned char seed) {
    return trust::Rule{
        .match = {}, .mode = trust::Mode::Require, .keys = {{"publisher", key_of(seed).public_key()}}};
  };
  const auto verdict = [&](const crypto::Digest& manifest, unsigned char seed) {
    const trust::Rule rule = named(seed);
    auto found = trust.look(shop, manifest, client, &rule, Context());
    EXPECT_TRUE(found.ok()) << found.error().to_line();
    return *std::move(found);
  };
  const trust::Memory memory(files, paths.signatures());
  ASSERT_TRUE(trust.learn(shop, first, verdict(first, 1)).ok());
  EXPECT_EQ(*memory.keys_of(shop.identity()), std::set{name_of(1)});
  EXPECT_NE(failure(second).find("before is signed by key " + name_of(1)), std::string::npos)
      << failure(second);
  EXPECT_EQ(failure(third), "no error");
  // The same of a key that replaces the one before.
  ASSERT_TRUE(trust.accept(shop, first, verdict(first, 2)).ok());
  EXPECT_EQ(*memory.keys_of(shop.identity()), std::set{name_of(2)});
  const Status nobody = trust.accept(shop, third, verdict(third, 2));
  ASSERT_FALSE(nobody.ok()) << "it would be known as unsigned";
  EXPECT_EQ(nobody.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(*memory.keys_of(shop.identity()), std::set{name_of(2)});
}

TEST_F(OciTrustTest, WhereTheVerifiedAreKnownNobodyElseIsAskedFor) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b"),
                       third = publish("1.2.0", "c");
  sign(first, 1);
  sign(third, 1);
  write_policy("  default: known\n");
  EXPECT_EQ(requests(first), 0u) << "used, not verified";
  EXPECT_EQ(requests(second), 0u);
  const auto learn = [&](const crypto::Digest& manifest) {
    OciTrust trust(files, paths, clock, events);
    OciClient client = remote.client();
    const auto verdict = trust.look(shop, manifest, client, nullptr, Context());
    ASSERT_TRUE(verdict.ok()) << verdict.error().to_line();
    ASSERT_TRUE(trust.learn(shop, manifest, *verdict).ok());
  };
  learn(second);  // unsigned: nothing to learn
  EXPECT_EQ(requests(second), 0u);
  write_policy("  default: ignore\n");
  learn(first);
  write_policy("  default: known\n");
  EXPECT_EQ(requests(second), 0u) << "the policy let nothing be remembered";
  learn(first);
  EXPECT_NE(failure(second).find("is not signed, and what was used of it before is signed by key"),
            std::string::npos)
      << failure(second);
  EXPECT_EQ(requests(first), 0u) << "it was examined";
  EXPECT_EQ(requests(third), 4u);
  EXPECT_EQ(requests(third), 0u);
  EXPECT_EQ(failure(first), "no error");
  // Another key is learned from nobody but accept().
  sign(second, 2);
  learn(second);
  EXPECT_NE(failure(second).find("is signed by key " + name_of(2)), std::string::npos) << failure(second);
}

TEST_F(OciTrustTest, APolicyRequiresItsKeys) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  write_policy(R"(
  rules:
  - match: oci://reg.example/**
    keys: [{name: one, file: one.pub}, {name: two, file: two.pub}]
    threshold: 2
)");
  EXPECT_NE(failure(manifest).find(
                "is not signed by 2 of one, two, as the trust policy requires (it has no signature"),
            std::string::npos)
      << failure(manifest);
  sign(manifest, 1);
  EXPECT_NE(failure(manifest), "no error");
  sign(manifest, 2);
  EXPECT_EQ(failure(manifest), "no error");
  // Nothing is asked again, until the policy wants more.
  EXPECT_EQ(requests(manifest), 0u);
  write_policy(R"(
  rules:
  - match: oci://reg.example/**
    keys: [{name: one, file: one.pub}]
    maximumAge: 24h
)");
  EXPECT_EQ(requests(manifest), 0u);
  clock.advance(std::chrono::hours(30));
  EXPECT_NE(failure(manifest).find("it was made 30h ago, and may be 24h old"), std::string::npos)
      << failure(manifest);
}

TEST_F(OciTrustTest, APolicyThatCannotBeReadLetsNothingThrough) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  write_policy("  rulez: []\n");
  EXPECT_NE(failure(manifest).find("the key spec.rulez is not known"), std::string::npos);
}

TEST_F(OciTrustTest, APolicyThatOthersMayWriteLetsNothingThrough) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  sign(manifest, 1);
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  const auto refused_with = [&](const Path& path, unsigned mode) {
    const auto before = std::filesystem::status(path).permissions();
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    const std::string refused = failure(manifest);
    std::filesystem::permissions(path, before);
    return refused;
  };
  for (const Path& each : {paths.trust_policy(), paths.home / "one.pub"})
    EXPECT_NE(refused_with(each, 0666).find("is not a safe place"), std::string::npos) << each;
  paths.named_trust_policy = paths.home / "elsewhere" / "trust.yaml";
  write_policy("  default: remember\n");
  EXPECT_NE(refused_with(paths.home / "elsewhere", 0777).find("everybody may write into it"),
            std::string::npos);
  paths.safe = {paths.home};
  EXPECT_EQ(refused_with(paths.home / "elsewhere", 0777), "no error") << "MIST_SAFE_DIRECTORY";
}

TEST_F(OciTrustTest, IgnoredPackagesCostNothing) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  write_policy("  default: ignore\n");
  EXPECT_EQ(requests(manifest), 0u);
}

TEST_F(OciTrustTest, ASignatureMovedToAnotherManifestProvesNothing) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  EXPECT_EQ(failure(first), "no error");
  remote.publish(oci::signature_tag(second), remote.manifests[oci::signature_tag(first)]);
  EXPECT_NE(failure(second).find("it is for another manifest, " + first.str()), std::string::npos)
      << failure(second);
}

TEST_F(OciTrustTest, ASignatureForAnotherRepositoryProvesNothing) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  const auto payload =
      oci::SigningPayload{.repository = repository_of("oci://reg.example/evil/shop"), .digest = manifest};
  const std::string text = payload.to_json();
  remote.publish(
      oci::signature_tag(manifest),
      oci::signature_artifact(std::nullopt, text, key_of(1).sign(text), key_of(1).public_key().pem()));
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  EXPECT_NE(failure(manifest).find("it was made for another repository, reg.example/evil/shop"),
            std::string::npos)
      << failure(manifest);
}

TEST_F(OciTrustTest, ManySignaturesAreRefusedBeforeTheyAreRead) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  std::optional<oci::Manifest> there;
  oci::Artifact artifact = oci::signature_artifact(there, "0", "x", "");
  for (int i = 1; i <= 101; ++i) {
    const auto document = oci::parse_document(artifact.manifest, oci::kManifestType, "it");
    artifact = oci::signature_artifact(std::get<oci::Manifest>(*document), std::to_string(i), "x", "");
  }
  remote.publish(oci::signature_tag(manifest), artifact);
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  const std::size_t before = remote.web.count();
  EXPECT_NE(failure(manifest).find("has 102 signatures; 100 are allowed"), std::string::npos)
      << failure(manifest);
  EXPECT_LE(remote.web.count() - before, 2u);
}

TEST_F(OciTrustTest, TenThousandReferrersAreRefusedBeforeTheyAreRead) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  sign(manifest, 1);
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  const auto listing = [&](std::size_t count, std::string_view type) {
    std::string entries;
    for (std::size_t i = 0; i < count; ++i)
      entries +=
          fmt::format(R"({}{{"mediaType":"{}","digest":"{}","size":100,"artifactType":"{}"}})",
                      i > 0 ? "," : "", oci::kManifestType, crypto::sha256(std::to_string(i)).str(), type);
    return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})", oci::kIndexType,
                       entries);
  };
  std::string listed;
  remote.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("/referrers/") == std::string::npos) return std::nullopt;
    return http::Response{
        .status = 200, .headers = {{"Content-Type", std::string(oci::kIndexType)}}, .body = listed};
  };
  for (const std::size_t count : {std::size_t{101}, std::size_t{10'000}}) {
    listed = listing(count, oci::kBundleType);
    const std::size_t before = remote.web.count();
    EXPECT_NE(failure(manifest).find("are allowed"), std::string::npos) << failure(manifest);
    EXPECT_LE(remote.web.count() - before, 8u);
  }
  // SBOMs and the like are no signatures, however many there are.
  listed = listing(900, "application/vnd.cyclonedx+json");
  EXPECT_EQ(failure(manifest), "no error");
}

TEST_F(OciTrustTest, ARuleIsHeldHoweverTheHostIsWritten) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  for (const std::string_view text :
       {"oci://reg.example:443/team/shop", "oci://reg.example:0443/team/shop"}) {
    const Status status = trust.check(
        repository_of(text), manifest, [&]() -> Result<OciSource*> { return &client; }, signers, Context());
    EXPECT_FALSE(status.ok()) << text;
  }
}

TEST_F(OciTrustTest, ALargePayloadIsNotRead) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  const std::string payload(oci::kMaxPayloadBytes + 1, ' ');
  remote.publish(oci::signature_tag(manifest), oci::signature_artifact(std::nullopt, payload, "x", ""));
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  EXPECT_NE(failure(manifest).find("is too large"), std::string::npos) << failure(manifest);
}

TEST_F(OciTrustTest, ADamagedSignatureDoesNotHideAGoodOne) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  remote.publish(oci::signature_tag(manifest), oci::signature_artifact(std::nullopt, "{", "x", ""));
  sign(manifest, 1);
  write_policy("  rules: [{match: 'oci://reg.example/**', keys: [{name: one, file: one.pub}]}]\n");
  EXPECT_EQ(failure(manifest), "no error");
}

TEST_F(OciTrustTest, WhereNobodyReliesOnSignaturesARegistryThatIsAwayIsAWarning) {
  const crypto::Digest manifest = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  remote.away = true;
  EXPECT_EQ(failure(manifest), "no error");
  remote.away = false;
  sign(manifest, 1);
  EXPECT_EQ(failure(manifest), "no error");
  remote.away = true;
  EXPECT_NE(failure(second), "no error");
}

// Something that a registry may answer in place of the signatures of a manifest.
class OciTrustWithoutEvidence : public OciTrustTest,
                                public ::testing::WithParamInterface<std::pair<std::string, http::Response>> {
 protected:
  OciTrustWithoutEvidence() { EXPECT_TRUE(files.remove(paths.trust_policy()).ok()); }
  void answer_so() {
    remote.before = [](const http::Request& request) -> std::optional<http::Response> {
      const bool is_of_signatures = request.url.find("/referrers/") != std::string::npos ||
                                    request.url.find("/manifests/sha256-") != std::string::npos;
      return is_of_signatures ? std::optional(GetParam().second) : std::nullopt;
    };
  }
};

TEST_P(OciTrustWithoutEvidence, AWarningIsEnoughUntilASignerIsRemembered) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  answer_so();
  EXPECT_EQ(failure(first), "no error");
  ASSERT_EQ(events.messages.size(), 1u);
  EXPECT_NE(events.messages.front().find("whether oci://reg.example/team/shop is signed could not be asked"),
            std::string::npos)
      << events.messages.front();
  // Nothing is remembered, not even that it is unsigned.
  remote.before = {};
  sign(first, 1);
  EXPECT_EQ(failure(first), "no error");
  answer_so();
  EXPECT_NE(failure(second), "no error") << "somebody relies on the signatures now";
}

std::string ten_thousand_referrers() {
  std::string entries;
  for (std::size_t i = 0; i < 10'000; ++i)
    entries += fmt::format(R"({}{{"mediaType":"{}","digest":"{}","size":100,"artifactType":"{}"}})",
                           i > 0 ? "," : "", oci::kManifestType, crypto::sha256(std::to_string(i)).str(),
                           oci::kBundleType);
  return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})", oci::kIndexType, entries);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, OciTrustWithoutEvidence,
    ::testing::Values(
        std::pair{std::string("Forbidden"), http::Response{.status = 403, .headers = {}, .body = {}}},
        std::pair{std::string("NotAllowed"), http::Response{.status = 405, .headers = {}, .body = {}}},
        std::pair{std::string("Unavailable"), http::Response{.status = 503, .headers = {}, .body = {}}},
        std::pair{std::string("Garbage"),
                  http::Response{.status = 200,
                                 .headers = {{"Content-Type", std::string(oci::kIndexType)}},
                                 .body = "<html>"}},
        std::pair{std::string("HugeIndex"),
                  http::Response{.status = 200,
                                 .headers = {{"Content-Type", std::string(oci::kIndexType)}},
                                 .body = ten_thousand_referrers()}}),
    [](const auto& each) { return each.param.first; });

TEST_F(OciTrustTest, ARegistryThatIsSilentAboutSignaturesIsWaitedForOnce) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  remote.web.fail(error(ErrorKind::Timeout, "it took too long"));
  OciTrust trust(files, paths, clock, events);
  OciClient client = remote.client();
  const auto check_in_one_process = [&](const crypto::Digest& manifest) {
    return trust.check(shop, manifest, [&]() -> Result<OciSource*> { return &client; }, signers, Context());
  };
  EXPECT_TRUE(check_in_one_process(first).ok());
  const std::size_t before = remote.web.count();
  EXPECT_TRUE(check_in_one_process(second).ok());
  EXPECT_EQ(remote.web.count(), before);
  EXPECT_EQ(events.messages.size(), 2u);
  EXPECT_EQ(requests(second), 3u) << "another process asks";
}

TEST_F(OciTrustTest, AMemoryThatWasAlteredIsNoMissingEvidence) {
  const crypto::Digest first = publish("1.0.0", "a"), second = publish("1.1.0", "b");
  sign(first, 1);
  EXPECT_EQ(failure(first), "no error");
  const auto records = files.list(paths.signatures() / "packages");
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 1u);
  ASSERT_TRUE(files.write(paths.signatures() / "packages" / records->front().name, "{}").ok());
  EXPECT_NE(failure(second).find("was altered"), std::string::npos) << failure(second);
}

// A disk that is mounted read-only, which root can't write either.
class ReadOnlyDisk final : public FileSystem {
 public:
  explicit ReadOnlyDisk(const FileSystem& disk) : disk_(disk) {}
  Result<std::string> read(const Path& path, std::uint64_t limit) const override {
    return disk_.read(path, limit);
  }
  Result<std::uint64_t> size(const Path& path) const override { return disk_.size(path); }
  Status write(const Path& path, std::string_view, const WriteOptions&) override { return refused(path); }
  Result<std::vector<DirectoryEntry>> list(const Path& path) const override { return disk_.list(path); }
  Status make_directories(const Path& path, unsigned) override {
    return disk_.is_directory(path) ? Status() : refused(path);
  }
  Status remove(const Path& path) override { return refused(path); }
  Status remove_all(const Path& path) override { return refused(path); }
  Status rename(const Path& path, const Path&) override { return refused(path); }
  bool exists(const Path& path) const override { return disk_.exists(path); }
  bool is_directory(const Path& path) const override { return disk_.is_directory(path); }

 private:
  static Status refused(const Path& path) {
    return error(ErrorKind::Forbidden, "cannot write {}: Read-only file system", path.string());
  }
  const FileSystem& disk_;
};

TEST_F(OciTrustTest, AReadOnlyHomeRemembersNothingAndForgetsNothing) {
  const crypto::Digest unsigned_one = publish("1.0.0", "a"), first = publish("1.1.0", "b"),
                       second = publish("1.2.0", "c");
  sign(first, 1);
  sign(second, 2);
  ReadOnlyDisk disk(files);
  OciClient client = remote.client();
  const auto client_of = [&]() -> Result<OciSource*> { return &client; };
  {
    OciTrust trust(disk, paths, clock, events);
    for (const crypto::Digest& each : {unsigned_one, first, second}) {
      const Status used = trust.check(shop, each, client_of, signers, Context());
      EXPECT_TRUE(used.ok()) << used.error().to_line();
    }
    ASSERT_EQ(events.messages.size(), 1u) << "once";
    EXPECT_NE(events.messages.front().find("can't be remembered"), std::string::npos)
        << events.messages.front();
    EXPECT_NE(events.messages.front().find("MIST_HOME_LOCATION"), std::string::npos);
    EXPECT_TRUE(files.list(paths.home / "state").error().kind == ErrorKind::NotFound);
    // Somebody who wants it remembered is told that it isn't.
    const auto verdict = trust.look(shop, first, client, nullptr, Context());
    ASSERT_TRUE(verdict.ok());
    EXPECT_EQ(trust.accept(shop, first, *verdict).error().kind, ErrorKind::Forbidden);
  }
  // Signers that were remembered before count.
  ASSERT_EQ(failure(first), "no error");
  OciTrust trust(disk, paths, clock, events);
  for (const crypto::Digest& each : {unsigned_one, second})
    EXPECT_EQ(trust.check(shop, each, client_of, signers, Context()).error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(trust.check(shop, first, client_of, signers, Context()).ok());
}

TEST_F(OciTrustTest, SigningTwiceSendsNothing) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  sign(manifest, 1);
  OciClient client = remote.client();
  const auto again =
      sign_artifact(client, {shop, "1.0.0", {}, {}}, key_of(1), {.now = clock.now()}, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_TRUE(again->was_there);
}

TEST_F(OciTrustTest, ASignatureThatAnotherSignerOverwroteIsAddedAgain) {
  const crypto::Digest manifest = publish("1.0.0", "a");
  const std::string tag = oci::signature_tag(manifest);
  sign(manifest, 2);
  const std::string theirs = remote.manifests[tag];
  int writes = 0;
  remote.before = [&](const http::Request& request) -> std::optional<http::Response> {
    // Somebody who read the manifest before us writes it after us, once.
    if (request.method == "GET" && request.url.ends_with(tag) && writes == 1) {
      ++writes;
      remote.publish(tag, theirs);
    }
    if (request.method == "PUT" && request.url.ends_with(tag)) ++writes;
    return std::nullopt;
  };
  sign(manifest, 1);
  remote.before = {};
  OciClient client = remote.client();
  const auto claims = read_signatures(client, shop, manifest, Context());
  ASSERT_TRUE(claims.ok()) << claims.error().to_line();
  EXPECT_EQ(claims->size(), 2u);
}

}  // namespace
}  // namespace mist::registry
