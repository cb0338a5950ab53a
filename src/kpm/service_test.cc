#include "kpm/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "crypto/digest.h"
#include "encoding/json.h"
#include "kpm/home.h"
#include "testing/temp_dir.h"

namespace mist::kpm {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

// A service that answers what its members say.
class FakeService final : public http::Transport {
 public:
  Result<http::Response> send(const http::Request& request, const Context&) override {
    requests.push_back(request);
    if (request.url.ends_with("/api/v1/index")) {
      if (http::find_header(request.headers, "If-None-Match") == etag) return http::Response{.status = 304};
      return http::Response{.status = status, .headers = {{"ETag", etag}}, .body = index};
    }
    if (!gone.empty()) return http::Response{.status = 410, .headers = {}, .body = gone};
    return http::Response{.status = blob.empty() ? 404 : 200, .headers = {}, .body = blob};
  }
  Result<http::Response> stream(const http::Request&, const http::BodyPiece&, const Context&) override {
    return error(ErrorKind::Internal, "nobody streams");
  }

  int status = 200;
  std::string etag = "\"one\"", index, blob, gone;
  std::vector<http::Request> requests;
};

std::string entry(const std::string& name, const std::string& digest, const std::string& k3) {
  return encoding::to_json(Value::object({{"name", Value(name)},
                                          {"version", Value("1.0.0")},
                                          {"digest", Value(digest)},
                                          {"yanked", Value(false)},
                                          {"k3", Value(k3)}}));
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    tree_.files = {{"K3.yaml", "name: etcd\nversion: 1.0.0\n"}, {"manifests/a.yaml", "a: 1\n"}};
    fake_.blob = tree_.encode();
    digest_ = crypto::sha256(fake_.blob).str();
    fake_.index = "{\"kubes\": [" + entry("etcd", digest_, "name: etcd\nversion: 1.0.0\n") + "]}";
  }

  mist::testing::TempDir dir_;
  HostFileSystem files_;
  FakeService fake_;
  registry::PackageTree tree_;
  std::string digest_;
  Service service_{files_, dir_.path(), "https://catalog.example.com/x"};
};

TEST_F(ServiceTest, UpdatesWithOneConditionalRequest) {
  EXPECT_EQ(service_.index("c").error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  EXPECT_EQ(fake_.requests.at(0).url, "https://catalog.example.com/x/api/v1/index");
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  EXPECT_EQ(fake_.requests.size(), 2U);
  EXPECT_EQ(http::find_header(fake_.requests.at(1).headers, "If-None-Match"), "\"one\"");
  const auto index = service_.index("c");
  ASSERT_TRUE(index.ok() && index->kubes.size() == 1);
  EXPECT_EQ(index->kubes[0].k3.name, "etcd");
}

TEST_F(ServiceTest, KeepsTheLastIndexWhenTheServiceFails) {
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  fake_.etag = "\"two\"";
  fake_.status = 503;
  EXPECT_EQ(service_.update(fake_, Context()).error().kind, ErrorKind::Retryable);
  fake_.status = 200;
  fake_.index = "<html>";
  EXPECT_EQ(service_.update(fake_, Context()).error().kind, ErrorKind::Invalid);
  fake_.index = "{}";
  EXPECT_EQ(service_.update(fake_, Context()).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(service_.index("c")->kubes.size(), 1U);
}

TEST_F(ServiceTest, FetchesAPackageOnceAndChecksItsBytes) {
  const auto first = service_.package(digest_, fake_, Context());
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_EQ(*first, registry::PackageContent(tree_));
  const std::string bytes = std::exchange(fake_.blob, "");
  EXPECT_EQ(*service_.package(digest_, fake_, Context()), registry::PackageContent(tree_))
      << "from this machine";
  // A copy that was damaged here is fetched again; one that arrives damaged is refused.
  ASSERT_TRUE(files_.write(dir_.path() / "blobs" / crypto::Digest::parse(digest_)->hex(), "damaged").ok());
  EXPECT_EQ(service_.package(digest_, fake_, Context()).error().kind, ErrorKind::NotFound);
  fake_.blob = bytes + " ";
  EXPECT_EQ(service_.package(digest_, fake_, Context()).error().kind, ErrorKind::Invalid);
  fake_.blob = bytes;
  EXPECT_TRUE(service_.package(digest_, fake_, Context()).ok());
}

TEST_F(ServiceTest, APackageMayBeAModule) {
  fake_.blob = std::string("\0asm\1\0\0\0", 8);
  const std::string digest = crypto::sha256(fake_.blob).str();
  for (const char* from : {"the service", "this machine"}) {
    const auto content = service_.package(digest, fake_, Context());
    ASSERT_TRUE(content.ok()) << content.error().to_line();
    const auto* const module = std::get_if<registry::PackageModule>(&*content);
    ASSERT_NE(module, nullptr) << from;
    EXPECT_EQ(module->digest().str(), digest);
    fake_.blob.clear();
  }
}

TEST_F(ServiceTest, SaysWhyAPackageIsNotDeliveredAnyMore) {
  fake_.gone =
      R"({"error": {"kind": "gone", "message": "the moderators hid etcd 1.0.0", "because": "it steals\u001b[1m keys"}})";
  const auto refused = service_.package(digest_, fake_, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(refused.error().because, "the moderators hid etcd 1.0.0: it steals\\x1b[1m keys");
  fake_.gone = "<html>";
  EXPECT_EQ(service_.package(digest_, fake_, Context()).error().because, "");
}

TEST_F(ServiceTest, SaysWhyAVersionWasYanked) {
  fake_.index =
      R"({"kubes": [{"name": "etcd", "version": "1.0.0", "digest": ")" + digest_ +
      R"(", "yanked": true, "yankReason": "it loses keys", "k3": "name: etcd\nversion: 1.0.0\n"}]})";
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  const auto index = service_.index("c");
  ASSERT_TRUE(index.ok() && index->kubes.size() == 1);
  EXPECT_TRUE(index->kubes[0].yanked);
  EXPECT_EQ(index->kubes[0].yank_reason, "it loses keys");
}

TEST_F(ServiceTest, EntriesThatLieAreLeftOutAndSaid) {
  fake_.index = "{\"kubes\": [" + entry("etcd", digest_, "name: other\nversion: 1.0.0\n") + "," +
                entry("etcd", "md5:1", "name: etcd\nversion: 1.0.0\n") + "," +
                entry("../../x", digest_, "name: ../../x\nversion: 1.0.0\n") + "," +
                entry("good", digest_, "name: good\nversion: 1.0.0\n") + ", 7]}";
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  const auto index = service_.index("c");
  ASSERT_TRUE(index.ok());
  ASSERT_EQ(index->kubes.size(), 1U);
  EXPECT_EQ(index->kubes[0].k3.name, "good");
  EXPECT_EQ(index->problems.size(), 4U);
}

TEST_F(ServiceTest, OfManyBadEntriesSomeAreSaidAndAllAreCounted) {
  std::string index = "{\"kubes\": [7";
  for (int i = 0; i < 99; ++i) index += ", 7";
  fake_.index = index + "]}";
  ASSERT_TRUE(service_.update(fake_, Context()).ok());
  const auto read = service_.index("c");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->problems.size(), 20U);
  EXPECT_EQ(read->unread, 100U);
}

TEST_F(ServiceTest, NothingIsUnpackedOfAKubeWhoseFilesAreAnother) {
  fake_.index = "{\"kubes\": [" + entry("nginx", digest_, "name: nginx\nversion: 1.0.0\n") + "]}";
  const auto connect = [&] {
    auto service = std::make_unique<FakeService>();
    service->index = fake_.index;
    service->blob = fake_.blob;
    return std::unique_ptr<http::Transport>(std::move(service));
  };
  HostProcessRunner processes;
  Home home(files_, processes, connect, dir_.path() / "home");
  const Archive central{.name = "central", .url = "https://catalog.example.com", .is_service = true};
  ASSERT_TRUE(home.add_archive(central, Context()).ok());
  ASSERT_TRUE(home.update(central, Context()).ok());
  const auto catalog = home.catalog(Context());
  ASSERT_TRUE(catalog.ok()) << catalog.error().to_line();
  const auto refused = home.unpack(*Home::choose(*catalog, "nginx"), Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(refused.error().because, "K3.yaml is of etcd-1.0.0, not of nginx-1.0.0");
  EXPECT_FALSE(files_.exists(home.root() / "nginx-1.0.0"));
}

TEST(ServiceUrl, IsHttpsOrOfThisMachine) {
  EXPECT_EQ(*service_url("https://catalog.example.com/"), "https://catalog.example.com");
  EXPECT_EQ(*service_url("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
  for (const char* url : {"http://catalog.example.com", "https://u:p@example.com", "https://example.com/?a=1",
                          "file:///etc", "/etc", ""})
    EXPECT_EQ(service_url(url).error().kind, ErrorKind::Invalid) << url;
}

}  // namespace
}  // namespace mist::kpm
