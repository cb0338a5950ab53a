#include "registry/catalog_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/text.h"
#include "encoding/json.h"
#include "http/url.h"
#include "registry/index_shards.h"
#include "registry/oci_fixture.h"
#include "registry/package_blob.h"
#include "registry/registry.h"
#include "testing/fake_transport.h"
#include "testing/home_fixture.h"

namespace mist::registry {
namespace {

using encoding::Value;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A catalog at https://catalog.example with the package etcd, and this machine's view of it.
class CatalogRegistry : public mist::testing::HomeFixture {
 protected:
  CatalogRegistry() {
    publish("1.0.0", "one");
    publish("1.2.0", "two");
    web.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
      if (away) return error(ErrorKind::Retryable, "catalog.example does not answer");
      return answer(request);
    });
  }

  struct Version {
    std::string version, digest, state = "passed";
    std::optional<std::string> yanked = {};
  };

  void publish(const std::string& version, const std::string& content) {
    const PackageTree tree{{{"K3.yaml", "name: etcd\n"}, {"content", content}}};
    const std::string blob = *blob_of(tree);
    const std::string digest = crypto::sha256(blob).str();
    blobs[digest] = blob;
    versions.insert(versions.begin(), {version, digest});
  }
  Version& version(std::string_view number) {
    return *std::ranges::find(versions, number, &Version::version);
  }

  static Value shown(const Version& version) {
    return Value::object({{"version", Value(version.version)},
                          {"digest", Value(version.digest)},
                          {"state", Value(version.state)},
                          {"yanked", version.yanked ? Value(*version.yanked) : Value()}});
  }
  std::string index() const {
    Value all{Value::Array{}};
    for (const Version& each : versions) all.push_back(Value(each.version));
    return "{\"apiVersion\":\"mistletoe.dev/v1alpha1\",\"kind\":\"PackageIndex\"}\n" +
           encoding::to_json(Value::object({{"path", Value("etcd")},
                                            {"version", Value(versions.front().version)},
                                            {"digest", Value(versions.front().digest)},
                                            {"versions", std::move(all)}})) +
           "\n";
  }

  std::string served_index() const { return other_index.value_or(index()); }

  http::Response answer(const http::Request& request) {
    const std::string path = http::Url::parse(request.url)->path;
    http::Response response{.status = 200, .headers = {}, .body = {}};
    constexpr std::string_view kVersions = "/api/v1/packages/etcd/versions/", kBlobs = "/api/v1/blobs/";
    if (path == "/mistletoe-index.jsonl") {
      response.body = served_index();
      const std::string etag = fmt::format("\"{}\"", crypto::sha256(response.body).hex());
      if (http::find_header(request.headers, "If-None-Match") == etag)
        return {.status = 304, .headers = {}, .body = {}};
      response.headers.push_back({"ETag", etag});
      return response;
    }
    if (has_shards && path == kIndexShardsPath) {
      std::string etag = fmt::format("\"{}\"", crypto::sha256(served_index()).hex());
      if (http::find_header(request.headers, "If-None-Match") == etag)
        return {.status = 304, .headers = {}, .body = {}};
      ShardList list{.digest = crypto::sha256(served_index()).str(), .shards = {}};
      for (const std::string& each : index_shards(served_index()))
        list.shards.push_back(crypto::sha256(each).str());
      response.body = list.to_text();
      response.headers.push_back({"ETag", std::move(etag)});
      return response;
    }
    if (has_shards && path.starts_with(kIndexShardPath)) {
      for (const std::string& each : index_shards(served_index()))
        if (path.ends_with(crypto::sha256(each).str())) response.body = forged ? each + "\n" : each;
      if (response.body.empty()) response.status = 404;
      return response;
    }
    if (path == "/api/v1/packages/etcd") {
      Value items{Value::Array{}};
      for (const Version& each : versions) items.push_back(shown(each));
      response.body = encoding::to_json(Value::object({{"items", std::move(items)}, {"next", Value()}}));
      return response;
    }
    if (path.starts_with(kVersions)) {
      if (hidden == path.substr(kVersions.size()))
        return {.status = 410,
                .headers = {},
                .body = R"({"error":{"message":"etcd is hidden","because":"it mines coins"}})"};
      const auto found = std::ranges::find(versions, path.substr(kVersions.size()), &Version::version);
      if (found == versions.end()) return {.status = 404, .headers = {}, .body = {}};
      response.body = encoding::to_json(shown(*found));
      return response;
    }
    const auto blob = blobs.find(path.starts_with(kBlobs) ? path.substr(kBlobs.size()) : std::string());
    if (blob == blobs.end()) return {.status = 404, .headers = {}, .body = {}};
    response.body = blob->second;
    return response;
  }

  Registries& open() {
    registries = std::make_unique<Registries>(registries_on(web));
    return *registries;
  }
  Status add(const std::string& url = "https://catalog.example/") {
    return open().add(registry_with_catalog("community", url), Context());
  }
  std::string fetch(std::string_view reference) {
    Registries& all = open();
    const auto parsed = all.parse(reference);
    if (!parsed) return "error: " + parsed.error().to_line();
    const auto fetched = all.fetch(*parsed, Context());
    if (!fetched) return fmt::format("error: {} {}", fetched.error().to_line(), fetched.error().hint);
    return fmt::format("{} {}", fetched->resolved.to_string(),
                       std::get<PackageTree>(fetched->content).files.back().bytes);
  }
  std::vector<std::string> asked_since(std::size_t first) const {
    std::vector<std::string> asked;
    const std::vector<http::Request> all = web.requests();
    for (std::size_t i = first; i < all.size(); ++i) asked.push_back(http::Url::parse(all[i].url)->path);
    return asked;
  }

  mist::testing::FakeTransport web;
  std::vector<Version> versions;
  std::map<std::string, std::string> blobs;
  std::string hidden;
  std::optional<std::string> other_index;  // instead of its own
  bool away = false;
  bool has_shards = false, forged = false;
  std::unique_ptr<Registries> registries;
};

TEST_F(CatalogRegistry, AVersionOrARangeIsFetchedByItsDigest) {
  ASSERT_TRUE(add().ok());
  EXPECT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.2.0 two");
  EXPECT_THAT(fetch("community/etcd:^2"), AllOf(HasSubstr("no version ^2 of etcd"), HasSubstr("1.2.0")));
  EXPECT_THAT(fetch("community/etcd:9.0.0"), HasSubstr("no package etcd")) << "no index was read yet";
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  EXPECT_THAT(fetch("community/etcd:9.0.0"), HasSubstr("no version 9.0.0 of etcd"));
  EXPECT_THAT(fetch("community/etc:1.0.0"), HasSubstr("did you mean community/etcd?"));
}

TEST_F(CatalogRegistry, AKnownVersionAsksNothing) {
  ASSERT_TRUE(add().ok());
  ASSERT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
  away = true;
  EXPECT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
  EXPECT_THAT(fetch("community/etcd:1.2.0"), HasSubstr("does not answer"));
}

TEST_F(CatalogRegistry, AnIndexThatDidNotChangeIsNotSentAgain) {
  ASSERT_TRUE(add().ok());
  const auto first = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_EQ(first->packages, 1U);
  EXPECT_EQ(first->versions, 2U);
  const std::size_t before = web.count();
  const auto again = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->before, again->after);
  EXPECT_THAT(asked_since(before), ElementsAre("/mistletoe-index/v1", "/mistletoe-index.jsonl"))
      << "an older catalog has no shards";
  EXPECT_FALSE(http::find_header(web.requests().back().headers, "If-None-Match").empty());
  publish("1.3.0", "three");
  const auto newer = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_TRUE(newer.ok());
  EXPECT_NE(newer->before, newer->after);
  EXPECT_EQ(newer->versions, 3U);
}

TEST_F(CatalogRegistry, OnlyWhatChangedOfAnIndexIsFetched) {
  has_shards = true;
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  std::size_t first = web.requests().size();
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  EXPECT_THAT(asked_since(first), ElementsAre("/mistletoe-index/v1")) << "nothing has changed";
  publish("1.3.0", "three");
  first = web.requests().size();
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  EXPECT_THAT(asked_since(first),
              ElementsAre("/mistletoe-index/v1", ::testing::StartsWith("/mistletoe-index/shards/sha256:")));
  EXPECT_EQ(fetch("community/etcd:1.3.0"), "community/etcd:1.3.0 three");
  first = web.requests().size();
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  EXPECT_THAT(asked_since(first), ElementsAre("/mistletoe-index/v1")) << "its ETag was kept";
}

TEST_F(CatalogRegistry, AnIndexWhoseShardsDontFitIsFetchedAsAWhole) {
  has_shards = forged = true;
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  publish("1.3.0", "three");
  const std::size_t first = web.requests().size();
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  EXPECT_EQ(asked_since(first).back(), "/mistletoe-index.jsonl");
  EXPECT_EQ(asked_since(first).size(), 3U);
  EXPECT_EQ(fetch("community/etcd:1.3.0"), "community/etcd:1.3.0 three");
}

// Each shard is within the bound of an index, all together aren't.
TEST_F(CatalogRegistry, AnIndexIsBoundedWhenItsShardsAreFetched) {
  const std::string text(std::size_t{22} << 20, 'x');
  const auto with_large = [&](std::string_view names) {
    std::string index = R"({"apiVersion":"mistletoe.dev/v1alpha1","kind":"PackageIndex"})"
                        "\n";
    for (const char path : names) index += fmt::format("{{\"path\":\"{}\",\"text\":\"{}\"}}\n", path, text);
    return index;
  };
  has_shards = true;
  other_index = with_large("ab");
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  other_index = with_large("abc");
  const std::size_t first = web.requests().size();
  const auto update = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_FALSE(update.ok());
  EXPECT_EQ(update.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(asked_since(first).back(), "/mistletoe-index.jsonl") << "it is the index that has too many bytes";
  EXPECT_EQ(open().read_file("community", "mistletoe-index.jsonl", "", Context())->bytes, with_large("ab"));
}

TEST_F(CatalogRegistry, ADamagedIndexIsFetchedAgain) {
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  Path kept;
  for (const auto& each : std::filesystem::recursive_directory_iterator(temp.path() / "home"))
    if (each.path().filename() == "current") kept = each.path();
  const std::string text = *files.read(kept);
  ASSERT_TRUE(files.write(kept, text.substr(0, text.size() - 20)).ok());
  const auto file = open().read_file("community", "mistletoe-index.jsonl", "", Context());
  ASSERT_TRUE(file.ok()) << file.error().to_line();
  EXPECT_EQ(file->bytes, index());
}

TEST_F(CatalogRegistry, SomethingElseThanAnIndexIsRefusedAndTheLastOneKept) {
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  struct Case {
    std::string text, says;
  };
  for (const Case& each : {Case{"", "it is empty"}, Case{"{}", "its first line doesn't say so"},
                           Case{"not JSON", "its first line doesn't say so"},
                           Case{R"({"apiVersion":"mistletoe.dev/v9","kind":"PackageIndex"})",
                                "index of version mistletoe.dev/v9"}}) {
    other_index = each.text;
    const auto update = open().update("community", Context(), ChangedVersions::Refuse);
    ASSERT_FALSE(update.ok()) << each.text;
    EXPECT_EQ(update.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(update.error().to_line(),
                AllOf(HasSubstr("https://catalog.example/mistletoe-index.jsonl"), HasSubstr(each.says)));
  }
  EXPECT_EQ(open().read_file("community", "mistletoe-index.jsonl", "", Context())->bytes, index());
  EXPECT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
}

TEST_F(CatalogRegistry, ANewVersionIsChosenAmongThoseThatThereAreNow) {
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  publish("1.3.0", "three");
  EXPECT_THAT(*open().list_versions("community", "etcd", Context()), ElementsAre("1.0.0", "1.2.0"));
  EXPECT_THAT(*open().newest_versions("community", "etcd", Context()),
              ElementsAre("1.0.0", "1.2.0", "1.3.0"));
  away = true;
  EXPECT_THAT(*open().newest_versions("community", "etcd", Context()), ElementsAre("1.0.0", "1.2.0"));
  EXPECT_THAT(events.messages, Contains(HasSubstr("as they were when they were last read")));
}

TEST_F(CatalogRegistry, OnlyWhatPassedIsFetched) {
  ASSERT_TRUE(add().ok());
  version("1.2.0").state = "testing";
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.0.0 one");
  EXPECT_THAT(fetch("community/etcd:1.2.0"),
              AllOf(HasSubstr("community/etcd:1.2.0 isn't published yet"), HasSubstr("is testing")));
}

TEST_F(CatalogRegistry, AYankedVersionIsForThoseWhoNameIt) {
  ASSERT_TRUE(add().ok());
  version("1.2.0").yanked = "it loses keys";
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.0.0 one");
  EXPECT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two");
  EXPECT_THAT(events.messages, Contains(HasSubstr("community/etcd:1.2.0 was yanked: it loses keys")));
}

TEST_F(CatalogRegistry, AHiddenVersionIsRefusedWithTheReason) {
  ASSERT_TRUE(add().ok());
  hidden = "1.2.0";
  EXPECT_THAT(fetch("community/etcd:1.2.0"),
              AllOf(HasSubstr("doesn't deliver community/etcd:1.2.0"), HasSubstr("it mines coins")));
}

TEST_F(CatalogRegistry, OtherBytesThanTheDigestAreRefused) {
  ASSERT_TRUE(add().ok());
  blobs[version("1.0.0").digest] = *blob_of(PackageTree{{{"K3.yaml", "name: evil\n"}}});
  EXPECT_THAT(fetch("community/etcd:1.0.0"), HasSubstr("sent other bytes for community/etcd:1.0.0"));
}

TEST_F(CatalogRegistry, AVersionThatChangedIsRefused) {
  ASSERT_TRUE(add().ok());
  ASSERT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two");
  versions.erase(versions.begin());
  publish("1.2.0", "evil");
  const auto updated = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_FALSE(updated.ok());
  EXPECT_EQ(updated.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two") << "as it was first used";
}

TEST_F(CatalogRegistry, WhileItIsAwayARangeIsTakenOfTheLastIndex) {
  ASSERT_TRUE(add().ok());
  ASSERT_TRUE(open().update("community", Context(), ChangedVersions::Refuse).ok());
  ASSERT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two");
  away = true;
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.2.0 two");
  EXPECT_THAT(events.messages, Contains(HasSubstr("are taken as they were when they were last read")));
}

TEST_F(CatalogRegistry, TakesTheAddressesOfCatalogsAlone) {
  for (const char* url : {"http://catalog.example", "https://ann:secret@catalog.example",
                          "https://catalog.example?q=1", "catalog", "ftp://catalog.example"}) {
    const Status added = add(url);
    ASSERT_FALSE(added.ok()) << url;
    EXPECT_EQ(added.error().kind, ErrorKind::Invalid) << url;
    EXPECT_THAT(added.error().to_line(), ::testing::Not(HasSubstr("secret")));
  }
  EXPECT_EQ(*parse_catalog_url("http://127.0.0.1:8080/"), "http://127.0.0.1:8080");
  ASSERT_TRUE(add("https://catalog.example/").ok());
  web.otherwise([](const http::Request&, const Context&) -> Result<http::Response> {
    return http::Response{.status = 404, .headers = {}, .body = {}};
  });
  const auto updated = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_FALSE(updated.ok());
  EXPECT_THAT(updated.error().to_line(), HasSubstr("https://catalog.example has no mistletoe-index.jsonl"));
}

// The same catalog on another machine, with copies of it at mirror.example.
class MirroredCatalog : public CatalogRegistry {
 protected:
  MirroredCatalog() {
    web.otherwise([this](const http::Request& request, const Context& context) -> Result<http::Response> {
      if (request.url.starts_with("https://mirror.example/")) return mirror.web.send(request, context);
      asked.push_back(http::Url::parse(request.url)->path);
      return answer(request);
    });
    configure("");
    Registries::Dependencies without_mirrors = registries_on(web);
    without_mirrors.mirrors = Mirrors::Ignore;
    Registries original(std::move(without_mirrors));
    const auto package = original.copy_of(*original.parse("community/etcd:1.0.0"), Context());
    EXPECT_TRUE(package.ok() && *package) << (package.ok() ? "none" : package.error().to_line());
    name = (*package)->name.repository.str();
    mirror.publish((*package)->tags.front(), (*package)->artifact);
    const auto index = original.copy_of_index("community", Context());
    EXPECT_TRUE(index.ok() && *index) << (index.ok() ? "none" : index.error().to_line());
    index_name = fmt::format("{}:{}", (*index)->name.repository.str(), (*index)->tags.front());
    index_copy = (*index)->artifact;
    EXPECT_TRUE(files.remove_all(paths.home).ok());
    asked.clear();
  }

  void configure(std::string_view mirrors) {
    EXPECT_TRUE(files.make_directories(paths.config_file.parent_path(), 0700).ok());
    EXPECT_TRUE(
        files
            .write(paths.config_file,
                   fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n"
                               "  registries:\n  - name: community\n    remotes:\n    - name: default\n"
                               "      catalog: {{url: 'https://catalog.example'}}\n{}",
                               mirrors))
            .ok());
  }
  void read_from_mirror(bool only) {
    configure(
        fmt::format("  mirrors:\n  - {{prefix: catalog.example, places: ['oci://mirror.example/copies'], "
                    "only: {}}}\n",
                    only));
  }

  testing::MemoryRegistry mirror;
  std::string name, index_name;
  oci::Artifact index_copy{{}, {}, crypto::sha256("")};
  std::vector<std::string> asked;  // of the catalog
};

TEST_F(MirroredCatalog, AVersionComesFromTheMirrorFirst) {
  EXPECT_EQ(name, "oci://catalog.example/etcd");
  EXPECT_EQ(index_name, "oci://catalog.example/mistletoe-index.jsonl:index");
  read_from_mirror(false);
  EXPECT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.0.0 one");
  EXPECT_THAT(asked, ::testing::IsEmpty());
  EXPECT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two") << "the mirror lacks it";
  EXPECT_THAT(asked, Contains("/api/v1/packages/etcd/versions/1.2.0"));
}

TEST_F(MirroredCatalog, OnlyTheMirrorIsAskedWhereTheConfigurationSaysSo) {
  read_from_mirror(true);
  EXPECT_EQ(fetch("community/etcd:1.0.0"), "community/etcd:1.0.0 one");
  EXPECT_EQ(fetch("community/etcd:^1"), "community/etcd:1.0.0 one");
  EXPECT_THAT(fetch("community/etcd:1.2.0"),
              AllOf(HasSubstr("there is no community/etcd:1.2.0 in the mirrors of catalog.example"),
                    HasSubstr("mistctl mirror copies it there")));
  EXPECT_THAT(fetch("community/etcd:^2"), HasSubstr("the newest there: 1.0.0"));
  EXPECT_THAT(*open().list_versions("community", "etcd", Context()), ElementsAre("1.0.0"));
  EXPECT_THAT(*open().newest_versions("community", "etcd", Context()), ElementsAre("1.0.0"));
  const auto updated = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_FALSE(updated.ok());
  EXPECT_NE(updated.error().detail<NotInMirrors>(), nullptr);
  EXPECT_THAT(updated.error().to_line(), HasSubstr("no copy of its mistletoe-index.jsonl"));
  EXPECT_THAT(asked, ::testing::IsEmpty());
}

TEST_F(MirroredCatalog, WhatItListsIsKnownByTheCopyOfItsIndex) {
  read_from_mirror(true);
  mirror.publish("index", index_copy);
  const auto updated = open().update("community", Context(), ChangedVersions::Refuse);
  ASSERT_TRUE(updated.ok()) << updated.error().to_line();
  EXPECT_EQ(updated->packages, 1U);
  EXPECT_EQ(updated->versions, 2U) << "the mirror lacks one of them";
  const auto file = open().read_file("community", "mistletoe-index.jsonl", "", Context());
  ASSERT_TRUE(file.ok()) << file.error().to_line();
  EXPECT_EQ(file->bytes, index());
  EXPECT_TRUE(open().read_file("community", "mistletoe-index.jsonl", file->state, Context())->is_known);
  EXPECT_FALSE(open().read_file("community", "README.md", "", Context())->bytes);
  EXPECT_THAT(asked, ::testing::IsEmpty());
}

TEST_F(MirroredCatalog, AVersionKeepsItsBytesWhereverItIsRead) {
  configure("");
  ASSERT_EQ(fetch("community/etcd:1.2.0"), "community/etcd:1.2.0 two");
  const auto other = copy_of_package(*AddressName::of("https://catalog.example", "etcd"), {"1.2.0"},
                                     PackageTree{{{"K3.yaml", "name: etcd\n"}, {"content", "evil"}}}, {});
  ASSERT_TRUE(other.ok());
  mirror.publish("1.2.0", other->artifact);
  ASSERT_TRUE(files.remove_all(paths.cache).ok());
  read_from_mirror(true);
  EXPECT_THAT(fetch("community/etcd:1.2.0"), AllOf(HasSubstr("error"), HasSubstr("1.2.0")));
}

}  // namespace
}  // namespace mist::registry
