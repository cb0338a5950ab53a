#include "registry/oci_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <future>
#include <iterator>
#include <stop_token>
#include <utility>

#include "base/short_digest.h"
#include "base/text.h"
#include "base/url.h"
#include "http/url.h"
#include "oci/answers.h"
#include "oci/signature.h"
#include "oci/tags.h"
#include "registry/oci_reach.h"

namespace mist::registry {
namespace {

constexpr int kMaxPages = 1000;
constexpr std::chrono::minutes kListingTime{10};  // for all pages

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

  std::uint64_t count() const { return count_; }

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

OciClient::OciClient(http::Transport& transport, FindLogin logins, Options options)
    : exchange_(transport, std::move(logins), options.plain_http, std::move(options.resolve)),
      upload_(exchange_, {options.large_from, options.chunk_bytes}, options.events),
      options_(std::move(options)) {}

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
  OciCall call = OciCall::to(repository, "manifests/" + tag);
  call.request.headers.push_back({"Accept", oci::accepted_types()});
  call.request.response_limit = oci::kMaxManifestBytes;
  const std::string name = manifest_name(repository, tag);
  MIST_TRY(http::Response response, exchange_.send(call, context).in(fmt::format("while reading {}", name)));
  if (response.status != 200 && response.status != 404)
    return unexpected_answer(response, repository.host, fmt::format("the question for {}", name));
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

// Nothing: the registry has no such API for this repository.
Result<std::optional<oci::Index>> OciClient::ask_for_referrers(const oci::Repository& repository,
                                                               const crypto::Digest& manifest,
                                                               std::string_view artifact_type,
                                                               const Context& context) {
  {
    const std::lock_guard lock(mutex_);
    if (without_referrers_.contains(repository.str())) return std::optional<oci::Index>();
  }
  const std::string filter =
      artifact_type.empty() ? std::string()
                            : fmt::format("?artifactType={}", http::escape_query(std::string(artifact_type)));
  OciCall call = OciCall::to(repository, fmt::format("referrers/{}{}", manifest.str(), filter));
  call.request.headers.push_back({"Accept", std::string(oci::kIndexType)});
  call.request.response_limit = oci::kMaxManifestBytes;
  const std::string name = fmt::format("the referrers of {}@{}", repository.str(), manifest.str());
  std::optional<oci::Index> all;
  bool has_no_api = false;
  const auto page = [&](const http::Response& response) -> Status {
    has_no_api = !all && means_no_referrers_api(response.status);
    if (has_no_api) return {};
    if (response.status != 200)
      return unexpected_answer(response, repository.host, fmt::format("the question for {}", name));
    return add_referrers(all, response, name);
  };
  const Status listed = each_page(std::move(call), name, page, context);
  // Some registries refuse what they don't know, however good the credentials are; others refuse this
  // repository alone.
  if (!listed && !all && listed.error().kind == ErrorKind::Forbidden) has_no_api = true;
  if (has_no_api) {
    const std::lock_guard lock(mutex_);
    without_referrers_.insert(repository.str());
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
  OciCall call = OciCall::to(repository, "manifests/" + tag);
  call.access = access;
  call.request.method = "HEAD";
  call.request.headers.push_back({"Accept", oci::accepted_types()});
  MIST_TRY(const http::Response response, exchange_.send(call, context));
  if (response.status == 404) return std::optional<crypto::Digest>();
  if (response.status != 200)
    return unexpected_answer(response, repository.host,
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
  OciCall call = OciCall::to(repository, "blobs/" + descriptor.digest.str());
  // Of answers that are no blob, too; BlobReader bounds the blob.
  call.request.response_limit = std::max(kMaxOciAnswer, descriptor.size + 1);
  BlobReader reader(descriptor.size, sink);
  TransferProgress told(
      options_.events,
      fmt::format("downloading {} from {}", short_digest(descriptor.digest.str()), repository.str()),
      descriptor.size, context);
  const http::BodyPiece piece = [&](std::string_view bytes) {
    const bool goes_on = reader.add(bytes);
    told.reached(reader.count());
    return goes_on;
  };
  call.piece = &piece;
  const auto all = [&]() -> Status {
    MIST_TRY(const http::Response response,
             exchange_.send(call, context).in(fmt::format("while reading {}", what)));
    if (response.status == 404)
      return error(ErrorKind::NotFound, "{} has lost a part of {}", repository.host, repository.str())
          .with_because(oci::words_of(response.body))
          .with_hint("push it again");
    if (response.status != 200)
      return unexpected_answer(response, repository.host, fmt::format("the question for {}", what));
    return std::move(reader).finish(descriptor, what);
  };
  Status read = all();
  if (!read) told.fail();
  return read;
}

Status OciClient::each_page(OciCall call, std::string_view what,
                            const std::function<Status(const http::Response&)>& page,
                            const Context& context) {
  const std::string host = call.host;
  const std::string frame = fmt::format("while listing {}", what);
  const Context bounded = context.with_timeout(kListingTime);
  std::set<std::string> seen;
  for (int count = 0; count < kMaxPages; ++count) {
    MIST_TRY_VOID(bounded.check().in(frame));
    MIST_TRY(const http::Response response, exchange_.send(call, bounded).in(frame));
    MIST_TRY_VOID(page(response).in(frame));
    const std::optional<std::string> next = oci::next_page(http::find_header(response.headers, "link"));
    if (!next) return {};
    // Only what is asked changes, never who is asked.
    const std::string& asked = call.request.url;
    const std::string origin = exchange_.origin_of(host);
    const std::string here = resolved_url(origin + "/", asked);
    const std::string url = resolved_url(here, *next);
    if (origin_in(url) != origin_in(origin))
      return error(ErrorKind::Invalid, "{} lists {} at another address", host, what)
          .with_because(escape_controls(http::loggable_url(url)))
          .with_hint("ask whoever runs the registry");
    seen.insert(here);
    if (seen.contains(url))
      return error(ErrorKind::Invalid, "{} lists {} in pages that never end", host, what)
          .with_because(
              fmt::format("page {} leads back to {}", count + 1, escape_controls(http::loggable_url(url))))
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
      return unexpected_answer(response, repository.host, fmt::format("the question for {}", what));
    MIST_TRY(const std::vector<std::string> some, oci::parse_tags(response.body));
    all.insert(all.end(), some.begin(), some.end());
    if (all.size() > oci::kMaxTags)
      return error(ErrorKind::Invalid, "{} has more than {} tags", repository.str(), oci::kMaxTags);
    return {};
  };
  MIST_TRY_VOID(each_page(OciCall::to(repository, "tags/list?n=1000"), what, page, context));
  return all;
}

Result<std::vector<std::string>> OciClient::repositories(const std::string& host, const Context& context) {
  OciCall call = OciCall::to_registry(host, "/v2/_catalog?n=1000");
  const std::string what = fmt::format("the repositories of {}", host);
  std::vector<std::string> all;
  const auto page = [&](const http::Response& response) -> Status {
    if (response.status == 404 || response.status == 405 || response.status == 501)
      return error(ErrorKind::Invalid, "{} doesn't list its repositories", host)
          .with_because(oci::words_of(response.body))
          .with_hint("name them: --package web --package databases/mariadb");
    if (response.status != 200)
      return unexpected_answer(response, host, fmt::format("the question for {}", what));
    MIST_TRY(const std::vector<std::string> some, oci::parse_repositories(response.body));
    all.insert(all.end(), some.begin(), some.end());
    if (all.size() > oci::kMaxTags)
      return error(ErrorKind::Invalid, "{} has more than {} repositories", host, oci::kMaxTags);
    return {};
  };
  MIST_TRY_VOID(each_page(std::move(call), what, page, context));
  return all;
}

Status OciClient::push_blob(const oci::Repository& repository, const oci::Blob& blob,
                            const Context& context) {
  const std::string digest = blob.descriptor.digest.str();
  if (blob.bytes.size() >= Options::kAskedFrom) {
    MIST_TRY(const bool there, upload_.has_blob(repository, digest, context));
    if (there) return {};
  }
  return upload_.send(repository, {digest, BlobBytes(blob.bytes)}, {}, context);
}

Result<Moved> OciClient::take_blob(OciSource& source, const oci::Repository& from, const oci::Repository& to,
                                   const oci::Descriptor& descriptor, std::uint64_t limit,
                                   const Context& context) {
  const std::string digest = descriptor.digest.str();
  MIST_TRY(const bool there, upload_.has_blob(to, digest, context));
  if (there) return Moved::WasThere;
  std::optional<OciUpload::Opened> opened;
  if (&source == this && from.host == to.host) {
    Result<std::optional<OciUpload::Opened>> mounted = upload_.open(to, context, &from, digest);
    // Some token servers give no token for two repositories at once.
    if (!mounted && mounted.error().kind != ErrorKind::Forbidden) return std::move(mounted).error();
    if (mounted && !*mounted) return Moved::Mounted;
    if (mounted) opened = *std::move(mounted);
  }
  if (const std::optional<FilePart> file = source.file_of(descriptor);
      file && file->size == descriptor.size && file->size <= limit && file->size >= options_.large_from) {
    const auto verify = [&](const Context& verifying) {
      return source.stream_blob(
          from, descriptor, limit, [](std::string_view) { return Status(); }, verifying);
    };
    MIST_TRY_VOID(upload_.send_file(to, digest, *file, std::move(opened), verify, context));
    return Moved::Sent;
  }
  MIST_TRY(const std::string bytes, source.blob(from, descriptor, limit, context));
  MIST_TRY_VOID(upload_.send(to, {digest, BlobBytes(bytes)}, std::move(opened), context));
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
  OciCall call = OciCall::to(repository, "manifests/" + tag);
  call.access = oci::Access::Push;
  call.request.method = "PUT";
  call.request.headers.push_back({"Content-Type", std::string(media_type)});
  call.request.body = manifest;
  MIST_TRY(const http::Response response, exchange_.send(call, context));
  if (response.status != 201)
    return unexpected_answer(response, repository.host,
                             fmt::format("the upload of {}:{}", repository.str(), tag));
  return !http::find_header(response.headers, "oci-subject").empty();
}

namespace {

Status judged_deletion(const http::Response& response, const oci::Repository& repository,
                       const std::string& tag) {
  const std::string name = manifest_name(repository, tag);
  if (response.status == 404)
    return error(ErrorKind::NotFound, "there is no {}", name).with_because(oci::words_of(response.body));
  // By the distribution specification, registries that don't delete answer 405; some say 400 instead.
  if (response.status == 405 || response.status == 400) {
    const bool is_digest = crypto::Digest::parse(tag).ok();
    Error failure = error(ErrorKind::Invalid, "{} doesn't delete {}", repository.host,
                          is_digest ? "manifests" : "single tags")
                        .with_because(oci::words_of(response.body));
    failure.hint = is_digest ? "ask whoever runs the registry whether deleting is switched on"
                             : "delete the manifest by its digest, which removes all of its tags";
    return failure;
  }
  if (response.status / 100 != 2)
    return unexpected_answer(response, repository.host, fmt::format("the request to delete {}", name));
  return {};
}

constexpr int kDeleteAttempts = 3;

}  // namespace

Status OciClient::delete_manifest(const oci::Repository& repository, const std::string& tag,
                                  const Context& context) {
  OciCall call = OciCall::to(repository, "manifests/" + tag);
  call.access = oci::Access::Delete;
  call.request.method = "DELETE";
  call.request.repeat = http::Repeat::Unsafe;  // a second one would find nothing, and say so
  // A digest never means another manifest, and a tag may: that one isn't deleted a second time.
  const int attempts = crypto::Digest::parse(tag).ok() ? kDeleteAttempts : 1;
  for (int attempt = 1;; ++attempt) {
    Result<http::Response> sent = exchange_.send(call, context);
    if (sent ? sent->status >= 500 : sent.error().kind == ErrorKind::Retryable) {
      // It may be deleted, with only the answer lost.
      const auto there = digest_of(repository, tag, context, oci::Access::Delete);
      if (there && !*there) return {};
      if (there && attempt < attempts) continue;
    }
    MIST_TRY(const http::Response response, std::move(sent));
    return judged_deletion(response, repository, tag);
  }
}

Result<bool> OciClient::check_access(const std::string& host, const Context& context) {
  MIST_TRY(
      const http::Response response,
      exchange_.send(OciCall::to_registry(host, "/v2/"), context).in(fmt::format("while asking {}", host)));
  if (response.status == 200) return exchange_.has_answered(host);
  if (response.status == 404)
    return error(ErrorKind::Invalid, "{} is not an OCI registry", host)
        .with_because("it has no /v2/")
        .with_hint("check the host and the port");
  return unexpected_answer(response, host, "the question whether it is a registry");
}

}  // namespace mist::registry
