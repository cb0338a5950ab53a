#include "registry/helm_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/text.h"
#include "http/url.h"
#include "registry/chart_archive.h"
#include "registry/chart_trust.h"
#include "registry/oci_fixture.h"
#include "registry/oci_trust.h"
#include "registry/registry.h"
#include "testing/fake_transport.h"
#include "testing/home_fixture.h"

namespace mist::registry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A chart repository at https://charts.example, and this machine's view of it.
class HelmRegistry : public mist::testing::HomeFixture {
 protected:
  HelmRegistry() {
    publish("1.0.0", "one");
    publish("1.2.0", "two");
    publish("2.0.0-rc.1", "three");
    web.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
      if (away) return error(ErrorKind::Retryable, "charts.example does not answer");
      return answer(request);
    });
  }

  static std::string chart(std::string_view name, std::string_view version, std::string_view notes) {
    const PackageTree tree{
        {{"Chart.yaml", fmt::format("apiVersion: v2\nname: {}\nversion: {}\n", name, version)},
         {"notes", std::string(notes)}}};
    return *pack_chart(tree, name);
  }
  void publish(const std::string& version, const std::string& notes) {
    const std::string archive = chart("db", version, notes);
    archives[fmt::format("/stable/db-{}.tgz", version)] = archive;
    entries += fmt::format("  - {{version: {0}, urls: [db-{0}.tgz], digest: {1}}}\n", version,
                           crypto::sha256(archive).hex());
  }

  http::Response answer(const http::Request& request) {
    const http::Url url = *http::Url::parse(request.url);
    http::Response response{.status = 200, .headers = {}, .body = {}};
    if (url.path == "/stable/index.yaml") {
      response.body = fmt::format("apiVersion: v1\nentries:\n  db:\n{}", entries);
      const std::string etag = crypto::sha256(response.body).hex();
      if (http::find_header(request.headers, "If-None-Match") == etag)
        return {.status = 304, .headers = {}, .body = {}};
      response.headers.push_back({"ETag", etag});
      return response;
    }
    const auto archive = archives.find(url.path);
    if (archive == archives.end()) return {.status = 404, .headers = {}, .body = {}};
    response.body = archive->second;
    return response;
  }

  Registries& open() {
    Registries::Dependencies dependencies = registries_on(web);
    dependencies.check_provenance = check;
    dependencies.oci.environment = [this](std::string_view name) -> std::optional<std::string> {
      if (name == "HELM_REPOSITORY_CONFIG") return (temp.path() / "repositories.yaml").string();
      return std::nullopt;
    };
    registries = std::make_unique<Registries>(std::move(dependencies));
    return *registries;
  }
  void add() {
    const Status added = open().add(registry_with_helm("shop", "https://charts.example/stable/"), Context());
    ASSERT_TRUE(added.ok()) << added.error().to_line();
  }
  std::string fetch(std::string_view reference) {
    Registries& all = open();
    const auto parsed = all.parse(reference);
    if (!parsed) return "error: " + parsed.error().to_line();
    const auto fetched = all.fetch(*parsed, Context());
    if (!fetched) return fmt::format("error: {} {}", fetched.error().to_line(), fetched.error().hint);
    const auto packed =
        unpack_chart(std::get<PackageTree>(fetched->content).files.front().bytes, "the chart");
    return fmt::format("{} {}", fetched->resolved.to_string(),
                       packed.ok() ? packed->tree.files.back().bytes : packed.error().to_line());
  }

  Path kept_index() const {
    for (const auto& each : std::filesystem::recursive_directory_iterator(temp.path() / "home"))
      if (each.path().filename() == "current") return each.path();
    ADD_FAILURE() << "no index is kept";
    return {};
  }

  mist::testing::FakeTransport web;
  std::string entries;
  std::map<std::string, std::string> archives;
  bool away = false;
  trust::CheckProvenance check;
  std::unique_ptr<Registries> registries;
};

TEST_F(HelmRegistry, AVersionOrARangeIsFetched) {
  add();
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  EXPECT_EQ(fetch("shop/db:1.x"), "shop/db:1.2.0 two");
  EXPECT_EQ(fetch("shop/db:2.0.0-rc.1"), "shop/db:2.0.0-rc.1 three");
  EXPECT_THAT(fetch("shop/db:3.x"), HasSubstr("no version 3.x of the chart db"));
  EXPECT_THAT(fetch("shop/dbs:1.x"), HasSubstr("did you mean db?"));
}

TEST_F(HelmRegistry, AKnownVersionAsksNothingAndANewOneIsFoundByAnUpdate) {
  add();
  ASSERT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  const std::size_t before = web.count();
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  EXPECT_EQ(web.count(), before);
  publish("1.3.0", "four");
  EXPECT_EQ(fetch("shop/db:1.3.0"), "shop/db:1.3.0 four");
  EXPECT_EQ(web.count(), before + 2) << "the index and the archive";
}

TEST_F(HelmRegistry, ANewVersionIsChosenAmongThoseThatThereAreNow) {
  add();
  ASSERT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  publish("1.3.0", "four");
  Registries& all = open();
  EXPECT_THAT(*all.list_versions("shop", "db", Context()), Not(Contains("1.3.0"))) << "as it was read";
  const std::size_t before = web.count();
  EXPECT_THAT(*all.newest_versions("shop", "db", Context()), Contains("1.3.0"));
  EXPECT_THAT(*all.newest_versions("shop", "db", Context()), Contains("1.3.0"));
  EXPECT_EQ(web.count(), before + 1) << "many charts of one repository: one request";
  away = true;
  EXPECT_THAT(*open().newest_versions("shop", "db", Context()), Contains("1.3.0"));
  ASSERT_FALSE(events.messages.empty());
  EXPECT_THAT(events.messages.back(), HasSubstr("as it was when it was last read"));
}

TEST_F(HelmRegistry, AnIndexThatDidNotChangeIsNotSentAgain) {
  add();
  const auto first = open().update("shop", Context());
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_EQ(first->packages, 1u);
  EXPECT_EQ(first->versions, 3u);
  const auto second = open().update("shop", Context());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->before, second->after);
  EXPECT_FALSE(http::find_header(web.requests().back().headers, "If-None-Match").empty());
  EXPECT_THAT(*open().list_versions("shop", "db", Context()), ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
}

// A machine that stopped while it was written may have left a part of it, which may even be YAML.
TEST_F(HelmRegistry, ADamagedIndexIsFetchedAgain) {
  add();
  ASSERT_TRUE(open().update("shop", Context()).ok());
  const Path kept = kept_index();
  const std::string whole = *files.read(kept);
  const std::string cut = whole.substr(0, whole.find("  - {version: 1.2.0"));
  ASSERT_LT(cut.size(), whole.size());
  for (const std::string& damaged : {cut, whole.substr(0, whole.size() - 20), std::string("{}\n")}) {
    ASSERT_TRUE(files.write(kept, damaged).ok());
    EXPECT_THAT(*open().list_versions("shop", "db", Context()), ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
    ASSERT_TRUE(files.write(kept, damaged).ok());
    const auto updated = open().update("shop", Context());
    ASSERT_TRUE(updated.ok()) << updated.error().to_line();
    EXPECT_EQ(updated->versions, 3u);
    EXPECT_EQ(*files.read(kept), whole);
  }
}

// Another version of this program took what this one doesn't.
TEST_F(HelmRegistry, AnIndexThatCannotBeReadIsAskedForAnew) {
  add();
  ASSERT_TRUE(open().update("shop", Context()).ok());
  const Path kept = kept_index();
  const std::string whole = *files.read(kept), other = "entries: [";
  std::string text = whole.substr(0, whole.find('\n') + 1) + other;
  const std::string digest = crypto::sha256(whole.substr(whole.find('\n') + 1)).hex();
  const auto at = text.find("\"sha256\":\"" + digest);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at + 10, digest.size(), crypto::sha256(other).hex());
  ASSERT_TRUE(files.write(kept, text).ok());
  const auto updated = open().update("shop", Context());
  ASSERT_TRUE(updated.ok()) << updated.error().to_line();
  EXPECT_EQ(updated->versions, 3u);
  ASSERT_TRUE(files.write(kept, text).ok());
  const auto listed = open().list_versions("shop", "db", Context());
  ASSERT_TRUE(listed.ok()) << listed.error().to_line();
  EXPECT_THAT(*listed, ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
  ASSERT_TRUE(files.write(kept, text).ok());
  away = true;
  EXPECT_THAT(fetch("shop/db:1.x"), HasSubstr("charts.example does not answer"));
}

// It wrote no digest.
TEST_F(HelmRegistry, AnIndexThatAnOlderVersionOfThisProgramKeptIsUsed) {
  add();
  ASSERT_TRUE(open().update("shop", Context()).ok());
  const Path kept = kept_index();
  const std::string whole = *files.read(kept);
  const auto digest = whole.find(",\"sha256\":"), end = whole.find("}\n");
  ASSERT_LT(digest, end) << whole;
  ASSERT_TRUE(files.write(kept, whole.substr(0, digest) + whole.substr(end)).ok());
  away = true;
  const auto listed = open().list_versions("shop", "db", Context());
  ASSERT_TRUE(listed.ok()) << listed.error().to_line();
  EXPECT_THAT(*listed, ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
  // The server can't confirm that all of it is there.
  away = false;
  ASSERT_TRUE(open().update("shop", Context()).ok());
  EXPECT_TRUE(http::find_header(web.requests().back().headers, "If-None-Match").empty());
  EXPECT_EQ(*files.read(kept), whole);
}

TEST_F(HelmRegistry, WhileItIsAwayTheIndexIsTakenAsItWas) {
  add();
  ASSERT_EQ(fetch("shop/db:1.x"), "shop/db:1.2.0 two");
  away = true;
  EXPECT_EQ(fetch("shop/db:1.x"), "shop/db:1.2.0 two");
  EXPECT_THAT(events.messages.back(), HasSubstr("is taken as it was"));
}

TEST_F(HelmRegistry, WhileItIsAwayItIsWaitedForOnce) {
  add();
  ASSERT_EQ(fetch("shop/db:1.x"), "shop/db:1.2.0 two");
  away = true;
  Registries& all = open();
  const auto asked_for = [&](const char* reference) {
    const std::size_t before = web.count();
    (void)all.fetch(*all.parse(reference), Context());
    return web.count() - before;
  };
  EXPECT_EQ(asked_for("shop/db:1.x"), 1u);
  EXPECT_EQ(asked_for("shop/db:1.2.x"), 0u);
  EXPECT_THAT(events.messages.back(), HasSubstr("is taken as it was"));
  EXPECT_EQ(asked_for("shop/db:9.0.0"), 0u) << "nor for a newer index";
  // An update asks whatever was remembered, and all that follow ask again.
  publish("1.3.0", "newer");
  away = false;
  ASSERT_TRUE(all.update("shop", Context()).ok());
  EXPECT_EQ(asked_for("shop/db:1.x"), 2u) << "the index and the archive";
  EXPECT_EQ(asked_for("shop/db:9.0.0"), 1u);
}

TEST_F(HelmRegistry, ARepositoryThatFailsLeavesOthersOfItsServerAlone) {
  add();
  ASSERT_EQ(fetch("shop/db:1.x"), "shop/db:1.2.0 two");
  web.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
    if (request.url.contains("/broken/")) return http::Response{.status = 503, .headers = {}, .body = {}};
    return answer(request);
  });
  Registries& all = open();
  ASSERT_TRUE(all.add(registry_with_helm("broken", "https://charts.example/broken/"), Context()).ok());
  EXPECT_FALSE(all.fetch(*all.parse("broken/db:1.x"), Context()).ok());
  publish("1.3.0", "newer");
  const auto newest = all.fetch(*all.parse("shop/db:1.x"), Context());
  ASSERT_TRUE(newest.ok()) << newest.error().to_line();
  EXPECT_EQ(newest->resolved.to_string(), "shop/db:1.3.0");
}

TEST_F(HelmRegistry, AVersionThatChangedIsRefused) {
  add();
  ASSERT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  entries.clear();
  publish("1.0.0", "evil");
  const auto refused = open().update("shop", Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
}

TEST_F(HelmRegistry, AVersionThatChangedIsTakenByThoseThatNameItsBytes) {
  add();
  ASSERT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  entries.clear();
  publish("1.0.0", "repaired");
  const auto refused = open().update("shop", Context());
  ASSERT_FALSE(refused.ok());
  const std::string& digests = refused.error().because;
  const std::string named = "shop/db:1.0.0@" + digests.substr(digests.rfind("sha256:"));
  EXPECT_THAT(fetch(named), HasSubstr(" repaired"));
  EXPECT_THAT(fetch(named), HasSubstr(" repaired"));
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one") << "as it is remembered, while it is here";
  ASSERT_TRUE(files.remove_all(paths.packages()).ok());
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("isn't what it was when it was first used here"));
}

TEST_F(HelmRegistry, AnArchiveThatIsNotTheOneOfTheIndexIsRefused) {
  add();
  archives["/stable/db-1.0.0.tgz"] = "evil";
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("isn't the chart db 1.0.0 of its index"));
}

TEST_F(HelmRegistry, AWrongArchiveIsNamedWhileTheIndexCannotBeAskedForAgain) {
  add();
  ASSERT_TRUE(open().update("shop", Context()).ok());
  archives["/stable/db-1.0.0.tgz"] = "evil";
  web.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
    if (request.url.ends_with("index.yaml")) return http::Response{.status = 503, .headers = {}, .body = {}};
    return answer(request);
  });
  const std::string wrong = fetch("shop/db:1.0.0");
  EXPECT_THAT(wrong, HasSubstr("isn't the chart db 1.0.0 of its index"));
  EXPECT_THAT(wrong, HasSubstr("the server answered 503"));
  // A version may have come since.
  EXPECT_THAT(fetch("shop/db:9.0.0"), Not(HasSubstr("there is no version")));
}

TEST_F(HelmRegistry, AKeptIndexDoesNotOutliveItsRepair) {
  add();
  entries.clear();
  publish("1.0.0", "evil");
  ASSERT_TRUE(open().update("shop", Context()).ok());
  entries.clear();
  publish("1.0.0", "one");
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
}

TEST_F(HelmRegistry, AChartThatIsNotWhatItsEntrySaysIsRefused) {
  add();
  archives["/stable/other-1.0.0.tgz"] = chart("other", "1.3.0", "other");
  entries += "  - {version: 1.3.0, urls: [other-1.0.0.tgz]}\n  - {version: 1.4.0, urls: [db-1.0.0.tgz]}\n";
  EXPECT_THAT(fetch("shop/db:1.3.0"), HasSubstr("its Chart.yaml says other 1.3.0"));
  EXPECT_THAT(fetch("shop/db:1.4.0"), HasSubstr("its Chart.yaml says db 1.0.0"));
  EXPECT_EQ(fetch("shop/db:1.2.0"), "shop/db:1.2.0 two");
  // As a kustomization or a chart names it, by the address of the repository.
  const auto by_address = [&](const std::string& version) {
    auto chart = fetch_chart(web, {"https://charts.example/stable", "db", version, false}, Context());
    EXPECT_TRUE(chart.ok());
    const auto archive = open().checked_archive(*std::move(chart), web, nullptr, Context());
    return archive ? "no error" : archive.error().to_line();
  };
  EXPECT_THAT(by_address("1.3.0"), HasSubstr("its Chart.yaml says other 1.3.0"));
  EXPECT_THAT(by_address("1.4.0"), HasSubstr("isn't the chart db 1.4.0 of the index of https://charts."));
  EXPECT_EQ(by_address("1.2.0"), "no error");
}

TEST_F(HelmRegistry, AChartOfAnotherBuildIsAnotherChart) {
  add();
  archives["/stable/old.tgz"] = chart("db", "1.3.0+build.1", "old");
  archives["/stable/short.tgz"] = chart("db", "v1.5", "short");
  entries +=
      "  - {version: 1.3.0+build.1, urls: [old.tgz]}\n  - {version: 1.3.0+build.2, urls: [old.tgz]}\n"
      "  - {version: 1.3.0, urls: [old.tgz]}\n  - {version: 1.5.0, urls: [short.tgz]}\n";
  EXPECT_EQ(fetch("shop/db:1.3.0+build.1"), "shop/db:1.3.0+build.1 old");
  EXPECT_THAT(fetch("shop/db:1.3.0+build.2"), HasSubstr("its Chart.yaml says db 1.3.0+build.1"));
  EXPECT_THAT(fetch("shop/db:1.3.0"), HasSubstr("its Chart.yaml says db 1.3.0+build.1"));
  EXPECT_EQ(fetch("shop/db:1.5.0"), "shop/db:1.5.0 short");
}

// As the engine would answer of a file "SIGNER NAME VERSION DIGEST" and a ring with the signer's name.
Result<trust::CheckedProvenance> told_by(const std::string& keyring, const std::string& provenance, WallTime,
                                         const Context&) {
  const std::vector<std::string_view> words = split(provenance, ' ');
  trust::CheckedProvenance checked;
  if (words.size() != 4 || keyring.find(words[0]) == std::string::npos) {
    checked.fault = "it is of no key of the keyring";
    return checked;
  }
  checked.signer = trust::ProvenanceSigner{.key_id = "1",
                                           .fingerprint = std::string(words[0]),
                                           .identities = {std::string(words[0])},
                                           .algorithm = {},
                                           .signed_at = {},
                                           .certificate = std::string(words[0])};
  checked.name = words[1];
  checked.version = words[2];
  checked.files = {{fmt::format("{}-{}.tgz", words[1], words[2]), std::string(words[3])}};
  return checked;
}

class SignedCharts : public HelmRegistry {
 protected:
  SignedCharts() {
    check = told_by;
    write_rule("keyring: team.gpg");
    write_ring("ann");
  }
  void write_rule(std::string_view rule) {
    ASSERT_TRUE(
        files
            .write(paths.trust_policy(),
                   fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec:\n  rules: "
                               "[{{match: 'shop/**', {}}}]\n",
                               rule))
            .ok());
  }
  void write_ring(const std::string& text) {
    ASSERT_TRUE(files.write(paths.trust_policy().parent_path() / "team.gpg", text).ok());
  }
  static std::shared_ptr<const trust::Keyring> ring(const std::string& keys) {
    return std::make_shared<const trust::Keyring>(
        trust::Keyring{.file = "ring", .bytes = keys, .digest = crypto::sha256(keys)});
  }
  Result<VerifiedPackage> fetch_verified(std::string_view reference, const std::string& keys) {
    Registries& all = open();
    MIST_TRY(const PackageRef parsed, all.parse(reference));
    return all.fetch_verified(parsed, ring(keys), Context());
  }
  void sign(std::string_view version, std::string_view signer, std::string_view said = {}) {
    const std::string path = fmt::format("/stable/db-{}.tgz", version);
    archives[path + ".prov"] = fmt::format("{} db {} {}", signer, said.empty() ? version : said,
                                           crypto::sha256(archives[path]).str());
  }
};

TEST_F(SignedCharts, AreWhatTheKeyringSigned) {
  add();
  const std::string unsigned_chart = fetch("shop/db:1.0.0");
  EXPECT_THAT(unsigned_chart, HasSubstr("is not signed by the keyring team.gpg"));
  EXPECT_THAT(unsigned_chart, HasSubstr("there is no https://charts.example/stable/db-1.0.0.tgz.prov"));
  sign("1.0.0", "bob");
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("it is of no key of the keyring"));
  sign("1.0.0", "ann");
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  // An old version under a new name, with what was signed for it.
  sign("1.2.0", "ann", "1.0.0");
  EXPECT_THAT(fetch("shop/db:1.2.0"), HasSubstr("it was made for the chart db 1.0.0"));
  archives["/stable/db-1.2.0.tgz.prov"] = archives["/stable/db-1.0.0.tgz.prov"];
  EXPECT_THAT(fetch("shop/db:1.2.0"), HasSubstr("it was made for the chart db 1.0.0"));
}

TEST_F(SignedCharts, NeedNoNetworkOnceTheyWereVerified) {
  add();
  sign("1.0.0", "ann");
  ASSERT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  away = true;
  const std::size_t before = web.count();
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  // Another keyring is a new question, which what was kept answers.
  write_ring("carol and ann");
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  EXPECT_EQ(web.count(), before);
  write_ring("carol");
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("it is of no key of the keyring"));
}

TEST_F(SignedCharts, AreAskedForWithoutAPolicyToo) {
  add();
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  auto verified = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(verified.ok()) << verified.error().to_line();
  EXPECT_EQ(verified->verdict.judged.error().kind, ErrorKind::Forbidden);
  sign("1.0.0", "ann");
  verified = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(verified.ok() && verified->verdict.judged);
  EXPECT_EQ(verified->verdict.proofs.front().user, "ann");
}

TEST_F(SignedCharts, NothingIsRememberedOfBytesThatTheKeyringDidNotSign) {
  add();
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  // Somebody else's, until the publisher is heard again.
  const auto publish_as = [&](const std::string& notes, std::string_view signer) {
    entries.clear();
    publish("1.0.0", notes);
    sign("1.0.0", signer);
  };
  publish_as("evil", "bob");
  const auto refused = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(refused.ok()) << refused.error().to_line();
  EXPECT_EQ(refused->verdict.judged.error().kind, ErrorKind::Forbidden);
  publish_as("evil, too", "bob");
  Registries& all = open();
  const auto shown = all.fetch_to_verify(*all.parse("shop/db:1.0.0"), ring("ann"), Context());
  ASSERT_TRUE(shown.ok()) << shown.error().to_line();
  EXPECT_FALSE(shown->verdict.judged);
  publish_as("one", "ann");
  const auto accepted = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(accepted.ok()) << accepted.error().to_line();
  EXPECT_TRUE(accepted->verdict.judged);
  // From now on the version has these bytes.
  entries.clear();
  publish("1.0.0", "another");
  const auto changed = open().update("shop", Context());
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Conflict);
}

// Else the same command would be led there after the repair, too.
TEST_F(SignedCharts, AnIndexThatLedToRefusedBytesIsAskedForAgain) {
  add();
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  archives["/stable/evil.tgz"] = chart("db", "1.0.0", "evil");
  entries = "  - {version: 1.0.0, urls: [evil.tgz]}\n";
  const auto refused = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(refused.ok()) << refused.error().to_line();
  EXPECT_FALSE(refused->verdict.judged);
  entries.clear();
  publish("1.0.0", "one");
  sign("1.0.0", "ann");
  const auto repaired = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(repaired.ok()) << repaired.error().to_line();
  EXPECT_TRUE(repaired->verdict.judged);
}

TEST_F(SignedCharts, TheIndexStaysIfTheNetworkFailsWhileTheyAreJudged) {
  add();
  ASSERT_TRUE(open().update("shop", Context()).ok());
  const std::string kept = *files.read(kept_index());
  web.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
    if (request.url.ends_with(".prov")) return error(ErrorKind::Retryable, "charts.example does not answer");
    return answer(request);
  });
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("charts.example does not answer"));
  EXPECT_EQ(*files.read(kept_index()), kept);
}

TEST_F(HelmRegistry, AnIndexThatLedToRefusedBytesWillDoWhileTheServerIsAway) {
  add();
  const std::string wrong = fmt::format("shop/db:1.0.0@{}", crypto::sha256("another").str());
  EXPECT_THAT(fetch(wrong), HasSubstr("error"));
  away = true;
  const auto listed = open().list_versions("shop", "db", Context());
  ASSERT_TRUE(listed.ok()) << listed.error().to_line();
  EXPECT_THAT(*listed, ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
  EXPECT_THAT(events.messages.back(), HasSubstr("is taken as it was"));
  // Nothing but the whole index confirms it.
  away = false;
  const std::size_t before = web.count();
  EXPECT_TRUE(open().list_versions("shop", "db", Context()).ok());
  ASSERT_EQ(web.count(), before + 1);
  EXPECT_TRUE(http::find_header(web.requests().back().headers, "If-None-Match").empty());
  EXPECT_TRUE(open().list_versions("shop", "db", Context()).ok());
  EXPECT_EQ(web.count(), before + 1);
}

TEST_F(SignedCharts, OnceVerifiedStaySignedByTheSameKey) {
  add();
  ASSERT_TRUE(files.remove(paths.trust_policy()).ok());
  sign("1.0.0", "ann");
  const auto verified = fetch_verified("shop/db:1.0.0", "ann");
  ASSERT_TRUE(verified.ok() && verified->verdict.judged);
  OciTrust trust(files, paths, clock, events);
  const Fetched& package = verified->package;
  const auto& named = std::get<RegistryRef>(package.resolved.form());
  ASSERT_TRUE(
      trust.learn_chart(chart_subject(named, package.digest), "shop/db", verified->verdict.proofs).ok());
  EXPECT_EQ(fetch("shop/db:1.0.0"), "shop/db:1.0.0 one");
  EXPECT_THAT(fetch("shop/db:1.2.0"),
              HasSubstr("is not signed, and what was used of it before is signed by key openpgp:ann"));
  sign("1.2.0", "bob");
  EXPECT_THAT(fetch("shop/db:1.2.0"), HasSubstr("--keyring FILE --accept-changed"));
  Registries& again = open();
  ASSERT_TRUE(again.fetch_to_verify(*again.parse("shop/db:1.2.0"), ring("bob"), Context()).ok());
  EXPECT_THAT(fetch("shop/db:1.2.0"), HasSubstr("is not signed")) << "it is in the cache now";
  sign("1.2.0", "ann");
  EXPECT_EQ(fetch("shop/db:1.2.0"), "shop/db:1.2.0 two");
}

TEST_F(SignedCharts, AFileThatIsTooLargeIsNotRead) {
  add();
  archives["/stable/db-1.0.0.tgz.prov"] = std::string(trust::kMaxProvenanceBytes + 1, 'x');
  std::uint64_t limit = 0;
  web.otherwise([&](const http::Request& request, const Context&) -> Result<http::Response> {
    if (request.url.ends_with(".prov")) limit = request.response_limit;
    return answer(request);
  });
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("error"));
  EXPECT_EQ(limit, trust::kMaxProvenanceBytes);
}

TEST_F(HelmRegistry, SignaturesThatThePolicyRequiresCannotBeHeld) {
  add();
  ASSERT_TRUE(files
                  .write(paths.trust_policy(),
                         "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec:\n  rules: [{match: "
                         "'shop/**', keys: [{name: a, pem: "
                         "RWTH4kYe/IV1i5OrW2EKfkKbhmVyi0bFjgw+1vNc+wM9d4+CyiS0QIyv}]}]\n")
                  .ok());
  EXPECT_THAT(fetch("shop/db:1.0.0"), HasSubstr("can't be held"));
}

TEST_F(HelmRegistry, HelmsCredentialsStayWithTheirHost) {
  add();
  ASSERT_TRUE(files
                  .write(temp.path() / "repositories.yaml",
                         "repositories: [{name: s, url: 'https://charts.example/stable', username: u, "
                         "password: geheim}]\n")
                  .ok());
  archives["/stable/db-9.0.0.tgz"] = chart("db", "9.0.0", "nine");
  entries += "  - {version: 9.0.0, urls: ['https://elsewhere.example/stable/db-9.0.0.tgz']}\n";
  ASSERT_EQ(fetch("shop/db:9.0.0"), "shop/db:9.0.0 nine");
  for (const http::Request& request : web.requests()) {
    const bool is_home = request.url.find("charts.example") != std::string::npos;
    EXPECT_EQ(request.url.find("geheim") != std::string::npos, is_home) << request.url;
  }
}

TEST_F(HelmRegistry, AddressesAreLookedAt) {
  for (const char* good : {"https://charts.example", "http://localhost:8080/x", "https://h/a/b/"})
    EXPECT_TRUE(parse_helm_url(good).ok()) << good;
  for (const char* bad :
       {"http://charts.example", "oci://charts.example/a", "https://u:p@charts.example", "x", ""})
    EXPECT_EQ(parse_helm_url(bad).error().kind, ErrorKind::Invalid) << bad;
}

TEST_F(HelmRegistry, WhatItListsIsKnownByTheCopyOfItsIndexWhereOnlyMirrorsMayBeAsked) {
  add();
  Registries::Dependencies without_mirrors = registries_on(web);
  without_mirrors.mirrors = Mirrors::Ignore;
  Registries original(std::move(without_mirrors));
  const auto copy = original.copy_of_index("shop", Context());
  ASSERT_TRUE(copy.ok() && *copy) << (copy.ok() ? "none" : copy.error().to_line());
  EXPECT_EQ((*copy)->name.original, "charts.example/stable//index.yaml");
  testing::MemoryRegistry mirror;
  mirror.publish((*copy)->tags.front(), (*copy)->artifact);
  std::size_t asked = 0;
  web.otherwise([&](const http::Request& request, const Context& context) -> Result<http::Response> {
    if (request.url.starts_with("https://mirror.example/")) return mirror.web.send(request, context);
    ++asked;
    return answer(request);
  });
  const Status edited = config::edit(files, paths, events, Context(), [](config::Config& config) -> Status {
    config.set_mirror({.prefix = "charts.example", .places = {"oci://mirror.example/copies"}, .only = true});
    return {};
  });
  ASSERT_TRUE(edited.ok()) << edited.error().to_line();
  const auto packages = open().list_packages("shop", Context());
  ASSERT_TRUE(packages.ok()) << packages.error().to_line();
  ASSERT_EQ(packages->size(), 1U);
  EXPECT_EQ(packages->front().path, "db");
  EXPECT_THAT(packages->front().versions, ElementsAre("1.0.0", "1.2.0", "2.0.0-rc.1"));
  EXPECT_EQ(open().update("shop", Context(), ChangedVersions::Refuse)->versions, 3U);
  const auto file = open().read_file("shop", "mistletoe-index.jsonl", "", Context());
  ASSERT_TRUE(file.ok()) << file.error().to_line();
  EXPECT_FALSE(file->bytes) << "a chart repository has none";
  EXPECT_TRUE(open().read_file("shop", "mistletoe-index.jsonl", file->state, Context())->is_known);
  EXPECT_EQ(asked, 0U);
}

}  // namespace
}  // namespace mist::registry
