// The pages of site.h, but those of accounts and of feedback.

#include <algorithm>

#include "base/text.h"
#include "catalog/badge.h"
#include "catalog/input_form.h"
#include "catalog/passkey_pages.h"
#include "catalog/preview_script.h"
#include "catalog/script.h"
#include "catalog/site.h"
#include "catalog/web_answers.h"
#include "encoding/semver.h"
#include "http/url.h"
#include "registry/index_shards.h"
#include "search/entry.h"

namespace mist::catalog {
namespace {

using http::WebAnswer;
using http::WebRequest;

constexpr std::string_view kSvg = "image/svg+xml";
constexpr int kNewest = 12;

WebAnswer asset(std::string_view type, const std::string& body) {
  return {
      .content_type = std::string(type), .body = body, .headers = {{"Cache-Control", std::string(kForEver)}}};
}

bool is_good(const VersionBrief& version) {
  return version.state == VersionState::Passed && !version.yanked && version.is_for_everybody();
}

bool is_good_release(const VersionBrief& version) {
  const auto number = encoding::SemVer::parse(version.version);
  return is_good(version) && number.ok() && number->prerelease.empty();
}

// As the store lists it; a hidden one only where all are.
std::vector<VersionBrief>::const_iterator shown_first(const std::vector<VersionBrief>& versions) {
  auto found = std::ranges::find_if(versions, is_good_release);
  if (found == versions.end()) found = std::ranges::find_if(versions, is_good);
  if (found == versions.end()) found = std::ranges::find_if(versions, &VersionBrief::is_for_everybody);
  return found == versions.end() ? versions.begin() : found;
}

// An error's message as a page says it.
std::string sentence(std::string message) {
  if (!message.empty() && message[0] >= 'a' && message[0] <= 'z')
    message[0] = static_cast<char>(message[0] - 'a' + 'A');
  return message + ".";
}

}  // namespace

WebAnswer Site::too_often_page(int seconds, const PageFrame& frame, std::string_view path) const {
  WebAnswer refusal = too_often(seconds);
  WebAnswer shown = html(message_page(frame, "Too many requests",
                                      fmt::format("Wait for {}, then load the page again.",
                                                  plural(static_cast<std::size_t>(seconds), "second")),
                                      path),
                         refusal.status);
  shown.headers = std::move(refusal.headers);
  return shown;
}

WebAnswer Site::page(const WebRequest& request, const std::string& peer) {
  const auto parts = parts_of(request.path);
  const bool is_of_account = parts && account_pages_.has(*parts);
  if (!is_of_account && request.method != "GET" && request.method != "HEAD") {
    WebAnswer answer = html(
        message_page({.url = options_.url}, "Not possible here", "This page can only be read.", request.path),
        405);
    answer.headers.push_back({"Allow", "GET, HEAD"});
    return answer;
  }
  const auto reply_to = [&]() -> Reply {
    if (!parts) return error(ErrorKind::NotFound, "there is nothing at this address");
    if (is_of_account) return account_pages_.answer(request, peer);
    MIST_TRY(Call call, page_call(request, peer));
    Reply shown = page_of(*parts, call);
    if (shown.ok() && call.visitor && http::find_header(shown->headers, "Cache-Control").empty())
      shown->headers.push_back({"Cache-Control", "no-store"});
    return shown;
  };
  Reply reply = reply_to();
  if (reply.ok()) return *std::move(reply);
  return error_page(request, reply.error());
}

// With who is signed in, as on every page, unless the sessions can't be read either.
WebAnswer Site::error_page(const WebRequest& request, const Error& failure) {
  PageFrame frame{.url = options_.url};
  if (const auto visitor = account_pages_.visitor(request); visitor.ok() && *visitor)
    frame.account = (*visitor)->session.account.name;
  const int status = status_of(failure);
  const auto page = [&](const std::string& title, const std::string& words) {
    return html(message_page(frame, title, words, request.path), status);
  };
  if (status == 410)
    return page("Hidden", fmt::format("{} The reason: {}", sentence(failure.message), failure.because));
  if (status == 404) return page("Not found", sentence(failure.message));
  if (status < 500) return page("That didn't work", sentence(failure.message));
  dependencies_.events.warn(fmt::format("{} {}: {}", request.method, request.path, failure.to_line()));
  if (status == kNoRoom)
    return page("No room",
                "The catalog's disk is full, so nothing of what you sent was kept. Try again "
                "later; reading works meanwhile.");
  return page("Something is wrong", "The catalog can't show this page now. Try again later.");
}

Result<Site::Call> Site::page_call(const WebRequest& request, const std::string& peer) {
  Call call{
      .request = request, .names = {}, .query = query_parts(request.query), .peer = peer, .account = {}};
  call.frame.url = options_.url;
  // Most readers have no cookie, and what is the same for everybody needs none.
  if (!request.path.starts_with("/assets/")) {
    MIST_TRY(call.visitor, account_pages_.visitor(request));
    if (call.visitor) call.frame.account = call.visitor->session.account.name;
  }
  return call;
}

Site::Reply Site::page_of(const std::vector<std::string>& parts, Call& call) {
  if (parts.empty()) {
    MIST_TRY(const Store::Counts counts, dependencies_.store.counts());
    MIST_TRY(const std::vector<Listed> newest, dependencies_.store.newest(kNewest));
    return html(home_page(call.frame, counts, newest));
  }
  const std::string& first = parts.front();
  if (first == "packages" && parts.size() > 1) return package_page_of(parts, call);
  if (parts.size() == 2 && "/assets/" + parts[1] == style_path())
    return asset("text/css; charset=utf-8", style_sheet());
  if (parts.size() == 2 && "/assets/" + parts[1] == script_path())
    return asset("text/javascript; charset=utf-8", script());
  if (parts.size() == 2 && "/assets/" + parts[1] == passkey_script_path())
    return asset("text/javascript; charset=utf-8", passkey_script());
  if (parts.size() == 2 && "/assets/" + parts[1] == preview_script_path())
    return asset("text/javascript; charset=utf-8", preview_script());
  if (parts.size() == 2 && "/assets/" + parts[1] == preview_worker_path()) {
    WebAnswer answer = asset("text/javascript; charset=utf-8", preview_worker());
    answer.headers.push_back({"Content-Security-Policy", preview_worker_policy()});
    return answer;
  }
  if (call.request.path == registry::kIndexShardsPath) return index_shard_list(call);
  if (parts.size() == 3 && call.request.path.starts_with(registry::kIndexShardPath))
    return index_shard(parts[2], call);
  if (parts.size() != 1) return error(ErrorKind::NotFound, "there is nothing at this address");
  if (first == "search") {
    MIST_TRY(const Search search, search_asked(call));
    MIST_TRY(const Page page, page_asked(call));
    MIST_TRY(const Slice<Listed> found, dependencies_.store.search(search.query, search.narrowing, page));
    MIST_TRY(const Facets facets, dependencies_.store.facets(search.query, search.narrowing));
    return html(search_page(call.frame, search, facets, found));
  }
  if (first == search::kIndexFile) return text_of(search_index_, "application/jsonl", call);
  if (first == "submit") return html(submit_page(call.frame));
  if (first == "icon.svg") return WebAnswer{.content_type = std::string(kSvg), .body = icon(), .headers = {}};
  if (first == "healthz") {
    MIST_TRY_VOID(dependencies_.store.index_revision());
    return WebAnswer{.body = "ok\n", .headers = {}};
  }
  return error(ErrorKind::NotFound, "there is nothing at this address");
}

Markup Site::controls_of(const Call& call, const Version& shown, const std::string& owner) {
  if (!call.visitor) return {};
  const Account& account = call.visitor->session.account;
  const bool is_moderator = account.role >= Role::Moderator;
  Markup out;
  if (owner == account.name || is_moderator) out += version_controls(shown, call.visitor->form_token());
  if (is_moderator && shown.review != Review::Published && owner != account.name)
    out += review_controls(shown, call.visitor->form_token());
  if (is_moderator) out += hiding_controls(shown, call.visitor->form_token());
  return out;
}

// Its author, who may want to correct it, and moderators.
Result<bool> Site::may_see_hidden(const Call& call, const std::string& package) {
  if (!call.visitor && !call.account) return false;
  const Account& account = call.visitor ? call.visitor->session.account : *call.account;
  if (account.role >= Role::Moderator) return true;
  MIST_TRY(const std::optional<Store::Standing> found, dependencies_.store.standing(package));
  return found && found->owner == account.name;
}

Status Site::leave_out_unpublished(const Call& call, const std::string& package,
                                   std::vector<VersionBrief>& versions) {
  const auto is_unpublished = [](const VersionBrief& each) { return each.review != Review::Published; };
  if (std::ranges::none_of(versions, is_unpublished)) return {};
  MIST_TRY(const bool may_see, may_see_hidden(call, package));
  if (!may_see) std::erase_if(versions, is_unpublished);
  return {};
}

// /packages/NAME[/VERSION][/badge.svg], /packages/NAME/comments, /packages/NAME/VERSION/test, …/inputs,
// …/changes
Site::Reply Site::package_page_of(const std::vector<std::string>& parts, const Call& call) {
  const std::string& package = parts[1];
  if (parts.size() == 3 && parts[2] == "comments") return feedback_page_of(package, call);
  const bool is_badge = parts.back() == "badge.svg" && (parts.size() == 3 || parts.size() == 4);
  const std::size_t named = parts.size() - (is_badge ? 1 : 0);
  const bool is_test = named == 4 && parts[3] == "test";
  const bool is_form = named == 4 && parts[3] == "inputs";
  const bool is_comparison = named == 4 && parts[3] == "changes";
  if (named > 3 && !is_test && !is_form && !is_comparison)
    return error(ErrorKind::NotFound, "there is nothing at this address");
  MIST_TRY(std::vector<VersionBrief> versions, dependencies_.store.versions(package));
  MIST_TRY_VOID(leave_out_unpublished(call, package, versions));
  const auto chosen =
      named == 2 ? shown_first(versions) : std::ranges::find(versions, parts[2], &VersionBrief::version);
  const bool found = chosen != versions.end();
  if (is_badge) {
    const std::optional<VersionState> state =
        !found || !chosen->is_for_everybody() ? std::optional<VersionState>() : std::optional(chosen->state);
    return WebAnswer{.content_type = std::string(kSvg),
                     .body = badge(package.substr(0, 64), state),
                     .headers = {{"Cache-Control", "max-age=60"}}};
  }
  if (!found) return no_such("package", named == 2 ? package : package + " " + parts[2]);
  if (chosen->hidden) {
    MIST_TRY(const bool may_see, may_see_hidden(call, package));
    if (!may_see)
      return hidden_by_moderators(
          chosen->is_package_hidden || named == 2 ? package : package + " " + chosen->version,
          *chosen->hidden);
  }
  if (is_comparison) {
    if (const int seconds = seconds_until_it_compares(call); seconds > 0)
      return too_often_page(seconds, call.frame, call.request.path);
    MIST_TRY(const VersionChanges changes, changes_of(versions, *chosen, call.asked("from")));
    return html(changes_page(call.frame, *chosen, versions, changes));
  }
  MIST_TRY(const Version shown, whole(*chosen));
  MIST_TRY(const std::optional<Project> project, dependencies_.store.project(package));
  if (is_form) {
    const std::optional<Preview> preview =
        dependencies_.previews == nullptr ? std::optional<Preview>() : dependencies_.previews->of(shown);
    return html(inputs_page(call.frame, shown, project, call.query, preview));
  }
  MIST_TRY(const std::optional<Run> run, dependencies_.store.last_run(package, shown.version));
  if (is_test) return html(test_page(call.frame, shown, run));
  std::int64_t recent = 0;
  MIST_TRY(const std::vector<DownloadsOfDay> days, recent_downloads(package));
  for (const DownloadsOfDay& each : days) recent += each.count;
  MIST_TRY(const Store::Installs installs, this->installs(package));
  std::vector<OwnDomain> domains;
  if (project) {
    MIST_TRY(domains, dependencies_.accounts.domains(project->owner));
    std::erase_if(domains, [](const OwnDomain& each) { return each.has_lapsed(); });
  }
  MIST_TRY(const Ratings ratings, dependencies_.feedback.ratings(package));
  MIST_TRY(const std::int64_t comments, dependencies_.feedback.count_comments(package));
  // Whether its repository is linked still or not.
  MIST_TRY(const std::optional<Store::Standing> standing, dependencies_.store.standing(package));
  const std::string owner = standing ? standing->owner : std::string();
  return html(package_page(call.frame, shown, versions,
                           {.project = project,
                            .run = run,
                            .recent_downloads = recent,
                            .installs = installs,
                            .domains = std::move(domains),
                            .ratings = ratings,
                            .comments = comments,
                            .controls = controls_of(call, shown, owner)}));
}

}  // namespace mist::catalog
