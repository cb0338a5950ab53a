#include "oci/answers.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/json.h"
#include "oci/reference.h"
#include "oci/tags.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr std::size_t kMaxWords = 300;
constexpr std::size_t kMaxErrors = 3;
constexpr int kAnswerDepth = 16;

std::string shortened(std::string_view text) {
  std::string harmless = escape_controls(trim(text.substr(0, std::min(text.find('\n'), kMaxWords))));
  return harmless;
}

}  // namespace

std::string words_of(std::string_view body) {
  const Result<Value> document = encoding::parse_json(body, {.max_depth = kAnswerDepth});
  const Value* const errors = document.ok() ? document->find("errors") : nullptr;
  if (errors == nullptr || !errors->is_array()) {
    // A page for people says nothing in its first line.
    return trim(body).starts_with('<') ? std::string() : shortened(trim(body));
  }
  std::vector<std::string> words;
  for (const Value& each : errors->as_array()) {
    const std::string code = shortened(each.string_at("code")),
                      message = shortened(each.string_at("message"));
    if (words.size() < kMaxErrors && !(code.empty() && message.empty()))
      words.push_back(message.empty() ? code
                      : code.empty()  ? message
                                      : fmt::format("{} ({})", message, code));
  }
  return join(words, "; ");
}

namespace {

// The texts at `key`; what the list may hold, the caller knows.
Result<std::vector<std::string>> parse_list(std::string_view body, std::string_view key) {
  const auto bad = [&](std::string because) {
    return error(ErrorKind::Invalid, "the registry's list of {} can't be read", key)
        .with_because(std::move(because));
  };
  const Result<Value> document = encoding::parse_json(body, {.max_depth = kAnswerDepth});
  if (!document) return bad(escape_controls(document.error().message));
  std::vector<std::string> texts;
  const Value* const list = document->find(key);
  if (list == nullptr || list->is_null()) return texts;
  if (!list->is_array()) return bad(fmt::format("{} is not a list", key));
  if (list->size() > kMaxTags)
    return bad(fmt::format("it has {} entries; {} are allowed", list->size(), kMaxTags));
  for (const Value& each : list->as_array())
    if (each.is_string()) texts.push_back(each.as_string());
  return texts;
}

}  // namespace

Result<std::vector<std::string>> parse_tags(std::string_view body) {
  MIST_TRY(std::vector<std::string> tags, parse_list(body, "tags"));
  std::erase_if(tags, [](const std::string& tag) { return !is_tag(tag); });
  return tags;
}

Result<std::vector<std::string>> parse_repositories(std::string_view body) {
  MIST_TRY(std::vector<std::string> paths, parse_list(body, "repositories"));
  // As references have them.
  std::erase_if(paths, [](const std::string& path) {
    return !Repository::parse(fmt::format("{}registry.example/{}", kScheme, path));
  });
  return paths;
}

std::optional<std::string> next_page(std::string_view link) {
  // RFC 8288; registries send one link.
  const auto open = link.find('<'), close = link.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::string parameters = lower_case(link.substr(close + 1));
  if (parameters.find("rel=\"next\"") == std::string::npos &&
      parameters.find("rel=next") == std::string::npos)
    return std::nullopt;
  return std::string(link.substr(open + 1, close - open - 1));
}

Result<SecretString> parse_token(std::string_view body) {
  const Result<Value> document = encoding::parse_json(body, {.max_depth = kAnswerDepth});
  // OAuth2 calls it access_token; Docker's own form is token.
  for (const std::string_view key : {"token", "access_token"}) {
    const std::string_view token = document.ok() ? document->string_at(key) : std::string_view();
    const bool clean = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
    if (!token.empty() && clean) return SecretString(std::string(token));
  }
  return error(ErrorKind::Invalid, "the token server's answer holds no token");
}

}  // namespace mist::oci
