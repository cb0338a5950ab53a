// The answers of site.h to the REST API.

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "catalog/json_views.h"
#include "catalog/site.h"
#include "catalog/web_answers.h"
#include "catalog/webhook.h"
#include "encoding/json.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using http::WebAnswer;
using http::WebRequest;

constexpr int kMostOnAPage = 100;
constexpr std::size_t kLongestQuery = 200;
constexpr std::int64_t kRecentDays = 30;

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

// RFC 9110, section 12.4.2: a weight of zero is a no.
bool is_refused(std::string_view weight) {
  weight = trim(weight);
  return (weight.starts_with("q=") || weight.starts_with("Q=")) &&
         weight.substr(2).find_first_not_of("0.") == weight.npos;
}

bool takes_gzip(const WebRequest& request) {
  for (const std::string_view each : split(http::find_header(request.headers, "Accept-Encoding"), ',')) {
    const std::vector<std::string_view> parts = split(each, ';');
    if (lower_case(trim(parts.front())) == "gzip") return parts.size() == 1 || !is_refused(parts[1]);
  }
  return false;
}

// Of bytes that differ (RFC 9110, section 8.8.3.3).
std::string etag_of_packed(std::string_view etag) {
  return fmt::format("{}-gzip\"", etag.substr(0, etag.size() - 1));
}

// Empty: it has none.
std::string_view bearer_token(const WebRequest& request) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view header = http::find_header(request.headers, "Authorization");
  if (header.size() <= kBearer.size() || lower_case(header.substr(0, kBearer.size())) != kBearer) return {};
  return trim(header.substr(kBearer.size()));
}

WebAnswer prepared_soon() {
  WebAnswer answer = json(to_value(error(ErrorKind::Retryable, "the module is being prepared")), 503);
  answer.headers.push_back({"Retry-After", "1"});
  return answer;
}

}  // namespace

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
      dependencies_.events.warn(fmt::format("{} {}: {}", request.method, request.path, failure.to_line()));
    WebAnswer answer = json(to_value(for_everybody(failure)), status);
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
  } else if (endpoint.optional_token == OptionalToken::Heeded) {
    MIST_TRY_VOID(note_sender(call));
  }
  switch (endpoint.operation) {
    case Operation::OpenApi:
      return WebAnswer{.content_type = "application/json", .body = openapi_, .headers = {}};
    case Operation::Index:
      return text_of(index_, "application/json", call);
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
    case Operation::NoteInstall:
      return note_install(call);
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
    case Operation::Reviews:
      return reviews(call);
    case Operation::ReviewVersion:
      return review(call);
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
  const std::string_view token = bearer_token(call.request);
  if (token.empty())
    return error(ErrorKind::Forbidden, "this needs a token")
        .with_hint("send it as Authorization: Bearer TOKEN; whoever runs the catalog gives you one");
  MIST_TRY(const std::optional<TokenOwner> owner, dependencies_.accounts.owner_of_token(token_digest(token)));
  if (!owner) return error(ErrorKind::Forbidden, "the token isn't valid, or not any more");
  MIST_TRY(call.allowed.scopes, Scopes::parse(owner->scopes));
  call.allowed.until = owner->expires;
  call.account = limited_to(owner->account, call.allowed.scopes);
  if (endpoint.scope && !call.allowed.scopes.has(*endpoint.scope))
    return error(ErrorKind::Forbidden, "the token may not do that")
        .with_because(fmt::format("it doesn't have the scope {}", Scopes{*endpoint.scope}.names().front()));
  if (call.account->role < *endpoint.role)
    return error(ErrorKind::Forbidden, "{} may not do that with this token", call.account->name)
        .with_because(fmt::format("it is for the role {}", to_string(*endpoint.role)));
  return {};
}

// A token that isn't valid is nobody's: an error would tell of what awaits its review.
Status Site::note_sender(Call& call) {
  const std::string_view token = bearer_token(call.request);
  if (token.empty()) return {};
  MIST_TRY(const std::optional<TokenOwner> owner, dependencies_.accounts.owner_of_token(token_digest(token)));
  if (!owner) return {};
  MIST_TRY(const Scopes scopes, Scopes::parse(owner->scopes));
  call.account = limited_to(owner->account, scopes);
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

// One conditional request: whoever has the present state gets a 304, without a look at the versions.
Site::Reply Site::text_of(IndexTexts& texts, std::string_view type, const Call& call) {
  MIST_TRY(const std::shared_ptr<const IndexText> text, texts.now());
  const bool packed = takes_gzip(call.request);
  WebAnswer answer{
      .content_type = std::string(type),
      .headers = {{"ETag", packed ? etag_of_packed(text->etag) : text->etag}, {"Vary", "Accept-Encoding"}},
      .shared = std::shared_ptr<const std::string>(text, packed ? &text->packed : &text->plain)};
  if (packed) answer.headers.push_back({"Content-Encoding", "gzip"});
  return answer;
}

// With the ETag of the whole index, so that whoever has that is told that nothing has changed.
Site::Reply Site::index_shard_list(const Call& call) {
  MIST_TRY(const std::shared_ptr<const IndexText> text, search_index_.now());
  const bool packed = takes_gzip(call.request);
  return WebAnswer{
      .content_type = "application/json",
      .body = text->shards,
      .headers = {{"ETag", packed ? etag_of_packed(text->etag) : text->etag}, {"Vary", "Accept-Encoding"}}};
}

Site::Reply Site::index_shard(const std::string& digest, const Call& call) {
  MIST_TRY(const std::shared_ptr<const IndexText> text, search_index_.now());
  const auto found = text->shard_of.find(digest);
  if (found == text->shard_of.end())
    return error(ErrorKind::NotFound, "the index has no shard {} now", escape_controls(digest));
  const std::shared_ptr<const IndexShard> shard = found->second;
  const bool packed = takes_gzip(call.request);
  WebAnswer answer{
      .content_type = "application/jsonl",
      .headers = {{"Cache-Control", std::string(kForEver)}, {"Vary", "Accept-Encoding"}},
      .shared = std::shared_ptr<const std::string>(shard, packed ? &shard->packed : &shard->plain)};
  const std::string etag = fmt::format("\"{}\"", digest);
  answer.headers.push_back({"ETag", packed ? etag_of_packed(etag) : etag});
  if (packed) answer.headers.push_back({"Content-Encoding", "gzip"});
  return answer;
}

Site::Reply Site::search(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  MIST_TRY(const Search search, search_asked(call));
  MIST_TRY(const Slice<Listed> found, dependencies_.store.search(search.query, search.narrowing, page));
  std::string next = "/api/v1/packages?q=" + http::escape_query(search.query);
  if (!search.narrowing.format.empty()) next += "&format=" + http::escape_query(search.narrowing.format);
  if (search.narrowing.state) next += fmt::format("&state={}", to_string(*search.narrowing.state));
  return json(
      to_value(found, fmt::format("{}&limit={}&after={}", next, page.limit, http::escape_query(found.next))));
}

Site::Reply Site::versions(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  const std::string package = call.name("name");
  MIST_TRY(const std::vector<VersionBrief> found, versions_of(package));
  auto each = found.begin();
  if (!page.after.empty()) {
    each = std::ranges::find(found, page.after, &VersionBrief::version);
    if (each == found.end()) return error(ErrorKind::Invalid, "after must be what an answer's next has");
    ++each;
  }
  Value items{Value::Array{}};
  for (int i = 0; i < page.limit && each != found.end(); ++i, ++each) items.push_back(to_value(*each));
  Value next;
  if (each != found.end())
    next = Value(fmt::format("/api/v1/packages/{}?limit={}&after={}", http::escape_segment(package),
                             page.limit, http::escape_query(std::prev(each)->version)));
  MIST_TRY(const std::optional<Project> project, dependencies_.store.project(package));
  Value domains{Value::Array{}};
  if (project) {
    MIST_TRY(const std::vector<OwnDomain> own, dependencies_.accounts.domains(project->owner));
    for (const OwnDomain& one : own)
      if (!one.has_lapsed()) domains.push_back(Value(one.domain));
  }
  return json(Value::object({{"items", std::move(items)},
                             {"next", std::move(next)},
                             {"owner", project ? Value(project->owner) : Value()},
                             {"domains", std::move(domains)}}));
}

Result<Version> Site::version_named(const Call& call) {
  const std::string words = call.name("name") + " " + call.name("version");
  MIST_TRY(std::optional<Version> found,
           dependencies_.store.version(call.name("name"), call.name("version")));
  if (!found) return no_such("version", words);
  if (found->review != Review::Published) {
    MIST_TRY(const bool may_see, may_see_hidden(call, found->package));
    if (!may_see) return no_such("version", words);
  }
  if (found->hidden) return hidden_by_moderators(words, *found->hidden);
  return *std::move(found);
}

Result<Version> Site::whole(const VersionBrief& version) {
  MIST_TRY(std::optional<Version> found, dependencies_.store.version(version.package, version.version));
  if (!found) return no_such("version", version.package + " " + version.version);
  return *std::move(found);
}

Result<std::vector<VersionBrief>> Site::versions_of(const std::string& package) {
  MIST_TRY(std::vector<VersionBrief> found, dependencies_.store.versions(package));
  std::erase_if(found, [](const VersionBrief& each) { return each.review != Review::Published; });
  if (found.empty()) return no_such("package", package);
  if (found.front().is_package_hidden) return hidden_by_moderators(package, *found.front().hidden);
  return found;
}

Result<std::vector<VersionBrief>> Site::versions_shown_to(const Call& call) {
  const std::string package = call.name("name");
  MIST_TRY(std::vector<VersionBrief> found, dependencies_.store.versions(package));
  MIST_TRY_VOID(leave_out_unpublished(call, package, found));
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
  MIST_TRY(const std::optional<Run> run,
           dependencies_.store.last_run(call.name("name"), call.name("version")));
  if (!run) return error(ErrorKind::NotFound, "it wasn't tested yet");
  return json(to_value(*run));
}

// `from` empty: the version before it. Nullopt of versions that have none before them.
Result<VersionChanges> Site::changes_of(const std::vector<VersionBrief>& versions, const VersionBrief& to,
                                        const std::string& from) {
  const auto at = std::ranges::find(versions, to.id, &VersionBrief::id);
  const auto is_shown = [](const VersionBrief& each) { return each.is_for_everybody(); };
  const auto before = from.empty()
                          ? std::find_if(at == versions.end() ? at : std::next(at), versions.end(), is_shown)
                          : std::ranges::find(versions, from, &VersionBrief::version);
  if (before == versions.end())
    return from.empty()
               ? error(ErrorKind::NotFound, "there is no version of {} before {}", to.package, to.version)
               : no_such("version", to.package + " " + from);
  if (before->hidden) return hidden_by_moderators(to.package + " " + before->version, *before->hidden);
  const auto text_of_run = [&](const VersionBrief& version) -> Result<std::string> {
    MIST_TRY(const std::optional<Run> run, dependencies_.store.last_run(version.package, version.version));
    if (!run || run->text.empty()) return std::string();
    MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(run->text));
    return dependencies_.blobs.get(digest);
  };
  MIST_TRY(const std::string was, text_of_run(*before));
  MIST_TRY(const std::string is, text_of_run(to));
  MIST_TRY(const Version older, whole(*before));
  MIST_TRY(const Version newer, whole(to));
  return changes_between(older, was, newer, is);
}

// It reads the objects of both versions, and looks for the shortest diff.
int Site::seconds_until_it_compares(const Call& call) {
  return writes_.wait_for("changes " + client_of(call.peer));
}

Site::Reply Site::changes(const Call& call) {
  MIST_TRY(const std::vector<VersionBrief> versions, versions_shown_to(call));
  const auto to = std::ranges::find(versions, call.name("version"), &VersionBrief::version);
  const std::string words = call.name("name") + " " + call.name("version");
  if (to == versions.end()) return no_such("version", words);
  if (to->hidden) return hidden_by_moderators(words, *to->hidden);
  if (const int seconds = seconds_until_it_compares(call); seconds > 0) return too_often(seconds);
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
  MIST_TRY(const bool known, dependencies_.store.has_blob(text));
  if (!known) return no_such("package with the digest", text);
  const http::Headers& headers = call.request.headers;
  const std::string etag = fmt::format("\"{}\"", digest->hex());
  WebAnswer answer{
      .content_type = "application/octet-stream",
      .headers = {
          {"ETag", etag}, {"Cache-Control", std::string(kForEver)}, {"Content-Disposition", "attachment"}}};
  // answer() makes a 304 of it.
  if (names_etag(http::find_header(headers, "If-None-Match"), etag)) return answer;
  if (call.request.method == "HEAD") {
    MIST_TRY(answer.length, dependencies_.blobs.size(*digest));
    return answer;
  }
  const auto size = [&] { return dependencies_.blobs.size(*digest); };
  MIST_TRY(answer.shared,
           dependencies_.shared.get(text, size, [&] { return dependencies_.blobs.get(*digest); }));
  // Only all of the bytes are a download: nobody counts up by asking for nothing or for a part of them.
  if (http::find_header(headers, "Range").empty()) downloads_.note(client_of(call.peer), text);
  return answer;
}

Result<std::vector<DownloadsOfDay>> Site::recent_downloads(const std::string& package) {
  downloads_.keep();
  return dependencies_.store.downloads(package, day_of(dependencies_.clock.now()) - kRecentDays + 1);
}

Site::Reply Site::downloads(const Call& call) {
  MIST_TRY(const std::vector<DownloadsOfDay> recent, recent_downloads(call.name("name")));
  MIST_TRY(const std::vector<VersionBrief> versions, versions_of(call.name("name")));
  MIST_TRY(const Store::Installs installs, this->installs(call.name("name")));
  return json(to_value(versions, recent, installs));
}

Result<Store::Installs> Site::installs(const std::string& package) {
  installs_.keep();
  return dependencies_.store.installs(package, day_of(dependencies_.clock.now()) - kRecentDays + 1);
}

Site::Reply Site::note_install(const Call& call) {
  const std::string client = client_of(call.peer);
  if (const int seconds = writes_.wait_for("installs " + client); seconds > 0) return too_often(seconds);
  MIST_TRY(const Version found, version_named(call));
  if (found.digest.empty()) return no_such("version", call.name("name") + " " + call.name("version"));
  installs_.note(client, found.digest);
  return nothing(202);
}

Site::Reply Site::preview(const Call& call) {
  MIST_TRY(const Version found, version_named(call));
  if (dependencies_.previews == nullptr) return error(ErrorKind::NotFound, "this catalog has no previews");
  const Preview preview = dependencies_.previews->of(found);
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
  const std::vector<InputField> fields = input_form(version.facts).fields;
  const FilledInputs filled = fill_inputs(fields, call.query);
  if (!filled.faults.empty()) {
    std::vector<std::string> lines;
    for (const auto& [name, fault] : filled.faults) lines.push_back(fmt::format("{}: {}", name, fault));
    return error(ErrorKind::Invalid, "the values don't fit the package {}", version.package)
        .with_because(join(lines, "\n"));
  }
  MIST_TRY(const std::optional<Project> project, dependencies_.store.project(version.package));
  MIST_TRY(const std::vector<PreviewRun> runs,
           dependencies_.previews->runs(version, reference_of(version, project),
                                        with_placeholders(fields, filled.values)));
  const auto now = std::chrono::floor<std::chrono::seconds>(dependencies_.clock.now());
  std::string command;
  if (project)
    command = fmt::format("mistctl generate {}{} -n default -o raw \\\n  --clock {} \\\n  -p {}",
                          version.package, filled.count > 0 ? " -f values.yaml" : "", format_time(now),
                          shell_word(reference_of(version, project)));
  const std::vector<std::pair<std::string, std::string>> names{{"package", version.package},
                                                               {"version", version.version}};
  return to_value(PreviewPlan{.name = fmt::format("{} {}", version.package, version.version),
                              .module = preview.module,
                              .runs = runs,
                              .clock = now,
                              .command = command,
                              .of_version = http::query_of(names)});
}

Result<bool> Site::is_preparing(const Call& call) {
  const std::string package = call.asked("package");
  if (package.empty()) return false;
  MIST_TRY(const std::optional<Version> found, dependencies_.store.version(package, call.asked("version")));
  if (!found || !found->is_for_everybody()) return false;
  return dependencies_.previews->of(*found).state == PreviewState::Preparing;
}

Status Site::check_module(const std::string& digest) {
  const auto versions = dependencies_.previews->made_of(digest);
  // An engine is of no version.
  if (versions && versions->empty()) return {};
  Error refusal = no_such("module with the digest", digest);
  if (!versions) return refusal;
  for (const VersionName& each : *versions) {
    MIST_TRY(const std::optional<Version> version, dependencies_.store.version(each.package, each.version));
    if (version && version->is_for_everybody()) return {};
    if (version && version->hidden)
      refusal = hidden_by_moderators(each.package + " " + each.version, *version->hidden);
  }
  return refusal;
}

Site::Reply Site::module(const Call& call) {
  const std::string digest = call.name("digest");
  const auto parsed = crypto::Digest::parse(digest);
  if (!parsed.ok()) return parsed.error();
  if (dependencies_.previews == nullptr) return no_such("module with the digest", digest);
  if (!dependencies_.previews->made_of(digest)) {
    MIST_TRY(const bool preparing, is_preparing(call));
    if (preparing) return prepared_soon();
  }
  MIST_TRY_VOID(check_module(digest));
  const std::string packed = takes_gzip(call.request) ? dependencies_.previews->packed_digest(digest) : "";
  auto bytes = dependencies_.previews->bytes(packed.empty() ? digest : packed);
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
  MIST_TRY(const Slice<Project> found,
           dependencies_.store.projects(all ? std::string() : call.account->name, page));
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
  MIST_TRY(const std::optional<Project> found, dependencies_.store.project(call.name("name")));
  if (!found || !is_genuine(call.request.headers, call.request.body, found->webhook_secret))
    return error(ErrorKind::Forbidden, "the signature doesn't fit")
        .with_hint("the webhook needs the secret that was shown when the project was linked");
  if (const int seconds = writes_.wait_for("webhook " + found->name); seconds > 0) return too_often(seconds);
  MIST_TRY(const std::optional<AccountDetails> owner, dependencies_.accounts.find(found->owner));
  if (!owner || owner->disabled)
    return error(ErrorKind::Forbidden, "the account {} is disabled", found->owner)
        .with_hint("an administrator can enable it");
  // Nothing of the body is needed: the repository says itself which tags it has.
  MIST_TRY_VOID(dependencies_.store.ask_poll(found->name));
  dependencies_.wake_poller();
  return nothing(202);
}

Site::Reply Site::tokens(const Call& call) {
  MIST_TRY(const std::vector<TokenFacts> found, dependencies_.accounts.tokens(call.account->name));
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
  MIST_TRY(const SecretString token, tokens_.make(call.actor(), call.allowed, wish));
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
  MIST_TRY(const std::vector<OwnDomain> found, dependencies_.accounts.domains(call.account->name));
  Value items{Value::Array{}};
  for (const OwnDomain& each : found) items.push_back(to_value(each));
  MIST_TRY(const std::vector<DomainClaim> asked, dependencies_.accounts.domain_claims(call.account->name));
  Value claims{Value::Array{}};
  for (const DomainClaim& each : asked) claims.push_back(to_value(each));
  const DomainProof proof = domain_proof("DOMAIN", call.account->name, options_.url);
  return json(Value::object(
      {{"items", std::move(items)},
       {"claims", std::move(claims)},
       {"record",
        Value::object({{"name", Value(proof.name)}, {"type", Value("TXT")}, {"text", Value(proof.text)}})}}));
}

Site::Reply Site::prove_domain(const Call& call) {
  if (const int seconds = domains_.wait_for(call.actor()); seconds > 0) return too_often(seconds);
  MIST_TRY(const std::string domain, domains_.claim(call.actor(), call.name("domain")));
  return json(to_value(DomainClaim{.account = {}, .domain = domain, .asked = dependencies_.clock.now()}),
              202);
}

Site::Reply Site::remove_domain(const Call& call) {
  MIST_TRY_VOID(domains_.remove(call.actor(), call.name("domain")));
  return nothing(204);
}

Site::Reply Site::audit_log(const Call& call) {
  MIST_TRY(const Page page, page_asked(call));
  const AuditFilter filter{
      .who = call.asked("who"), .what = call.asked("what"), .subject = call.asked("subject")};
  MIST_TRY(const Slice<AuditEntry> found, dependencies_.store.audit_log(filter, page));
  const std::vector<std::pair<std::string, std::string>> parts{{"who", filter.who},
                                                               {"what", filter.what},
                                                               {"subject", filter.subject},
                                                               {"limit", std::to_string(page.limit)},
                                                               {"after", found.next}};
  return json(to_value(found, "/api/v1/audit?" + http::query_of(parts)));
}

}  // namespace mist::catalog
