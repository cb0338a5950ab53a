#include "operator/conversion_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::yaml;

std::string certificate(std::string_view content) {
  return fmt::format("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", content);
}

Value conversion(std::string_view client, std::string_view bundle, std::string_view reviews = "[v1]") {
  Value made = yaml(fmt::format(
      "{{strategy: Webhook, webhook: {{clientConfig: {}, conversionReviewVersions: {}}}}}", client, reviews));
  if (!bundle.empty()) made["webhook"]["clientConfig"].set("caBundle", base64_encode(bundle));
  return made;
}

constexpr std::string_view kService = "{service: {namespace: a, name: b, path: /convert/app, port: 443}}";

TEST(ConversionFit, AnyPortAndAnyOrderOfAuthoritiesDo) {
  const Value wanted = conversion(kService, certificate("one") + certificate("two"));
  const Value live = conversion(
      "{service: {namespace: a, name: b, path: /convert/app, port: 8443}}",
      "words\n" + certificate("two") + certificate("more") + certificate(" o\r\nne"), "[v1beta1, v1]");
  const ConversionFit fit = fit_of_conversion(&live, wanted);
  EXPECT_THAT(fit.misfits, IsEmpty());
  EXPECT_THAT(fit.soon, IsEmpty());
}

TEST(ConversionFit, AnotherWebhookIsNone) {
  const Value wanted = conversion(kService, certificate("one"));
  EXPECT_THAT(fit_of_conversion(nullptr, wanted).misfits, ElementsAre("strategy: it isn't Webhook"));
  const Value plain = yaml("{strategy: None}");
  EXPECT_THAT(fit_of_conversion(&plain, wanted).misfits, ElementsAre("strategy: it isn't Webhook"));
  for (const char* const other : {"{service: {namespace: a, name: c, path: /convert/app, port: 443}}",
                                  "{service: {namespace: a, name: b, path: /convert/web, port: 443}}",
                                  "{url: 'https://b.a.svc:443/convert/app'}"}) {
    const Value live = conversion(other, certificate("one"));
    EXPECT_THAT(fit_of_conversion(&live, wanted).misfits,
                ElementsAre(HasSubstr("this operator answers at Service a/b, path /convert/app")))
        << other;
  }
  const Value old = conversion(kService, certificate("one"), "[v1beta1]");
  EXPECT_THAT(fit_of_conversion(&old, wanted).misfits, ElementsAre(HasSubstr("v1 isn't among them")));
}

TEST(ConversionFit, OnlyWhatTheServerTrustsIsAsked) {
  const Value now = conversion(kService, certificate("one"));
  const Value next = conversion(kService, certificate("one") + certificate("two"));
  const Value none = conversion(kService, "");
  EXPECT_THAT(fit_of_conversion(&now, next).misfits, IsEmpty());
  EXPECT_THAT(fit_of_conversion(&now, next).soon, ElementsAre(HasSubstr("caBundle lacks an authority")));
  const Value later = conversion(kService, certificate("two"));
  EXPECT_THAT(fit_of_conversion(&now, later).misfits,
              ElementsAre(HasSubstr("caBundle: it has no authority")));
  EXPECT_THAT(fit_of_conversion(&none, now).misfits, ElementsAre(HasSubstr("caBundle: it has no authority")));
  // Its own roots.
  EXPECT_THAT(fit_of_conversion(&now, none).misfits, IsEmpty());
  EXPECT_THAT(fit_of_conversion(&now, none).soon, IsEmpty());
}

}  // namespace
}  // namespace mist::operator_
