#include "catalog/site.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "catalog/badge.h"
#include "catalog/input_form.h"
#include "catalog/json_views.h"
#include "catalog/passkey_pages.h"
#include "catalog/preview_script.h"
#include "catalog/script.h"
#include "catalog/sign_in.h"
#include "catalog/web_answers.h"
#include "catalog/webhook.h"
#include "encoding/json.h"
#include "encoding/semver.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using http::WebAnswer;
using http::WebRequest;

constexpr std::string_view kApi = "/api/";
constexpr std::string_view kSvg = "image/svg+xml";
constexpr std::string_view kForEver = "public, max-age=31536000, immutable";
constexpr int kMostOnAPage = 100;
constexpr int kNewest = 12;
constexpr std::size_t kLongestQuery = 200;
constexpr std::int64_t kRecentDays = 30;

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

WebAnswer asset(std::string_view type, const std::string& body) {
  return {
      .content_type = std::string(type), .body = body, .headers = {{"Cache-Control", std::string(kForEver)}}};
}

// Whether `path` is of that endpoint; then what its parts in braces are.
bool matches(std::string_view pattern, const std::vector<std::string>& parts,
             std::map<std::string, std::string, std::less<>>& names) {
  const std::vector<std::string_view> wanted = split(pattern.substr(1), '/');
  if (wanted.size() != parts.size()) return false;
  names.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (wanted[i].starts_with('{'))
      names.emplace(wanted[i].substr(1, wanted[i].size() - 2), parts[i]);
    else if (wanted[i] != parts[i])
      return false;
  }
  return true;
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

bool takes_gzip(const WebRequest& request) {
  return http::find_header(request.headers, "Accept-Encoding").find("gzip") != std::string_view::npos;
}

bool is_good(const Version& version) {
  return version.state == VersionState::Passed && !version.yanked && !version.hidden;
}

bool is_good_release(const Version& version) {
  const auto number = encoding::SemVer::parse(version.version);
  return is_good(version) && number.ok() && number->prerelease.empty();
}

// As the store lists it; a hidden one only where all are.
std::vector<Version>::const_iterator shown_first(const std::vector<Version>& versions) {
  auto found = std::ranges::find_if(versions, is_good_release);
  if (found == versions.end()) found = std::ranges::find_if(versions, is_good);
  if (found == versions.end())
    found = std::ranges::find_if(versions, [](const Version& each) { return !each.hidden; });
  return found == versions.end() ? versions.begin() : found;
}

// An error's message as a page says it.
std::string sentence(std::string message) {
  if (!message.empty() && message[0] >= 'a' && message[0] <= 'z')
    message[0] = static_cast<char>(message[0] - 'a' + 'A');
  return message + ".";
}

}  // namespace

Site::Site(World world, SiteOptions options)
    : world_(std::move(world)),
      options_(std::move(options)),
      downloads_(
          {.store = world_.store, .clock = world_.clock, .random = world_.random, .events = world_.events}),
      actions_({.store = world_.store,
                .random = world_.random,
                .wake_poller = world_.wake_poller,
                .allowed = options_.allowed}),
      opinions_(world_.feedback, actions_, world_.clock),
      domains_({.accounts = world_.accounts,
                .actions = actions_,
                .clock = world_.clock,
                .resolve = world_.resolve_txt,
                .url = options_.url}),
      tokens_(
          {.accounts = world_.accounts, .actions = actions_, .clock = world_.clock, .random = world_.random}),
      account_pages_({.store = world_.store,
                      .accounts = world_.accounts,
                      .feedback = world_.feedback,
                      .actions = actions_,
                      .opinions = opinions_,
                      .domains = domains_,
                      .tokens = tokens_,
                      .passwords = world_.passwords,
                      .clock = world_.clock,
                      .random = world_.random,
                      .oidc = world_.oidc,
                      .passkeys = world_.passkeys},
                     {.url = options_.url,
                      .registration = options_.registration,
                      .writes_per_minute = options_.writes_per_minute}),
      index_(world_.store, world_.clock),
      openapi_(encoding::to_json(openapi_document(options_.url), encoding::JsonStyle::Pretty) + "\n"),
      reads_(world_.clock, options_.reads_per_second, options_.reads_per_second * 5),
      writes_(world_.clock, options_.writes_per_minute / 60, std::max(1.0, options_.writes_per_minute / 2)) {}

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
  if (options_.behind_proxy) {
    const std::string_view chain = http::find_header(request.headers, "X-Forwarded-For");
    if (const std::string_view last = trim(chain.substr(chain.rfind(',') + 1));
        !last.empty() && last.size() < 64)
      peer = last;
  }
  const bool is_api = request.path.starts_with(kApi);
  if (const int seconds = reads_.wait_for(client_of(peer)); seconds > 0) {
    WebAnswer refusal = too_often(seconds);
    if (is_api) return refusal;
    WebAnswer shown = html(message_page({.url = options_.url}, "Too many requests",
                                        fmt::format("Wait for {}, then load the page again.",
                                                    plural(static_cast<std::size_t>(seconds), "second"))),
                           refusal.status);
    shown.headers = std::move(refusal.headers);
    return shown;
  }
  if (is_api) return api(request, peer);
  return page(request, peer);
}

// REST

WebAnswer Site::api(const WebRequest& request, const std::string& peer) {
  const auto parts = parts_of(request.path);
  Call call{
      .request = request, .names = {}, .query = query_parts(request.query), .peer = peer, .account = {}};
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  std::string allowed;
  for (const Endpoint& endpoint : endpoints()) {
    if (!parts || !matches(endpoint.path, *parts, call.names)) continue;
    if (endpoint.method != method) {
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", endpoint.method);
      continue;
    }
    Reply reply = run(endpoint, call);
    if (reply.ok()) return *std::move(reply);
    const Error& failure = reply.error();
    const int status = status_of(failure);
    if (status >= 500)
      world_.events.warn(fmt::format("{} {}: {}", request.method, request.path, failure.to_line()));
    // Faults of this machine aren't for everybody.
    WebAnswer answer = json(
        to_value(status == 500 ? error(ErrorKind::Internal, "the catalog has a fault") : failure), status);
    if (status == 403 && endpoint.role && !call.account) {
      answer.status = 401;
      answer.headers.push_back({"WWW-Authenticate", "Bearer"});
    }
    return answer;
  }
  if (!allowed.empty()) {
    WebAnswer answer = json(
        to_value(error(ErrorKind::Invalid, "{} isn't possible here", escape_controls(request.method))), 405);
    answer.headers.push_back({"Allow", allowed});
    return answer;
  }
  return json(to_value(error(ErrorKind::NotFound, "there is nothing at this address")
                           .with_hint("/api/v1/openapi.json lists what there is")),
              404);
}

Site::Reply Site::run(const Endpoint& endpoint, Call& call) {
  if (endpoint.role) {
    MIST_TRY_VOID(authenticate(call, endpoint));
    if (endpoint.method != "GET")
      if (const int seconds = writes_.wait_for("account " + call.account->name); seconds > 0)
        return too_often(seconds);
  }
  switch (endpoint.operation) {
    case Operation::OpenApi:
      return WebAnswer{.content_type = "application/json", .body = openapi_, .headers = {}};
    case Operation::Index:
      return index(call);
    case Operation::Search:
      return search(call);
    case Operation::Versions:
      return versions(call);
    case Operation::ShowVersion:
      return version(call);
    case Operation::ShowTest:
      return test(call);
    case Operation::ShowChanges:
      return changes(call);
    case Operation::ShowDownloads:
      return downloads(call);
    case Operation::TestAgain:
      return test_again(call);
    case Operation::Yank:
      return yank(call, true);
    case Operation::Unyank:
      return yank(call, false);
    case Operation::Blob:
      return blob(call);
    case Operation::Preview:
      return preview(call);
    case Operation::Module:
      return module(call);
    case Operation::AddProject:
      return add_project(call);
    case Operation::Projects:
      return projects(call);
    case Operation::ShowProject:
      return project(call);
    case Operation::RemoveProject:
      return remove_project(call);
    case Operation::PollProject:
      return poll_project(call);
    case Operation::Webhook:
      return webhook(call);
    case Operation::Tokens:
      return tokens(call);
    case Operation::MakeToken:
      return make_token(call);
    case Operation::RevokeToken:
      return revoke_token(call);
    case Operation::AuditLog:
      return audit_log(call);
    case Operation::Ratings:
      return ratings(call);
    case Operation::Rate:
      return rate(call);
    case Operation::TakeBackRating:
      return take_back_rating(call);
    case Operation::Comments:
      return comments(call);
    case Operation::AddComment:
      return add_comment(call);
    case Operation::ChangeComment:
      return change_comment(call);
    case Operation::RemoveComment:
      return remove_comment(call);
    case Operation::ReportPackage:
      return report(call, false);
    case Operation::ReportComment:
      return report(call, true);
    case Operation::Reports:
      return reports(call);
    case Operation::CloseReport:
      return close_report(call);
    case Operation::HideComment:
      return hide_comment(call);
    case Operation::ShowComment:
      return show_comment(call);
    case Operation::HidePackage:
    case Operation::HideVersion:
      return hide(call, true);
    case Operation::UnhidePackage:
    case Operation::UnhideVersion:
      return hide(call, false);
    case Operation::Domains:
      return domains(call);
    case Operation::ProveDomain:
      return prove_domain(call);
    case Operation::RemoveDomain:
      return remove_domain(call);
  }
  return error(ErrorKind::Internal, "an operation without a handler");
}

Status Site::authenticate(Call& call, const Endpoint& endpoint) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view header = http::find_header(call.request.headers, "Authorization");
  if (header.size() <= kBearer.size() || lower_case(header.substr(0, kBearer.size())) != kBearer)
    return error(ErrorKind::Forbidden, "this needs a token")
        .with_hint("send it as Authorization: Bearer TOKEN; whoever runs the catalog gives you one");
  const std::string_view token = trim(header.substr(kBearer.size()));
  MIST_TRY(const std::optional<TokenOwner> owner, world_.accounts.owner_of_token(token_digest(token)));
  if (!owner) return error(ErrorKind::Forbidden, "the token isn't valid, or not any more");
  MIST_TRY(call.scopes, Scopes::parse(owner->scopes));
  call.account = limited_to(owner->account, call.scopes);
  if (endpoint.scope && !call.scopes.has(*endpoint.scope))
    return error(ErrorKind::Forbidden, "the token may not do that")
        .with_because(fmt::format("it doesn't have the scope {}", Scopes{*endpoint.scope}.names().front()));
  if (call.account->role < *endpoint.role)
    return error(ErrorKind::Forbidden, "{} may not do that with this token", call.account->name)
        .with_because(fmt::format("it is for the role {}", to_string(*endpoint.role)));
  return {};
}

Result<Page> Site::page_asked(const Call& call) const {
  Page page{.after = call.asked("after"), .limit = 50};
  if (const std::string limit = call.asked("limit"); !limit.empty()) {
    const auto [end, failed] = std::from_chars(limit.data(), limit.data() + limit.size(), page.limit);
    if (failed != std::errc() || end != limit.data() + limit.size() || page.limit < 1 ||
        page.limit > kMostOnAPage)
      return error(ErrorKind::Invalid, "limit must be a number from 1 to {}", kMostOnAPage);
  }
  if (page.after.size() > 300) return error(ErrorKind::Invalid, "after must be what an answer's next has");
  return page;
}

Result<Search> Site::search_asked(const Call& call) {
  Search search{.query = call.asked("q"), .narrowing = {.format = call.asked("format")}};
  if (search.query.size() > kLongestQuery || search.narrowing.format.size() > kLongestQuery)
    return error(ErrorKind::Invalid, "the search is too long");
  if (const std::string state = call.asked("state"); !state.empty()) {
    search.narrowing.state = version_state_of(state);
    if (!search.narrowing.state)
      return error(ErrorKind::Invalid, "state must be queued, testing, passed or failed");
  }
  return search;
}

// One conditional request of kpm: whoever has the present state gets a 304, without a look at the versions.
Site::Reply Site::index(const Call& call) {
  MIST_TRY(const std::shared_ptr<const IndexText> text, index_.now());
  const bool packed = takes_gzip(call.request);
  WebAnswer answer{.content_type = "application/json",
                   .headers = {{"ETag", text->etag}, {"Vary", "Accept-Encoding"}},
                   .shared = std::shared_ptr<const std::string>(text, packed ? &text->packed : &text->plain)};
  if (packed) answer.headers.push_back({"Content-Encoding", "gzip"});
  return answer;
}

Site::Reply Site::search(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  MIST_TRY(const Search search, search_asked(call));
  MIST_TRY(const Slice<Listed> found, world_.store.search(search.query, search.narrowing, page));
  std::string next = "/api/v1/packages?q=" + http::escape_query(search.query);
  if (!search.narrowing.format.empty()) next += "&format=" + http::escape_query(search.narrowing.format);
  if (search.narrowing.state) next += fmt::format("&state={}", to_string(*search.narrowing.state));
  return json(
      to_value(found, fmt::format("{}&limit={}&after={}", next, page.limit, http::escape_query(found.next))));
}

Site::Reply Site::versions(const Call& call) {
  MIST_TRY(const std::vector<Version> found, versions_of(call.name("name")));
  Value items{Value::Array{}};
  for (const Version& each : found) items.push_back(to_value(each));
  MIST_TRY(const std::optional<Project> project, world_.store.project(call.name("name")));
  Value domains{Value::Array{}};
  if (project) {
    MIST_TRY(const std::vector<OwnDomain> own, world_.accounts.domains(project->owner));
    for (const OwnDomain& each : own) domains.push_back(Value(each.domain));
  }
  return json(Value::object({{"items", std::move(items)},
                             {"owner", project ? Value(project->owner) : Value()},
                             {"domains", std::move(domains)}}));
}

Result<Version> Site::version_named(const Call& call) {
  const std::string words = call.name("name") + " " + call.name("version");
  MIST_TRY(std::optional<Version> found, world_.store.version(call.name("name"), call.name("version")));
  if (!found) return no_such("version", words);
  if (found->hidden) return hidden_by_moderators(words, *found->hidden);
  return *std::move(found);
}

Result<std::vector<Version>> Site::versions_of(const std::string& package) {
  MIST_TRY(std::vector<Version> found, world_.store.versions(package));
  if (found.empty()) return no_such("package", package);
  if (found.front().is_package_hidden) return hidden_by_moderators(package, *found.front().hidden);
  return found;
}

Site::Reply Site::version(const Call& call) {
  MIST_TRY(const Version found, version_named(call));
  return json(to_value(found));
}

Site::Reply Site::test(const Call& call) {
  MIST_TRY_VOID(version_named(call));
  MIST_TRY(const std::optional<Run> run, world_.store.last_run(call.name("name"), call.name("version")));
  if (!run) return error(ErrorKind::NotFound, "it wasn't tested yet");
  return json(to_value(*run));
}

// `from` empty: the version before it. Nullopt of versions that have none before them.
Result<VersionChanges> Site::changes_of(const std::vector<Version>& versions, const Version& to,
                                        const std::string& from) {
  const auto at = std::ranges::find(versions, to.id, &Version::id);
  const auto is_shown = [](const Version& each) { return !each.hidden; };
  const auto before = from.empty()
                          ? std::find_if(at == versions.end() ? at : std::next(at), versions.end(), is_shown)
                          : std::ranges::find(versions, from, &Version::version);
  if (before == versions.end())
    return from.empty()
               ? error(ErrorKind::NotFound, "there is no version of {} before {}", to.package, to.version)
               : no_such("version", to.package + " " + from);
  if (before->hidden) return hidden_by_moderators(to.package + " " + before->version, *before->hidden);
  const auto text_of_run = [&](const Version& version) -> Result<std::string> {
    MIST_TRY(const std::optional<Run> run, world_.store.last_run(version.package, version.version));
    if (!run || run->text.empty()) return std::string();
    MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(run->text));
    return world_.blobs.get(digest);
  };
  MIST_TRY(const std::string was, text_of_run(*before));
  MIST_TRY(const std::string is, text_of_run(to));
  return changes_between(*before, was, to, is);
}

Site::Reply Site::changes(const Call& call) {
  MIST_TRY(const std::vector<Version> versions, versions_of(call.name("name")));
  const auto to = std::ranges::find(versions, call.name("version"), &Version::version);
  const std::string words = call.name("name") + " " + call.name("version");
  if (to == versions.end()) return no_such("version", words);
  if (to->hidden) return hidden_by_moderators(words, *to->hidden);
  MIST_TRY(const VersionChanges found, changes_of(versions, *to, call.asked("from")));
  return json(to_value(found));
}

Site::Reply Site::test_again(const Call& call) {
  MIST_TRY_VOID(actions_.test_again(call.actor(), call.name("name"), call.name("version")));
  return nothing(202);
}

Site::Reply Site::yank(const Call& call, bool on) {
  std::optional<std::string> why;
  if (on) {
    why = "";
    if (!call.request.body.empty()) {
      MIST_TRY(const Value body, body_of(call.request));
      MIST_TRY_VOID(only_members(body, {"reason"}));
      why = body.string_at("reason");
    }
  }
  MIST_TRY_VOID(actions_.yank(call.actor(), call.name("name"), call.name("version"), why));
  return nothing(204);
}

Site::Reply Site::blob(const Call& call) {
  const std::string text = call.name("digest");
  const auto digest = crypto::Digest::parse(text);
  if (!digest.ok()) return digest.error();
  MIST_TRY(const bool known, world_.store.has_blob(text));
  if (!known) return no_such("package with the digest", text);
  MIST_TRY(std::string bytes, world_.blobs.get(*digest));
  const std::string etag = fmt::format("\"{}\"", digest->hex());
  // Only all of the bytes are a download: nobody counts up by asking for nothing or for a part of them.
  const http::Headers& headers = call.request.headers;
  if (call.request.method == "GET" && http::find_header(headers, "Range").empty() &&
      !names_etag(http::find_header(headers, "If-None-Match"), etag))
    downloads_.note(client_of(call.peer), text);
  return WebAnswer{
      .content_type = "application/octet-stream",
      .body = std::move(bytes),
      .headers = {
          {"ETag", etag}, {"Cache-Control", std::string(kForEver)}, {"Content-Disposition", "attachment"}}};
}

Result<std::vector<DownloadsOfDay>> Site::recent_downloads(const std::string& package) {
  downloads_.keep();
  return world_.store.downloads(package, day_of(world_.clock.now()) - kRecentDays + 1);
}

Site::Reply Site::downloads(const Call& call) {
  MIST_TRY(const std::vector<DownloadsOfDay> recent, recent_downloads(call.name("name")));
  MIST_TRY(const std::vector<Version> versions, versions_of(call.name("name")));
  return json(to_value(versions, recent));
}

Site::Reply Site::preview(const Call& call) {
  MIST_TRY(const Version found, version_named(call));
  if (world_.previews == nullptr) return error(ErrorKind::NotFound, "this catalog has no previews");
  const Preview preview = world_.previews->of(found);
  if (preview.state == PreviewState::Impossible)
    return error(ErrorKind::NotFound, "there is no preview of {} {}", found.package, found.version)
        .with_because(preview.problem);
  if (preview.state == PreviewState::Preparing)
    return json(Value::object({{"state", Value("preparing")}}), 202);
  // Its files are unpacked, and its values checked.
  if (const int seconds = writes_.wait_for("preview " + client_of(call.peer)); seconds > 0)
    return too_often(seconds);
  MIST_TRY(const Value plan, preview_plan(found, preview, call));
  return json(plan);
}

Result<Value> Site::preview_plan(const Version& version, const Preview& preview, const Call& call) {
  const std::vector<InputField> fields = input_fields(version.facts.inputs);
  const FilledInputs filled = fill_inputs(fields, call.query);
  if (!filled.faults.empty()) {
    std::vector<std::string> lines;
    for (const auto& [name, fault] : filled.faults) lines.push_back(fmt::format("{}: {}", name, fault));
    return error(ErrorKind::Invalid, "the values don't fit the package {}", version.package)
        .with_because(join(lines, "\n"));
  }
  MIST_TRY(const std::optional<Project> project, world_.store.project(version.package));
  MIST_TRY(const std::vector<PreviewRun> runs,
           world_.previews->runs(version, reference_of(version, project),
                                 with_placeholders(fields, filled.values)));
  const auto now = std::chrono::floor<std::chrono::seconds>(world_.clock.now());
  std::string command = fmt::format("mistctl generate {}", version.package);
  if (filled.count > 0) command += " -f values.yaml";
  command += fmt::format(" -n default -o raw \\\n  --clock {} \\\n  -p {}", format_time(now),
                         shell_word(reference_of(version, project)));
  return to_value(PreviewPlan{.name = fmt::format("{} {}", version.package, version.version),
                              .module = preview.module,
                              .runs = runs,
                              .clock = now,
                              .command = command});
}

Site::Reply Site::module(const Call& call) {
  const std::string digest = call.name("digest");
  const auto parsed = crypto::Digest::parse(digest);
  if (!parsed.ok()) return parsed.error();
  if (world_.previews == nullptr) return no_such("module with the digest", digest);
  const std::string packed = takes_gzip(call.request) ? world_.previews->packed_digest(digest) : "";
  auto bytes = world_.previews->bytes(packed.empty() ? digest : packed);
  if (!bytes.ok() && bytes.error().kind == ErrorKind::NotFound)
    return no_such("module with the digest", digest);
  if (!bytes.ok()) return std::move(bytes).error();
  WebAnswer answer{
      .content_type = "application/wasm",
      .headers = {{"ETag", fmt::format("\"{}{}\"", parsed->hex(), packed.empty() ? "" : "-gzip")},
                  {"Cache-Control", std::string(kForEver)},
                  {"Vary", "Accept-Encoding"}},
      .shared = *std::move(bytes)};
  if (!packed.empty()) answer.headers.push_back({"Content-Encoding", "gzip"});
  return answer;
}

Site::Reply Site::add_project(const Call& call) {
  MIST_TRY(const Value body, body_of(call.request));
  MIST_TRY_VOID(only_members(body, {"name", "url", "path"}));
  MIST_TRY(const Project made, actions_.link(call.actor(), {.name = std::string(body.string_at("name")),
                                                            .url = std::string(body.string_at("url")),
                                                            .path = std::string(body.string_at("path"))}));
  Value shown = to_value(made);
  // Shown now, and never again.
  shown.set("webhook",
            Value::object({{"url", Value(fmt::format("{}/api/v1/hooks/{}", options_.url, made.name))},
                           {"secret", Value(made.webhook_secret.reveal())}}));
  WebAnswer answer = json(shown, 201);
  answer.headers.push_back({"Location", "/api/v1/projects/" + made.name});
  return answer;
}

Site::Reply Site::projects(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  const bool all = call.account->role == Role::Administrator;
  MIST_TRY(const Slice<Project> found, world_.store.projects(all ? std::string() : call.account->name, page));
  return json(to_value(
      found, fmt::format("/api/v1/projects?limit={}&after={}", page.limit, http::escape_query(found.next))));
}

Site::Reply Site::project(const Call& call) {
  MIST_TRY(const Project found, actions_.project(call.actor(), call.name("name"), Role::Moderator));
  return json(to_value(found));
}

Site::Reply Site::remove_project(const Call& call) {
  MIST_TRY_VOID(actions_.unlink(call.actor(), call.name("name")));
  return nothing(204);
}

Site::Reply Site::poll_project(const Call& call) {
  MIST_TRY_VOID(actions_.poll(call.actor(), call.name("name")));
  return nothing(202);
}

Site::Reply Site::webhook(const Call& call) {
  MIST_TRY(const std::optional<Project> found, world_.store.project(call.name("name")));
  if (!found || !is_genuine(call.request.headers, call.request.body, found->webhook_secret))
    return error(ErrorKind::Forbidden, "the signature doesn't fit")
        .with_hint("the webhook needs the secret that was shown when the project was linked");
  if (const int seconds = writes_.wait_for("webhook " + found->name); seconds > 0) return too_often(seconds);
  // Nothing of the body is needed: the repository says itself which tags it has.
  MIST_TRY_VOID(world_.store.ask_poll(found->name));
  world_.wake_poller();
  return nothing(202);
}

Site::Reply Site::tokens(const Call& call) {
  MIST_TRY(const std::vector<TokenFacts> found, world_.accounts.tokens(call.account->name));
  Value items{Value::Array{}};
  for (const TokenFacts& each : found) items.push_back(to_value(each));
  return json(Value::object({{"items", std::move(items)}}));
}

Site::Reply Site::make_token(const Call& call) {
  MIST_TRY(const Value body, body_of(call.request));
  for (const auto& [key, value] : body.as_object())
    if (key != "label" && key != "scopes" && key != "expires")
      return error(ErrorKind::Invalid, "there is no member {}", escape_controls(key));
  TokenActions::Wish wish{.label = std::string(body.string_at("label"))};
  MIST_TRY(wish.scopes, Scopes::parse(join(body.texts_at("scopes"), " ")));
  if (const Value* const expires = body.find("expires"); expires != nullptr && !expires->is_null()) {
    wish.expires = parse_time(body.string_at("expires"));
    if (!wish.expires) return error(ErrorKind::Invalid, "expires must be a time like 2027-01-31T12:00:00Z");
  }
  MIST_TRY(const SecretString token, tokens_.make(call.actor(), call.scopes, wish));
  // Shown now, and never again.
  return json(Value::object({{"token", Value(token.reveal())}}), 201);
}

Site::Reply Site::revoke_token(const Call& call) {
  const std::string text = call.name("id");
  std::int64_t id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed != std::errc() || end != text.data() + text.size()) return no_such("token", text);
  MIST_TRY_VOID(tokens_.revoke(call.actor(), id));
  return nothing(204);
}

Site::Reply Site::domains(const Call& call) {
  MIST_TRY(const std::vector<OwnDomain> found, world_.accounts.domains(call.account->name));
  Value items{Value::Array{}};
  for (const OwnDomain& each : found) items.push_back(to_value(each));
  const DomainProof proof = domain_proof("DOMAIN", call.account->name, options_.url);
  return json(Value::object(
      {{"items", std::move(items)},
       {"record",
        Value::object({{"name", Value(proof.name)}, {"type", Value("TXT")}, {"text", Value(proof.text)}})}}));
}

Site::Reply Site::prove_domain(const Call& call) {
  if (const int seconds = domains_.wait_for(call.actor()); seconds > 0) return too_often(seconds);
  MIST_TRY(const std::string domain, domains_.prove(call.actor(), call.name("domain")));
  MIST_TRY(const std::vector<OwnDomain> found, world_.accounts.domains(call.account->name));
  const auto proved = std::ranges::find(found, domain, &OwnDomain::domain);
  if (proved == found.end()) return no_such("domain of yours", domain);
  return json(to_value(*proved));
}

Site::Reply Site::remove_domain(const Call& call) {
  MIST_TRY_VOID(domains_.remove(call.actor(), call.name("domain")));
  return nothing(204);
}

Site::Reply Site::audit_log(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  const AuditFilter filter{
      .who = call.asked("who"), .what = call.asked("what"), .subject = call.asked("subject")};
  MIST_TRY(const Slice<AuditEntry> found, world_.store.audit_log(filter, page));
  const std::vector<std::pair<std::string, std::string>> parts{{"who", filter.who},
                                                               {"what", filter.what},
                                                               {"subject", filter.subject},
                                                               {"limit", std::to_string(page.limit)},
                                                               {"after", found.next}};
  return json(to_value(found, "/api/v1/audit?" + http::query_of(parts)));
}

// Pages

WebAnswer Site::page(const WebRequest& request, const std::string& peer) {
  const auto parts = parts_of(request.path);
  const bool is_of_account = parts && account_pages_.has(*parts);
  if (!is_of_account && request.method != "GET" && request.method != "HEAD") {
    WebAnswer answer =
        html(message_page({.url = options_.url}, "Not possible here", "This page can only be read."), 405);
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
  const PageFrame frame{.url = options_.url};
  const int status = status_of(reply.error());
  if (status == 410)
    return html(message_page(
                    frame, "Hidden",
                    fmt::format("{} The reason: {}", sentence(reply.error().message), reply.error().because)),
                status);
  if (status == 404) return html(message_page(frame, "Not found", sentence(reply.error().message)), status);
  if (status < 500)
    return html(message_page(frame, "That didn't work", sentence(reply.error().message)), status);
  world_.events.warn(fmt::format("{} {}: {}", request.method, request.path, reply.error().to_line()));
  return html(
      message_page(frame, "Something is wrong", "The catalog can't show this page now. Try again later."),
      status);
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
    MIST_TRY(const Store::Counts counts, world_.store.counts());
    MIST_TRY(const std::vector<Listed> newest, world_.store.newest(kNewest));
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
  if (parts.size() != 1) return error(ErrorKind::NotFound, "there is nothing at this address");
  if (first == "search") {
    MIST_TRY(const Search search, search_asked(call));
    MIST_TRY(const Page page, page_asked(call));
    MIST_TRY(const Slice<Listed> found, world_.store.search(search.query, search.narrowing, page));
    MIST_TRY(const Facets facets, world_.store.facets(search.query, search.narrowing));
    return html(search_page(call.frame, search, facets, found));
  }
  if (first == "submit") return html(submit_page(call.frame));
  if (first == "icon.svg") return WebAnswer{.content_type = std::string(kSvg), .body = icon(), .headers = {}};
  if (first == "healthz") {
    MIST_TRY_VOID(world_.store.index_revision());
    return WebAnswer{.body = "ok\n", .headers = {}};
  }
  return error(ErrorKind::NotFound, "there is nothing at this address");
}

// `owner` empty: its repository isn't linked any more.
Markup Site::controls_of(const Call& call, const Version& shown, const std::string& owner) {
  if (!call.visitor) return {};
  const Account& account = call.visitor->session.account;
  const bool is_moderator = account.role >= Role::Moderator;
  Markup out;
  if (!owner.empty() && (owner == account.name || is_moderator))
    out += version_controls(shown, call.visitor->form_token());
  if (is_moderator) out += hiding_controls(shown, call.visitor->form_token());
  return out;
}

// Its author, who may want to correct it, and moderators.
Result<bool> Site::may_see_hidden(const Call& call, const std::string& package) {
  if (!call.visitor) return false;
  const Account& account = call.visitor->session.account;
  if (account.role >= Role::Moderator) return true;
  MIST_TRY(const std::optional<Store::Standing> found, world_.store.standing(package));
  return found && found->owner == account.name;
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
  MIST_TRY(const std::vector<Version> versions, world_.store.versions(package));
  const auto chosen =
      named == 2 ? shown_first(versions) : std::ranges::find(versions, parts[2], &Version::version);
  const bool found = chosen != versions.end();
  if (is_badge) {
    const std::optional<VersionState> state =
        !found || chosen->hidden ? std::optional<VersionState>() : std::optional(chosen->state);
    return WebAnswer{.content_type = std::string(kSvg),
                     .body = badge(package.substr(0, 64), state),
                     .headers = {{"Cache-Control", "max-age=60"}}};
  }
  if (!found) return no_such("package", named == 2 ? package : package + " " + parts[2]);
  const Version& shown = *chosen;
  if (shown.hidden) {
    MIST_TRY(const bool may_see, may_see_hidden(call, package));
    if (!may_see)
      return hidden_by_moderators(
          shown.is_package_hidden || named == 2 ? package : package + " " + shown.version, *shown.hidden);
  }
  if (is_comparison) {
    MIST_TRY(const VersionChanges changes, changes_of(versions, shown, call.asked("from")));
    return html(changes_page(call.frame, shown, versions, changes));
  }
  MIST_TRY(const std::optional<Project> project, world_.store.project(package));
  if (is_form) {
    const std::optional<Preview> preview =
        world_.previews == nullptr ? std::optional<Preview>() : world_.previews->of(shown);
    return html(inputs_page(call.frame, shown, project, call.query, preview));
  }
  MIST_TRY(const std::optional<Run> run, world_.store.last_run(package, shown.version));
  if (is_test) return html(test_page(call.frame, shown, run));
  std::int64_t recent = 0;
  MIST_TRY(const std::vector<DownloadsOfDay> days, recent_downloads(package));
  for (const DownloadsOfDay& each : days) recent += each.count;
  std::vector<OwnDomain> domains;
  if (project) {
    MIST_TRY(domains, world_.accounts.domains(project->owner));
  }
  MIST_TRY(const Ratings ratings, world_.feedback.ratings(package));
  MIST_TRY(const std::int64_t comments, world_.feedback.count_comments(package));
  return html(package_page(call.frame, shown, versions,
                           {.project = project,
                            .run = run,
                            .recent_downloads = recent,
                            .domains = std::move(domains),
                            .ratings = ratings,
                            .comments = comments,
                            .controls = controls_of(call, shown, project ? project->owner : std::string())}));
}

}  // namespace mist::catalog
