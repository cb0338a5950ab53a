#pragma once
// API servers quote what they refuse ("Invalid value: …"). Where a Secret was sent, that may be what it
// hides: such texts are masked before anybody sees them. Pure; any thread.

#include <string>
#include <string_view>

#include "base/error.h"
#include "encoding/value.h"

namespace mist::kube {

/// Whether what was asked for is a Secret ("Secret shop/key", "secrets in namespace shop").
bool about_secrets(std::string_view object);

/// `text` without the values of `sent` (a Secret, or a patch of one) and without what the server quotes as
/// the value of a field that isn't metadata: "(hidden)" stands in their places.
std::string mask_secret_values(std::string_view text, const encoding::Value& sent);

/// Masks every text of the error and of its causes.
Error mask_secret_values(Error failure, const encoding::Value& sent);

}  // namespace mist::kube
