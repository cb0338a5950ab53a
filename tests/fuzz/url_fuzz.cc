// URLs, what they lead to, which proxy they go through and whose address is public.
#include "http/url.h"

#include "base/text.h"
#include "base/url.h"
#include "http/proxy.h"
#include "http/public_address.h"
#include "targets.h"

namespace mist::fuzz {

void url(std::string_view bytes) {
  using namespace http;
  if (percent_decoded(escape_segment(bytes)) != bytes || percent_decoded(escape_query(bytes)) != bytes)
    fail("what is escaped means something else", bytes);
  (void)loggable_url(bytes);
  (void)is_public_address(bytes);
  (void)may_be_public_host(bytes);
  if (const auto proxy = normal_proxy(bytes); !proxy.ok()) check_error(proxy.error());

  if (const auto parts = split_url(bytes)) {
    std::string all = fmt::format("{}://{}{}", parts->scheme, parts->authority, parts->target);
    if (bytes.contains('#')) all += fmt::format("#{}", parts->fragment);
    if (all != bytes) fail("the parts aren't all of the URL", bytes);
    const auto with_user = with_userinfo(bytes, "u:p");
    if (!parts->server.empty() && split_url(with_user)->userinfo != "u:p")
      fail("the user isn't in it", with_user);
  }

  Input input(bytes);
  const std::string_view text = input.line(), more = input.rest();
  const auto parsed = Url::parse(text);
  if (!parsed.ok()) return check_error(parsed.error());
  Url without_user = *parsed;
  without_user.user.clear();
  const auto again = Url::parse(parsed->str());
  if (!again.ok()) fail("the printed form is none", parsed->str());
  if (*again != without_user) fail("the printed form means something else", parsed->str());
  if (escape_controls(parsed->host) != parsed->host) fail("a host with control characters", parsed->host);
  (void)bypasses_proxy(*parsed, more);
  if (const auto proxy = proxy_for(*parsed, {std::string(more), std::string(more), {}}); !proxy.ok())
    check_error(proxy.error());

  // A relative reference stays on the server, unless it names another.
  const std::string to = resolved_url(parsed->str(), more);
  if (!scheme_of(more).empty()) return;
  if (more.starts_with("//")) {
    if (to != more && !split_url(to)) fail("a server that nobody can ask", to);
    return;
  }
  const auto led = Url::parse(to);
  const bool has_path = !more.empty() && !more.starts_with('?') && !more.starts_with('#');
  if (led.ok() && has_path && led->path.contains("/../")) fail("a path that leads up", to);
  if (led.ok() && (led->host != parsed->host || led->port != parsed->port || led->scheme != parsed->scheme))
    fail("a relative reference leads to another server", to);
}

}  // namespace mist::fuzz
