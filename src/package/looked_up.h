#pragma once
// The values of Secrets that were looked up: none of them is ever printed, wherever a package puts it. Pure;
// any thread.

#include <map>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "encoding/value.h"

namespace mist::package {

/// Shorter values stand in words by chance ("1", "on"): they are hidden only where they are all of a value.
inline constexpr std::size_t kShortestInText = 4;

/// Of an answer to `lookup` (an object, a list, or null): the values of its Secrets, by "NAMESPACE/NAME KEY",
/// each decoded, and in the forms in which it may stand in a text: its lines, and as JSON quotes it.
std::map<std::string, SecretString> values_of_secrets(const encoding::Value& answer);

/// The end of the name of a text as JSON quotes it.
inline constexpr std::string_view kQuotedForm = " (quoted)";

/// Adds a text in these forms, by names that begin with `name`.
void add_forms(std::map<std::string, SecretString>& values, const std::string& name, const std::string& text);

/// Those of them that are looked for in texts.
std::map<std::string, SecretString> looked_up_in_texts(std::map<std::string, SecretString> values);

/// Adds those forms of a text that are looked for in texts. Equal texts have equal names, so that adding one
/// again costs nothing.
void hide_text(std::map<std::string, SecretString>& hidden, const std::string& text);

}  // namespace mist::package
