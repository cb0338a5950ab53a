// The owners of fields that were written in versions which are gone. tests/e2e/test_api_versions.py shows
// that the server answers as the fake does.

#include "kube/lost_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "encoding/json.h"
#include "kube/rest_client.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kPath = "https://h/apis/l.io/v1/namespaces/n/lvs/o";

class LostVersionTest : public ::testing::Test {
 protected:
  LostVersionTest() {
    web->otherwise([this](const http::Request& request, const Context&) { return answer(request); });
  }

  static http::Response reply(int status, const Value& body) {
    return {.status = status, .headers = {}, .body = encoding::to_json(body)};
  }

  // The first entry of a version that isn't there.
  std::string lost(const Value& entries) const {
    for (const Value& entry : entries.as_array())
      if (!versions.contains(std::string(entry.string_at("apiVersion"))))
        return std::string(entry.string_at("apiVersion"));
    return {};
  }

  Result<http::Response> answer(const http::Request& request) {
    if (request.url.find("/customresourcedefinitions/lvs.l.io") != std::string::npos) {
      if (!may_read_crds) return reply(403, Value::object({{"kind", "Status"}, {"message", "forbidden"}}));
      Value list = Value::array();
      for (const std::string& version : versions)
        list.push_back(Value::object({{"name", version.substr(version.find('/') + 1)}}));
      return reply(200,
                   Value::object(
                       {{"kind", "CustomResourceDefinition"},
                        {"spec", Value::object({{"versions", std::move(list)},
                                                {"conversion", Value::object({{"strategy", strategy}})}})}}));
    }
    if (request.url.ends_with("/api") || request.url.ends_with("/apis")) return discovery(request);
    EXPECT_TRUE(request.url.starts_with(kPath)) << request.url;
    Value live = object();
    live["metadata"].set("managedFields", owners);
    if (request.method == "GET") return reply(200, live);
    const Value body = *encoding::parse_json(request.body);
    if (http::find_header(request.headers, "Content-Type") == "application/merge-patch+json") {
      Value wanted = *body.at_path({"metadata", "managedFields"});
      if (!lost(wanted).empty()) wanted = Value::array();  // as the server does
      if (request.url.find("dryRun") == std::string::npos) owners = wanted, ++writes;
      live["metadata"].set("managedFields", wanted);
      return reply(200, live);
    }
    if (const std::string gone = lost(owners); !gone.empty())
      return reply(
          422, Value::object({{"kind", "Status"},
                              {"reason", "Invalid"},
                              {"message", "request to convert CR to an invalid group/version: " + gone}}));
    const bool meets_narrow = std::ranges::any_of(
        owners.as_array(), [this](const Value& entry) { return entry.string_at("apiVersion") == narrow; });
    if (meets_narrow)
      return reply(
          422, Value::object({{"kind", "Status"},
                              {"reason", "Invalid"},
                              {"message",
                               "failed to prune fields: failed add back owned items: failed to convert "
                               "merged object at version l.io/v2: .spec.b: field not declared in schema"}}));
    return reply(200, live);
  }

  http::Response discovery(const http::Request& request) const {
    Value items = Value::array();
    if (request.url.ends_with("/apis")) {
      Value served = Value::array();
      for (const std::string& version : versions) {
        const Value resource = Value::object({{"resource", "lvs"},
                                              {"scope", "Namespaced"},
                                              {"responseKind", Value::object({{"kind", "Lv"}})}});
        served.push_back(Value::object(
            {{"version", version.substr(version.find('/') + 1)}, {"resources", Value::array({resource})}}));
      }
      items.push_back(
          Value::object({{"metadata", Value::object({{"name", "l.io"}})}, {"versions", std::move(served)}}));
    }
    return reply(200, Value::object({{"kind", "APIGroupDiscoveryList"}, {"items", std::move(items)}}));
  }

  static Value object() {
    return *encoding::parse_json(
        R"({"apiVersion":"l.io/v1","kind":"Lv","metadata":{"name":"o","uid":"u","resourceVersion":"7"}})");
  }

  Result<Value> apply() {
    return apply_over_lost_version(client, ref,
                                   *encoding::parse_json(R"({"metadata":{"name":"o","uid":"u"}})"), {}, {});
  }

  // "ed Update l.io/v1 {...}"
  std::vector<std::string> owned() const {
    std::vector<std::string> lines;
    for (const Value& entry : owners.as_array())
      lines.push_back(fmt::format("{} {} {} {}", entry.string_at("manager"), entry.string_at("operation"),
                                  entry.string_at("apiVersion"), encoding::to_json(*entry.find("fieldsV1"))));
    return lines;
  }

  std::shared_ptr<mist::testing::FakeTransport> web = std::make_shared<mist::testing::FakeTransport>();
  HostFileSystem fs;
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  NullEventSink events;
  RestClient client{
      web, {.server = "https://h"}, {.fs = fs, .clock = clock, .random = random, .events = events}};
  const ObjectRef ref{{{"l.io", "v1", "Lv"}, "lvs", true, {}}, "n", "o"};

  std::set<std::string> versions{"l.io/v1", "l.io/v2"};
  std::string narrow;  // a version without a field that the object has
  std::string strategy = "None";
  bool may_read_crds = true;
  int writes = 0;
  Value owners = *encoding::parse_json(R"([
    {"manager":"mistctl","operation":"Apply","apiVersion":"l.io/v1","fieldsV1":{"f:spec":{"f:a":{}}}},
    {"manager":"ed","operation":"Update","apiVersion":"l.io/v1alpha1","time":"2026-01-02T00:00:00Z",
     "fieldsV1":{"f:spec":{"f:x":{},"f:m":{}}}},
    {"manager":"al","operation":"Update","apiVersion":"l.io/v1beta1","fieldsV1":{"f:spec":{"f:y":{}}}},
    {"manager":"al","operation":"Update","apiVersion":"l.io/v2","fieldsV1":{"f:spec":{"f:w":{}}}},
    {"manager":"ed","operation":"Update","apiVersion":"l.io/v1","time":"2026-01-01T00:00:00Z",
     "fieldsV1":{"f:spec":{"f:z":{},"f:m":{"f:b":{}}}}}])");
};

TEST_F(LostVersionTest, AllLostVersionsAreRenewedAtOnceAndNoOwnerIsForgotten) {
  for (const bool readable : {true, false}) {
    may_read_crds = readable;
    writes = 0;
    const auto before = owners;
    const auto applied = apply();
    ASSERT_TRUE(applied.ok()) << applied.error().to_line();
    EXPECT_EQ(writes, 1);
    EXPECT_THAT(owned(),
                ElementsAre(R"(mistctl Apply l.io/v1 {"f:spec":{"f:a":{}}})",
                            R"(ed Update l.io/v1 {"f:spec":{"f:x":{},"f:m":{"f:b":{},".":{}},"f:z":{}}})",
                            R"(al Update l.io/v1 {"f:spec":{"f:y":{}}})",
                            R"(al Update l.io/v2 {"f:spec":{"f:w":{}}})"));
    EXPECT_EQ(owners.as_array()[1].string_at("time"), "2026-01-02T00:00:00Z");
    owners = before;
  }
}

TEST_F(LostVersionTest, AVersionThatIsKeptButNotServedIsNoLostOne) {
  versions = {"l.io/v1", "l.io/v1alpha1", "l.io/v1beta1", "l.io/v2"};
  ASSERT_TRUE(apply().ok());
  EXPECT_EQ(writes, 0);
  Value live = object();
  live["metadata"].set("managedFields", owners);
  EXPECT_EQ(with_present_owners(client, ref.resource, live, {}), live);
  versions = {"l.io/v1", "l.io/v1beta1", "l.io/v2"};
  EXPECT_NE(with_present_owners(client, ref.resource, live, {}), live);
}

TEST_F(LostVersionTest, VersionsWithFewerFieldsAreRenewedAndNoOwnerIsForgotten) {
  versions = {"l.io/v1", "l.io/v1alpha1", "l.io/v1beta1", "l.io/v2"};
  narrow = "l.io/v2";
  const auto applied = apply();
  ASSERT_TRUE(applied.ok()) << applied.error().to_line();
  EXPECT_EQ(writes, 1);
  EXPECT_THAT(owned(),
              ElementsAre(R"(mistctl Apply l.io/v1 {"f:spec":{"f:a":{}}})",
                          R"(ed Update l.io/v1 {"f:spec":{"f:x":{},"f:m":{"f:b":{},".":{}},"f:z":{}}})",
                          R"(al Update l.io/v1 {"f:spec":{"f:y":{},"f:w":{}}})"));
}

TEST_F(LostVersionTest, FieldsThatAWebhookConvertsKeepTheirVersion) {
  versions = {"l.io/v1", "l.io/v1alpha1", "l.io/v1beta1", "l.io/v2"};
  narrow = "l.io/v2";
  strategy = "Webhook";
  const auto applied = apply();
  ASSERT_FALSE(applied.ok());
  EXPECT_THAT(applied.error().hint, ::testing::HasSubstr("conversion webhook"));
  EXPECT_EQ(writes, 0);
}

TEST_F(LostVersionTest, NothingIsWrittenThatWouldMakeTheServerForgetAllOwners) {
  owners.push_back(*encoding::parse_json(
      R"({"manager":"odd","operation":"Update","apiVersion":"other.io/v1","fieldsV1":{"f:spec":{"f:o":{}}}})"));
  EXPECT_FALSE(apply().ok());
  EXPECT_EQ(writes, 0);
}

}  // namespace
}  // namespace mist::kube
