#pragma once
// Takes credentials out of what people and logs see: out of URLs (base/url_credentials.h), and of documents,
// where keys are named like a secret. Pure; any thread.

#include "base/url_credentials.h"
#include "encoding/value.h"

namespace mist::config {

using mist::redact_urls;
using mist::without_credentials;

/// The same as redact_urls for every string in `value`; strings at keys such as "password" or "token" become
/// "***".
encoding::Value redact(encoding::Value value);

}  // namespace mist::config
