#include "registry/oci_client.h"

#include <algorithm>
#include <charconv>
#include <future>
#include <iterator>
#include <stop_token>
#include <utility>

#include "base/text.h"
#include "http/url.h"
#include "oci/answers.h"
#include "oci/signature.h"
#include "oci/tags.h"
#include "registry/oci_reach.h"

namespace mist::registry {
namespace {

constexpr int kMaxHops = 10;
constexpr std::chrono::minutes kPatience{5};        // a login helper may ask a person
constexpr std::uint64_t kSlowestServer = 32 << 10;  // bytes per second
constexpr int kMaxPages = 1000;
constexpr int kUploadAttempts = 3;
constexpr std::uint64_t kMaxAnswer = std::uint64_t{16} << 20;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string origin_in(std::string_view url) {
  const Result<http::Url> parsed = http::Url::parse(url);
  return parsed ? parsed->origin() : std::string();
}

// Never from https to http, and no registry elsewhere may direct requests to this machine.
bool may_follow(const std::string& host, const std::string& from, const http::Url& to) {
  if (from.starts_with("https://") && to.scheme != "https") return false;
  return oci::is_loopback_host(host) || !oci::is_loopback_host(to.authority());
}

Error unexpected(const http::Response& response, const std::string& host, std::string_view what) {
  const bool later = response.status == 429 || response.status >= 500;
  return error(later ? ErrorKind::Retryable : ErrorKind::Invalid, "{} answered {} to {}", host,
               response.status, what)
      .with_because(oci::words_of(response.body));
}

Error wrong_content(const std::string& what, std::string because) {
  return error(ErrorKind::Conflict, "{} is not what its digest says", what)
      .with_because(std::move(because))
      .with_hint(
          "try again; if it stays so, the registry, or something on the way to it, changes what it delivers");
}

std::string manifest_name(const oci::Repository& repository, const std::string& tag) {
  return fmt::format("{}{}{}", repository.str(), crypto::Digest::parse(tag).ok() ? "@" : ":", tag);
}

Result<RawManifest> raw_manifest(http::Response response, const oci::Repository& repository,
                                 const std::string& tag) {
  const crypto::Digest digest = crypto::sha256(response.body);
  const Result<crypto::Digest> wanted = crypto::Digest::parse(tag);
  if (wanted && *wanted != digest)
    return wrong_content(manifest_name(repository, tag),
                         fmt::format("the bytes that came are {}", digest.str()));
  std::string type(http::find_header(response.headers, "content-type"));
  return RawManifest{std::move(response.body), std::move(type), digest};
}

// The answers of a registry without that API.
bool means_no_referrers_api(int status) {
  return status == 404 || status == 400 || status == 405 || status == 406 || status == 501;
}

// One page of the API's list.
Status add_referrers(std::optional<oci::Index>& all, const http::Response& response,
                     const std::string& name) {
  MIST_TRY(oci::Document document, oci::parse_document(response.body, oci::kIndexType, name));
  auto* const index = std::get_if<oci::Index>(&document);
  if (index == nullptr)
    return error(ErrorKind::Invalid, "{} are not an index", name).with_hint("ask whoever runs the registry");
  if (!all) {
    all = std::move(*index);
    return {};
  }
  if (all->manifests.size() + index->manifests.size() > oci::kMaxDescriptors)
    return error(ErrorKind::Invalid, "{} are more than {}", name, oci::kMaxDescriptors)
        .with_hint("remove those that nobody needs");
  std::ranges::move(index->manifests, std::back_inserter(all->manifests));
  return {};
}

std::vector<oci::Challenge> challenges_in(const http::Response& response) {
  std::vector<oci::Challenge> all;
  for (const http::Header& header : response.headers) {
    if (lower_case(header.name) != "www-authenticate") continue;
    for (oci::Challenge& each : oci::parse_challenges(header.value)) all.push_back(std::move(each));
  }
  return all;
}

// "0-1233", "bytes=0-1233": the last byte that a registry has of an upload.
std::optional<std::size_t> range_end(const http::Response& response) {
  const std::string_view range = http::find_header(response.headers, "range");
  const auto dash = range.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = range.substr(dash + 1);
  std::size_t end = 0;
  const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), end);
  if (problem != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return end;
}

// A copy of a request, which has the body of the original as long as it is there: that may be large.
class LentBody {
 public:
  explicit LentBody(http::Request& owner) : owner_(owner) {
    std::string body = std::exchange(owner.body, {});
    request_ = owner;
    request_.body = std::move(body);
  }
  ~LentBody() { owner_.body = std::move(request_.body); }
  LentBody(const LentBody&) = delete;
  LentBody& operator=(const LentBody&) = delete;

  http::Request& request() { return request_; }

 private:
  http::Request& owner_;
  http::Request request_;
};

// Counts and hashes a blob while it comes, and hands it on.
class BlobReader {
 public:
  BlobReader(std::uint64_t size, const ByteSink& sink) : size_(size), sink_(sink) {}

  bool add(std::string_view piece) {
    if (piece.size() > size_ - count_) {
      too_long_ = true;
      return false;
    }
    hasher_.update(piece);
    count_ += piece.size();
    taken_ = sink_(piece);
    return taken_.ok();
  }

  Status finish(const oci::Descriptor& descriptor, const std::string& what) && {
    MIST_TRY_VOID(std::move(taken_));
    if (too_long_)
      return wrong_content(what, fmt::format("more than the {} bytes came that its manifest says", size_));
    if (count_ != size_)
      return wrong_content(what, fmt::format("{} bytes came, and its manifest says {}", count_, size_));
    const crypto::Digest digest = hasher_.finish();
    if (digest != descriptor.digest)
      return wrong_content(what, fmt::format("the bytes that came are {}", digest.str()));
    return {};
  }

 private:
  std::uint64_t size_;
  std::uint64_t count_ = 0;
  const ByteSink& sink_;
  Status taken_;
  crypto::Hasher hasher_;
  bool too_long_ = false;
};

}  // namespace

struct OciClient::Call {
  std::string host;
  std::string repository;  ///< empty: the registry itself
  oci::Access access = oci::Access::Pull;
  std::string also_pull = {};  ///< OciScope::also_pull
  /// Its URL is a path of the registry, or absolute. Its body is lent while it is sent: it may be large.
  mutable http::Request request;
  const http::BodyPiece* piece = nullptr;

  static Call to(const oci::Repository& repository, std::string_view rest) {
    Call call;
    call.host = repository.host;
    call.repository = repository.path;
    call.request.url = fmt::format("/v2/{}/{}", repository.path, rest);
    call.request.repeat = http::Repeat::Safe;
    call.request.response_limit = kMaxAnswer;
    return call;
  }
};

OciClient::OciClient(http::Transport& transport, FindLogin logins, Options options)
    : transport_(transport),
      auth_(transport, std::move(logins), options.resolve),
      options_(std::move(options)) {}

std::string OciClient::origin_of(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = origins_.find(host); known != origins_.end()) return known->second;
  const bool plain = options_.plain_http || oci::is_loopback_host(host);
  return fmt::format("{}{}", plain ? "http://" : "https://", oci::api_host(host));
}

// A TLS server answers plain http with 400, or hangs up.
bool OciClient::may_be_tls(const std::string& host, const Result<http::Response>& result) const {
  if (options_.plain_http || !oci::is_loopback_host(host)) return false;
  if (const std::lock_guard lock(mutex_); origins_.contains(host)) return false;
  if (result) return result->status == 400;
  return result.error().kind == ErrorKind::Retryable && !http::surely_not_sent(result.error());
}

Result<http::Response> OciClient::follow(const Call& call, const std::string& origin,
                                         const std::optional<OciAnswer>& known, const Context& context) {
  LentBody lent(call.request);
  http::Request& request = lent.request();
  request.url = http::resolved_url(origin + "/", call.request.url);
  std::string from = origin;
  for (int hop = 0; hop <= kMaxHops; ++hop) {
    const Result<http::Url> url = http::Url::parse(request.url);
    if (!url || !may_follow(call.host, from, *url))
      return error(ErrorKind::Invalid, "{} sends us to an address that can't be trusted", call.host)
          .with_because(escape_controls(http::loggable_url(request.url)))
          .with_hint("ask whoever runs the registry");
    const bool at_registry = url->origin() == origin_in(origin);
    request.public_only = must_be_public(origin, *url, options_.resolve);
    request.authorization = at_registry && known ? std::optional(known->authorization) : std::nullopt;
    Result<http::Response> answer = call.piece != nullptr ? transport_.stream(request, *call.piece, context)
                                                          : transport_.send(request, context);
    if (!answer && request.public_only) return sent_elsewhere(std::move(answer).error(), call.host);
    MIST_TRY(http::Response response, std::move(answer));
    const bool reads = request.method == "GET" || request.method == "HEAD";
    const std::string_view location = http::find_header(response.headers, "location");
    if (!reads || !is_redirect(response.status) || location.empty()) return response;
    const std::string next = http::resolved_url(request.url, location);
    from = std::exchange(request.url, next.substr(0, next.find('#')));
  }
  return error(ErrorKind::Invalid, "{} redirects from one address to the next without end", call.host)
      .with_hint("ask whoever runs the registry");
}

// A server that sends a byte now and then is never idle, and never done.
Context OciClient::bounded(const Call& call, const Context& context) {
  const std::uint64_t bytes = call.request.response_limit + call.request.body.size();
  return context.with_timeout(kPatience + std::chrono::seconds(bytes / kSlowestServer));
}

Result<http::Response> OciClient::exchange(const Call& call, const Context& caller) {
  const Context context = bounded(call, caller);
  std::string origin = origin_of(call.host);
  OciScope scope{call.host, origin, call.repository, call.access, call.also_pull};
  std::optional<OciAnswer> known = auth_.known(scope);
  Result<http::Response> result = follow(call, origin, known, context);
  if (may_be_tls(call.host, result)) {
    scope.origin = origin = fmt::format("https://{}", oci::api_host(call.host));
    Result<http::Response> again = follow(call, origin, known, context);
    // Where TLS isn't spoken either, the first answer says more.
    if (!again && again.error().kind == ErrorKind::Retryable && result) return result;
    result = std::move(again);
  }
  if (!result) return result;
  {
    const std::lock_guard lock(mutex_);
    origins_[call.host] = origin;
  }
  if (result->status == 401) {
    MIST_TRY(known, auth_.answer(scope, challenges_in(*result), context));
    MIST_TRY(*result, follow(call, origin, known, context));
  }
  if (result->status == 401 || result->status == 403)
    return login_refused(call.host, known && known->with_login, oci::words_of(result->body));
  return result;
}

Error OciClient::not_found(const oci::Repository& repository, const std::string& tag,
                           const http::Response& response, const Context& context) {
  Error failure = error(ErrorKind::NotFound, "there is no {} in {}", tag, repository.str());
  failure.because = oci::words_of(response.body);
  const Result<std::vector<std::string>> there = tags(repository, context);
  if (!there || there->empty()) {
    failure.hint = "check the name of the repository";
    return failure;
  }
  std::vector<std::string> some = oci::newest_first(*there);
  if (some.empty()) some = *there;
  const std::size_t count = std::min<std::size_t>(some.size(), 5);
  failure.hint = fmt::format("there are {}{}", join(std::span(some).first(count), ", "),
                             there->size() > count ? fmt::format(" and {} more", there->size() - count) : "");
  return failure;
}

Result<http::Response> OciClient::ask_for_manifest(const oci::Repository& repository, const std::string& tag,
                                                   const Context& context) {
  Call call = Call::to(repository, "manifests/" + tag);
  call.request.headers.push_back({"Accept", oci::accepted_types()});
  call.request.response_limit = oci::kMaxManifestBytes;
  const std::string name = manifest_name(repository, tag);
  MIST_TRY(http::Response response, exchange(call, context).in(fmt::format("while reading {}", name)));
  if (response.status != 200 && response.status != 404)
    return unexpected(response, repository.host, fmt::format("the question for {}", name));
  return response;
}

Result<RawManifest> OciClient::manifest(const oci::Repository& repository, const std::string& tag,
                                        const Context& context) {
  MIST_TRY(http::Response response, ask_for_manifest(repository, tag, context));
  if (response.status == 404) return not_found(repository, tag, response, context);
  return raw_manifest(std::move(response), repository, tag);
}

Result<std::optional<RawManifest>> OciClient::find_manifest(const oci::Repository& repository,
                                                            const std::string& tag, const Context& context) {
  MIST_TRY(http::Response response, ask_for_manifest(repository, tag, context));
  if (response.status == 404) return std::optional<RawManifest>();
  MIST_TRY(RawManifest raw, raw_manifest(std::move(response), repository, tag));
  return std::optional(std::move(raw));
}

// Nothing: the registry has no such API.
Result<std::optional<oci::Index>> OciClient::ask_for_referrers(const oci::Repository& repository,
                                                               const crypto::Digest& manifest,
                                                               std::string_view artifact_type,
                                                               const Context& context) {
  {
    const std::lock_guard lock(mutex_);
    if (without_referrers_.contains(repository.host)) return std::optional<oci::Index>();
  }
  const std::string filter =
      artifact_type.empty() ? std::string()
                            : fmt::format("?artifactType={}", http::escape_query(std::string(artifact_type)));
  Call call = Call::to(repository, fmt::format("referrers/{}{}", manifest.str(), filter));
  call.request.headers.push_back({"Accept", std::string(oci::kIndexType)});
  call.request.response_limit = oci::kMaxManifestBytes;
  const std::string name = fmt::format("the referrers of {}@{}", repository.str(), manifest.str());
  std::optional<oci::Index> all;
  bool has_no_api = false;
  const auto page = [&](const http::Response& response) -> Status {
    has_no_api = !all && means_no_referrers_api(response.status);
    if (has_no_api) return {};
    if (response.status != 200)
      return unexpected(response, repository.host, fmt::format("the question for {}", name));
    return add_referrers(all, response, name);
  };
  const Status listed = each_page(std::move(call), name, page, context);
  // Some registries refuse what they don't know, however good the credentials are.
  if (!listed && !all && listed.error().kind == ErrorKind::Forbidden) has_no_api = true;
  if (has_no_api) {
    const std::lock_guard lock(mutex_);
    without_referrers_.insert(repository.host);
    return std::optional<oci::Index>();
  }
  MIST_TRY_VOID(listed);
  return all;
}

Result<std::vector<oci::Descriptor>> OciClient::referrers(const oci::Repository& repository,
                                                          const crypto::Digest& manifest,
                                                          std::string_view artifact_type,
                                                          const Context& context) {
  MIST_TRY(std::optional<oci::Index> index, ask_for_referrers(repository, manifest, artifact_type, context));
  if (!index) {
    const std::string tag = oci::referrers_tag(manifest);
    MIST_TRY(const std::optional<RawManifest> raw, find_manifest(repository, tag, context));
    if (!raw) return std::vector<oci::Descriptor>();
    MIST_TRY(oci::Document document,
             oci::parse_document(raw->bytes, raw->content_type, manifest_name(repository, tag)));
    auto* const listed = std::get_if<oci::Index>(&document);
    if (listed == nullptr) return std::vector<oci::Descriptor>();  // somebody's own tag
    index = std::move(*listed);
  }
  return std::move(index->manifests);
}

Result<std::optional<crypto::Digest>> OciClient::digest_of(const oci::Repository& repository,
                                                           const std::string& tag, const Context& context,
                                                           oci::Access access) {
  Call call = Call::to(repository, "manifests/" + tag);
  call.access = access;
  call.request.method = "HEAD";
  call.request.headers.push_back({"Accept", oci::accepted_types()});
  MIST_TRY(const http::Response response, exchange(call, context));
  if (response.status == 404) return std::optional<crypto::Digest>();
  if (response.status != 200)
    return unexpected(response, repository.host,
                      fmt::format("the question for {}:{}", repository.str(), tag));
  const Result<crypto::Digest> digest =
      crypto::Digest::parse(http::find_header(response.headers, "docker-content-digest"));
  if (digest) return std::optional(*digest);
  // The header is optional in the distribution specification: then the bytes themselves say it.
  MIST_TRY(const std::optional<RawManifest> raw, find_manifest(repository, tag, context));
  return raw ? std::optional(raw->digest) : std::nullopt;
}

Result<std::string> OciClient::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                    std::uint64_t limit, const Context& context) {
  std::string bytes;
  MIST_TRY_VOID(stream_blob(
      repository, descriptor, limit,
      [&](std::string_view piece) {
        if (bytes.empty()) bytes.reserve(static_cast<std::size_t>(descriptor.size));
        bytes += piece;
        return Status();
      },
      context));
  return bytes;
}

Status OciClient::stream_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                              std::uint64_t limit, const ByteSink& sink, const Context& context) {
  const std::string what = fmt::format("{} of {}", descriptor.digest.str(), repository.str());
  if (descriptor.size > limit)
    return error(ErrorKind::Invalid, "{} is too large: it has {} bytes, {} are allowed", what,
                 descriptor.size, limit)
        .with_hint("is it a package?");
  Call call = Call::to(repository, "blobs/" + descriptor.digest.str());
  // Of answers that are no blob, too; BlobReader bounds the blob.
  call.request.response_limit = std::max(kMaxAnswer, descriptor.size + 1);
  BlobReader reader(descriptor.size, sink);
  const http::BodyPiece piece = [&](std::string_view bytes) { return reader.add(bytes); };
  call.piece = &piece;
  MIST_TRY(const http::Response response, exchange(call, context).in(fmt::format("while reading {}", what)));
  if (response.status == 404)
    return error(ErrorKind::NotFound, "{} has lost a part of {}", repository.host, repository.str())
        .with_because(oci::words_of(response.body))
        .with_hint("push it again");
  if (response.status != 200)
    return unexpected(response, repository.host, fmt::format("the question for {}", what));
  return std::move(reader).finish(descriptor, what);
}

Status OciClient::each_page(Call call, std::string_view what,
                            const std::function<Status(const http::Response&)>& page,
                            const Context& context) {
  const std::string host = call.host;
  for (int count = 0; count < kMaxPages; ++count) {
    MIST_TRY(const http::Response response,
             exchange(call, context).in(fmt::format("while listing {}", what)));
    MIST_TRY_VOID(page(response).in(fmt::format("while listing {}", what)));
    const std::optional<std::string> next = oci::next_page(http::find_header(response.headers, "link"));
    if (!next) return {};
    // Only what is asked changes, never who is asked.
    const std::string& asked = call.request.url;
    const std::string base = http::has_scheme(asked) ? asked : origin_of(host) + asked;
    const std::string url = http::resolved_url(base, *next);
    if (origin_in(url) != origin_in(origin_of(host)))
      return error(ErrorKind::Invalid, "{} lists {} at another address", host, what)
          .with_because(escape_controls(http::loggable_url(url)))
          .with_hint("ask whoever runs the registry");
    call.request.url = url;
  }
  return error(ErrorKind::Invalid, "{} lists {} in more than {} pages", host, what, kMaxPages);
}

Result<std::vector<std::string>> OciClient::tags(const oci::Repository& repository, const Context& context) {
  const std::string what = fmt::format("the tags of {}", repository.str());
  std::vector<std::string> all;
  const auto page = [&](const http::Response& response) -> Status {
    if (response.status == 404)
      return error(ErrorKind::NotFound, "there is no repository {}", repository.str())
          .with_because(oci::words_of(response.body))
          .with_hint("check its name; mistctl push makes one");
    if (response.status != 200)
      return unexpected(response, repository.host, fmt::format("the question for {}", what));
    MIST_TRY(const std::vector<std::string> some, oci::parse_tags(response.body));
    all.insert(all.end(), some.begin(), some.end());
    if (all.size() > oci::kMaxTags)
      return error(ErrorKind::Invalid, "{} has more than {} tags", repository.str(), oci::kMaxTags);
    return {};
  };
  MIST_TRY_VOID(each_page(Call::to(repository, "tags/list?n=1000"), what, page, context));
  return all;
}

Result<std::vector<std::string>> OciClient::repositories(const std::string& host, const Context& context) {
  Call call;
  call.host = host;
  call.request.url = "/v2/_catalog?n=1000";
  call.request.repeat = http::Repeat::Safe;
  call.request.response_limit = kMaxAnswer;
  const std::string what = fmt::format("the repositories of {}", host);
  std::vector<std::string> all;
  const auto page = [&](const http::Response& response) -> Status {
    if (response.status == 404 || response.status == 405 || response.status == 501)
      return error(ErrorKind::Invalid, "{} doesn't list its repositories", host)
          .with_because(oci::words_of(response.body))
          .with_hint("name them: --package web --package databases/mariadb");
    if (response.status != 200) return unexpected(response, host, fmt::format("the question for {}", what));
    MIST_TRY(const std::vector<std::string> some, oci::parse_repositories(response.body));
    all.insert(all.end(), some.begin(), some.end());
    if (all.size() > oci::kMaxTags)
      return error(ErrorKind::Invalid, "{} has more than {} repositories", host, oci::kMaxTags);
    return {};
  };
  MIST_TRY_VOID(each_page(std::move(call), what, page, context));
  return all;
}

Result<bool> OciClient::has_blob(const oci::Repository& repository, const std::string& digest,
                                 const Context& context) {
  Call look = Call::to(repository, "blobs/" + digest);
  look.access = oci::Access::Push;
  look.request.method = "HEAD";
  MIST_TRY(const http::Response there, exchange(look, context));
  return there.status == 200;
}

// Where to upload to; nothing: `mount` had the blob with that digest, and it is there now.
Result<std::optional<std::string>> OciClient::open_upload(const oci::Repository& repository,
                                                          const Context& context,
                                                          const oci::Repository* mount,
                                                          const std::string& digest) {
  Call open = Call::to(repository, "blobs/uploads/");
  open.access = oci::Access::Push;
  open.request.method = "POST";
  if (mount != nullptr) {
    open.also_pull = mount->path;
    open.request.url +=
        fmt::format("?mount={}&from={}", http::escape_query(digest), http::escape_query(mount->path));
  }
  MIST_TRY(const http::Response opened, exchange(open, context));
  if (mount != nullptr && opened.status == 201) return std::optional<std::string>();
  const std::string_view location = http::find_header(opened.headers, "location");
  if (opened.status != 202 || location.empty())
    return unexpected(opened, repository.host, fmt::format("the wish to upload to {}", repository.str()));
  MIST_TRY(std::string url, upload_address(repository, open.request.url, opened));
  return std::optional(std::move(url));
}

// Where the answer to `asked` says that the upload goes on.
Result<std::string> OciClient::upload_address(const oci::Repository& repository, const std::string& asked,
                                              const http::Response& response) const {
  const std::string origin = origin_of(repository.host);
  const std::string base = http::has_scheme(asked) ? asked : origin + asked;
  const std::string_view location = http::find_header(response.headers, "location");
  std::string url = location.empty() ? base : http::resolved_url(base, location);
  if (origin.starts_with("https://") && !url.starts_with("https://"))
    return error(ErrorKind::Invalid, "{} wants uploads over plain http", repository.host)
        .with_hint("ask whoever runs the registry");
  return url;
}

Result<http::Response> OciClient::put_blob(const oci::Repository& repository, const std::string& location,
                                           const std::string& digest, std::string bytes,
                                           const Context& context) {
  Call put = Call::to(repository, "");
  put.access = oci::Access::Push;
  put.request.method = "PUT";
  put.request.url = location + (location.find('?') == std::string::npos ? "?digest=" : "&digest=") +
                    http::escape_query(digest);
  put.request.headers.push_back({"Content-Type", "application/octet-stream"});
  put.request.body = std::move(bytes);
  put.request.repeat = http::Repeat::Unsafe;
  return exchange(put, context);
}

// `opened`: an upload that is open already.
Status OciClient::upload(const oci::Repository& repository, const Upload& blob,
                         std::optional<std::string> opened, const Context& context) {
  if (blob.bytes.size() < options_.chunked_from)
    return upload_whole(repository, blob, std::move(opened), context);
  MIST_TRY(const Sending sent, upload_in_chunks(repository, blob, std::move(opened), context));
  if (sent == Sending::Done) return {};
  // A registry that takes no chunks.
  return upload_whole(repository, blob, {}, context);
}

// The file is held against its digest on another thread meanwhile: that takes about as long as sending it.
Status OciClient::upload_file(const oci::Repository& repository, const std::string& digest,
                              const FilePart& file, std::optional<std::string> opened,
                              const std::function<Status(const Context&)>& verify, const Context& context) {
  std::stop_source ended;
  const Context verifying = context.with_stop(ended.get_token());
  std::future<Status> result = std::async(std::launch::async, [&] { return verify(verifying); });
  std::optional<Status> known;
  const auto verified = [&]() -> Status {
    if (!known) known = result.get();
    return *known;
  };
  const BlobBytes bytes(file);
  Status sent = upload(repository, {digest, bytes, verified}, std::move(opened), context);
  if (!known) {
    ended.request_stop();
    result.wait();
  }
  return sent;
}

// Distribution specification, "Pushing a blob in chunks". BrokenOff: the connection, or the registry, failed.
// Refused: it takes no chunks.
Result<OciClient::Sending> OciClient::send_chunks(const oci::Repository& repository, const BlobBytes& bytes,
                                                  Progress& progress, const Context& context) {
  while (progress.offset < bytes.size()) {
    const std::size_t size = std::min(options_.chunk_bytes, bytes.size() - progress.offset);
    Call patch = Call::to(repository, "");
    patch.access = oci::Access::Push;
    patch.request.method = "PATCH";
    patch.request.url = progress.location;
    patch.request.headers.push_back({"Content-Type", "application/octet-stream"});
    patch.request.headers.push_back(
        {"Content-Range", fmt::format("{}-{}", progress.offset, progress.offset + size - 1)});
    MIST_TRY(patch.request.body, bytes.read(progress.offset, size));
    patch.request.repeat = http::Repeat::Unsafe;
    const Result<http::Response> answer = exchange(patch, context);
    if (!answer && answer.error().kind != ErrorKind::Retryable) return answer.error();
    if (!answer || answer->status >= 500 || answer->status == 416 || answer->status == 404 ||
        answer->status == 429)
      return Sending::BrokenOff;
    if (answer->status / 100 != 2) return Sending::Refused;
    MIST_TRY(progress.location, upload_address(repository, progress.location, *answer));
    const std::optional<std::size_t> end = range_end(*answer);
    const std::size_t next = end && *end < bytes.size() ? *end + 1 : progress.offset + size;
    if (next <= progress.offset) return Sending::BrokenOff;
    progress.offset = next;
  }
  return Sending::Done;
}

// How much of it the registry has. False: it knows nothing of the upload.
Result<bool> OciClient::find_offset(const oci::Repository& repository, std::size_t size, Progress& progress,
                                    const Context& context) {
  Call ask = Call::to(repository, "");
  ask.access = oci::Access::Push;
  ask.request.url = progress.location;
  MIST_TRY(const http::Response answer, exchange(ask, context));
  const std::optional<std::size_t> end = range_end(answer);
  if (answer.status / 100 != 2 || !end || *end >= size) return false;
  MIST_TRY(progress.location, upload_address(repository, progress.location, answer));
  // "0-0" also stands for an upload of which nothing came.
  progress.offset = *end == 0 ? 0 : *end + 1;
  return true;
}

Result<OciClient::Sending> OciClient::upload_in_chunks(const oci::Repository& repository, const Upload& blob,
                                                       std::optional<std::string> opened,
                                                       const Context& context) {
  const std::string& digest = blob.digest;
  const BlobBytes& bytes = blob.bytes;
  Progress progress{opened.value_or(""), 0};
  std::size_t farthest = 0;
  for (int attempt = 1; attempt <= kUploadAttempts; ++attempt) {
    if (progress.location.empty()) {
      MIST_TRY(const std::optional<std::string> location, open_upload(repository, context));
      progress = {location.value_or(""), 0};
    }
    MIST_TRY(Sending sent, send_chunks(repository, bytes, progress, context));
    if (sent == Sending::Refused) return sent;
    if (sent == Sending::Done) {
      if (blob.verified) MIST_TRY_VOID(blob.verified());
      const Result<http::Response> stored = put_blob(repository, progress.location, digest, {}, context);
      if (stored && stored->status == 201) return Sending::Done;
      if (!stored && stored.error().kind != ErrorKind::Retryable) return stored.error();
      if (stored && stored->status != 404 && stored->status < 500)
        return unexpected(*stored, repository.host, fmt::format("the upload of {}", digest));
      MIST_TRY(const bool there, has_blob(repository, digest, context));
      if (there) return Sending::Done;
    }
    // Any progress counts as a new beginning.
    if (progress.offset > farthest) attempt = 0;
    farthest = std::max(farthest, progress.offset);
    MIST_TRY(const bool known, find_offset(repository, bytes.size(), progress, context));
    if (!known) progress.location.clear();
  }
  return error(ErrorKind::Retryable, "{} breaks off the upload of {} again and again", repository.host,
               digest)
      .with_because(fmt::format("{} of its {} bytes arrived", farthest, bytes.size()))
      .with_hint("try again; what has arrived in whole is not sent again");
}

Status OciClient::upload_whole(const oci::Repository& repository, const Upload& blob,
                               std::optional<std::string> opened, const Context& context) {
  const std::string& digest = blob.digest;
  if (blob.verified) MIST_TRY_VOID(blob.verified());
  for (int attempt = 1;; ++attempt) {
    if (!opened) {
      MIST_TRY(opened, open_upload(repository, context));
    }
    MIST_TRY(std::string bytes, blob.bytes.read(0, blob.bytes.size()));
    const Result<http::Response> stored =
        put_blob(repository, *std::exchange(opened, {}), digest, std::move(bytes), context);
    if (stored && stored->status == 201) return {};
    // The connection broke, or the registry was started again and knows nothing of the upload.
    const bool again =
        stored ? stored->status == 404 || stored->status >= 500 : stored.error().kind == ErrorKind::Retryable;
    if (!again || attempt == kUploadAttempts) {
      if (!stored) return stored.error();
      return unexpected(*stored, repository.host, fmt::format("the upload of {}", digest));
    }
    // All of it may have arrived, with only the answer lost.
    MIST_TRY(const bool there, has_blob(repository, digest, context));
    if (there) return {};
  }
}

Status OciClient::push_blob(const oci::Repository& repository, const oci::Blob& blob,
                            const Context& context) {
  const std::string digest = blob.descriptor.digest.str();
  if (blob.bytes.size() >= options_.asked_from) {
    MIST_TRY(const bool there, has_blob(repository, digest, context));
    if (there) return {};
  }
  return upload(repository, {digest, BlobBytes(blob.bytes)}, {}, context);
}

Result<Moved> OciClient::take_blob(OciSource& source, const oci::Repository& from, const oci::Repository& to,
                                   const oci::Descriptor& descriptor, std::uint64_t limit,
                                   const Context& context) {
  const std::string digest = descriptor.digest.str();
  MIST_TRY(const bool there, has_blob(to, digest, context));
  if (there) return Moved::WasThere;
  std::optional<std::string> opened;
  if (&source == this && from.host == to.host) {
    Result<std::optional<std::string>> mounted = open_upload(to, context, &from, digest);
    // Some token servers give no token for two repositories at once.
    if (!mounted && mounted.error().kind != ErrorKind::Forbidden) return std::move(mounted).error();
    if (mounted && !*mounted) return Moved::Mounted;
    if (mounted) opened = *std::move(mounted);
  }
  if (const std::optional<FilePart> file = source.file_of(descriptor);
      file && file->size == descriptor.size && file->size <= limit && file->size >= options_.chunked_from) {
    const auto verify = [&](const Context& verifying) {
      return source.stream_blob(
          from, descriptor, limit, [](std::string_view) { return Status(); }, verifying);
    };
    MIST_TRY_VOID(upload_file(to, digest, *file, std::move(opened), verify, context));
    return Moved::Sent;
  }
  MIST_TRY(const std::string bytes, source.blob(from, descriptor, limit, context));
  MIST_TRY_VOID(upload(to, {digest, BlobBytes(bytes)}, std::move(opened), context));
  return Moved::Sent;
}

Status OciClient::push_manifest(const oci::Repository& repository, const std::string& tag,
                                const std::string& manifest, const Context& context,
                                std::string_view media_type) {
  MIST_TRY([[maybe_unused]] const bool lists, put_manifest(repository, tag, manifest, media_type, context));
  return {};
}

Result<bool> OciClient::put_manifest(const oci::Repository& repository, const std::string& tag,
                                     const std::string& manifest, std::string_view media_type,
                                     const Context& context) {
  Call call = Call::to(repository, "manifests/" + tag);
  call.access = oci::Access::Push;
  call.request.method = "PUT";
  call.request.headers.push_back({"Content-Type", std::string(media_type)});
  call.request.body = manifest;
  MIST_TRY(const http::Response response, exchange(call, context));
  if (response.status != 201)
    return unexpected(response, repository.host, fmt::format("the upload of {}:{}", repository.str(), tag));
  return !http::find_header(response.headers, "oci-subject").empty();
}

Status OciClient::delete_manifest(const oci::Repository& repository, const std::string& tag,
                                  const Context& context) {
  const bool is_digest = crypto::Digest::parse(tag).ok();
  const std::string name = fmt::format("{}{}{}", repository.str(), is_digest ? "@" : ":", tag);
  Call call = Call::to(repository, "manifests/" + tag);
  call.access = oci::Access::Delete;
  call.request.method = "DELETE";
  MIST_TRY(const http::Response response, exchange(call, context));
  if (response.status == 404)
    return error(ErrorKind::NotFound, "there is no {}", name).with_because(oci::words_of(response.body));
  // By the distribution specification, registries that don't delete answer 405; some say 400 instead.
  if (response.status == 405 || response.status == 400) {
    Error failure = error(ErrorKind::Invalid, "{} doesn't delete {}", repository.host,
                          is_digest ? "manifests" : "single tags")
                        .with_because(oci::words_of(response.body));
    failure.hint = is_digest ? "ask whoever runs the registry whether deleting is switched on"
                             : "delete the manifest by its digest, which removes all of its tags";
    return failure;
  }
  if (response.status / 100 != 2)
    return unexpected(response, repository.host, fmt::format("the wish to delete {}", name));
  return {};
}

Result<bool> OciClient::check_access(const std::string& host, const Context& context) {
  Call call;
  call.host = host;
  call.request.url = "/v2/";
  call.request.repeat = http::Repeat::Safe;
  call.request.response_limit = kMaxAnswer;
  MIST_TRY(const http::Response response, exchange(call, context).in(fmt::format("while asking {}", host)));
  if (response.status == 200)
    return auth_.known({.host = host, .origin = origin_of(host), .path = {}}).has_value();
  if (response.status == 404)
    return error(ErrorKind::Invalid, "{} is not an OCI registry", host)
        .with_because("it has no /v2/")
        .with_hint("check the host and the port");
  return unexpected(response, host, "the question whether it is a registry");
}

}  // namespace mist::registry
