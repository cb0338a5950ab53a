#pragma once
// The webhook that converts custom resources between the versions of their kind. While it is down, whatever
// is stored in another version than the asked one can be neither read, written nor deleted: the API server
// answers 500, and says nothing structured about why. Its CRD says which webhook that is. As with an
// aggregated API that doesn't answer (kube/api_down.h), what can't be read isn't gone. Blocking; any thread.

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

struct ConversionWebhook {
  std::string crd;                    ///< name of the CustomResourceDefinition
  std::string server;                 ///< "Service shop/converter", or a URL
  std::vector<std::string> versions;  ///< that are served
};

/// Between two tries of a request that needs the webhook.
inline constexpr auto kPauseToConvert = std::chrono::milliseconds(500);
/// How long a read of custom resources is tried before their webhook is asked about.
inline constexpr auto kUntilConversion = std::chrono::seconds(8);

/// nullopt: the kind has none, or its CRD can't be read.
std::optional<ConversionWebhook> conversion_webhook(kube::Client& client, const kube::ResourceInfo& resource,
                                                    const Context& context);

/// Why a request for an object of such a kind failed: "the conversion webhook of things.example.com (Service
/// shop/converter) doesn't answer: …".
std::string conversion_words(const ConversionWebhook& webhook, const Error& failure);

/// A hint that says what to do about it.
std::string conversion_hint(const kube::Client& client, const ConversionWebhook& webhook);

}  // namespace mist::apply
