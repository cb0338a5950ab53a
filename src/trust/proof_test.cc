#include "trust/proof.h"

#include <gtest/gtest.h>

#include <array>

#include "base/local_fault.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "encoding/json.h"
#include "testing/sigstore.h"

namespace mist::trust {
namespace {

using oci::SignatureClaim;

crypto::PrivateKey p256(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> bytes{};
  bytes.fill(std::byte{seed});
  return *crypto::PrivateKey::parse(crypto::p256_key(bytes)->private_pem);
}
crypto::PrivateKey ed25519(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> bytes{};
  bytes.fill(std::byte{seed});
  return *crypto::PrivateKey::parse(crypto::ed25519_key(bytes).private_pem);
}
std::string name_of(const crypto::PrivateKey& key) { return key.public_key().fingerprint().str(); }

const crypto::Digest kManifest = crypto::sha256("manifest");
const Subject kSubject{"oci://reg.example/team/shop", kManifest};
const WallTime kNow{std::chrono::seconds(1'700'000'000)};

enum class Beside : bool { Nothing, Key };

SignatureClaim claim_by(const crypto::PrivateKey& key, Beside beside = Beside::Key,
                        const std::string& repository = "reg.example/team/shop",
                        const crypto::Digest& manifest = kManifest) {
  SignatureClaim claim;
  claim.message = fmt::format("payload of {} for {}", manifest.str(), repository);
  claim.signature = key.sign(claim.message);
  claim.digest = manifest;
  claim.repository = repository;
  claim.signed_at = kNow - std::chrono::hours(48);
  if (beside == Beside::Key) claim.key_pem = key.public_key().pem();
  return claim;
}
Rule requiring(std::vector<TrustedKey> keys, std::size_t threshold = 1) {
  Rule rule;
  rule.match = "oci://reg.example/**";
  rule.mode = Mode::Require;
  rule.keys = std::move(keys);
  rule.threshold = threshold;
  return rule;
}
TrustedKey trusted(std::string name, const crypto::PrivateKey& key) {
  return {std::move(name), key.public_key()};
}
std::string objection_to(const SignatureClaim& claim, const Rule& rule = {}) {
  return examine(std::array{claim}, kSubject, rule).front().objection;
}

TEST(Proofs, TheKeyBesideASignatureMustHaveMadeIt) {
  EXPECT_EQ(keys_in(examine(std::array{claim_by(ed25519(1))}, kSubject, {})), std::set{name_of(ed25519(1))});
  SignatureClaim claim = claim_by(ed25519(1));
  claim.key_pem = ed25519(2).public_key().pem();
  EXPECT_EQ(objection_to(claim), "it is not valid for the key beside it");
  claim.key_pem = "no key";
  EXPECT_EQ(objection_to(claim), "the key beside it can't be read");
  claim = claim_by(p256(1));
  claim.message += "x";
  EXPECT_EQ(objection_to(claim), "it is not valid for the key beside it");
}

TEST(Proofs, WithoutAKeyBesideItTwoAreTold) {
  const std::set<std::string> first =
      keys_in(examine(std::array{claim_by(p256(1), Beside::Nothing)}, kSubject, {}));
  EXPECT_EQ(first.size(), 2u);
  EXPECT_TRUE(first.contains(name_of(p256(1))));
  SignatureClaim hinted = claim_by(p256(1), Beside::Nothing);
  hinted.key_hint = p256(1).public_key().fingerprint();
  EXPECT_EQ(keys_in(examine(std::array{hinted}, kSubject, {})), std::set{name_of(p256(1))});
  hinted.key_hint = crypto::sha256("another key");
  EXPECT_EQ(objection_to(hinted), "it is of no key that is known here");
  EXPECT_EQ(objection_to(claim_by(ed25519(1), Beside::Nothing)), "it is of no key that is known here");
}

TEST(Proofs, ASignatureForSomethingElseProvesNothing) {
  const crypto::Digest other = crypto::sha256("another manifest");
  EXPECT_EQ(objection_to(claim_by(p256(1), Beside::Key, "reg.example/team/shop", other)),
            "it is for another manifest, " + other.str());
  EXPECT_EQ(objection_to(claim_by(p256(1), Beside::Key, "reg.example/team/other")),
            "it was made for another repository, reg.example/team/other");
  Rule rule;
  rule.signed_for = {"oci://reg.example/team/*"};
  EXPECT_EQ(objection_to(claim_by(p256(1), Beside::Key, "reg.example/team/other"), rule), "");
}

TEST(Proofs, WhatComesFromOthersIsHarmlessOnATerminal) {
  const std::string objection = objection_to(claim_by(p256(1), Beside::Key, "evil\x1b[2J"));
  EXPECT_EQ(objection.find('\x1b'), std::string::npos) << objection;
}

TEST(RequiredKeyring, CountsAsOneSigner) {
  const auto keyring = [](std::string bytes, std::vector<std::string> fingerprints = {}) {
    const crypto::Digest digest = crypto::sha256(bytes);
    return std::make_shared<const Keyring>(
        Keyring{"team.gpg", std::move(bytes), digest, std::move(fingerprints)});
  };
  Rule rule = requiring({});
  rule.keyring = keyring("ring");
  const Proof proof{.form = oci::SignatureForm::Helm,
                    .keys = {"openpgp:AB"},
                    .algorithm = {},
                    .name = {},
                    .signed_at = kNow,
                    .objection = {},
                    .root = rule.keyring->digest.str(),
                    .user = "Ann"};
  const auto judged = [&](std::span<const Proof> proofs, std::string_view missing = {}) {
    const Status status = judge_required(rule, kSubject, proofs, kNow, missing);
    return status ? "no error" : status.error().to_line();
  };
  const std::array one{proof};
  EXPECT_EQ(judged(one), "no error");
  const std::string none = judged({}, "https://charts.example/web-1.0.0.tgz.prov");
  EXPECT_NE(none.find("is not signed by the keyring team.gpg"), std::string::npos) << none;
  EXPECT_NE(none.find("there is no https://charts.example/web-1.0.0.tgz.prov"), std::string::npos) << none;
  rule.keyring = keyring("ring", {"openpgp:AB"});
  EXPECT_EQ(judged(one), "no error");
  rule.keyring = keyring("ring", {"openpgp:CD"});
  EXPECT_NE(judged(one).find("it is of Ann (key openpgp:AB), which the rule doesn't name"),
            std::string::npos);
  // A key may have been taken out of it, or revoked in it.
  rule.keyring = keyring("another ring");
  EXPECT_NE(judged(one).find("it was held against another keyring"), std::string::npos);
  rule.keyring = nullptr;
  EXPECT_NE(judged(one), "no error");
  rule.keyring = keyring("ring");
  rule.keys = {trusted("release", p256(1))};
  rule.threshold = 2;
  EXPECT_NE(judged(one).find("is not signed by 2 of release, the keyring team.gpg"), std::string::npos)
      << judged(one);
  std::vector<Proof> both = examine(std::array{claim_by(p256(1))}, kSubject, rule);
  both.push_back(proof);
  EXPECT_EQ(judged(both), "no error");
}

TEST(RequiredKeys, OneOfThemSuffices) {
  const Rule rule = requiring({trusted("a", p256(1)), trusted("b", ed25519(2))});
  for (const crypto::PrivateKey& key : {p256(1), ed25519(2)})
    for (const Beside beside : {Beside::Nothing, Beside::Key})
      EXPECT_TRUE(
          judge_required(rule, kSubject, examine(std::array{claim_by(key, beside)}, kSubject, rule), kNow)
              .ok());
  const Status refused =
      judge_required(rule, kSubject, examine(std::array{claim_by(p256(3))}, kSubject, rule), kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(refused.error().message.find("is not signed by 1 of a, b"), std::string::npos);
  EXPECT_NE(refused.error().because.find(name_of(p256(3))), std::string::npos);
}

TEST(RequiredKeys, AThresholdCountsKeysAndNotSignatures) {
  const Rule rule = requiring({trusted("a", p256(1)), trusted("b", p256(2)), trusted("c", p256(3))}, 2);
  const std::vector<SignatureClaim> twice{claim_by(p256(1)), claim_by(p256(1), Beside::Nothing)};
  const Status refused = judge_required(rule, kSubject, examine(twice, kSubject, rule), kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().because.starts_with("it is signed by a only;")) << refused.error().because;
  const std::vector<SignatureClaim> two{claim_by(p256(1)), claim_by(p256(3)), claim_by(p256(9))};
  EXPECT_TRUE(judge_required(rule, kSubject, examine(two, kSubject, rule), kNow).ok());
}

TEST(RequiredKeys, AgesAreThoseOfTheSignedBytes) {
  Rule rule = requiring({trusted("a", p256(1))});
  const auto because = [&](const SignatureClaim& claim) {
    const Status status = judge_required(rule, kSubject, examine(std::array{claim}, kSubject, rule), kNow);
    return status.ok() ? std::string("ok")
                       : status.error().because.substr(0, status.error().because.find(';'));
  };
  SignatureClaim claim = claim_by(p256(1));
  rule.maximum_age = std::chrono::hours(72);
  EXPECT_EQ(because(claim), "ok");
  claim.signed_at = kNow - std::chrono::hours(100);
  EXPECT_EQ(because(claim), "the signature of a: it was made 4d4h ago, and may be 3d old");
  claim.signed_at = kNow + std::chrono::hours(1);
  EXPECT_EQ(because(claim),
            "the signature of a: it says that it was made at 2023-11-14T23:13:20Z, later than now");
  claim.signed_at.reset();
  EXPECT_EQ(because(claim), "the signature of a: it doesn't say when it was made");
  // A thief signs as long ago as they like.
  claim.signed_at = kNow - std::chrono::hours(50);
  rule.minimum_age = std::chrono::hours(24);
  EXPECT_EQ(
      because(claim),
      "the signature of a: its signer says when it was made, which doesn't prove that it is old enough");
}

TEST(RequiredKeys, WhatWasProvedUnderAnotherRuleIsHeldAgainstThisOne) {
  Rule rule = requiring({trusted("a", p256(1))});
  rule.signed_for = {"oci://origin.example/team/*"};
  const std::vector<Proof> proofs =
      examine(std::array{claim_by(p256(1), Beside::Key, "origin.example/team/shop")}, kSubject, rule);
  EXPECT_TRUE(judge_required(rule, kSubject, proofs, kNow).ok());
  rule.signed_for.clear();
  const Status refused = judge_required(rule, kSubject, proofs, kNow);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().because.starts_with(
      "the signature of a: it was made for another repository, origin.example/team/shop"))
      << refused.error().because;
}

TEST(RememberedKeys, WhatWasSignedStaysSignedByTheSameKey) {
  const auto proofs = [](const crypto::PrivateKey& key, Beside beside = Beside::Key) {
    return examine(std::array{claim_by(key, beside)}, kSubject, {});
  };
  // First use: whoever signed it; nobody is nobody.
  EXPECT_TRUE(judge_remembered({}, kSubject, {})->empty());
  EXPECT_EQ(*judge_remembered({}, kSubject, proofs(ed25519(1))), std::set{name_of(ed25519(1))});
  EXPECT_TRUE(judge_remembered({name_of(p256(1))}, kSubject, proofs(p256(1))).ok());
  const auto other = judge_remembered({name_of(p256(1))}, kSubject, proofs(p256(2)));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::Conflict);
  EXPECT_NE(other.error().detail<PinMismatch>(), nullptr);
  EXPECT_NE(other.error().message.find(name_of(p256(1))), std::string::npos);
  EXPECT_NE(other.error().message.find(name_of(p256(2))), std::string::npos);
  const auto none = judge_remembered({name_of(p256(1))}, kSubject, {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("is not signed"), std::string::npos);
}

// The hint names one signer: without --key, somebody else's signature beside the new signer's would count,
// too.
TEST(RememberedKeys, AChangeIsAcceptedForOneSigner) {
  const auto hint = [](std::span<const Proof> proofs) {
    return judge_remembered({name_of(p256(9))}, kSubject, proofs).error().hint;
  };
  EXPECT_TRUE(hint(examine(std::array{claim_by(p256(1)), claim_by(p256(2))}, kSubject, {}))
                  .ends_with(" --key FILE --accept-changed"));
  const std::string unsigned_now = hint({});
  EXPECT_TRUE(unsigned_now.contains("to trust it unsigned from now on")) << unsigned_now;
  EXPECT_FALSE(unsigned_now.contains("--key"));
}

TEST(RememberedKeys, OneThatOthersAddIsNotLearned) {
  const std::vector<SignatureClaim> both{claim_by(p256(1)), claim_by(p256(2))};
  EXPECT_EQ(*judge_remembered({name_of(p256(1))}, kSubject, examine(both, kSubject, {})),
            std::set{name_of(p256(1))});
}

TEST(RememberedKeys, ASecondVersionTellsWhichOfTwoKeysItIs) {
  const std::vector<Proof> proofs = examine(std::array{claim_by(p256(1), Beside::Nothing)}, kSubject, {});
  const auto first = judge_remembered({}, kSubject, proofs);
  ASSERT_EQ(first->size(), 2u);
  const crypto::Digest manifest = crypto::sha256("the next one");
  const Subject next{kSubject.package, manifest};
  const auto second = judge_remembered(
      *first, next,
      examine(std::array{claim_by(p256(1), Beside::Nothing, "reg.example/team/shop", manifest)}, next, {}),
      candidates_in(proofs));
  ASSERT_TRUE(second.ok()) << second.error().to_line();
  EXPECT_EQ(*second, std::set{name_of(p256(1))});
  EXPECT_FALSE(judge_remembered(*second, kSubject,
                                examine(std::array{claim_by(p256(2), Beside::Nothing)}, kSubject, {}))
                   .ok());
}

TEST(RememberedKeys, AVersionWithoutOneOfThemForgetsNobody) {
  const std::set<std::string> both{name_of(p256(1)), name_of(p256(2))};
  const std::vector<Proof> first = examine(std::array{claim_by(p256(1)), claim_by(p256(2))}, kSubject, {});
  EXPECT_TRUE(candidates_in(first).empty());
  EXPECT_EQ(*judge_remembered(both, kSubject, examine(std::array{claim_by(p256(1))}, kSubject, {}),
                              candidates_in(first)),
            both);
  // Nor does one that tells nothing of a signature whose key is open.
  const std::vector<Proof> open =
      examine(std::array{claim_by(p256(1), Beside::Nothing), claim_by(p256(2))}, kSubject, {});
  ASSERT_EQ(candidates_in(open).size(), 1u);
  const std::set<std::string> three = keys_in(open);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(*judge_remembered(three, kSubject, examine(std::array{claim_by(p256(2))}, kSubject, {}),
                              candidates_in(open)),
            three);
  EXPECT_EQ(*judge_remembered(three, kSubject, examine(std::array{claim_by(p256(1))}, kSubject, {}),
                              candidates_in(open)),
            both);
}

// A certificate in place of a key.

const testing::Sigstore& sigstore() {
  static const testing::Sigstore sigstore(1);
  return sigstore;
}
std::shared_ptr<const TrustRoot> trust_root() {
  static const auto root = std::make_shared<const TrustRoot>(
      *TrustRoot::parse(encoding::to_json(sigstore().trusted_root()), "trusted_root.json"));
  return root;
}
SignatureClaim keyless_claim(const std::string& subject = "email:a@team.example",
                             const std::string& issuer = "https://accounts.example") {
  const std::string payload =
      oci::SigningPayload{.repository = {"reg.example", "team/shop"}, .digest = kManifest}.to_json();
  oci::Descriptor layer = oci::descriptor_of(oci::kSimpleSigningType, payload);
  layer.annotations = sigstore().sign_layer(
      payload,
      sigstore().issue({.issuer = issuer, .subject = subject, .from = kNow - std::chrono::hours(48)}),
      kNow - std::chrono::hours(48));
  return oci::simple_signing_claim(layer, payload);
}
Rule requiring_identities(std::vector<TrustedIdentity> identities, std::size_t threshold = 1) {
  Rule rule = requiring({}, threshold);
  rule.identities = std::move(identities);
  rule.root = trust_root();
  return rule;
}
std::string judged(const std::vector<SignatureClaim>& claims, const Rule& rule) {
  const Status status = judge_required(rule, kSubject, examine(claims, kSubject, rule), kNow);
  return status ? std::string() : fmt::format("{}: {}", status.error().message, status.error().because);
}

TEST(Identities, CountLikeKeys) {
  const TrustedIdentity a{"https://accounts.example", "a@team.example"};
  EXPECT_EQ(judged({keyless_claim()}, requiring_identities({a})), "");
  EXPECT_NE(judged({keyless_claim("email:b@team.example")}, requiring_identities({a}))
                .find("it is of b@team.example (https://accounts.example), which the rule doesn't name"),
            std::string::npos);
  EXPECT_NE(
      judged({keyless_claim("email:a@team.example", "https://elsewhere.example")}, requiring_identities({a}))
          .find("it is of a@team.example (https://elsewhere.example), which the rule doesn't name"),
      std::string::npos);
  EXPECT_EQ(judged({keyless_claim("URI:https://ci.example/team/shop/release.yml@refs/tags/v1")},
                   requiring_identities(
                       {{"https://accounts.example", "https://ci.example/team/*/release.yml@refs/tags/**"}})),
            "");
  // Together with keys.
  Rule both = requiring_identities({a}, 2);
  both.keys = {trusted("ops", p256(1))};
  EXPECT_EQ(judged({keyless_claim(), claim_by(p256(1))}, both), "");
  EXPECT_NE(judged({keyless_claim()}, both)
                .find("is not signed by 2 of ops, a@team.example (https://accounts.example), as the trust "
                      "policy requires: it is signed by a@team.example (https://accounts.example) only"),
            std::string::npos);
  // One person is one signer, however many patterns fit.
  EXPECT_NE(judged({keyless_claim(), keyless_claim()},
                   requiring_identities({a, {"https://accounts.example", "*@team.example"}}, 2)),
            "");
}

TEST(Identities, AgesAreThoseOfTheLog) {
  Rule rule = requiring_identities({{"https://accounts.example", "a@team.example"}});
  rule.minimum_age = std::chrono::hours(47);
  EXPECT_EQ(judged({keyless_claim()}, rule), "");
  rule.minimum_age = std::chrono::hours(49);
  EXPECT_NE(judged({keyless_claim()}, rule).find("it was made 2d ago"), std::string::npos);
}

TEST(Identities, AProofIsOfTheTrustRootThatProvedIt) {
  const Rule rule = requiring_identities({{"https://accounts.example", "a@team.example"}});
  std::vector<Proof> proofs = examine(std::array{keyless_claim()}, kSubject, rule);
  proofs.front().root = crypto::sha256("an older file").str();
  const Status status = judge_required(rule, kSubject, proofs, kNow);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().because.find("it was held against another trust root"), std::string::npos);
  EXPECT_EQ(objection_to(keyless_claim()),
            "it was made with a certificate, and the trust policy has no spec.trustRoot for those");
}

TEST(Identities, AreRememberedLikeKeys) {
  const Rule rule{.match = {}, .mode = Mode::Remember, .keys = {}, .root = trust_root()};
  const auto proofs = examine(std::array{keyless_claim()}, kSubject, rule);
  const std::set<std::string> remembered{"https://accounts.example a@team.example"};
  EXPECT_EQ(keys_in(proofs), remembered);
  EXPECT_TRUE(
      judge_remembered({name_of(p256(9))}, kSubject, proofs)
          .error()
          .hint.ends_with(" --identity a@team.example --issuer https://accounts.example --accept-changed"));
  EXPECT_EQ(*judge_remembered({}, kSubject, proofs), remembered);
  EXPECT_EQ(*judge_remembered(remembered, kSubject, proofs), remembered);
  const auto other = judge_remembered(
      remembered, kSubject, examine(std::array{keyless_claim("email:b@team.example")}, kSubject, rule));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(
      other.error().message.find("is signed by b@team.example (https://accounts.example), and what was used "
                                 "of it before is signed by a@team.example (https://accounts.example)"),
      std::string::npos)
      << other.error().message;
  const auto by_key =
      judge_remembered(remembered, kSubject, examine(std::array{claim_by(p256(1))}, kSubject, rule));
  EXPECT_FALSE(by_key.ok());
}

// The identity of a workflow holds the tag that it ran at.
TEST(Identities, APatternIsRememberedAsOne) {
  constexpr std::string_view kIssuer = "https://accounts.example";
  constexpr std::string_view kWorkflow = "https://ci.example/team/shop/release.yml@refs/tags/";
  const Rule rule = requiring_identities({{std::string(kIssuer), fmt::format("{}*", kWorkflow)}});
  const auto signed_at = [&](std::string_view tag) {
    return examine(std::array{keyless_claim(fmt::format("URI:{}{}", kWorkflow, tag))}, kSubject, rule);
  };
  const std::set<std::string> pattern = signers_named(rule, signed_at("v1.4.0"));
  EXPECT_EQ(pattern, std::set{fmt::format("match {} {}*", kIssuer, kWorkflow)});
  EXPECT_EQ(*judge_remembered(pattern, kSubject, signed_at("v1.5.0")), pattern);
  const auto other = judge_remembered(
      pattern, kSubject, examine(std::array{keyless_claim("email:b@team.example")}, kSubject, rule));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find(fmt::format("before is signed by {}* ({})", kWorkflow, kIssuer)),
            std::string::npos)
      << other.error().message;
  // An identity that was remembered as it is: the hint says how to remember the pattern.
  const std::set<std::string> exact{fmt::format("{} {}v1.4.0", kIssuer, kWorkflow)};
  const auto refused = judge_remembered(exact, kSubject, signed_at("v1.5.0"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().hint.find(
                fmt::format("--identity '{}*' --issuer {} --accept-changed", kWorkflow, kIssuer)),
            std::string::npos)
      << refused.error().hint;
  // The '*' of an identity itself is none.
  EXPECT_FALSE(
      judge_remembered({fmt::format("{} {}*", kIssuer, kWorkflow)}, kSubject, signed_at("v1.5.0")).ok());
  // One that is named as it is, is remembered as it is.
  const Rule one = requiring_identities({{std::string(kIssuer), "a@team.example"}});
  EXPECT_EQ(signers_named(one, examine(std::array{keyless_claim()}, kSubject, one)),
            std::set{fmt::format("{} a@team.example", kIssuer)});
  // A single '*' doesn't fit a tag with a slash.
  const auto nested = judge_remembered({fmt::format("{} {}shop/v1.4.0", kIssuer, kWorkflow)}, kSubject,
                                       signed_at("shop/v1.5.0"));
  ASSERT_FALSE(nested.ok());
  EXPECT_NE(nested.error().hint.find("@refs/tags/**"), std::string::npos) << nested.error().hint;
}

}  // namespace
}  // namespace mist::trust
