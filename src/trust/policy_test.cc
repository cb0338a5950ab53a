#include "trust/policy.h"

#include <gtest/gtest.h>

#include <array>

#include "base/text.h"
#include "crypto/keys.h"
#include "encoding/json.h"
#include "testing/sigstore.h"
#include "testing/temp_dir.h"

namespace mist::trust {
namespace {

std::string public_pem(unsigned char seed) {
  std::array<std::byte, crypto::kKeyBytes> bytes{};
  bytes.fill(std::byte{seed});
  return crypto::ed25519_key(bytes).public_pem;
}

Result<Policy> parsed(const std::string& spec) {
  return Policy::parse("apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec:\n" + spec, "trust.yaml",
                       [](const Path& path) -> Result<std::string> {
                         if (path == "a.pub") return public_pem(1);
                         if (path == "b.pub") return public_pem(2);
                         if (path == "ec.pub")
                           return std::string(
                               "-----BEGIN PUBLIC KEY-----\n"
                               "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEteTwWOF+18bA3aMXMT2VYswFX3bb\n"
                               "AopzLU5Vvx9u8nKEQvIYjkufcb6pFnJ6cvn2o2eVJWkhMNnlPKIzWoeT2Q==\n"
                               "-----END PUBLIC KEY-----\n");
                         if (path == "bad.pub") return std::string("no key");
                         if (path == "team.gpg") return std::string("OpenPGP");
                         if (path == "root.json")
                           return encoding::to_json(mist::testing::Sigstore(1).trusted_root());
                         return error(ErrorKind::NotFound, "cannot read {}", path.string());
                       });
}
std::string failure(const std::string& spec) {
  const Result<Policy> policy = parsed(spec);
  return policy ? "no error" : policy.error().message;
}

TEST(TrustPolicy, TheFirstRuleThatMatchesCounts) {
  const auto policy = parsed(R"(
  default: ignore
  rules:
  - match: oci://reg.example/team/shop
    keys: [{name: a, file: a.pub}]
    maximumAge: 2160h
    signedFor: ["oci://origin.example/team/*"]
  - match: oci://reg.example/**
    keys: [{name: a, file: a.pub}, {name: b, file: b.pub}]
    threshold: 2
  - {match: "oci://localhost:5000/**", mode: remember}
)");
  ASSERT_TRUE(policy.ok()) << policy.error().to_line();
  const Rule& shop = policy->rule_for("oci://reg.example/team/shop");
  EXPECT_EQ(shop.mode, Mode::Require);
  EXPECT_EQ(shop.threshold, 1u);
  EXPECT_FALSE(shop.minimum_age);
  EXPECT_EQ(shop.maximum_age, std::chrono::hours(2160));
  EXPECT_EQ(shop.signed_for, std::vector<std::string>{"oci://origin.example/team/*"});
  EXPECT_EQ(shop.place, "trust.yaml:7");
  EXPECT_EQ(policy->rule_for("oci://reg.example/team/other").threshold, 2u);
  EXPECT_EQ(policy->rule_for("oci://localhost:5000/x").mode, Mode::Remember);
  EXPECT_EQ(policy->rule_for("oci://elsewhere.example/x").mode, Mode::Ignore);
}

TEST(TrustPolicy, AKeyringIsForCharts) {
  const auto policy = parsed(R"(
  rules:
  - match: shop/**
    keyring: team.gpg
    fingerprints: ["5e61 5389 b53c a37f 0ee6  0bd3 843b bf98 1fc1 8762"]
  - match: oci://reg.example/charts/*
    keys: [{name: a, file: a.pub}]
    keyring: team.gpg
    threshold: 2
)");
  ASSERT_TRUE(policy.ok()) << policy.error().to_line();
  const Rule& shop = policy->rule_for("shop/web");
  EXPECT_EQ(shop.mode, Mode::Require);
  ASSERT_NE(shop.keyring, nullptr);
  EXPECT_EQ(shop.keyring->bytes, "OpenPGP");
  EXPECT_EQ(shop.keyring->fingerprints,
            std::vector<std::string>{"openpgp:5E615389B53CA37F0EE60BD3843BBF981FC18762"});
  EXPECT_EQ(policy->rule_for("oci://reg.example/charts/web").threshold, 2u);
  const auto rule = [](const std::string& members) {
    return failure(fmt::format("  rules: [{{match: shop/**, {}}}]", members));
  };
  EXPECT_EQ(rule("keyring: gone.gpg"), "the keyring gone.gpg can't be read: cannot read gone.gpg");
  EXPECT_EQ(rule("keyring: [team.gpg]"), "keyring is not a file");
  EXPECT_EQ(failure("  rules: [{match: 'oci://reg.example/x', fingerprints: [x]}]"),
            "fingerprints are those of a keyring, and the rule has none");
  EXPECT_EQ(rule("keyring: team.gpg, fingerprints: []"), "fingerprints is not a list of fingerprints");
  for (const char* bad : {"843BBF981FC18762", "x", "5E615389B53CA37F0EE60BD3843BBF981FC1876G"})
    EXPECT_EQ(rule(fmt::format("keyring: team.gpg, fingerprints: ['{}']", bad)),
              "this is not the fingerprint of an OpenPGP key");
  EXPECT_EQ(rule("keyring: team.gpg, mode: ignore"), "shop/** has a keyring, but doesn't require its keys");
  EXPECT_EQ(rule("keyring: team.gpg, threshold: 2"),
            "shop/** is no OCI registry, and a package elsewhere has one signature");
}

TEST(TrustPolicy, ARuleThatCouldNeverBeHeldIsRefused) {
  const auto match = [](const std::string& pattern) {
    return failure(fmt::format("  rules: [{{match: '{}', mode: known}}]", pattern));
  };
  EXPECT_EQ(match("sh//x"), "no package fits sh//x: it has an empty segment");
  EXPECT_EQ(match("sh/./x"), "no package fits sh/./x: it has the segment '.'");
  EXPECT_EQ(match("sh/a b"), "no package fits sh/a b: ' ' can't stand in it");
  EXPECT_EQ(match("https://%63harts.example/**"),
            "no chart fits https://%63harts.example/**: its host has an escape, so it is the address of "
            "another host");
  EXPECT_EQ(match("oci://*.docker.io/**"),
            "no repository fits oci://*.docker.io/**: Docker Hub is called docker.io here, whatever name of "
            "it a reference has");
  EXPECT_EQ(failure("  rules: [{match: 'team/**', keys: [{name: a, file: a.pub}, {name: b, file: b.pub}], "
                    "threshold: 2}]"),
            "team/** is no OCI registry, and a package elsewhere has one signature");
  EXPECT_EQ(failure("  rules: [{match: 'team/**', keys: [{name: ci, file: ec.pub}]}]"),
            "ci is ECDSA P-256, and signatures in team/** are minisign's, made with Ed25519");
  EXPECT_EQ(failure("  rules: [{match: 'https://charts.example/**', keys: [{name: a, file: a.pub}]}]"),
            "https://charts.example/** is of a chart repository, and nothing there is signed with keys");
}

TEST(TrustPolicy, ARuleBehindOneThatFitsAllOfItIsRefused) {
  const auto both = [](std::string_view first, std::string_view second) {
    return failure(
        fmt::format("  rules: [{{match: '{}', mode: known}}, {{match: '{}', mode: known}}]", first, second));
  };
  const auto is_refused = [&](std::string_view first, std::string_view second) {
    const std::string says = both(first, second);
    EXPECT_TRUE(says == "no error" || says == fmt::format("the rule {} is never held", second)) << says;
    return says != "no error";
  };
  EXPECT_TRUE(is_refused("oci://**", "oci://reg.example/team/shop"));
  EXPECT_TRUE(is_refused("oci://**", "oci://**"));
  EXPECT_TRUE(is_refused("oci://reg.example/**", "oci://reg.example/team/*"));
  EXPECT_TRUE(is_refused("oci://reg.example/team/*", "oci://reg.example/team/*-shop"));
  EXPECT_TRUE(is_refused("oci://reg.example:*/**", "oci://reg.example/team/**"));
  EXPECT_FALSE(is_refused("oci://reg.example/team/*", "oci://reg.example/team/**"));
  EXPECT_FALSE(is_refused("oci://reg.example/team/*/*", "oci://reg.example/team/**"));
  EXPECT_FALSE(is_refused("oci://reg.example/team/*-shop", "oci://reg.example/team/*"));
  EXPECT_FALSE(is_refused("oci://reg.example/team/**/a", "oci://reg.example/**"));
  EXPECT_FALSE(is_refused("oci://reg.example/**", "oci://other.example/**"));
}

TEST(TrustPolicy, WithoutAWordOfTheUserNothingIsLookedFor) {
  EXPECT_EQ(Policy().rule_for("oci://reg.example/x").mode, Mode::Remember);
  EXPECT_EQ(parsed("  rules: []")->rule_for("oci://reg.example/x").mode, Mode::Remember);
  EXPECT_EQ(parsed("  default: known")->rule_for("oci://reg.example/x").mode, Mode::Known);
}

TEST(TrustPolicy, ALinkThatLeadsNowhereIsNotTheAbsenceOfAPolicy) {
  const mist::testing::TempDir temp;
  HostFileSystem files;
  const Path file = temp.path() / "trust.yaml";
  EXPECT_TRUE(Policy::load(files, file).ok());
  EXPECT_TRUE(Policy::load(files, temp.path() / "no/such/trust.yaml").ok());
  std::filesystem::create_symlink(temp.path() / "gone", file);
  const Result<Policy> policy = Policy::load(files, file);
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().kind, ErrorKind::Invalid);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_FALSE(Policy::load(files, file).ok());
}

TEST(TrustPolicy, OneThatIsRequiredIsNotLeftOutWhereItsFileIsGone) {
  const mist::testing::TempDir temp;
  HostFileSystem files;
  const Path file = temp.path() / "trust.yaml";
  const Result<Policy> gone = Policy::load(files, file, Presence::Required);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, ErrorKind::Invalid);
  EXPECT_NE(gone.error().message.find("trust.yaml is not there"), std::string::npos);
  ASSERT_TRUE(
      files.write(file, "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec: {default: remember}\n")
          .ok());
  EXPECT_EQ(Policy::load(files, file, Presence::Required)->rule_for("oci://reg.example/x").mode,
            Mode::Remember);
}

TEST(TrustPolicy, RulesAreForRepositoriesHoweverTheirHostsAreWritten) {
  const auto policy = parsed(R"(
  rules:
  - match: oci://REG.example:443/team/**
    keys: [{name: a, file: a.pub}]
    signedFor: ["oci://Origin.example:443/team/*"]
  - {match: "oci://registry-1.docker.io/nginx", mode: remember}
)");
  ASSERT_TRUE(policy.ok()) << policy.error().to_line();
  const Rule& rule = policy->rule_for("oci://reg.example/team/shop");
  EXPECT_EQ(rule.mode, Mode::Require);
  EXPECT_EQ(rule.signed_for, std::vector<std::string>{"oci://origin.example/team/*"});
  EXPECT_EQ(policy->rule_for("oci://docker.io/library/nginx").mode, Mode::Remember);
}

TEST(TrustPolicy, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(failure("  rulez: []"), "the key spec.rulez is not known");
  EXPECT_EQ(failure("  rules: [{match: 'oci://x/y', key: a}]"), "the key key is not known");
  EXPECT_EQ(failure("  rules: [{match: 'oci://x/y', keys: [{name: a, file: a.pub, colour: red}]}]"),
            "the key keys[].colour is not known");
  EXPECT_EQ(failure("  default: require"), "spec.default can't be require, because it has no keys");
  EXPECT_EQ(failure("  default: sometimes"), "default must be known, remember, require or ignore");
  EXPECT_EQ(Policy::parse("kind: MistletoeConfig", "x", {}).error().message, "this is not a trust policy");
}

TEST(TrustPolicy, RefusesRulesThatProtectNothing) {
  const auto rule = [](std::string_view text) { return failure(fmt::format("  rules:\n  - {{{}}}", text)); };
  EXPECT_EQ(rule("match: shop"),
            "a rule needs a match: oci://HOST/PATH, https://HOST/PATH, or REGISTRY/PATH");
  EXPECT_EQ(rule("match: 'ftp://x/y'"),
            "a rule needs a match: oci://HOST/PATH, https://HOST/PATH, or REGISTRY/PATH");
  EXPECT_EQ(rule("match: 'https://x/y'"), "https://x/y is no OCI registry, so no signer can be remembered");
  EXPECT_EQ(rule("match: 'https://x'"), "no chart fits https://x: a path is missing");
  EXPECT_EQ(rule("match: 'https://x/'"), "no chart fits https://x/: a path is missing");
  EXPECT_EQ(rule("match: 'https://ann:pw@x/y'"),
            "no chart fits https://ann:pw@x/y: an address has no credentials, query or fragment here");
  EXPECT_EQ(rule("match: 'https://x/y:1.0.0'"),
            "no chart fits https://x/y:1.0.0: a version follows the path");
  EXPECT_EQ(
      rule("match: 'https://x/team/../**'"),
      "no chart fits https://x/team/../**: its path has a segment '..', so it is the address of another "
      "path");
  EXPECT_EQ(rule("match: 'oci://x'"), "no repository fits oci://x: a path is missing");
  EXPECT_EQ(rule("match: 'oci://x/team/'"), "no repository fits oci://x/team/: a path is missing");
  EXPECT_EQ(rule("match: 'oci://x/y:1.0.0'"),
            "no repository fits oci://x/y:1.0.0: a version follows the path");
  EXPECT_EQ(rule("match: 'oci://x/Team/**'"),
            "no repository fits oci://x/Team/**: a path has lower-case letters, digits, '.', '_' and '-'");
  for (const auto& [match, why] : {
           std::pair{"oci://user@reg.example/**", "a host has no user before it"},
           {"oci://reg.example./team/**", "'reg.example.' is not a host name"},
           {"oci://reg_example/**", "'reg_example' is not a host name"},
           {"oci:///team/**", "it names no host"},
           {"oci://reg.example:99999/**", "':99999' is not a port"},
           {"oci://*_*/**", "its host is a pattern of no host"},
           {"oci://reg.example//team", "its path has an empty segment"},
           {"oci://reg.example/team//*", "its path has an empty segment"},
           {"oci://reg.example/.team/*", "'.team' can't stand in its path"},
           {"oci://reg.example/team-/*", "'team-' can't stand in its path"},
       })
    EXPECT_EQ(rule(fmt::format("match: '{}'", match)), fmt::format("no repository fits {}: {}", match, why));
  EXPECT_EQ(rule("match: 'team/**'"), "team/** is no OCI registry, so no signer can be remembered");
  EXPECT_EQ(rule("match: 'oci://x/y', mode: require"), "oci://x/y requires signatures, but names no keys");
  EXPECT_EQ(rule("match: 'oci://x/y', mode: ignore, keys: [{name: a, file: a.pub}]"),
            "oci://x/y has keys, but doesn't require them");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: []"), "keys is not a list of keys");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], threshold: 2"),
            "threshold must be from 1 to 1");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], threshold: 0"),
            "threshold must be from 1 to 1");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}, {name: b, file: a.pub}]"),
            "a and b are the same key");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}, {name: a, file: b.pub}]"),
            "two keys are called a");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: gone.pub}]"),
            "the key a can't be read: cannot read gone.pub");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: bad.pub}]"),
            "the key a can't be used: this is not a public key (it is no PEM text)");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], minimumAge: soon"),
            "minimumAge is a duration, in a rule with keys or identities");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], minimumAge: 2h, maximumAge: 1h"),
            "minimumAge is longer than maximumAge");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], minimumAge: 2h"),
            "minimumAge protects nothing for the keys of oci://x/y: who signs with a key says how old the "
            "signature is");
  EXPECT_EQ(rule("match: 'team/**', keyring: a.pub, minimumAge: 2h"),
            "minimumAge protects nothing for the keyring of team/**: who signs with a key says how old the "
            "signature is");
  EXPECT_EQ(rule("match: 'oci://x/y', keys: [{name: a, file: a.pub}], signedFor: [team]"),
            "signedFor names repositories");
}

TEST(TrustPolicy, IdentitiesAreHeldAgainstATrustRoot) {
  const auto policy = parsed(R"(
  trustRoot: root.json
  default: remember
  rules:
  - match: oci://reg.example/**
    keys: [{name: a, file: a.pub}]
    identities:
    - {issuer: "https://accounts.example", subject: a@team.example}
    - {issuer: "https://ci.example/**", subject: "https://ci.example/team/**"}
    threshold: 3
  - match: oci://old.example/**
    identities: [{issuer: "https://accounts.example", subject: a@team.example}]
    minimumAge: 24h
)");
  ASSERT_TRUE(policy.ok()) << policy.error().to_line();
  const Rule& rule = policy->rule_for("oci://reg.example/shop");
  EXPECT_EQ(rule.mode, Mode::Require);
  EXPECT_EQ(rule.threshold, 3u);
  EXPECT_EQ(policy->rule_for("oci://old.example/shop").minimum_age, std::chrono::hours(24));
  ASSERT_EQ(rule.identities.size(), 2u);
  EXPECT_EQ(rule.identities[0].text(), "a@team.example (https://accounts.example)");
  ASSERT_NE(rule.root, nullptr);
  EXPECT_EQ(rule.root->logs.size(), 1u);
  EXPECT_EQ(policy->rule_for("oci://elsewhere.example/shop").root, rule.root);
}

TEST(TrustPolicy, NamesTheSigningConfigurationWithoutReadingIt) {
  const mist::testing::TempDir temp;
  HostFileSystem files;
  const Path file = temp.path() / "trust.yaml";
  ASSERT_TRUE(
      files
          .write(file,
                 "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec: {signingConfig: a/b.json}\n")
          .ok());
  EXPECT_EQ(Policy::load(files, file)->signing_config(), temp.path() / "a/b.json");
  EXPECT_EQ(parsed("  signingConfig: gone.json")->signing_config(), "gone.json");
  EXPECT_EQ(parsed("  default: known")->signing_config(), "");
  EXPECT_EQ(failure("  signingConfig: [a.json]"), "spec.signingConfig is not a file");
}

TEST(TrustPolicy, RefusesIdentitiesThatProtectNothing) {
  const auto rule = [](std::string_view identities) {
    return failure(fmt::format("  trustRoot: root.json\n  rules:\n  - {{match: 'oci://x/y', identities: {}}}",
                               identities));
  };
  EXPECT_EQ(rule("[]"), "identities is not a list of identities");
  EXPECT_EQ(rule("[a]"), "an identity is not an object");
  EXPECT_EQ(rule("[{issuer: 'https://i', subject: a, name: b}]"), "the key identities[].name is not known");
  EXPECT_EQ(rule("[{subject: a}]"),
            "an identity needs an issuer, the https:// address where its owner logs in");
  EXPECT_EQ(rule("[{issuer: 'http://i', subject: a}]"),
            "an identity needs an issuer, the https:// address where its owner logs in");
  EXPECT_EQ(rule("[{issuer: 'https://i:x/', subject: a}]"),
            "an identity needs an issuer, the https:// address where its owner logs in");
  EXPECT_EQ(rule("[{issuer: 'https://**', subject: a}]"),
            "an identity needs the whole name of its issuer's host");
  EXPECT_EQ(rule("[{issuer: 'https://i', subject: '**'}]"),
            "an identity needs a subject: whoever has an account at the issuer fits otherwise");
  EXPECT_EQ(rule("[{issuer: 'https://i', subject: a}, {issuer: 'https://i', subject: a}]"),
            "a (https://i) stands there twice");
  EXPECT_EQ(rule("[{issuer: 'https://i', subject: a}], threshold: 2"), "threshold must be from 1 to 1");
  EXPECT_EQ(rule("[{issuer: 'https://i', subject: a}], mode: remember"),
            "oci://x/y has identities, but doesn't require them");
  EXPECT_EQ(failure("  rules:\n  - {match: 'oci://x/y', identities: [{issuer: 'https://i', subject: a}]}"),
            "identities are held against a trust root, and spec.trustRoot is missing");
  EXPECT_EQ(failure("  trustRoot: root.json\n  rules:\n  - {match: 'team/**', identities: [{issuer: "
                    "'https://i', subject: a}]}"),
            "team/** is no OCI registry, so nothing of it is signed by an identity");
  EXPECT_EQ(failure("  trustRoot: [root.json]"), "spec.trustRoot is not a file");
  EXPECT_EQ(failure("  trustRoot: gone.json"), "the trust root can't be read: cannot read gone.json");
  EXPECT_TRUE(failure("  trustRoot: a.pub").find("a.pub") != std::string::npos);
  EXPECT_EQ(parsed("  rules: []\n  trustRoot: gone.json").error().where->line, 5u);
}

TEST(TrustPolicy, TakesRulesThatARepositoryCanFit) {
  for (const char* match : {"oci://**", "oci://*/**", "oci://**.example/**", "oci://*.example:*/team/*",
                            "oci://reg.example:5000/**", "oci://[::1]:5000/**", "oci://127.0.0.1:5000/*",
                            "oci://reg.example/team-*/**/a__b/*.c", "oci://reg.example/*-shop"})
    EXPECT_TRUE(parsed(fmt::format("  rules: [{{match: '{}', mode: ignore}}]", match)).ok()) << match;
}

TEST(TrustPolicy, KnowsDockersOwnImages) {
  const auto is_ignored = [](std::string_view match, std::string_view package) {
    const auto policy = parsed(fmt::format("  rules: [{{match: '{}', mode: ignore}}]", match));
    EXPECT_TRUE(policy.ok()) << match;
    return policy->rule_for(package).mode == Mode::Ignore;
  };
  for (const char* match : {"oci://docker.io/*", "oci://docker.io/nginx*", "oci://index.docker.io/nginx",
                            "oci://docker.io/**", "oci://docker.io/library/*"})
    EXPECT_TRUE(is_ignored(match, "oci://docker.io/library/nginx")) << match;
  EXPECT_FALSE(is_ignored("oci://docker.io/*", "oci://docker.io/team/nginx"));
  EXPECT_TRUE(is_ignored("oci://docker.io/team/*", "oci://docker.io/team/nginx"));
}

// Its name is without it.
TEST(TrustPatterns, AnyPortIsTheUsualOneToo) {
  EXPECT_TRUE(matches("oci://reg:*/team/**", "oci://reg:5000/team/shop"));
  EXPECT_TRUE(matches("oci://reg:*/team/**", "oci://reg/team/shop"));
  EXPECT_TRUE(matches("oci://[::1]:*/**", "oci://[::1]/shop"));
  EXPECT_FALSE(matches("oci://reg:*/team/**", "oci://reg/other/shop"));
  EXPECT_FALSE(matches("oci://reg:5*/team/**", "oci://reg/team/shop"));
}

TEST(TrustPatterns, OneStarStaysInASegment) {
  EXPECT_TRUE(matches("oci://reg/*", "oci://reg/shop"));
  EXPECT_FALSE(matches("oci://reg/*", "oci://reg/team/shop"));
  EXPECT_TRUE(matches("oci://reg/**", "oci://reg/team/shop"));
  EXPECT_TRUE(matches("oci://*/team/*", "oci://reg:5000/team/shop"));
  EXPECT_TRUE(matches("oci://**/shop", "oci://reg/a/b/shop"));
  EXPECT_FALSE(matches("oci://**/shop", "oci://reg/a/b/shopping"));
  EXPECT_TRUE(matches("oci://reg/team/shop-*", "oci://reg/team/shop-web"));
  EXPECT_FALSE(matches("oci://reg/team", "oci://reg/team/shop"));
  EXPECT_TRUE(matches("**", ""));
  EXPECT_FALSE(matches("", "x"));
  // A dot is a dot.
  EXPECT_FALSE(matches("oci://reg.example/*", "oci://regxexample/shop"));
}

}  // namespace
}  // namespace mist::trust
