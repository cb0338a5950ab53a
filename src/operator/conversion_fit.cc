#include "operator/conversion_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kCertificateBegin = "-----BEGIN CERTIFICATE-----",
                           kCertificateEnd = "-----END CERTIFICATE-----";

// Of a bundle's PEM, without what doesn't count in it: spaces, line breaks, and text between certificates.
std::set<std::string> certificates_in(std::string_view bundle) {
  std::set<std::string> found;
  std::string pem;
  if (!base64_decode(bundle, pem)) return found;
  std::string_view rest = pem;
  for (auto begin = rest.find(kCertificateBegin); begin != std::string_view::npos;
       begin = rest.find(kCertificateBegin)) {
    rest.remove_prefix(begin + kCertificateBegin.size());
    const auto end = rest.find(kCertificateEnd);
    if (end == std::string_view::npos) break;
    std::string text(rest.substr(0, end));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    found.insert(std::move(text));
    rest.remove_prefix(end);
  }
  return found;
}

std::string address_in(const Value& client) {
  if (const Value* const service = client.find("service"); service != nullptr && service->is_object())
    return fmt::format("Service {}/{}, path {}", service->string_at("namespace"), service->string_at("name"),
                       service->string_at("path"));
  return std::string(client.string_at("url"));
}

}  // namespace

ConversionFit fit_of_conversion(const Value* live, const Value& wanted) {
  ConversionFit fit;
  if (live == nullptr || live->string_at("strategy") != "Webhook") {
    fit.misfits.emplace_back("strategy: it isn't Webhook");
    return fit;
  }
  const Value none;
  const auto client_of = [&](const Value& conversion) -> const Value& {
    const Value* const found = conversion.at_path({"webhook", "clientConfig"});
    return found == nullptr ? none : *found;
  };
  const Value &has = client_of(*live), &needs = client_of(wanted);
  if (const std::string is = address_in(has), should = address_in(needs); is != should)
    fit.misfits.push_back(fmt::format("webhook.clientConfig: it leads to {}, and this operator answers at {}",
                                      is.empty() ? "nothing" : escape_controls(is), should));
  const Value* const webhook = live->find("webhook");
  const std::vector<std::string> reviews =
      webhook == nullptr ? std::vector<std::string>() : webhook->texts_at("conversionReviewVersions");
  if (std::ranges::find(reviews, "v1") == reviews.end())
    fit.misfits.emplace_back("webhook.conversionReviewVersions: v1 isn't among them");
  const std::set<std::string> trusted = certificates_in(has.string_at("caBundle"));
  const std::set<std::string> ours = certificates_in(needs.string_at("caBundle"));
  const auto known =
      std::ranges::count_if(ours, [&](const std::string& each) { return trusted.contains(each); });
  if (!ours.empty() && known == 0)
    fit.misfits.emplace_back(
        "webhook.clientConfig.caBundle: it has no authority of the webhook's certificate, so the API server "
        "doesn't trust the webhook");
  else if (known < std::ssize(ours))
    fit.soon.emplace_back(
        "webhook.clientConfig.caBundle lacks an authority that the webhook's certificate is to have next");
  return fit;
}

}  // namespace mist::operator_
