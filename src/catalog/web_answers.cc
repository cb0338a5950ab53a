#include "catalog/web_answers.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/json_views.h"
#include "encoding/json.h"
#include "http/url.h"

namespace mist::catalog {

using encoding::Value;
using http::WebAnswer;

int status_of(const Error& failure) {
  using enum ErrorKind;
  switch (failure.kind) {
    case NotFound:
      return 404;
    case Conflict:
      return 409;
    case Gone:
      return 410;
    case Forbidden:
      return 403;
    case Invalid:
    case Usage:
      return 400;
    case Retryable:
    case Timeout:
    case Cancelled:
      return 503;
    case Trap:
    case Internal:
      return 500;
  }
  return 500;
}

WebAnswer json(const Value& value, int status) {
  return {.status = status,
          .content_type = "application/json",
          .body = encoding::to_json(value) + "\n",
          .headers = {}};
}

WebAnswer html(std::string text, int status) {
  return {
      .status = status, .content_type = "text/html; charset=utf-8", .body = std::move(text), .headers = {}};
}

WebAnswer nothing(int status) {
  return {.status = status, .content_type = "text/plain", .body = {}, .headers = {}};
}

WebAnswer too_often(int seconds) {
  WebAnswer answer = json(to_value(error(ErrorKind::Retryable, "too many requests")
                                       .with_hint(fmt::format("try again in {} seconds", seconds))),
                          429);
  answer.headers.push_back({"Retry-After", std::to_string(seconds)});
  return answer;
}

Error no_such(std::string_view what, std::string_view name) {
  return error(ErrorKind::NotFound, "there is no {} {}", what, escape_controls(name));
}

WebAnswer see_other(const std::string& path) {
  WebAnswer answer = nothing(303);
  answer.headers.push_back({"Location", path});
  return answer;
}

std::optional<std::vector<std::string>> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  path.remove_prefix(1);
  if (path.empty()) return parts;
  for (const std::string_view each : split(path, '/')) {
    std::string part = http::unescape(each);
    if (part.empty() || part == "." || part == ".." || part.size() > 300 || !is_valid_utf8(part) ||
        std::ranges::any_of(
            part, [](char c) { return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }))
      return std::nullopt;
    parts.push_back(std::move(part));
  }
  return parts;
}

Fields query_parts(std::string_view query) {
  Fields parts;
  if (query.empty()) return parts;
  for (const std::string_view each : split(query, '&')) {
    if (parts.size() >= 200) break;
    const auto equals = each.find('=');
    const auto meant = [](std::string_view text) {
      std::string plain(text);
      std::ranges::replace(plain, '+', ' ');
      return http::unescape(plain);
    };
    std::string value = equals == each.npos ? std::string() : meant(each.substr(equals + 1));
    if (is_valid_utf8(value)) parts.emplace(meant(each.substr(0, equals)), std::move(value));
  }
  return parts;
}

std::string field(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace mist::catalog
