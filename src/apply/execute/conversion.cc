#include "apply/execute/conversion.h"

#include "base/one_line.h"
#include "kube/definitions.h"

namespace mist::apply {

using encoding::Value;

namespace {

std::string server_of(const Value& definition) {
  const auto at = [&](std::string_view name) {
    return definition.string_at({"spec", "conversion", "webhook", "clientConfig", name});
  };
  if (const std::string_view url = at("url"); !url.empty()) return std::string(url);
  const auto service = [&](std::string_view name) {
    return definition.string_at({"spec", "conversion", "webhook", "clientConfig", "service", name});
  };
  return fmt::format("Service {}/{}", service("namespace"), service("name"));
}

}  // namespace

std::optional<ConversionWebhook> conversion_webhook(kube::Client& client, const kube::ResourceInfo& resource,
                                                    const Context& context) {
  const std::string name = fmt::format("{}.{}", resource.resource, resource.gvk.group);
  const auto definition = client.get({kube::kDefinitions, "", name}, context);
  if (!definition.ok() || definition->string_at({"spec", "conversion", "strategy"}) != "Webhook")
    return std::nullopt;
  return ConversionWebhook{
      .definition = name, .server = server_of(*definition), .versions = kube::served_versions(*definition)};
}

std::string conversion_words(const ConversionWebhook& webhook, const Error& failure) {
  return fmt::format("the conversion webhook of {} ({}) doesn't do its work: {}", webhook.definition,
                     webhook.server, one_line(failure.because.empty() ? failure.message : failure.because));
}

std::string conversion_hint(const kube::Client& client, const ConversionWebhook& webhook) {
  return fmt::format(
      "repair what answers at {}, or, if all versions of the kind have the same fields, do without it: "
      "{} patch crd {} --type merge -p '{{\"spec\":{{\"conversion\":{{\"strategy\":\"None\",\"webhook\":"
      "null}}}}}}'",
      webhook.server, client.kubectl(), webhook.definition);
}

}  // namespace mist::apply
