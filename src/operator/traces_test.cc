#include "operator/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "encoding/json.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"

namespace mist::operator_ {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string, std::less<>>;

Result<std::optional<TraceOptions>> options_of(std::string_view endpoint, const Environment& variables = {}) {
  return TraceOptions::from(endpoint, [&](std::string_view name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string url_of(std::string_view endpoint, const Environment& variables = {}) {
  const auto options = options_of(endpoint, variables);
  if (!options.ok()) return "error: " + options.error().to_line();
  return *options ? (*options)->url : "none";
}

TEST(TraceOptions, AreThoseOfTheSpecification) {
  EXPECT_EQ(url_of(""), "none");
  EXPECT_EQ(url_of("http://a:4318"), "http://a:4318/v1/traces");
  EXPECT_EQ(url_of("", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://b/otlp/"}}), "https://b/otlp/v1/traces");
  EXPECT_EQ(url_of("", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b"},
                        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/own"}}),
            "http://c/own");
  EXPECT_EQ(url_of("http://a", {{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/own"}}),
            "http://a/v1/traces");
  const Environment off{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b"}, {"OTEL_SDK_DISABLED", "true"}};
  EXPECT_EQ(url_of("", off), "none");
  EXPECT_EQ(url_of("http://a", off), "http://a/v1/traces");
  EXPECT_THAT(url_of("collector:4318"), HasSubstr("is not the URL of a trace collector"));
  EXPECT_THAT(
      url_of("", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b:4317"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
      HasSubstr("which is not supported"));
  EXPECT_EQ(
      url_of("", {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://b"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=1,geheim"}}),
      "error: OTEL_EXPORTER_OTLP_HEADERS is not a list of KEY=VALUE with commas between them");
}

TEST(TraceOptions, CredentialsAreASecret) {
  const auto options =
      options_of("http://a", {{"OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20abc, x-team = a%2Cb"},
                              {"OTEL_SERVICE_NAME", "ours"},
                              {"OTEL_RESOURCE_ATTRIBUTES", "service.name=theirs,k8s.cluster.name=prod"}});
  ASSERT_TRUE(options.ok()) << options.error().to_line();
  EXPECT_EQ((*options)->authorization->reveal(), "Bearer abc");
  ASSERT_EQ((*options)->headers.size(), 1U);
  EXPECT_EQ((*options)->headers[0].value, "a,b");
  const std::vector<std::pair<std::string, std::string>> resource{{"service.name", "ours"},
                                                                  {"k8s.cluster.name", "prod"}};
  EXPECT_EQ((*options)->resource, resource);
}

class TracesTest : public ::testing::Test {
 protected:
  Traces::Dependencies dependencies(Duration gather = std::chrono::milliseconds(1)) {
    return {.web = web, .clock = clock, .random = random, .events = events, .gather = gather};
  }
  // Of each request that was sent.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const http::Request& request : web.requests()) {
      const auto document = encoding::parse_json(request.body);
      for (const Value& span : spans_of(*document)) all.emplace_back(span.string_at("name"));
    }
    return all;
  }
  static Value::Array spans_of(const Value& document) {
    const Value& of_resource = document.find("resourceSpans")->as_array().at(0);
    return of_resource.find("scopeSpans")->as_array().at(0).find("spans")->as_array();
  }

  testing::FakeTransport web;
  SystemClock clock;
  SystemRandom random;
  mist::testing::RecordedEvents events;
};

TEST_F(TracesTest, AChildIsInTheTraceOfItsParentAndSaysWhyItFailed) {
  web.reply(200, "{}");
  {
    Traces traces({.url = "http://a/v1/traces", .version = "1.2.3"}, dependencies(std::chrono::hours(1)));
    Span span = traces.begin("reconcile");
    span.set("mistletoe.blueprint", "web");
    Span child = span.child("create");
    child.fails("the server says no\x1b[31m");
  }
  ASSERT_EQ(web.count(), 1U);
  const http::Request request = web.requests()[0];
  EXPECT_EQ(http::find_header(request.headers, "Content-Type"), "application/json");
  const auto document = encoding::parse_json(request.body);
  ASSERT_TRUE(document.ok());
  const Value::Array spans = spans_of(*document);
  ASSERT_EQ(spans.size(), 2U);
  const Value &child = spans[0], &parent = spans[1];
  EXPECT_EQ(child.string_at("traceId"), parent.string_at("traceId"));
  EXPECT_EQ(child.string_at("traceId").size(), 32U);
  EXPECT_EQ(child.string_at("parentSpanId"), parent.string_at("spanId"));
  EXPECT_EQ(parent.find("parentSpanId"), nullptr);
  EXPECT_EQ(child.string_at({"status", "message"}), "the server says no\\x1b[31m");
  EXPECT_EQ(parent.find("status"), nullptr);
  EXPECT_LE(parent.string_at("startTimeUnixNano"), child.string_at("startTimeUnixNano"));
  EXPECT_LE(child.string_at("endTimeUnixNano"), parent.string_at("endTimeUnixNano"));
  EXPECT_EQ(parent.find("attributes")->as_array()[0].string_at({"value", "stringValue"}), "web");
}

TEST_F(TracesTest, WhatACollectorDoesNotTakeNowItGetsLater) {
  std::atomic<int> asked = 0;
  web.otherwise([&](const http::Request&, const Context&) -> Result<http::Response> {
    return http::Response{.status = ++asked == 1 ? 503 : 200, .headers = {}, .body = "busy"};
  });
  Traces traces({.url = "http://a/v1/traces"}, dependencies());
  {
    const Span span = traces.begin("one");
  }
  while (asked < 2) std::this_thread::yield();
  EXPECT_THAT(names(), ElementsAre("one", "one"));
  EXPECT_EQ(traces.dropped(), 0U);
}

TEST_F(TracesTest, WhatACollectorNeverTakesIsSentOnceAndSaidOnce) {
  std::atomic<int> asked = 0;
  web.otherwise([&](const http::Request&, const Context&) -> Result<http::Response> {
    ++asked;
    return http::Response{.status = 404, .headers = {}, .body = "no such path for geheim-4711"};
  });
  {
    Traces traces({.url = "http://a/v1/traces", .headers = {{"x-key", "geheim-4711"}}}, dependencies());
    for (int i = 1; i <= 2; ++i) {
      {
        const Span span = traces.begin("one");
      }
      while (asked < i || traces.dropped() < static_cast<std::uint64_t>(i)) std::this_thread::yield();
    }
  }
  EXPECT_THAT(
      events.messages,
      ElementsAre(HasSubstr("traces can't be sent: http://a/v1/traces answered 404 (no such path for ***)")));
}

TEST_F(TracesTest, SpansBeyondABoundAreDroppedAndNobodyWaits) {
  web.otherwise([](const http::Request&, const Context&) -> Result<http::Response> {
    return error(ErrorKind::Retryable, "nobody is there");
  });
  Traces traces({.url = "http://a/v1/traces"}, dependencies(std::chrono::hours(1)));
  for (std::size_t i = 0; i < Traces::kMostWaiting + 1000; ++i) const Span span = traces.begin("one");
  EXPECT_GE(traces.dropped(), 1000U - 512U);
}

TEST(Span, OfNobodyCostsNothing) {
  Span span = begin_trace(nullptr, "one");
  span.set("a", "b");
  span.child("two").fails("x");
}

}  // namespace
}  // namespace mist::operator_
