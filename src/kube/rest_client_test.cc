#include "kube/rest_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "encoding/json.h"
#include "http/over_limit.h"
#include "http/retry.h"
#include "http/unanswered.h"
#include "http/unstarted.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RestClientTest : public ::testing::Test {
 protected:
  http::Request last() const { return web->requests().back(); }
  Value last_body() const { return *encoding::parse_json(last().body); }
  static constexpr std::string_view kObject =
      R"({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"api"}})";

  std::shared_ptr<mist::testing::FakeTransport> web = std::make_shared<mist::testing::FakeTransport>();
  HostFileSystem fs;
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  testing::RecordedEvents events;
  RestClient client{web,
                    {.server = "https://h:6443/base", .context = "dev", .user = "alice"},
                    {.fs = fs, .clock = clock, .random = random, .events = events}};
  ResourceInfo deployments{{"apps", "v1", "Deployment"}, "deployments", true, {}};
  ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
  ObjectRef api{deployments, "shop", "api"};
  Value object = *encoding::parse_json(kObject);
};

TEST_F(RestClientTest, NamesItsServer) { EXPECT_EQ(client.describe(), "https://h:6443/base (context dev)"); }

TEST_F(RestClientTest, KnowsHowFarTheServersClockIsAway) {
  EXPECT_EQ(client.clock_skew(), std::nullopt);
  web->reply(200, std::string(kObject), {{"Date", "Sun, 01 Mar 2026 09:31:00 GMT"}});
  ASSERT_TRUE(client.get(api, {}).ok());
  EXPECT_EQ(client.clock_skew(), std::chrono::seconds(60)) << "the fake clock stands at 09:30:00";
}

TEST_F(RestClientTest, CountsTheWritesThatWereLeftUnanswered) {
  const auto stopped = [&](bool sent) {
    const Error interrupted = error(ErrorKind::Cancelled, "interrupted");
    web->fail(sent ? http::as_maybe_sent(interrupted) : interrupted);
  };
  stopped(true);
  EXPECT_FALSE(client.get(api, {}).ok());
  stopped(true);
  EXPECT_FALSE(client.apply(api, object, {.dry_run = DryRun::Server}, {}).ok());
  stopped(true);
  EXPECT_FALSE(client.remove(api, {.dry_run = DryRun::Server}, {}).ok());
  EXPECT_EQ(last().await_answer, Duration::zero());
  stopped(false);
  EXPECT_FALSE(client.apply(api, object, {}, {}).ok());
  web->fail(http::undelivered(http::Sent::Maybe, "broken"));
  EXPECT_FALSE(client.apply(api, object, {}, {}).ok());
  EXPECT_EQ(client.unanswered_writes(), 0u);
  stopped(true);
  EXPECT_FALSE(client.apply(api, object, {}, {}).ok());
  EXPECT_GT(last().await_answer, Duration::zero());
  web->fail(http::as_maybe_sent(error(ErrorKind::Timeout, "too late")));
  EXPECT_FALSE(client.remove(api, {.uid = "u"}, {}).ok());
  EXPECT_EQ(client.unanswered_writes(), 2u);
}

TEST_F(RestClientTest, AWebhookThatDoesNotAnswerIsNamedWithItsConfiguration) {
  const auto refuse = [&](std::string_view webhook) {
    web->reply(
        500, fmt::format(R"({{"kind":"Status","code":500,"reason":"InternalError","message":"Internal error )"
                         R"(occurred: failed calling webhook \"{}\": failed to call webhook: refused"}})",
                         webhook));
    web->reply(
        200,
        R"({"kind":"ValidatingWebhookConfigurationList","metadata":{},"items":[)"
        R"({"metadata":{"name":"none"}},)"
        R"({"metadata":{"name":"guard"},"webhooks":[{"name":"a.example.com"},{"name":"b.example.com"}]}]})");
  };
  constexpr std::string_view kNone =
      R"({"kind":"MutatingWebhookConfigurationList","metadata":{},"items":[]})";
  refuse("b.example.com");
  web->reply(200, std::string(kNone));
  EXPECT_EQ(client.apply(api, object, {}, {}).error().hint,
            "repair what answers for the webhook b.example.com of ValidatingWebhookConfiguration guard; or, "
            "if it may "
            "be done without, kubectl delete validatingwebhookconfiguration guard");
  // The server doesn't say in which of them.
  refuse("b.example.com");
  web->reply(200, R"({"kind":"MutatingWebhookConfigurationList","metadata":{},"items":[)"
                  R"({"metadata":{"name":"changer"},"webhooks":[{"name":"b.example.com"}]}]})");
  EXPECT_THAT(
      client.apply(api, object, {}, {}).error().hint,
      HasSubstr("of ValidatingWebhookConfiguration guard or of MutatingWebhookConfiguration changer; or"));
  refuse("c.example.com");
  web->reply(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"no"})");
  const auto unknown = client.apply(api, object, {}, {});
  EXPECT_THAT(unknown.error().because, HasSubstr("c.example.com"));
  EXPECT_EQ(web->count(), 9u);
}

TEST_F(RestClientTest, AnErrorAboutASecretHidesItsValues) {
  const ResourceInfo secrets{{"", "v1", "Secret"}, "secrets", true, {}};
  const auto refuse = [&] {
    web->reply(422,
               R"({"kind":"Status","code":422,"reason":"Invalid","message":"Secret \"key\" is invalid: )"
               R"(data[a b]: Invalid value: \"hunter2\": bad","details":{"causes":[{"field":"data[a b]",)"
               R"("message":"Invalid value: \"hunter2\": really bad"}]}})");
  };
  const Value body = *encoding::parse_json(R"({"kind":"Secret","stringData":{"a b":"hunter2"}})");
  refuse();
  const auto applied = client.apply({secrets, "shop", "key"}, body, {}, {});
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().to_line().find("hunter2"), std::string::npos) << applied.error().to_line();
  EXPECT_THAT(applied.error().because, HasSubstr("data[a b]: Invalid value: (hidden): bad"));
  refuse();
  const auto shown = client.apply(api, body, {}, {});
  EXPECT_THAT(shown.error().because, HasSubstr("hunter2")) << "only of Secrets";
}

TEST_F(RestClientTest, AWarningAboutASecretHidesItsValues) {
  const ResourceInfo secrets{{"", "v1", "Secret"}, "secrets", true, {}};
  const Value body = *encoding::parse_json(R"({"kind":"Secret","stringData":{"a":"hunter2"}})");
  const auto warned = [&](const ObjectRef& ref) {
    web->reply(200, std::string(kObject), {{"Warning", "299 - \"a: hunter2 is too weak\""}});
    events.messages.clear();
    EXPECT_TRUE(client.apply(ref, body, {}, {}).ok());
    return events.messages;
  };
  EXPECT_THAT(warned({secrets, "shop", "key"}), ElementsAre("Secret shop/key: a: (hidden) is too weak"));
  EXPECT_THAT(warned(api), ElementsAre(HasSubstr("hunter2"))) << "only of Secrets";
}

TEST_F(RestClientTest, PathsAreEscaped) {
  web->otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 200, .headers = {}, .body = std::string(kObject)};
  });
  ASSERT_TRUE(client.get(api, {}).ok());
  EXPECT_EQ(last().url, "https://h:6443/base/apis/apps/v1/namespaces/shop/deployments/api");
  ASSERT_TRUE(client.get({namespaces, "ignored", "../a?b#c%"}, {}).ok());
  EXPECT_EQ(last().url, "https://h:6443/base/api/v1/namespaces/..%2Fa%3Fb%23c%25");
}

// The server reads it as YAML, where these are no characters of a text, or end a line.
TEST_F(RestClientTest, WhatYamlDoesNotTakeIsEscapedInWhatIsSent) {
  web->reply(200, std::string(kObject));
  encoding::Value rare = object;
  rare.set("text", "a\x7f\u0085\u009f\u2028\u2029\ufeff\ufffe\uffff b \u00a0\u00e9\u20ac\U0001f600");
  ASSERT_TRUE(client.apply(api, rare, {}, {}).ok());
  EXPECT_THAT(last().body, HasSubstr("\"a\\u007f\\u0085\\u009f\\u2028\\u2029\\ufeff\\ufffe\\uffff b "
                                     "\u00a0\u00e9\u20ac\U0001f600\""));
  EXPECT_EQ(last_body(), rare);
}

TEST_F(RestClientTest, WhatWasNotReadIsNotWrittenBack) {
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  web->reply(200, fmt::format(R"({{"kind":"Deployment","spec":{}}})", deep));
  const auto live = client.get(api, {});
  ASSERT_TRUE(live.ok()) << live.error().to_line();
  const auto refused = client.apply(api, *live, {}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(web->requests().size(), 1u);
}

TEST_F(RestClientTest, ApplySendsAnApplyPatch) {
  web->reply(200, std::string(kObject), {{"Warning", "299 - \"spec.x is deprecated\""}});
  ASSERT_TRUE(
      client.apply(api, object, {.field_manager = "m&m", .force = true, .dry_run = DryRun::Server}, {}).ok());
  EXPECT_EQ(last().method, "PATCH");
  EXPECT_EQ(last().url,
            "https://h:6443/base/apis/apps/v1/namespaces/shop/deployments/"
            "api?fieldManager=m%26m&force=true&fieldValidation=Ignore&dryRun=All");
  EXPECT_EQ(http::find_header(last().headers, "content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(last().repeat, http::Repeat::Safe);
  EXPECT_EQ(last_body(), object);
  EXPECT_THAT(events.messages, ElementsAre("Deployment shop/api: spec.x is deprecated"));
}

TEST_F(RestClientTest, ASubresourceIsPatchedAtItsOwnAddress) {
  web->reply(200, std::string(kObject));
  ASSERT_TRUE(client.merge_patch(api, object, {}, DryRun::No, "status").ok());
  EXPECT_THAT(last().url, HasSubstr("/deployments/api/status?"));
}

TEST_F(RestClientTest, LogsArriveInPiecesAndRefusalsAreErrors) {
  web->reply(200, "one\ntwo\n", {{"Content-Type", "text/plain"}});
  std::string text;
  const auto piece = [&](std::string_view part) {
    text += part;
    return true;
  };
  ASSERT_TRUE(client
                  .pod_log("shop", "api-1",
                           {.container = "main", .previous = true, .tail_lines = 10, .limit_bytes = 1024},
                           piece, {})
                  .ok());
  EXPECT_EQ(text, "one\ntwo\n");
  EXPECT_EQ(last().url,
            "https://h:6443/base/api/v1/namespaces/shop/pods/api-1/"
            "log?container=main&previous=true&tailLines=10&limitBytes=1024");
  EXPECT_EQ(last().repeat, http::Repeat::Unsafe);
  web->reply(400, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,)"
                  R"("message":"container \"main\" in pod \"api-1\" is waiting to start"})");
  text.clear();
  const Status refused = client.pod_log("shop", "api-1", {.follow = true}, piece, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(refused.error().to_line(), HasSubstr("waiting to start"));
  EXPECT_EQ(text, "");
  EXPECT_THAT(last().url, HasSubstr("follow=true"));
}

TEST_F(RestClientTest, OnlyWhatMayBeRepeatedIsMarkedSo) {
  web->otherwise([](const http::Request&, const Context&) {
    return http::Response{.status = 200, .headers = {}, .body = std::string(kObject)};
  });
  const auto repeat = [&] { return last().repeat; };
  (void)client.get(api, {});
  EXPECT_EQ(repeat(), http::Repeat::Safe);
  (void)client.create(deployments, "shop", object, {});
  EXPECT_EQ(repeat(), http::Repeat::Unsafe);
  (void)client.update(api, object, {});
  EXPECT_EQ(repeat(), http::Repeat::Unsafe);
  (void)client.remove(api, {}, {});
  EXPECT_EQ(repeat(), http::Repeat::Unsafe);
  (void)client.remove(api, {.uid = "u"}, {});
  EXPECT_EQ(repeat(), http::Repeat::Safe);
  (void)client.remove(api, {.uid = "u", .insist = false}, {});
  EXPECT_EQ(repeat(), http::Repeat::Unsafe);
  (void)client.apply(api, object, {}, {});
  EXPECT_EQ(repeat(), http::Repeat::Safe);
  (void)client.apply(api, object, {.insist = false}, {});
  EXPECT_EQ(repeat(), http::Repeat::Unsafe);
  object["metadata"].set("resourceVersion", "7");
  (void)client.update(api, object, {});
  EXPECT_EQ(repeat(), http::Repeat::Safe);
  (void)client.merge_patch(api, object, {});
  EXPECT_EQ(repeat(), http::Repeat::Safe);
}

TEST_F(RestClientTest, DeleteCarriesPreconditionsAndPolicy) {
  web->reply(200, R"({"kind":"Status","status":"Success"})");
  DeleteOptions options{.uid = "u", .resource_version = "7", .propagation = Propagation::Foreground};
  ASSERT_TRUE(client.remove(api, options, {}).ok());
  EXPECT_EQ(last().method, "DELETE");
  EXPECT_EQ(last_body(), *encoding::parse_json(
                             R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground",
                                      "preconditions":{"uid":"u","resourceVersion":"7"}})"));
}

TEST_F(RestClientTest, ListFollowsPagesAndNamesTheKind) {
  web->reply(200,
             R"({"metadata":{"resourceVersion":"9","continue":"t/=&"},"items":[{"metadata":{"name":"a"}}]})");
  web->reply(200, R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"}}]})");
  const auto all = client.list(
      deployments, {.ns = "shop", .label_selector = "a in (b,c)", .page_size = 1, .largest_page = 1}, {});
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_EQ(all->resource_version, "9");
  ASSERT_EQ(all->items.size(), 2u);
  EXPECT_EQ(encoding::to_json(all->items[1]),
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"}})");
  EXPECT_EQ(last().url,
            "https://h:6443/base/apis/apps/v1/namespaces/shop/"
            "deployments?labelSelector=a%20in%20%28b%2Cc%29&limit=1&continue=t%2F%3D%26");
}

TEST_F(RestClientTest, AListOfSoManyItemsAsksForNoFurtherPage) {
  const std::string page =
      R"({"metadata":{"resourceVersion":"9","continue":"x"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})";
  web->reply(200, page).reply(200, page);
  const auto some = client.list(deployments, {.page_size = 2, .largest_page = 2, .most = 3}, {});
  ASSERT_TRUE(some.ok()) << some.error().to_line();
  EXPECT_EQ(some->items.size(), 3u);
  EXPECT_EQ(some->resource_version, "9");
  EXPECT_EQ(web->count(), 2u);
}

std::string limit_of(const http::Request& request) {
  const auto at = request.url.find("limit=");
  return at == std::string::npos ? "none" : request.url.substr(at + 6, request.url.find('&', at) - at - 6);
}

// 5,000 objects of a megabyte each don't fit into one answer, nor into the time of one.
TEST_F(RestClientTest, APageThatIsTooLargeIsAskedForAgainWithFewerItems) {
  constexpr std::size_t kItem = 1 << 20;
  int left = 700;
  web->otherwise([&](const http::Request& request, const Context&) -> Result<http::Response> {
    const int limit = std::min(left, std::stoi(limit_of(request)));
    if (static_cast<std::uint64_t>(limit) * kItem > request.response_limit)
      return error(ErrorKind::Invalid, "too large").with_detail(http::OverLimit());
    left -= limit;
    std::string items;
    for (int i = 0; i < limit; ++i)
      items += fmt::format(R"({}{{"metadata":{{"name":"x"}},"data":{{"a":"{}"}}}})", i == 0 ? "" : ",",
                           "as if it had a megabyte");
    return http::Response{.status = 200,
                          .headers = {},
                          .body = fmt::format(R"({{"metadata":{{"continue":"{}"}},"items":[{}]}})",
                                              left > 0 ? fmt::format("t{}", left) : "", items)};
  });
  const auto all = client.list(deployments, {}, {});
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  EXPECT_EQ(all->items.size(), 700u);
  EXPECT_EQ(limit_of(web->requests().front()), "500");
}

TEST_F(RestClientTest, PagesGrowWithSmallItemsAndShrinkWithLargeOnes) {
  const auto page = [&](std::string_view token, std::size_t items, std::size_t bytes) {
    std::string list;
    for (std::size_t i = 0; i < items; ++i)
      list += fmt::format(R"({}{{"metadata":{{"name":"x"}},"a":"{}"}})", i == 0 ? "" : ",",
                          std::string(bytes, 'x'));
    web->reply(200, fmt::format(R"({{"metadata":{{"continue":"{}"}},"items":[{}]}})", token, list));
  };
  page("1", 500, 10);
  page("2", 5, 4 << 20);
  page("", 1, 10);
  ASSERT_TRUE(client.list(deployments, {}, {}).ok());
  std::vector<std::string> limits;
  for (const http::Request& each : web->requests()) limits.push_back(limit_of(each));
  EXPECT_THAT(limits, ElementsAre("500", "5000", "7"));
}

TEST_F(RestClientTest, AServerThatNeedsTooLongForAPageIsAskedForLessOnce) {
  web->fail(error(ErrorKind::Timeout, "over"));
  EXPECT_EQ(client.list(deployments, {}, {}).error().kind, ErrorKind::Retryable);
  EXPECT_EQ(web->count(), 1u) << "it never answered: it hangs";
  web->reply(200, std::string(kObject));
  (void)client.get(api, {});
  web->fail(error(ErrorKind::Timeout, "the time allowed is over"));
  web->reply(200, R"({"metadata":{},"items":[{"metadata":{"name":"a"}}]})");
  ASSERT_TRUE(client.list(deployments, {}, {}).ok());
  EXPECT_EQ(limit_of(last()), "31");
  web->fail(error(ErrorKind::Timeout, "over")).fail(error(ErrorKind::Timeout, "over"));
  EXPECT_EQ(client.list(deployments, {}, {}).error().kind, ErrorKind::Retryable);
}

TEST_F(RestClientTest, AListThatDoesNotEndIsAnError) {
  int page = 0;
  web->otherwise([&](const http::Request&, const Context&) {
    return http::Response{.status = 200,
                          .headers = {},
                          .body = fmt::format(R"({{"metadata":{{"continue":"t{}"}},"items":[]}})", ++page)};
  });
  const auto endless = client.list(deployments, {}, {});
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(endless.error().to_line(), HasSubstr("does not end"));
  web->otherwise([](const http::Request&, const Context&) {
    return http::Response{
        .status = 200, .headers = {}, .body = R"({"metadata":{"continue":"same"},"items":[]})"};
  });
  const std::size_t before = web->count();
  EXPECT_FALSE(client.list(deployments, {}, {}).ok());
  EXPECT_EQ(web->count() - before, 2u);
}

TEST_F(RestClientTest, ListBeginsAgainWhenItsPlaceIsForgotten) {
  const std::string gone = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})";
  web->reply(200, R"({"metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}}]})").reply(410, gone);
  web->reply(410, gone);
  web->reply(200, R"({"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
  EXPECT_EQ(client.list(deployments, {}, {})->items.size(), 2u);
  EXPECT_EQ(last().url, "https://h:6443/base/apis/apps/v1/deployments") << "in one piece at last";
}

TEST_F(RestClientTest, MetadataListStripsWhatAServerSentAllTheSame) {
  web->reply(200, R"({"metadata":{},"items":[{"metadata":{"name":"a"},"spec":{"secret":1}}]})");
  const auto all = client.list(deployments, {.metadata_only = true}, {});
  EXPECT_EQ(all->items[0].find("spec"), nullptr);
  EXPECT_THAT(std::string(http::find_header(last().headers, "Accept")),
              HasSubstr("as=PartialObjectMetadataList"));
}

TEST_F(RestClientTest, AnswersThatAreNoListAreErrors) {
  web->reply(200, R"({"kind":"Deployment"})");
  const auto failed = client.list(deployments, {}, {});
  EXPECT_EQ(failed.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(failed.error().message, HasSubstr("cannot list deployments.apps in all namespaces"));
}

TEST_F(RestClientTest, TransportErrorsSayWhatWasTried) {
  web->fail(error(ErrorKind::Retryable, "connection refused"));
  const auto failed = client.get(api, {});
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(failed.error().frames.back(),
            "while trying to read Deployment shop/api on https://h:6443/base (context dev)");
}

TEST_F(RestClientTest, SilentServerIsSaidToBeSilent) {
  web->fail(error(ErrorKind::Timeout, "the time allowed is over"));
  const auto failed = client.get(api, {});
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(failed.error().message, HasSubstr("https://h:6443/base did not answer within 60 s"));
  web->fail(error(ErrorKind::Timeout, "the time allowed is over"));
  EXPECT_EQ(client.get(api, Context().with_timeout(Duration::zero())).error().kind, ErrorKind::Timeout)
      << "the caller's own time is over";
}

TEST_F(RestClientTest, ARequestThatNeverBeganIsNotBlamedOnTheServer) {
  web->fail(error(ErrorKind::Timeout, "the time allowed is over")
                .with_because("no connection to h:6443 became free")
                .with_hint("all are busy")
                .with_detail(http::Unstarted()));
  const auto failed = client.get(api, {});
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(failed.error().message,
              HasSubstr("no request to https://h:6443/base could begin within 60 s; nothing was sent"));
  EXPECT_EQ(failed.error().because, "no connection to h:6443 became free");
  EXPECT_EQ(failed.error().hint, "all are busy");
  EXPECT_TRUE(http::surely_not_sent(failed.error()));
}

TEST_F(RestClientTest, WatchAsksFromTheListedVersion) {
  web->reply(200, R"({"metadata":{"resourceVersion":"9"},"items":[]})");
  web->reply_pieces(
      {R"({"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)",
       R"("metadata":{"name":"a","resourceVersion":"10"}}})"
       "\n"});
  Value seen;
  const auto handler = [&](const WatchEvent& event) {
    seen = event.object;
    return event.type == WatchEventType::Bookmark;
  };
  const auto status = client.watch(
      deployments, {.ns = "shop", .field_selector = "metadata.name=a", .metadata_only = true}, handler, {});
  ASSERT_TRUE(status.ok()) << status.error().to_line();
  EXPECT_EQ(seen.string_at("kind"), "Deployment");
  EXPECT_THAT(last().url, HasSubstr("?watch=1&allowWatchBookmarks=true&resourceVersion=9&timeoutSeconds="));
  EXPECT_THAT(last().url, HasSubstr("&fieldSelector=metadata.name%3Da"));
  EXPECT_TRUE(last().idle_timeout);
  EXPECT_FALSE(last().time_limit) << "it goes on for as long as it is watched";
  ASSERT_GE(web->count(), 2u);
  EXPECT_EQ(web->requests()[0].time_limit, std::chrono::seconds(60)) << "of the listing before it";
}

TEST_F(RestClientTest, TellsWhetherAServiceFailedOrNobodyReachedIt) {
  const auto failure = [&] {
    const auto body = client.proxied_get({.ns = "shop", .name = "web", .port = "8080"}, {});
    EXPECT_FALSE(body.ok());
    return body.ok() ? Error() : body.error();
  };
  const std::string status = R"({"kind": "Status", "message": "because"})";
  for (const auto& [code, body, is_its_own] :
       std::initializer_list<std::tuple<int, std::string, bool>>{{404, status, true},
                                                                 {503, status, true},
                                                                 {400, status, true},
                                                                 {401, status, false},
                                                                 {403, status, false},
                                                                 {500, status, false},
                                                                 {504, status, false},
                                                                 {429, "busy", false},
                                                                 {403, "{}", true},
                                                                 {500, "down", true}}) {
    web->reply(code, body);
    EXPECT_NE(is_unreached(failure()), is_its_own) << code << " " << body;
  }
  web->fail(http::undelivered(http::Sent::Nothing, "nothing listens"));
  EXPECT_TRUE(is_unreached(failure()));
  web->fail(error(ErrorKind::Timeout, "too late").with_detail(http::Unstarted()));
  EXPECT_TRUE(is_unreached(failure()));
  web->fail(error(ErrorKind::Timeout, "too late"));
  EXPECT_FALSE(is_unreached(failure())) << "the API server waits for it, too";
  web->fail(error(ErrorKind::Invalid, "too large").with_detail(http::OverLimit()));
  EXPECT_FALSE(is_unreached(failure()));
}

// With selectors it only says that its own copy of the collection isn't there.
TEST_F(RestClientTest, AServerThatCannotReadAnObjectIsAskedWhy) {
  const std::string not_ready =
      R"({"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "storage is (re)initializing"})";
  const std::string why = R"({"kind": "Status", "code": 500, "message": "conversion webhook for a failed"})";
  const auto failure = [&] { return client.list(deployments, {.ns = "shop", .label_selector = "a=b"}, {}); };
  web->reply(429, not_ready);
  web->reply(500, why);
  EXPECT_EQ(failure().error().because, "conversion webhook for a failed");
  EXPECT_EQ(last().url, "https://h:6443/base/apis/apps/v1/namespaces/shop/deployments?limit=500");
  // It has just started.
  for (const std::string& next : {not_ready, std::string(R"({"kind": "DeploymentList", "items": []})")}) {
    web->reply(429, not_ready);
    web->reply(next == not_ready ? 429 : 200, next);
    const auto busy = failure();
    EXPECT_EQ(busy.error().because, "storage is (re)initializing");
    EXPECT_TRUE(busy.error().hint.contains("without a selector")) << busy.error().hint;
  }
}

// The transport must not hide the outage by waiting it out: the server may come back with an older state.
TEST_F(RestClientTest, AWatchListsAgainAfterAnOutageHoweverShort) {
  RestClient patient{std::make_shared<http::RetryingTransport>(*web, clock, random, events),
                     {.server = "https://h:6443/base", .context = "dev", .user = "alice"},
                     {.fs = fs, .clock = clock, .random = random, .events = events}};
  for (const bool answered : {false, true}) {
    const std::size_t before = web->count();
    web->reply(200, R"({"metadata":{"resourceVersion":"100"},"items":[]})");
    if (answered)
      web->reply(503, "", {{"Retry-After", "1"}});
    else
      web->fail(http::undelivered(http::Sent::Nothing, "nothing listens").with_detail(http::Unanswered()));
    web->reply(200, R"({"metadata":{"resourceVersion":"50"},)"
                    R"("items":[{"metadata":{"name":"a","resourceVersion":"40"}}]})");
    const auto handler = [](const WatchEvent& event) { return event.type != WatchEventType::Added; };
    const auto status = patient.watch(deployments, {.ns = "shop"}, handler, {});
    ASSERT_TRUE(status.ok()) << status.error().to_line();
    ASSERT_EQ(web->count(), before + 3);
    EXPECT_THAT(web->requests()[before + 1].url, HasSubstr("resourceVersion=100"));
    EXPECT_THAT(last().url, ::testing::Not(HasSubstr("watch=1"))) << "it asks for the older state";
  }
}

}  // namespace
}  // namespace mist::kube
