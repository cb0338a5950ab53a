#include "apply/execute/conversion.h"

#include "base/one_line.h"
#include "kube/crds.h"

namespace mist::apply {

using encoding::Value;

namespace {

std::string server_of(const Value& crd) {
  const auto at = [&](std::string_view name) {
    return crd.string_at({"spec", "conversion", "webhook", "clientConfig", name});
  };
  if (const std::string_view url = at("url"); !url.empty()) return std::string(url);
  const auto service = [&](std::string_view name) {
    return crd.string_at({"spec", "conversion", "webhook", "clientConfig", "service", name});
  };
  return fmt::format("Service {}/{}", service("namespace"), service("name"));
}

}  // namespace

std::optional<ConversionWebhook> conversion_webhook(kube::Client& client, const kube::ResourceInfo& resource,
                                                    const Context& context) {
  const std::string name = fmt::format("{}.{}", resource.resource, resource.gvk.group);
  const auto crd = client.get({kube::kCrds, "", name}, context);
  if (!crd.ok() || crd->string_at({"spec", "conversion", "strategy"}) != "Webhook") return std::nullopt;
  return ConversionWebhook{.crd = name, .server = server_of(*crd), .versions = kube::served_versions(*crd)};
}

std::string conversion_words(const ConversionWebhook& webhook, const Error& failure) {
  return fmt::format("the conversion webhook of {} ({}) doesn't do its work: {}", webhook.crd, webhook.server,
                     one_line(failure.because.empty() ? failure.message : failure.because));
}

std::string conversion_hint(const kube::Client& client, const ConversionWebhook& webhook) {
  return fmt::format(
      "repair what answers at {}, or, if all versions of the kind have the same fields, do without it: "
      "{} patch crd {} --type merge -p '{{\"spec\":{{\"conversion\":{{\"strategy\":\"None\",\"webhook\":"
      "null}}}}}}'",
      webhook.server, client.kubectl(), webhook.crd);
}

}  // namespace mist::apply
