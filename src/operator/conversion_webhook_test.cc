// The part that needs no engine for functions; tests/e2e/test_blueprint_conversion.py has the rest.

#include "operator/conversion_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"
#include "encoding/json.h"
#include "testing/certificates.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

using ::testing::HasSubstr;
using testing::yaml;

const Conversion kConversion{"app", {"example.com", "v2", "App"}, {"v1", "v2"}, {{"blueprint.ncl", "{}"}}};

class ConversionWebhookTest : public ::testing::Test {
 protected:
  std::unique_ptr<ConversionWebhook> webhook_at(std::string url) {
    return std::make_unique<ConversionWebhook>(
        ConversionWebhook::Dependencies{cluster_, renderer_, files_, clock_, random_, events_},
        ConversionWebhook::Options{.listen = "127.0.0.1:0", .service = "ours", .url = std::move(url)},
        "default");
  }
  http::WebAnswer ask(ConversionWebhook& webhook, std::string_view request,
                      std::string path = "/convert/app") {
    return webhook.answer(
        {.method = "POST",
         .path = std::move(path),
         .body = encoding::to_json(yaml(fmt::format(
             "{{apiVersion: apiextensions.k8s.io/v1, kind: ConversionReview, request: {}}}", request)))});
  }
  // "Failed: Invalid: …"
  std::string said(const http::WebAnswer& answer) {
    const auto review = encoding::parse_json(answer.body);
    if (answer.status != 200 || !review.ok()) return fmt::format("HTTP {} {}", answer.status, answer.body);
    const auto at = [&](std::string_view field) {
      return std::string(review->string_at({"response", "result", field}));
    };
    return fmt::format("{}: {}: {}", at("status"), at("reason"), at("message"));
  }

  testing::FakeCluster cluster_;
  SystemClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  testing::RecordedEvents events_;
  package::Renderer renderer_{{}, events_};
};

TEST_F(ConversionWebhookTest, RefusesWhatIsNotAboutItsKind) {
  const auto webhook = webhook_at("https://127.0.0.1:1");
  ASSERT_TRUE(webhook->start(Context()).ok());
  const std::string empty = "{uid: u, desiredAPIVersion: example.com/v1, objects: []}";
  EXPECT_THAT(said(ask(*webhook, empty)),
              HasSubstr("Failed: NotFound: mistletoe-operator has no conversions"));
  ASSERT_TRUE(webhook->publish(kConversion, nullptr, Context()).ok());
  EXPECT_EQ(said(ask(*webhook, empty)), "Success: : ");
  EXPECT_THAT(said(ask(*webhook, empty, "/convert/other")), HasSubstr("Failed: NotFound"));
  for (const auto& [desired, object] :
       {std::pair("example.com/v3", "{apiVersion: example.com/v1, kind: App"),
        std::pair("other.com/v2", "{apiVersion: example.com/v1, kind: App"),
        std::pair("example.com/v2", "{apiVersion: example.com/v1, kind: Other"),
        std::pair("example.com/v2", "{apiVersion: other.com/v1, kind: App"),
        std::pair("example.com/v2", "{apiVersion: example.com/v9, kind: App")})
    EXPECT_THAT(
        said(ask(*webhook,
                 fmt::format("{{uid: u, desiredAPIVersion: {}, objects: [{}, metadata: {{name: x}}}}]}}",
                             desired, object))),
        HasSubstr("Failed: Invalid"))
        << desired << object;
  EXPECT_EQ(ask(*webhook, empty, "/").status, 404);
  EXPECT_EQ(webhook->answer({.method = "GET", .path = "/convert/app"}).status, 405);
  EXPECT_EQ(webhook->answer({.method = "POST", .path = "/convert/app", .body = "{"}).status, 400);
}

TEST_F(ConversionWebhookTest, ObjectsThatAreInThatVersionAlreadyComeBackInOrder) {
  const auto webhook = webhook_at("https://127.0.0.1:1");
  ASSERT_TRUE(webhook->start(Context()).ok());
  ASSERT_TRUE(webhook->publish(kConversion, nullptr, Context()).ok());
  const auto answer =
      ask(*webhook,
          "{uid: u-3, desiredAPIVersion: example.com/v2, objects: [{apiVersion: example.com/v2, kind: "
          "App, metadata: {name: b}}, {apiVersion: example.com/v2, kind: App, metadata: {name: a}}]}");
  const auto review = encoding::parse_json(answer.body);
  ASSERT_TRUE(review.ok());
  EXPECT_EQ(review->string_at({"response", "uid"}), "u-3");
  const Value::Array& objects = review->at_path({"response", "convertedObjects"})->as_array();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].string_at({"metadata", "name"}), "b");
  EXPECT_EQ(objects[1].string_at({"metadata", "name"}), "a");
}

// Time passes only where the test says so; sleeping takes as long as it does.
class StandingClock final : public Clock {
 public:
  WallTime now() const override { return system_.now(); }
  SteadyTime steady_now() const override { return begin_ + std::chrono::seconds(passed_); }
  BootTime boot_now() const override { return system_.boot_now(); }
  bool sleep(Duration duration, std::stop_token stop) override { return system_.sleep(duration, stop); }
  void advance(int seconds) { passed_ += seconds; }

 private:
  SystemClock system_;
  const SteadyTime begin_ = system_.steady_now();
  std::atomic<int> passed_{0};
};

TEST_F(ConversionWebhookTest, FailuresAreCountedAndLoggedNowAndThen) {
  StandingClock clock;
  Metrics metrics("1.2.3");
  ConversionWebhook webhook({cluster_, renderer_, files_, clock, random_, events_, &metrics},
                            {.listen = "127.0.0.1:0", .service = "ours", .url = "https://127.0.0.1:1"},
                            "default");
  ASSERT_TRUE(webhook.start(Context()).ok());
  ASSERT_TRUE(webhook.publish(kConversion, nullptr, Context()).ok());
  const auto lines = [&] {
    return std::ranges::count_if(
        events_.messages, [](const std::string& each) { return each.starts_with("a conversion failed"); });
  };
  const auto fail = [&](std::string_view name, std::string path) {
    return said(ask(webhook,
                    fmt::format("{{uid: u, desiredAPIVersion: example.com/v2, objects: [{{apiVersion: "
                                "example.com/v9, kind: {}, metadata: {{name: x}}}}]}}",
                                name),
                    std::move(path)));
  };
  for (const std::string_view name : {"A", "B", "C"})
    EXPECT_THAT(fail(name, "/convert/app"), HasSubstr("Failed: Invalid"));
  EXPECT_EQ(lines(), 1);
  // Those that it doesn't know share one line, whatever they are called.
  for (const std::string_view name : {"x", "y", "z"}) fail("A", fmt::format("/convert/{}", name));
  EXPECT_EQ(lines(), 2);
  clock.advance(61);
  fail("D", "/convert/app");
  EXPECT_EQ(lines(), 3);
  EXPECT_THAT(events_.messages.back(), HasSubstr("D of example.com/v9"));
  EXPECT_THAT(events_.messages.back(), HasSubstr("(2 more failed since the last line about it)"));
  EXPECT_THAT(said(ask(webhook, "{uid: u, desiredAPIVersion: example.com/v1, objects: []}")), "Success: : ");
  EXPECT_EQ(webhook.answer({.method = "POST", .path = "/convert/app", .body = "{"}).status, 400);
  const std::string text = metrics.text();
  for (const char* const line :
       {"controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/convert/\"} 3\n",
        "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/convert/app\"} 5\n",
        "controller_runtime_webhook_requests_total{code=\"400\",webhook=\"/convert/app\"} 1\n",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/convert/app\"} 0\n",
        "mistletoe_conversion_objects_total{blueprint=\"app\",kind=\"App\",result=\"error\"} 4\n",
        "mistletoe_conversion_seconds_count{blueprint=\"app\",kind=\"App\",result=\"success\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("/convert/x")));
}

TEST_F(ConversionWebhookTest, KnowsWhetherTheServerWouldReachIt) {
  const auto away = webhook_at("https://127.0.0.1:1");
  ASSERT_TRUE(away->start(Context()).ok());
  const Status silent = away->check_answers(kConversion, Context());
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().kind, ErrorKind::NotFound);

  // The certificate that two replicas share is one.
  const auto here = webhook_at("https://" + away->address());
  ASSERT_TRUE(here->start(Context()).ok());
  EXPECT_FALSE(here->check_answers(kConversion, Context()).ok()) << "it has no such conversions yet";
  ASSERT_TRUE(away->publish(kConversion, nullptr, Context()).ok());
  const Status answers = here->check_answers(kConversion, Context());
  EXPECT_TRUE(answers.ok()) << answers.error().to_line();
  EXPECT_EQ(here->strategy("app").string_at({"webhook", "clientConfig", "url"}),
            "https://" + away->address() + "/convert/app");
}

TEST_F(ConversionWebhookTest, TheCrdNamesTheServiceAndTheAuthorityOfTheSecret) {
  const auto webhook = webhook_at("");
  ASSERT_TRUE(webhook->start(Context()).ok());
  const auto secret = cluster_.find("Secret", "default", "ours-webhook");
  ASSERT_TRUE(secret);
  EXPECT_EQ(webhook->strategy("app"),
            Value::object(
                {{"strategy", "Webhook"},
                 {"webhook",
                  Value::object({{"clientConfig",
                                  Value::object({{"service", yaml("{namespace: default, name: ours, path: "
                                                                  "/convert/app, port: 443}")},
                                                 {"caBundle", secret->string_at({"data", "ca.crt"})}})},
                                 {"conversionReviewVersions", Value::array({"v1"})}})}}));
  const auto keys = keys_in(*secret);
  ASSERT_TRUE(keys);
  EXPECT_TRUE(crypto::is_issued_for(keys->server.certificate_pem, keys->authority.certificate_pem,
                                    {"ours.default.svc"}));
}

TEST_F(ConversionWebhookTest, AConfigMapOfOthersStays) {
  cluster_.put(
      yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: app-conversion, namespace: default}, data: "
           "{a: b}}"));
  const auto webhook = webhook_at("");
  ASSERT_TRUE(webhook->start(Context()).ok());
  const Status published = webhook->publish(kConversion, nullptr, Context());
  ASSERT_FALSE(published.ok());
  EXPECT_EQ(published.error().kind, ErrorKind::Invalid) << published.error().to_line();
  Conversion large = kConversion;
  large.blueprint = "large";
  large.files["data.ncl"] = std::string(1'100'000, ' ');
  EXPECT_THAT(webhook->publish(large, nullptr, Context()).error().message, HasSubstr("1100023 bytes"));
}

// The webhook's certificate as it is renewed, on a clock that doesn't wait.
class WebhookCertificatesTest : public ::testing::Test {
 protected:
  std::string stored(std::string_view key) {
    const auto secret = cluster_.find("Secret", "default", "ours");
    return secret ? std::string(secret->string_at({"data", key})) : std::string();
  }
  // Until the watch has told of what was done.
  template <typename Is>
  static bool comes(const Is& is) {
    for (int i = 0; i < 5000; ++i) {
      if (is()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  testing::RecordedEvents events_;
  std::atomic<int> told_{0}, other_told_{0};
  WebhookCertificates ours_{{cluster_, files_, clock_, random_, events_}, [this] { ++told_; }};
  WebhookCertificates others_{{cluster_, files_, clock_, random_, events_}, [this] { ++other_told_; }};
  const WebhookCertificates::Kept kept_{"default", "ours", {"ours.default.svc"}};
};

TEST_F(WebhookCertificatesTest, ReplicasShareAndRenewTheKeysOfOneSecret) {
  ASSERT_TRUE(ours_.keep(kept_, Context()).ok());
  ASSERT_TRUE(others_.keep(kept_, Context()).ok());
  EXPECT_EQ(ours_.authorities(), others_.authorities());
  const auto first = others_.tls().get();
  const std::string certificate = stored("tls.crt");
  clock_.advance(kServerLife / 3 * 2 + std::chrono::hours(1));
  ASSERT_TRUE(ours_.look(Context()).ok());
  EXPECT_NE(stored("tls.crt"), certificate);
  EXPECT_TRUE(comes([&] { return others_.tls().get() != first; })) << "the other replica has not seen it";
  EXPECT_EQ(ours_.authorities(), others_.authorities());
  EXPECT_EQ(told_, 0) << "the authority is the same";
}

TEST_F(WebhookCertificatesTest, TellsOfTheNextAuthority) {
  ASSERT_TRUE(ours_.keep(kept_, Context()).ok());
  const std::string before = ours_.authorities();
  clock_.advance(kAuthorityLife / 3 * 2 + std::chrono::hours(1));
  ASSERT_TRUE(ours_.look(Context()).ok());
  EXPECT_EQ(told_, 1);
  EXPECT_THAT(ours_.authorities(), HasSubstr(before));
  EXPECT_GT(ours_.authorities().size(), before.size());
}

TEST_F(WebhookCertificatesTest, WritesADeletedOrDamagedSecretAgain) {
  ASSERT_TRUE(ours_.keep(kept_, Context()).ok());
  const std::string authority = stored("ca.crt"), key = stored("tls.key");
  cluster_.drop({{"", "Secret"}, "default", "ours"});
  EXPECT_TRUE(comes([&] { return stored("ca.crt") == authority; }));
  cluster_.put(yaml(
      "{apiVersion: v1, kind: Secret, metadata: {name: ours, namespace: default}, data: {tls.key: eA==}}"));
  EXPECT_TRUE(comes([&] { return stored("tls.key") == key && stored("ca.crt") == authority; }));
  EXPECT_EQ(told_, 0);
}

TEST_F(WebhookCertificatesTest, ReadsFilesAgainAndKeepsWhatIsGoodMeanwhile) {
  const testing::TempDir dir;
  const testing::TestAuthority authority;
  const auto write = [&](const testing::CertifiedKey& key) {
    ASSERT_TRUE(files_.write(dir.path() / "tls.crt", key.certificate_pem).ok());
    ASSERT_TRUE(files_.write(dir.path() / "tls.key", key.key_pem).ok());
  };
  const testing::CertifiedKey first = authority.issue(), second = authority.issue();
  write(first);
  ASSERT_TRUE(files_.write(dir.path() / "ca.crt", authority.certificate_pem()).ok());
  ASSERT_TRUE(ours_.use({dir.path() / "tls.crt", dir.path() / "tls.key", dir.path() / "ca.crt"}).ok());
  EXPECT_EQ(ours_.authorities(), authority.certificate_pem());
  const auto held = ours_.tls().get();
  ASSERT_TRUE(files_.write(dir.path() / "tls.crt", second.certificate_pem).ok());
  EXPECT_FALSE(ours_.look(Context()).ok()) << "the key is still the old one";
  EXPECT_EQ(ours_.tls().get(), held);
  write(second);
  EXPECT_TRUE(ours_.look(Context()).ok());
  EXPECT_NE(ours_.tls().get(), held);
}

}  // namespace
}  // namespace mist::operator_
