#include "reconcile/http_question.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"

namespace mist::reconcile {
namespace {

constexpr std::string_view kKnownFields[] = {"service", "pod",      "port",   "path",
                                             "scheme",  "interval", "timeout"};

// Of RFC 3986 what a path and its query may have unescaped, and escapes. Escaped dots can be dot segments
// too.
bool is_url_path(std::string_view path) {
  return path.starts_with('/') && !path.starts_with("//") && path.find("/..") == std::string_view::npos &&
         lower_case(path).find("%2e") == std::string::npos && std::ranges::all_of(path, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("/-._~!$&'()*+,;=:@?%").find(c) != std::string_view::npos;
         });
}

Result<std::string> port_of(const Value& made) {
  const Value* port = made.find("port");
  if (port == nullptr) return std::string();
  if (port->is_int() && port->as_int() > 0 && port->as_int() < 65536) return std::to_string(port->as_int());
  if (port->is_string() && is_dns1123_label(port->as_string())) return port->as_string();
  return error(ErrorKind::Invalid, "its port is neither a number from 1 to 65535 nor the name of one");
}

Result<Duration> time_of(const Value& made, std::string_view name, Duration usual, Duration least,
                         Duration most) {
  const Value* given = made.find(name);
  if (given == nullptr) return usual;
  if (given->is_string())
    if (const auto time = parse_duration(given->as_string()); time.ok() && *time >= least && *time <= most)
      return *time;
  return error(ErrorKind::Invalid, "its {} is no duration from {} to {}", name, format_elapsed(least),
               format_elapsed(most))
      .with_hint("\"30s\", \"5m\"");
}

}  // namespace

Result<HttpQuestion> HttpQuestion::parse(const Value& made, const std::string& ns) {
  if (!made.is_object()) return error(ErrorKind::Invalid, "its function gives no record");
  for (const Value::Member& each : made.as_object())
    if (std::ranges::find(kKnownFields, each.key) == std::end(kKnownFields))
      return error(ErrorKind::Invalid, "its function gives {}, which isn't known", escape_controls(each.key))
          .with_hint("it gives service or pod, and perhaps port, path, scheme, interval and timeout");
  const std::string_view service = made.string_at("service"), pod = made.string_at("pod");
  if (service.empty() == pod.empty())
    return error(ErrorKind::Invalid, "its function gives neither a service nor a pod, or both");
  HttpQuestion question;
  question.target = pod.empty() ? Target::Service : Target::Pod;
  question.ns = ns;
  question.name = pod.empty() ? service : pod;
  if (!is_dns1123_subdomain(question.name))
    return error(ErrorKind::Invalid, "\"{}\" can't be the name of a Service or Pod",
                 escape_controls(question.name));
  MIST_TRY(question.port, port_of(made));
  question.scheme = made.find("scheme") == nullptr ? "http" : std::string(made.string_at("scheme"));
  if (question.scheme != "http" && question.scheme != "https")
    return error(ErrorKind::Invalid, "its scheme is neither http nor https");
  question.path = made.find("path") == nullptr ? "/" : std::string(made.string_at("path"));
  if (!is_url_path(question.path))
    return error(ErrorKind::Invalid, "\"{}\" is no path of a URL", escape_controls(question.path))
        .with_hint("it begins with /, and what isn't ASCII is escaped with %");
  MIST_TRY(question.interval,
           time_of(made, "interval", std::chrono::seconds(30), kShortestInterval, std::chrono::hours(24)));
  MIST_TRY(question.timeout, time_of(made, "timeout", std::chrono::seconds(5), std::chrono::milliseconds(100),
                                     std::chrono::seconds(60)));
  return question;
}

bool HttpQuestion::asks_same(const HttpQuestion& other) const {
  HttpQuestion same = other;
  same.interval = interval;
  same.timeout = timeout;
  if (target == Target::Pod) same.name = name;
  return same == *this;
}

std::string unanswered(const HttpAnswer& answer) {
  return answer.failure.empty() ? "it is being asked" : answer.failure;
}

}  // namespace mist::reconcile
