#include "registry/remote_file.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "http/over_limit.h"
#include "http/url.h"
#include "registry/git_url.h"
#include "registry/oci_auth.h"
#include "registry/oci_reach.h"
#include "registry/package_files.h"

namespace mist::registry {
namespace {

constexpr int kMaxRedirects = 10;
constexpr std::chrono::minutes kPatience{1};
constexpr std::uint64_t kSlowestServer = 256 << 10;  // bytes per second, of the largest file

Status check_url(const std::string& url, PlainHttp plain) {
  const std::string scheme = scheme_of(url);
  const bool may_be_plain = plain == PlainHttp::Everywhere || is_this_machine(url);
  if (scheme == "https" || (scheme == "http" && may_be_plain)) return {};
  return error(ErrorKind::Invalid, "{} can't be fetched", escape_controls(config::redact_urls(url)))
      .with_because("only https proves who answers (http is possible to this machine alone)")
      .with_hint("use an https URL, or copy the file into the package");
}

http::Request file_request(const std::string& url, const FileValidators& known, std::uint64_t most) {
  http::Request request;
  request.url = url.substr(0, url.find('#'));
  request.repeat = http::Repeat::Safe;
  request.response_limit = most;
  if (!known.etag.empty()) request.headers.push_back({"If-None-Match", known.etag});
  if (!known.last_modified.empty()) request.headers.push_back({"If-Modified-Since", known.last_modified});
  return request;
}

std::string without_login(std::string_view url) { return escape_controls(config::redact_urls(url)); }

// A server that sends a byte now and then is never idle, and never done.
Context bounded(std::uint64_t most, const Context& caller) {
  return caller.with_timeout(kPatience + std::chrono::seconds(most / kSlowestServer));
}

// That time is over: the server is as good as away, and the caller has time left for what is kept.
Result<http::Response> sent(http::Transport& transport, const http::Request& request, const Context& context,
                            const Context& caller) {
  Result<http::Response> answer = transport.send(request, context);
  if (!answer && answer.error().kind == ErrorKind::Timeout && caller.check())
    answer.error().kind = ErrorKind::Retryable;
  return answer;
}

// An address that a server sends us to names no user. Where it stays with the same server, that of the
// address before is meant for it too, as in Helm; no other server gets it.
std::string with_user_of(const std::string& from, std::string to) {
  const std::optional<UrlParts> before = split_url(from);
  const auto next = http::Url::parse(to.substr(0, to.find('#')));
  if (!before || before->userinfo.empty() || !next || !next->user.empty() || !same_origin(from, to))
    return to;
  return with_userinfo(next->str(), before->userinfo);
}

bool is_page(const http::Response& response) {
  if (http::find_header(response.headers, "content-type").starts_with("text/html")) return true;
  return trim(response.body).starts_with('<');
}

Error refused(const std::string& url, int status) {
  const bool forbidden = status == 401 || status == 403;
  const bool later = status == 408 || status == 429 || status >= 500;
  Error failure =
      error(forbidden ? ErrorKind::Forbidden
            : later   ? ErrorKind::Retryable
                      : ErrorKind::Invalid,
            "{} can't be fetched: the server answered {}", escape_controls(config::redact_urls(url)), status)
          .with_hint(forbidden
                         ? "files that need credentials: put them into a git repository, or into the package"
                         : "try again, or copy the file into the package");
  if (!later) failure.details.set(FileRefused{});
  return failure;
}

// Of an address that a server sends us to. Where we may not follow (http, a private server that lets people
// log in), the answer of the first server was that it doesn't give the file out.
Error not_followed(Error failure) {
  const bool is_final = failure.kind == ErrorKind::Forbidden || failure.kind == ErrorKind::Invalid;
  if (is_final && !http::is_over_limit(failure)) failure.details.set(FileRefused{});
  return failure;
}

}  // namespace

Result<bool> judged_hop(const FileReach& reach, std::string_view from, const std::string& to) {
  const auto repository = http::Url::parse(reach.repository.substr(0, reach.repository.find('#')));
  const auto url = http::Url::parse(to);
  if (repository && url && may_follow(repository->authority(), from, *url))
    return must_be_public(repository->origin(), *url, reach.resolve);
  return error(ErrorKind::Invalid, "{} leads to an address that can't be trusted",
               without_login(reach.repository))
      .with_because(without_login(to))
      .with_hint(
          "ask whoever runs the repository: it may lead to public servers, and from https only to https");
}

Result<std::optional<std::string>> fetch_remote_file(http::Transport& transport, const std::string& url,
                                                     const Context& context, const FileReach& reach,
                                                     std::uint64_t most) {
  MIST_TRY(CheckedFile file, fetch_changed_file(transport, url, {}, context, reach, most));
  return std::move(file.content);
}

Result<CheckedFile> fetch_changed_file(http::Transport& transport, const std::string& url,
                                       const FileValidators& known, const Context& caller,
                                       const FileReach& reach, std::uint64_t most) {
  const Context context = bounded(most, caller);
  std::string from = reach.repository;
  std::string at = url;
  const auto ask = [&]() -> Result<http::Response> {
    MIST_TRY_VOID(check_url(at, reach.plain));
    http::Request request = file_request(at, known, most);
    if (!reach.repository.empty()) {
      MIST_TRY(request.public_only, judged_hop(reach, from, request.url));
    }
    Result<http::Response> answer = sent(transport, request, context, caller)
                                        .in(fmt::format("while fetching {}", config::redact_urls(url)));
    if (!answer && request.public_only)
      return sent_elsewhere(std::move(answer).error(), without_login(reach.repository));
    return answer;
  };
  for (int i = 0; i <= kMaxRedirects; ++i) {
    Result<http::Response> answer = ask();
    if (!answer && i > 0) return not_followed(std::move(answer).error());
    MIST_TRY(http::Response response, std::move(answer));
    const std::string_view next = http::find_header(response.headers, "location");
    if (response.status >= 300 && response.status < 400 && !next.empty()) {
      std::string to = with_user_of(at, resolved_url(at, next));
      from = std::exchange(at, std::move(to));
      continue;
    }
    if (response.status == 304 && known != FileValidators{})
      return CheckedFile{.content = {}, .unchanged = true, .validators = known};
    if (response.status == 404 || response.status == 410) return CheckedFile{};
    if (response.status < 200 || response.status > 299) return refused(url, response.status);
    if (is_page(response)) return CheckedFile{};
    FileValidators validators{std::string(http::find_header(response.headers, "etag")),
                              std::string(http::find_header(response.headers, "last-modified"))};
    return CheckedFile{std::move(response.body), false, std::move(validators)};
  }
  return error(ErrorKind::Invalid, "{} leads from one address to the next without end",
               escape_controls(config::redact_urls(url)))
      .with_hint("name the address of the file itself");
}

}  // namespace mist::registry
