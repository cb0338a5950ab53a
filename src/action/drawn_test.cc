#include "render/drawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "action/deploy/deploy.h"
#include "action/query/status.h"
#include "action/recover/rollback.h"
#include "action/uninstall.h"
#include "apply/owner.h"
#include "base/text.h"
#include "encoding/yaml.h"
#include "package/objects.h"
#include "package/secrets.h"
#include "testing/fake_cluster.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The values that a package draws while it renders.
struct Draws {
  package::SecretScope scope;
  std::string clock;
  std::map<std::string, SecretString> secrets = {};

  std::string password(const std::string& name, std::size_t length = 24) {
    const package::SecretRequest request{name, package::SecretKind::Alphanumeric, length, {}, {}};
    secrets[name] = package::derive_secret(scope, request)->value;
    return secrets[name].reveal();
  }
};

// A package: its objects as YAML.
using Package = std::function<std::string(Draws&)>;

const Package kDatabase = [](Draws& draws) {
  return fmt::format(
      "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {0}, uri: "
      "'pg://app:{0}@db'}}}}",
      draws.password("db"));
};

class DrawnTest : public ::testing::Test {
 protected:
  Environment environment() { return {cluster, clock, random, events, "tester"}; }

  Render rendering(const Package& package, const RotateSecrets& rotate,
                   const std::string& chosen_clock = "") {
    return [=, this](const ReleaseState& state) -> Result<RenderedRelease> {
      crypto::Seed seed{};
      const std::string& drawn_seed = state.fixed.seed.reveal();
      std::ranges::copy(std::as_bytes(std::span(drawn_seed)).first(seed.size()), seed.begin());
      const auto render = [=, this](crypto::Seed from, const release::Rotations& rotations, std::string time,
                                    Draws& draws) {
        draws = {{from, "test", state.id.name, rotations}, std::move(time)};
        ++renders;
        return package::parse_objects({{"all.yaml", package(draws)}}, events);
      };
      RenderedRelease rendered{{"test:1", "test", "1", "sha256:1", engine}, encoding::Value::object(), {}};
      rendered.drawn.rotations = next_rotations(state.facts().deployed, state.facts().tried, rotate);
      rendered.drawn.clock = chosen_clock;
      Draws draws;
      MIST_TRY(rendered.objects, render(seed, rendered.drawn.rotations, chosen_clock, draws));
      for (const auto& [name, value] : draws.secrets) {
        rendered.drawn.secrets.push_back(name);
        rendered.drawn.asked.push_back({"secret.get", crypto::sha256(value.reveal()).str()});
      }
      rendered.secrets = draws.secrets;
      rendered.drawn.unnamed = unnamed;
      rendered.again = [=](const render::RenderVariant& variant, const Context& /*context*/) {
        crypto::Seed from = seed;
        if (variant.other_seed) from[0] ^= std::byte{1};
        Draws ignored;
        return render(from, variant.rotations, variant.other_seed ? variant.clock + "x" : variant.clock,
                      ignored);
      };
      return rendered;
    };
  }
  Result<DeployReport> install_now(const Package& package) {
    return deploy(environment(), id, install_intent(rendering(package, {})), {}, Context());
  }
  Result<DeployReport> upgrade_now(const Package& package, const RotateSecrets& rotate = {},
                                   const std::string& chosen_clock = "") {
    DeployOptions options;
    options.rotate = rotate;
    return deploy(environment(), id, upgrade_intent(rendering(package, rotate, chosen_clock)), options,
                  Context());
  }
  Result<DeployReport> adopt_now(const Package& package, const RotateSecrets& rotate = {}) {
    DeployOptions options{.allowed = {.adopt = true}};
    options.rotate = rotate;
    return deploy(environment(), id, install_intent(rendering(package, rotate)), options, Context());
  }
  void fail_after_writing(const std::string& name) {
    cluster.set_after([name](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && !call.dry_run && call.key.name == name)
        return error(ErrorKind::Forbidden, "quota exceeded");
      return std::nullopt;
    });
  }
  void put_secret(const std::string& password) {
    cluster.put(*encoding::parse_yaml(fmt::format(
                    "{{apiVersion: v1, kind: Secret, metadata: {{name: db, namespace: default}}, data: "
                    "{{password: {}}}}}",
                    base64_encode(password))),
                "helm");
  }
  release::Drawn recorded() {
    const auto state = read_release(environment(), id, Context());
    return state.ok() && state->deployed ? state->deployed->drawn : release::Drawn{};
  }
  std::string live(std::string_view key, std::string_view kind = "Secret", std::string_view name = "db") {
    const auto object = cluster.find(kind, "default", name);
    std::string text;
    return object && base64_decode(object->string_at({"data", key}), text) ? text : "none";
  }
  std::string refusal(const Result<DeployReport>& report) {
    EXPECT_FALSE(report.ok());
    return report.ok() ? "" : fmt::format("{} hint: {}", report.error().to_line(), report.error().hint);
  }
  // A hook's Secret is adopted with its password. An upgrade that draws one is refused, unless it is to
  // rotate it: that one's report.
  Result<DeployReport> rotate_adopted_hook(const std::string& annotation, const std::string& field) {
    engine = "helm";
    const auto hook = [&](const std::string& password) {
      return fmt::format(
          "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}\n---\n"
          "{{apiVersion: v1, kind: Secret, metadata: {{name: db, annotations: {{helm.sh/hook: "
          "'pre-install,pre-upgrade'{}}}}}, {}stringData: {{password: {}}}}}",
          annotation, field, password);
    };
    put_secret("of-helm");
    MIST_TRY_VOID(adopt_now([&](Draws&) { return hook("of-helm"); }));
    const auto drawn = [&](Draws& draws) { return hook(draws.password("db")); };
    EXPECT_THAT(refusal(upgrade_now(drawn)), HasSubstr("Secret default/db: .data.password (secret db)"));
    EXPECT_EQ(live("password"), "of-helm");
    return upgrade_now(drawn, {.names = {"db"}});
  }

  testing::FakeCluster cluster;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  release::ReleaseId id{"default", "web"};
  bool unnamed = false;
  std::string engine;
  int renders = 0;
};

TEST_F(DrawnTest, FieldsThatAnotherSeedChangesAreRecordedWithTheirSecret) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const apimachinery::ObjectKey key{{"", "Secret"}, "default", "db"};
  EXPECT_THAT(recorded().fields, ElementsAre(release::DrawnField{key, ".data.password", {"db"}},
                                             release::DrawnField{key, ".data.uri", {"db"}}));
  EXPECT_THAT(recorded().secrets, ElementsAre("db"));
}

TEST_F(DrawnTest, SecretsStayAndNothingIsWrittenOrRenderedTwice) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  EXPECT_EQ(renders, 2) << "once with another seed";
  const std::string password = live("password");
  cluster.clear_calls();
  renders = 0;
  const auto report = upgrade_now(kDatabase);
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_FALSE(report->changed);
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(renders, 1) << "what is as it was needs no second look";
  EXPECT_EQ(live("password"), password);
}

TEST_F(DrawnTest, AnotherSecretShiftsNone) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const std::string password = live("password");
  const auto report = upgrade_now([](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: api}}, stringData: {{token: {}}}}}\n---\n{}",
        draws.password("api"), kDatabase(draws));
  });
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(live("password"), password);
  EXPECT_EQ(recorded().fields.size(), 3u);
}

TEST_F(DrawnTest, ARenamedSecretIsRefusedWithItsFields) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const std::string password = live("password");
  const Package renamed = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {0}, uri: "
        "'pg://app:{0}@db'}}}}",
        draws.password("database"));
  };
  cluster.clear_calls();
  const auto report = upgrade_now(renamed);
  const std::string said = refusal(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(said, HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_THAT(said, HasSubstr(".data.uri (secret db)"));
  EXPECT_THAT(said, HasSubstr("--rotate-secrets=db"));
  EXPECT_THAT(said, Not(HasSubstr(password)));
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(live("password"), password);
  // Either name says that it is wanted.
  ASSERT_TRUE(upgrade_now(renamed, {.names = {"database"}}).ok());
  EXPECT_NE(live("password"), password);
  EXPECT_EQ(recorded().rotations, (release::Rotations{{"database", 1}}));
}

TEST_F(DrawnTest, AnotherLengthIsRefusedUnlessRotated) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const Package longer = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {}}}}}",
        draws.password("db", 48));
  };
  EXPECT_THAT(refusal(upgrade_now(longer)), HasSubstr(".data.password"));
  const std::string before = live("password");
  ASSERT_TRUE(upgrade_now(longer, {.names = {"db"}}).ok());
  EXPECT_EQ(live("password").size(), 48u);
  EXPECT_FALSE(live("password").starts_with(before)) << "a longer secret doesn't begin with the shorter one";
}

TEST_F(DrawnTest, WhatIsAroundASecretMayChange) {
  const auto at = [](const std::string& host) -> Package {
    return [=](Draws& draws) {
      return fmt::format(
          "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: db}}, data: {{uri: 'pg://app:{}@{}'}}}}",
          draws.password("db"), host);
    };
  };
  ASSERT_TRUE(install_now(at("one")).ok());
  const auto moved = upgrade_now(at("another-host"));
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  // Random bytes without a name, too: what they became is still there.
  unnamed = true;
  const auto nameless = [](const std::string& host) -> Package {
    return [=](Draws& draws) {
      std::string text = fmt::format(
          "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: db}}, data: {{uri: 'pg://app:{}@{}'}}}}",
          draws.password("db"), host);
      draws.secrets.clear();
      return text;
    };
  };
  ASSERT_TRUE(upgrade_now(nameless("two")).ok());
  ASSERT_TRUE(recorded().fields.at(0).secrets.empty());
  const auto again = upgrade_now(nameless("three"));
  ASSERT_TRUE(again.ok()) << again.error().to_line();
}

TEST_F(DrawnTest, ChecksumsMayChangeWithTheirRest) {
  const auto with = [](const std::string& port, const std::string& place) -> Package {
    return [=](Draws& draws) {
      const std::string sum = crypto::sha256(draws.password("db") + port).hex();
      return fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: db, {}: {{sum: '{}'}}}}}}",
                         place, sum);
    };
  };
  // Named secrets that are the same: what is computed of them changed for another reason.
  ASSERT_TRUE(install_now(with("1", "labels")).ok());
  const auto report = upgrade_now(with("2", "labels"));
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  // Of random bytes without a name nobody knows; annotations lose nothing.
  unnamed = true;
  ASSERT_TRUE(upgrade_now(with("2", "annotations")).ok());
  ASSERT_FALSE(recorded().fields.empty());
  const auto annotated = upgrade_now(with("3", "annotations"));
  ASSERT_TRUE(annotated.ok()) << annotated.error().to_line();
}

TEST_F(DrawnTest, AValueInPlaceOfADrawnOneIsRefused) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const Package fixed = [](Draws&) {
    return std::string(
        "{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: hunter2, uri: x}}");
  };
  EXPECT_THAT(refusal(upgrade_now(fixed)), HasSubstr(".data.password"));
  ASSERT_TRUE(upgrade_now(fixed, {.names = {"db"}}).ok()) << "its name is that of the deployed revision";
  EXPECT_EQ(live("password"), "hunter2");
}

TEST_F(DrawnTest, RotatesOneAndLeavesTheOthers) {
  const Package two = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{a: {}, b: {}, sum: '{}'}}}}",
        draws.password("a"), draws.password("b"), crypto::sha256(draws.password("a")).hex());
  };
  ASSERT_TRUE(install_now(two).ok());
  const std::string a = live("a");
  const std::string b = live("b");
  const std::string sum = live("sum");
  const auto report = upgrade_now(two, {.names = {"a"}});
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_NE(live("a"), a);
  EXPECT_NE(live("sum"), sum) << "what is computed of it goes with it";
  EXPECT_EQ(live("b"), b);
  EXPECT_EQ(recorded().rotations, (release::Rotations{{"a", 1}}));
  // It stays rotated.
  const std::string rotated = live("a");
  EXPECT_FALSE(upgrade_now(two)->changed);
  ASSERT_TRUE(upgrade_now(two, {.all = true}).ok());
  EXPECT_EQ(recorded().rotations, (release::Rotations{{"", 1}, {"a", 2}, {"b", 1}}));
  EXPECT_NE(live("a"), rotated);
  EXPECT_NE(live("b"), b);
}

TEST_F(DrawnTest, ARotationAfterARollbackHandsOutNoSecretOfBefore) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  std::set<std::string> passwords{live("password")};
  ASSERT_TRUE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
  EXPECT_TRUE(passwords.insert(live("password")).second);
  const Environment here = environment();
  for (int i = 0; i < 2; ++i) {
    const auto back = deploy(here, id, rollback_intent(here, 0, Context()), {}, Context());
    ASSERT_TRUE(back.ok()) << back.error().to_line();
    EXPECT_TRUE(passwords.contains(live("password")));
    EXPECT_EQ(recorded().highest, (release::Rotations{{"db", i + 1U}}));
    EXPECT_FALSE(upgrade_now(kDatabase)->changed);
    ASSERT_TRUE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
    EXPECT_TRUE(passwords.insert(live("password")).second) << i;
  }
}

TEST_F(DrawnTest, ARotationAfterARollbackOfAnOlderMistctlHandsOutNoSecretOfBefore) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  std::set<std::string> passwords{live("password")};
  ASSERT_TRUE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
  EXPECT_TRUE(passwords.insert(live("password")).second);
  const Environment here = environment();
  ASSERT_TRUE(deploy(here, id, rollback_intent(here, 0, Context()), {}, Context()).ok());
  release::Store store(cluster);
  const release::Anchor anchor = **store.read_anchor(id, Context());
  release::Revision last = **store.read_revision(anchor, anchor.head.deployed, Context());
  last.drawn.highest.clear();
  cluster.drop({{"", "Secret"}, "default", release::revision_name(id, last.number)});
  ASSERT_TRUE(store.create_revision(anchor, last, *release::Store::pack(last), Context()).ok());
  ASSERT_TRUE(store.finish_revision(anchor, last, Context()).ok());
  ASSERT_TRUE(recorded().highest.empty());
  ASSERT_TRUE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
  EXPECT_TRUE(passwords.insert(live("password")).second);
  EXPECT_EQ(recorded().rotations, (release::Rotations{{"db", 2}}));
}

TEST_F(DrawnTest, ARotationAfterAFailedOneHandsOutAnotherSecret) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const std::string first = live("password");
  fail_after_writing("db");
  ASSERT_FALSE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
  cluster.set_after(nullptr);
  const std::string failed = live("password");
  ASSERT_NE(failed, first) << "it was written";
  ASSERT_TRUE(upgrade_now(kDatabase).ok());
  EXPECT_EQ(live("password"), first);
  EXPECT_EQ(recorded().highest, (release::Rotations{{"db", 1}}));
  ASSERT_TRUE(upgrade_now(kDatabase, {.names = {"db"}}).ok());
  EXPECT_EQ(recorded().rotations, (release::Rotations{{"db", 2}}));
  EXPECT_THAT(live("password"), ::testing::AllOf(Not(first), Not(failed)));
}

TEST_F(DrawnTest, AnUnknownNameIsRefusedNamingWhatThereIs) {
  ASSERT_TRUE(install_now(kDatabase).ok());
  const auto report = upgrade_now(kDatabase, {.names = {"dbb"}});
  EXPECT_THAT(refusal(report), HasSubstr("it asks for db"));
  EXPECT_EQ(report.error().kind, ErrorKind::Usage);
}

TEST_F(DrawnTest, AnotherClockMayChangeWhatDependsOnIt) {
  const Package timed = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{certificate: '{}'}}}}",
        crypto::sha256(draws.password("key") + draws.clock).hex());
  };
  unnamed = true;
  ASSERT_TRUE(install_now(timed).ok());
  const auto report = upgrade_now(timed, {}, "2030-01-01T00:00:00Z");
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(recorded().clock, "2030-01-01T00:00:00Z");
}

// A chart that draws in each render, or asks .Release.IsUpgrade before it looks its Secret up.
TEST_F(DrawnTest, WhatAnotherToolDrewIsNotOverwrittenByAnAdoption) {
  put_secret("of-helm");
  cluster.clear_calls();
  const auto report = adopt_now(kDatabase);
  const std::string said = refusal(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(said, HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_THAT(said, Not(HasSubstr(".data.uri"))) << "there is none that could be lost";
  EXPECT_THAT(said, HasSubstr("--no-hooks"));
  EXPECT_THAT(said, HasSubstr("--rotate-secrets=db"));
  EXPECT_EQ(cluster.writes(), 0u);
  EXPECT_EQ(live("password"), "of-helm");
  ASSERT_TRUE(adopt_now(kDatabase, {.names = {"db"}}).ok());
  EXPECT_NE(live("password"), "of-helm");
}

TEST_F(DrawnTest, NorIsWhatAHookOfAChartDrewThere) {
  engine = "helm";
  const Package hooked = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}\n---\n"
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db, annotations: {{helm.sh/hook: pre-install}}}}, "
        "stringData: {{password: {}}}}}",
        draws.password("db"));
  };
  put_secret("of-helm");
  EXPECT_THAT(refusal(adopt_now(hooked)), HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_EQ(live("password"), "of-helm");
  DeployOptions options{.no_hooks = true};
  options.allowed.adopt = true;
  const auto report = deploy(environment(), id, install_intent(rendering(hooked, {})), options, Context());
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(live("password"), "of-helm");
}

// Its database may have been kept as well, and knows the old password.
TEST_F(DrawnTest, NorIsASecretThatAnUninstalledReleaseLeft) {
  const Package kept = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db, annotations: {{mistletoe.dev/keep: "
        "'true'}}}}, "
        "stringData: {{password: {}}}}}",
        draws.password("db"));
  };
  ASSERT_TRUE(install_now(kept).ok());
  const std::string before = live("password");
  auto plan = plan_uninstall(environment(), id, {}, Context());
  ASSERT_TRUE(plan.ok()) << plan.error().to_line();
  ASSERT_TRUE(uninstall(environment(), *std::move(plan), {}, Context()).ok());
  ASSERT_EQ(live("password"), before);
  EXPECT_THAT(refusal(install_now(kept)), HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_EQ(live("password"), before);
  const auto with_it = install_now([&](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {}, more: {}}}}}",
        before, draws.password("more"));
  });
  ASSERT_TRUE(with_it.ok()) << with_it.error().to_line();
  EXPECT_EQ(live("password"), before);
}

TEST_F(DrawnTest, NorIsASecretThatMovesFromAnotherRelease) {
  const release::ReleaseId theirs{"default", "theirs"};
  ASSERT_TRUE(deploy(environment(), theirs, install_intent(rendering(kDatabase, {})), {}, Context()).ok());
  const std::string before = live("password");
  const auto take = [&](const RotateSecrets& rotate) {
    DeployOptions options{.allowed = {.take_over_from = theirs}};
    options.rotate = rotate;
    return deploy(environment(), id, install_intent(rendering(kDatabase, rotate)), options, Context());
  };
  EXPECT_THAT(refusal(take({})), HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_EQ(live("password"), before);
  const auto taken = take({.names = {"db"}});
  ASSERT_TRUE(taken.ok()) << taken.error().to_line();
  EXPECT_NE(live("password"), before);
}

// The first try was given the password; the second one forgot it.
TEST_F(DrawnTest, NorIsOneThatAFailedTryAdopted) {
  const Package given = [](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: of-helm, more: "
        "{}}}}}",
        draws.password("more"));
  };
  put_secret("of-helm");
  fail_after_writing("db");
  ASSERT_FALSE(adopt_now(given).ok());
  cluster.set_after(nullptr);
  ASSERT_EQ(live("more").size(), 24u) << "it was written";
  EXPECT_THAT(refusal(adopt_now(kDatabase)), HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_EQ(live("password"), "of-helm");
  const auto again = adopt_now(given);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(live("password"), "of-helm");
}

// The adoption was given the password of the hook's Secret; an upgrade forgets it.
TEST_F(DrawnTest, NorIsThatOfAHookByALaterUpgrade) {
  const auto rotated = rotate_adopted_hook("", "");
  ASSERT_TRUE(rotated.ok()) << rotated.error().to_line();
  EXPECT_EQ(live("password").size(), 24u);
}

// It can't be changed in place, so the upgrade replaces it.
TEST_F(DrawnTest, NorIsThatOfAHookWhereItIsReplaced) {
  const auto rotated = rotate_adopted_hook(", mistletoe.dev/replace: 'true'", "immutable: true, ");
  ASSERT_TRUE(rotated.ok()) << rotated.error().to_line();
  EXPECT_EQ(rotated->plan.writes[0].kind, apply::ActionKind::Replace);
  EXPECT_EQ(live("password").size(), 24u);
}

// Only the first run of the hook was given the password.
TEST_F(DrawnTest, NorIsThatOfAHookOfAnEarlierLife) {
  engine = "helm";
  const auto package = [](const std::string& text, const std::string& password) {
    return fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {{text: {}}}}}\n---\n"
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db, annotations: {{helm.sh/hook: "
        "'pre-install,pre-upgrade'}}}}, stringData: {{password: {}}}}}",
        text, password);
  };
  const auto given = [&](const std::string& text) {
    return [=](Draws&) { return package(text, "of-before"); };
  };
  ASSERT_TRUE(install_now(given("x")).ok());
  for (const std::string& name : {apply::anchor_name(id), release::revision_name(id, 0)})
    cluster.drop({{"", "Secret"}, "default", name});
  const auto again = deploy(environment(), id, install_intent(rendering(given("x"), {})),
                            DeployOptions{.no_hooks = true}, Context());
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  const auto upgraded = upgrade_now(given("y"));
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().to_line();
  const auto drawn = [&](Draws& draws) { return package("z", draws.password("db")); };
  EXPECT_THAT(refusal(upgrade_now(drawn)), HasSubstr("Secret default/db: .data.password (secret db)"));
  EXPECT_EQ(live("password"), "of-before");
}

TEST_F(DrawnTest, ASecretOfAFailedFirstInstallIsFinished) {
  fail_after_writing("db");
  ASSERT_FALSE(install_now(kDatabase).ok());
  cluster.set_after(nullptr);
  const std::string password = live("password");
  ASSERT_EQ(password.size(), 24u) << "it was written";
  const auto again = install_now(kDatabase);
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(live("password"), password);
}

TEST_F(DrawnTest, WhatIsTakenFromTheAdoptedSecretIsNotDrawn) {
  put_secret("of-helm");
  const auto report = adopt_now([this](Draws& draws) {
    return fmt::format(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: db}}, stringData: {{password: {}, more: {}}}}}",
        live("password"), draws.password("more"));
  });
  ASSERT_TRUE(report.ok()) << report.error().to_line();
  EXPECT_EQ(live("password"), "of-helm");
  EXPECT_EQ(live("more").size(), 24u);
}

TEST_F(DrawnTest, ListsAreComparedByName) {
  const auto with = [](const std::string& first) -> Package {
    return [=](Draws& draws) {
      return fmt::format(
          "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: i, "
          "env: [{}{{name: "
          "PASSWORD, value: {}}}]}}]}}}}",
          first, draws.password("db"));
    };
  };
  ASSERT_TRUE(install_now(with("")).ok());
  EXPECT_EQ(recorded().fields.at(0).path, ".spec.containers[name=c].env[name=PASSWORD].value");
  const auto report = deploy(environment(), id, upgrade_intent(rendering(with("{name: A, value: b}, "), {})),
                             {.dry_run = DryRun::Client}, Context());
  EXPECT_TRUE(report.ok()) << report.error().to_line();
}

// Ed25519 key 00…1f, O=shop, CN=web, from 2026-01-01 to 2026-12-31.
constexpr std::string_view kPem =
    "-----BEGIN CERTIFICATE-----\n"
    "MIHmMIGZoAMCAQICAQEwBQYDK2VwMB0xDTALBgNVBAoMBHNob3AxDDAKBgNVBAMM\n"
    "A3dlYjAeFw0yNjAxMDEwMDAwMDBaFw0yNjEyMzEwMDAwMDBaMB0xDTALBgNVBAoM\n"
    "BHNob3AxDDAKBgNVBAMMA3dlYjAqMAUGAytlcAMhAAOhB7/zzhC+HXDdGOdLwJln\n"
    "5NYwm6UNXx3chmQSVTG4MAUGAytlcANBAGEgTpIcLrjM3l3sWjJZF6Ipsv2yWuwE\n"
    "f9u4OU/v1d8TUw3vLOFu60S/er3s4osPSsAdcFSMAOmv/KKcuo/U8Ao=\n"
    "-----END CERTIFICATE-----\n";

TEST_F(DrawnTest, CertificatesAmongDrawnFieldsAreReportedWhenTheyAge) {
  const auto tls = package::parse_objects(
      {{"a.yaml",
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: tls, namespace: shop}}, data: "
                    "{{tls.crt: {}, other.crt: {}}}}}",
                    base64_encode(kPem), base64_encode(kPem))}},
      events);
  ASSERT_TRUE(tls.ok()) << tls.error().to_line();
  const std::vector<release::DrawnField> fields{{{{"", "Secret"}, "shop", "tls"}, ".data[\"tls.crt\"]"}};
  const auto aging = [&](std::string_view now) {
    return render::aging_certificates(fields, render::view_of(*tls), *parse_time(now));
  };
  EXPECT_TRUE(aging("2026-08-01T00:00:00Z").empty());
  const auto found = aging("2026-09-15T00:00:00Z");
  ASSERT_EQ(found.size(), 1u) << "only drawn ones";
  EXPECT_EQ(to_string(found[0]),
            "Secret shop/tls: the certificate CN=web,O=shop in .data[\"tls.crt\"] ends on "
            "2026-12-31T00:00:00Z, and two "
            "thirds of its life are over");
  EXPECT_THAT(to_string(aging("2027-01-01T00:00:00Z").at(0)), HasSubstr("ended on 2026-12-31"));
}

}  // namespace
}  // namespace mist::action
