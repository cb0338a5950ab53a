#include "catalog/web_answers.h"

#include <algorithm>
#include <charconv>

#include "base/storage_fault.h"
#include "base/text.h"
#include "base/url.h"
#include "catalog/json_views.h"
#include "encoding/json.h"

namespace mist::catalog {

using encoding::Value;
using http::WebAnswer;

namespace {
constexpr std::size_t kMostJsonValues = 1000;
}  // namespace

int status_of(const Error& failure) {
  using enum ErrorKind;
  if (is_storage_fault(failure)) return is_storage_full(failure) ? kNoRoom : 503;
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

Error for_everybody(const Error& failure) {
  if (is_storage_fault(failure) && is_storage_full(failure))
    return error(ErrorKind::Retryable, "the catalog's disk is full, so it keeps nothing now")
        .with_because("nothing of this request was kept")
        .with_hint("try again later; reading works meanwhile");
  if (is_storage_fault(failure))
    return error(ErrorKind::Retryable, "the catalog can't read or write its data now")
        .with_hint("try again later");
  if (status_of(failure) == 500) return error(ErrorKind::Internal, "the catalog has a fault");
  return failure;
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

Result<Value> body_of(const http::WebRequest& request) {
  // A form of another site can't send this type without being asked first.
  const std::string type = lower_case(http::find_header(request.headers, "Content-Type"));
  if (!type.starts_with("application/json"))
    return error(ErrorKind::Invalid, "the body must be JSON, with Content-Type: application/json");
  MIST_TRY(Value value,
           encoding::parse_json(
               request.body,
               {.strict = true, .max_depth = 20, .max_values = kMostJsonValues, .file = "the body"}));
  if (!value.is_object()) return error(ErrorKind::Invalid, "the body must be an object");
  return value;
}

Status only_members(const Value& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.as_object()) {
    if (std::ranges::find(known, key) == known.end())
      return error(ErrorKind::Invalid, "there is no member {}", escape_controls(key));
    if (!value.is_string()) return error(ErrorKind::Invalid, "{} must be a text", key);
  }
  return {};
}

std::int64_t id_of(std::string_view text) {
  std::int64_t id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  return failed == std::errc() && end == text.data() + text.size() ? id : 0;
}

bool names_etag(std::string_view header, std::string_view etag) {
  if (trim(header) == "*") return true;
  for (std::string_view each : split(header, ',')) {
    each = trim(each);
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == etag) return true;
  }
  return false;
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
    std::string part = percent_decoded(each);
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
      return percent_decoded(plain);
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
