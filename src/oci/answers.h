#pragma once
// The JSON that registries and token servers answer with (distribution specification, "Error codes" and
// "Content discovery"; the token specification of CNCF distribution). Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace mist::oci {

inline constexpr std::size_t kMaxTags = 100'000;

/// A registry's words about an error: "manifest unknown (MANIFEST_UNKNOWN)", several with "; " between them;
/// the first line of text that isn't of that form. Harmless on a terminal; empty: it says nothing.
std::string words_of(std::string_view body);

/// The tags in a page of tags/list. Errors: Invalid.
Result<std::vector<std::string>> parse_tags(std::string_view body);

/// The repositories in a page of _catalog. Errors: Invalid.
Result<std::vector<std::string>> parse_repositories(std::string_view body);

/// The next page by a Link header: "</v2/…?n=100&last=b>; rel=\"next\"". Nothing: this was the last page.
std::optional<std::string> next_page(std::string_view link);

/// The token that a token server gave. Errors: Invalid.
Result<SecretString> parse_token(std::string_view body);

}  // namespace mist::oci
