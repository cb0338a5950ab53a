#include "sigstore/signing_config.h"

#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

const WallTime kConfigNow{std::chrono::seconds(1'700'000'000)};

Value service_value(std::string_view url, int version = 1, std::string_view run_by = "sigstore.example") {
  return Value::object({{"url", url},
                        {"majorApiVersion", version},
                        {"validFor", Value::object({{"start", "2023-01-01T00:00:00Z"}})},
                        {"operator", run_by}});
}

Value config_value() {
  return Value::object({{"mediaType", "application/vnd.dev.sigstore.signingconfig.v0.2+json"},
                        {"caUrls", Value::array({service_value("https://ca.example/")})},
                        {"oidcUrls", Value::array({service_value("https://login.example")})},
                        {"rekorTlogUrls", Value::array({service_value("https://log.example")})},
                        {"rekorTlogConfig", Value::object({{"selector", "ANY"}})},
                        {"tsaUrls", Value::array({service_value("https://tsa.example/api/v1/timestamp")})},
                        {"tsaConfig", Value::object({{"selector", "ANY"}})}});
}

// The error's because; empty: it can be used.
std::string because(const Value& document) {
  const auto config = SigningConfig::parse(encoding::to_json(document), "signing_config.json");
  return config ? std::string() : config.error().because;
}

std::string chosen(const Value& document, WallTime now = kConfigNow) {
  const auto config = SigningConfig::parse(encoding::to_json(document), "signing_config.json");
  if (!config) return config.error().to_line();
  const auto services = config->choose(now);
  if (!services) return services.error().message;
  std::string text = services->authority.url;
  for (const Service& each : services->logs) text += fmt::format(" {}/v{}", each.url, each.version);
  for (const Service& each : services->timestamps) text += " " + each.url;
  return text;
}

TEST(SigningConfig, NamesTheServicesOfASignature) {
  EXPECT_EQ(chosen(config_value()),
            "https://ca.example https://log.example/v1 https://tsa.example/api/v1/timestamp");
  Value without_timestamps = config_value();
  without_timestamps.erase("tsaUrls");
  EXPECT_EQ(chosen(without_timestamps), "https://ca.example https://log.example/v1");
}

TEST(SigningConfig, ChoosesTheHighestVersionInItsTimeAndOneOfEachOperator) {
  Value document = config_value();
  Value later = service_value("https://later.example", 2);
  later["validFor"].set("start", "2024-01-01T00:00:00Z");
  Value ended = service_value("https://ended.example", 2);
  ended["validFor"].set("end", "2023-02-01T00:00:00Z");
  document.set("rekorTlogUrls", Value::array({later, ended, service_value("https://log.example"),
                                              service_value("https://two.example", 2),
                                              service_value("https://nine.example", 9),
                                              service_value("https://other.example", 2, "other.example")}));
  EXPECT_EQ(chosen(document),
            "https://ca.example https://two.example/v2 https://tsa.example/api/v1/timestamp");
  document.set("rekorTlogConfig", Value::object({{"selector", "ALL"}}));
  EXPECT_EQ(chosen(document),
            "https://ca.example https://two.example/v2 https://other.example/v2 "
            "https://tsa.example/api/v1/timestamp");
  document.set("rekorTlogConfig", Value::object({{"selector", "EXACT"}, {"count", 2}}));
  EXPECT_EQ(chosen(document),
            "https://ca.example https://two.example/v2 https://other.example/v2 "
            "https://tsa.example/api/v1/timestamp");
  document.set("rekorTlogConfig", Value::object({{"selector", "EXACT"}, {"count", 3}}));
  EXPECT_EQ(
      chosen(document),
      "the signing configuration signing_config.json has 2 of rekorTlogUrls that can be used now, and 3 "
      "are needed");
}

TEST(SigningConfig, SaysWhichKindIsMissing) {
  EXPECT_EQ(chosen(config_value(), WallTime{std::chrono::seconds(1'600'000'000)}),
            "the signing configuration signing_config.json has 0 of caUrls that can be used now, and 1 is "
            "needed");
  Value document = config_value();
  document.erase("rekorTlogUrls");
  EXPECT_EQ(
      chosen(document),
      "the signing configuration signing_config.json has 0 of rekorTlogUrls that can be used now, and 1 "
      "is needed");
  document = config_value();
  document.set("rekorTlogUrls", Value::array({service_value("https://two.example", 2)}));
  document.erase("tsaUrls");
  EXPECT_EQ(chosen(document),
            "the signing configuration signing_config.json has 0 of tsaUrls that can be used now, and 1 is "
            "needed");
}

TEST(SigningConfig, SaysWhichMemberCannotBeUsed) {
  EXPECT_EQ(because(config_value()), "");
  EXPECT_EQ(because(Value::object()),
            "mediaType: it is not application/vnd.dev.sigstore.signingconfig.v0.2+json");
  const auto with = [](std::string_view key, Value value) {
    Value document = config_value();
    Value service = service_value("https://ca.example");
    service.set(key, std::move(value));
    document.set("caUrls", Value::array({service}));
    return because(document);
  };
  EXPECT_EQ(with("url", "http://ca.example"), "caUrls[0]: url is not an https:// address without a query");
  EXPECT_EQ(with("url", "https://user@ca.example"),
            "caUrls[0]: url is not an https:// address without a query");
  EXPECT_EQ(with("url", "http://127.0.0.1:5555"), "");
  EXPECT_EQ(with("majorApiVersion", 0), "caUrls[0]: it has no majorApiVersion");
  EXPECT_EQ(with("validFor", Value()), "caUrls[0]: it has no validFor");
  EXPECT_EQ(with("validFor", Value::object({{"start", "today"}})), "caUrls[0]: validFor.start is no time");
  EXPECT_EQ(with("validFor", Value::object()), "caUrls[0]: validFor has no start");
  Value document = config_value();
  document.set("tsaConfig", Value::object({{"selector", "SOME"}}));
  EXPECT_EQ(because(document), "tsaConfig: selector is not ANY, ALL or EXACT");
  document.set("tsaConfig", Value::object({{"selector", "EXACT"}}));
  EXPECT_EQ(because(document), "tsaConfig: with EXACT, count is from 1 to 100");
  document = config_value();
  document.set("oidcUrls", "https://login.example");
  EXPECT_EQ(because(document), "oidcUrls: it is not a list of at most 100");
  EXPECT_FALSE(SigningConfig::parse("{", "signing_config.json").ok());
}

}  // namespace
}  // namespace mist::sigstore
