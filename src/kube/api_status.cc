#include "kube/api_status.h"

#include <algorithm>
#include <array>

#include "base/cut_text.h"
#include "base/text.h"
#include "encoding/json.h"
#include "kube/api_failure.h"
#include "kube/lost_version.h"

namespace mist::kube {
namespace {

using encoding::Value;

constexpr std::size_t kExcerpt = 200;
// The Status of a path that no handler takes; CustomResourceDefinitions' say it without a Status.
constexpr std::string_view kUnknownPath = "the server could not find the requested resource";
// The server's name for a user whose request has no credentials (user.Anonymous).
constexpr std::string_view kAnonymous = "User \"system:anonymous\"";

ErrorKind kind_of(int status, std::string_view reason) {
  if (reason == "Expired" || reason == "Gone") return ErrorKind::Gone;
  switch (status) {
    case 401:
    case 403:
      return ErrorKind::Forbidden;
    case 404:
      return ErrorKind::NotFound;
    case 409:
      return ErrorKind::Conflict;
    case 410:
      return ErrorKind::Gone;
    case 408:
    case 425:
    case 429:
      return ErrorKind::Retryable;
    default:
      return status >= 500 ? ErrorKind::Retryable : ErrorKind::Invalid;
  }
}

std::string_view meaning(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "the request is too large";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return status >= 300 && status < 400 ? "a redirect" : "an unexpected status";
  }
}

std::string excerpt(std::string_view body) {
  const std::string_view text = trim(body);
  if (text.empty()) return "an empty body";
  return escape_controls(cut_text(text, kExcerpt));
}

std::string hint_for(int status, std::string_view reason, std::string_view message, const Asked& asked,
                     const ApiFailure& fact) {
  if (status == 401)
    return asked.user.empty()
               ? "the context has no credentials that this server takes: choose another with --context"
               : fmt::format(
                     "the server doesn't take the credentials of the user \"{}\": log in again, or choose "
                     "another context with --context",
                     asked.user);
  // Authorization names the user ("User "a" cannot get …"); quotas, LimitRanges and Pod Security don't.
  if (status == 403 && reason == "Forbidden" && message.contains(kAnonymous))
    return asked.user.empty() ? "the context has no credentials, so the server treats you as "
                                "system:anonymous: log in, or choose "
                                "another context with --context"
                              : fmt::format(
                                    "the server doesn't know the credentials of the user \"{}\" and treats "
                                    "you as system:anonymous: "
                                    "log in again, or choose another context with --context",
                                    asked.user);
  if (status == 403 && reason == "Forbidden")
    return message.contains("User \"")
               ? "ask an administrator for that permission (RBAC), or use another context"
               : "a rule of the cluster (quota, LimitRange, Pod Security, policy) forbids it: change the "
                 "object "
                 "or the rule";
  if (status == 413) return "split the object: the API server takes about 3 MB";
  if (status == 429 && fact.copy_not_ready)
    return "a server that has just started is ready a moment later; if it stays so, it can't read one of "
           "these "
           "objects: list all of the kind, without a selector, and it says why";
  if (status == 429) return "the server is overloaded: try again later";
  return {};
}

// The end of a value that begins with a bracket, behind the bracket that closes it; npos if none does.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth <= 0) {
      return depth == 0 ? at + 1 : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

// Validation repeats the value that it refuses: of a Job's template thousands of characters, between the
// field's name and what is wrong with it.
std::string without_long_values(std::string text) {
  constexpr std::string_view kBefore = "Invalid value: ";
  constexpr std::size_t kLong = 120;
  for (std::size_t at = 0; (at = text.find(kBefore, at)) != std::string::npos;) {
    at += kBefore.size();
    // "{…}", "[…]", and as Go prints a structure: "core.PodTemplateSpec{…}"
    const std::size_t begin = text.find_first_of("{[ \"", at);
    if (begin == std::string::npos || text[begin] == ' ' || text[begin] == '"') continue;
    const std::size_t end = end_of_value(text, begin);
    if (end == std::string::npos || end - begin < kLong) continue;
    text.replace(at, end - at, text[begin] == '{' ? "{…}" : "[…]");
  }
  return text;
}

// Of an answer without a Status.
Error bare_error(const http::Response& response, const Asked& asked) {
  const std::string what =
      response.body.empty() ? std::string() : fmt::format(": {}", excerpt(response.body));
  Error failure =
      error(kind_of(response.status, ""), "cannot {} {} on {}", asked.verb, asked.object, asked.server)
          .with_because(fmt::format("HTTP {}: {}{}", response.status, meaning(response.status), what))
          .with_hint(hint_for(response.status, "", "", asked, {}));
  if (response.status >= 300 && response.status < 400)
    failure.hint =
        "is the server address of the context an API server? Redirects are not followed, because "
        "credentials would go with them";
  return failure;
}

}  // namespace

Error status_error(const Value& status, int http_status, const Asked& asked) {
  const auto is_of_terminating = [](const ApiFailure::Cause& cause) {
    return cause.reason == "NamespaceTerminating";
  };
  // Inside of a watch there is no HTTP status but the one in the object.
  if (const Value* code = status.find("code"); http_status == 0 && code != nullptr && code->is_int())
    http_status = static_cast<int>(code->as_int());
  const std::string_view reason = status.string_at("reason");
  std::string because = without_long_values(escape_controls(status.string_at("message"), true));
  if (const Value* causes = status.at_path({"details", "causes"}); causes != nullptr && causes->is_array()) {
    for (const Value& cause : causes->as_array()) {
      const std::string text = without_long_values(escape_controls(cause.string_at("message")));
      // The message of a conflict lists all of them, in other words.
      const bool said =
          because.find(text) != std::string::npos || cause.string_at("reason") == "FieldManagerConflict";
      if (text.empty() || said) continue;
      const std::string field = escape_controls(cause.string_at("field"));
      because += field.empty() ? fmt::format("\n{}", text) : fmt::format("\n{}: {}", field, text);
    }
  }
  ErrorKind kind = kind_of(http_status, reason);
  ApiFailure fact = read_failure(status, kind);
  // PUT and DELETE answer 409.
  if (fact.other_object) kind = ErrorKind::Conflict;
  if (because.empty()) because = fmt::format("HTTP {}: {}", http_status, meaning(http_status));
  const std::string hint = std::ranges::any_of(fact.causes, is_of_terminating)
                               ? "wait until the namespace is gone, or choose another"
                               : hint_for(http_status, reason, status.string_at("message"), asked, fact);
  return error(kind, "cannot {} {} on {}", asked.verb, asked.object, asked.server)
      .with_because(std::move(because))
      .with_hint(hint)
      .with_detail(std::move(fact));
}

Error answer_error(const http::Response& response, const Asked& asked) {
  const auto body = encoding::parse_json(response.body);
  const bool is_status = body && body->string_at("kind") == "Status";
  // An object that isn't there is named, in `details` or, by aggregated APIs, at least in the message.
  const bool unknown_kind = asked.objects && response.status == 404 &&
                            (!is_status || body->string_at("message").starts_with(kUnknownPath));
  Error failure = is_status ? status_error(*body, response.status, asked) : bare_error(response, asked);
  return unknown_kind ? as_not_served(std::move(failure)) : failure;
}

Result<Value> decode_answer(const http::Response& response, const Asked& asked) {
  if (response.status < 200 || response.status > 299) return answer_error(response, asked);
  // The server stores deeper objects than we read, and one of them may not hide a list of others.
  auto body = encoding::parse_json(response.body, {.cut_deep = true});
  if (body && body->is_object()) return body;
  return error(ErrorKind::Invalid, "cannot {} {}: {} answered something that is no Kubernetes API object",
               asked.verb, asked.object, asked.server)
      .with_because(excerpt(response.body))
      .with_hint("check the server address of the context, and proxies on the way");
}

void correct_status(http::Response& response) {
  if (response.status < 400) return;
  const auto body = encoding::parse_json(response.body);
  if (!body || !body->is_object()) return;
  // Admission denies with the status that a webhook or a policy names. To deny is no conflict, no overload
  // and no outage: the same request is denied again.
  const ApiFailure failure = read_failure(*body, ErrorKind::Invalid);
  const bool says_so = response.status == 400 || response.status == 403 || response.status == 422;
  if (!says_so && !failure.denied_by.empty()) response.status = 403;
  if (response.status != 500) return;
  // An object of the wrong types, whether it is sent or there already, one that can't be decoded (a Secret
  // that is no base64, a Lease whose time has no fraction), or one with fields of a version that is gone or
  // lacks others: the same request will be refused again. A conversion webhook that fails says other words.
  const std::string_view message = body->string_at("message");
  if (message.starts_with("failed to create typed patch object") || failure.lost_version ||
      failure.narrow_version || failure.live_unreadable ||
      (message.starts_with("failed to convert new object") &&
       message.contains("unable to convert unstructured object to ")))
    response.status = 422;
}

std::vector<std::string> warnings_of(const http::Headers& headers) {
  std::vector<std::string> texts;
  for (const http::Header& header : headers) {
    const bool is_warning = std::ranges::equal(header.name, std::string_view("warning"),
                                               [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    if (!is_warning) continue;
    // code SP agent SP quoted-string, several joined by commas
    std::string_view rest = header.value;
    while (true) {
      const auto open = rest.find('"');
      if (open == std::string_view::npos) break;
      std::string text;
      std::size_t i = open + 1;
      for (; i < rest.size() && rest[i] != '"'; ++i) {
        if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
        text += rest[i];
      }
      if (!text.empty()) texts.push_back(escape_controls(text));
      rest.remove_prefix(std::min(i + 1, rest.size()));
      // A warning may end with a quoted date.
      if (rest.starts_with(" \"")) rest.remove_prefix(std::min(rest.find('"', 2), rest.size() - 1) + 1);
      const auto comma = rest.find(',');
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return texts;
}

}  // namespace mist::kube
