#include "catalog/site.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/sign_in.h"
#include "catalog/task_answers.h"
#include "catalog/web_answers.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "http/public_address.h"

namespace mist::catalog {
namespace {

using http::WebAnswer;
using http::WebRequest;

constexpr std::string_view kApi = "/api/";

// Pages run the script of this program and no other, and nothing comes from elsewhere.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSafety{{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; "
     "form-action 'self'; base-uri 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
}};

// The client's address as the proxy in front saw it: the last one of the last line, which is the proxy's own.
// Everything before may be the client's invention. Empty: that is no address.
std::string_view address_by_proxy(const http::Headers& headers) {
  std::string_view chain;
  for (const http::Header& header : headers)
    if (lower_case(header.name) == "x-forwarded-for") chain = header.value;
  std::string_view last = trim(chain.substr(chain.rfind(',') + 1));
  // Some proxies write the port, too: 192.0.2.1:4711, [2001:db8::1]:4711.
  const std::size_t bracket = last.find(']');
  if (last.starts_with('[') && bracket != std::string_view::npos)
    last = last.substr(1, bracket - 1);
  else if (const std::size_t colon = last.find(':'); colon == last.rfind(':'))
    last = last.substr(0, colon);
  return http::is_ip_address(last) ? last : std::string_view();
}

// Adds an ETag to what can be kept, and answers 304 to whoever has it.
void condense(const WebRequest& request, WebAnswer& answer) {
  if (answer.status != 200 || (request.method != "GET" && request.method != "HEAD")) return;
  std::string etag(http::find_header(answer.headers, "ETag"));
  if (etag.empty()) {
    etag = fmt::format("\"{}\"", crypto::sha256(answer.body).hex().substr(0, 24));
    answer.headers.push_back({"ETag", etag});
  }
  if (const std::string_view known = http::find_header(request.headers, "If-None-Match");
      !known.empty() && names_etag(known, etag)) {
    answer.status = 304;
    answer.body.clear();
    answer.shared.reset();
  }
}

}  // namespace

Site::Site(Dependencies dependencies, SiteOptions options)
    : dependencies_(std::move(dependencies)),
      options_(std::move(options)),
      downloads_({.store = dependencies_.store,
                  .clock = dependencies_.clock,
                  .random = dependencies_.random,
                  .events = dependencies_.events}),
      installs_({.store = dependencies_.store,
                 .clock = dependencies_.clock,
                 .random = dependencies_.random,
                 .events = dependencies_.events,
                 .what = Counted::Installs}),
      actions_({.store = dependencies_.store,
                .random = dependencies_.random,
                .wake_poller = dependencies_.wake_poller,
                .allowed = options_.allowed}),
      opinions_(dependencies_.feedback, dependencies_.clock),
      domains_({.accounts = dependencies_.accounts,
                .clock = dependencies_.clock,
                .resolve = dependencies_.resolve_txt,
                .url = options_.url}),
      tokens_(
          {.accounts = dependencies_.accounts, .clock = dependencies_.clock, .random = dependencies_.random}),
      account_pages_({.store = dependencies_.store,
                      .accounts = dependencies_.accounts,
                      .feedback = dependencies_.feedback,
                      .actions = actions_,
                      .opinions = opinions_,
                      .domains = domains_,
                      .tokens = tokens_,
                      .passwords = dependencies_.passwords,
                      .clock = dependencies_.clock,
                      .random = dependencies_.random,
                      .oidc = dependencies_.oidc,
                      .passkeys = dependencies_.passkeys},
                     {.url = options_.url,
                      .registration = options_.registration,
                      .writes_per_minute = options_.writes_per_minute}),
      index_(dependencies_.store, dependencies_.clock, index_for_kpm),
      search_index_(dependencies_.store, dependencies_.clock, index_for_search, Sharded::Yes),
      openapi_(encoding::to_json(openapi_document(options_.url), encoding::JsonStyle::Pretty) + "\n"),
      reads_(dependencies_.clock, options_.reads_per_second, options_.reads_per_second * 5),
      writes_(dependencies_.clock, options_.writes_per_minute / 60,
              std::max(1.0, options_.writes_per_minute / 2)) {}

WebAnswer Site::answer(const WebRequest& request) {
  WebAnswer answer = route(request);
  for (const auto& [name, value] : kSafety)
    if (http::find_header(answer.headers, name).empty())
      answer.headers.push_back({std::string(name), std::string(value)});
  if (http::find_header(answer.headers, "Cache-Control").empty())
    answer.headers.push_back({"Cache-Control", answer.status == 200 ? "no-cache" : "no-store"});
  // Pages show who is signed in.
  if (answer.content_type.starts_with("text/html")) answer.headers.push_back({"Vary", "Cookie"});
  condense(request, answer);
  return answer;
}

WebAnswer Site::route(const WebRequest& request) {
  std::string peer = request.peer;
  if (options_.behind_proxy)
    if (const std::string_view client = address_by_proxy(request.headers); !client.empty()) peer = client;
  const bool is_api = request.path.starts_with(kApi);
  if (const int seconds = reads_.wait_for(client_of(peer)); seconds > 0)
    // Without who is signed in: a client that asks too much costs no query.
    return is_api ? too_often(seconds) : too_often_page(seconds, {.url = options_.url}, request.path);
  if (dependencies_.tasks != nullptr && is_task_path(request.path))
    return answer_task({*dependencies_.tasks, dependencies_.blobs, dependencies_.events}, request);
  if (is_api) return api(request, peer);
  return page(request, peer);
}

}  // namespace mist::catalog
