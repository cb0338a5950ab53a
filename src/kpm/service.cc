#include "kpm/service.h"

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "http/url.h"
#include "registry/git_url.h"
#include "registry/package_blob.h"

namespace mist::kpm {
namespace {

using encoding::Value;

constexpr std::uint64_t kLargestIndex = std::uint64_t{256} << 20;
constexpr std::size_t kMostEntries = 1'000'000;
constexpr std::size_t kMostProblems = 20;
// With its paths and lengths.
constexpr std::uint64_t kLargestBlob = 2 * registry::kMaxPackageBytes;

Error unexpected(const std::string& url, const http::Response& response) {
  const ErrorKind kind = response.status == 404 || response.status == 410   ? ErrorKind::NotFound
                         : response.status == 429 || response.status >= 500 ? ErrorKind::Retryable
                         : response.status == 401 || response.status == 403 ? ErrorKind::Forbidden
                                                                            : ErrorKind::Invalid;
  Error failure = error(kind, "{} answered with status {}", http::loggable_url(url), response.status);
  if (kind == ErrorKind::NotFound || kind == ErrorKind::Invalid)
    failure.hint =
        "check the archive's address: kpm archive-list; a git repository is added without --service";
  return failure;
}

// The service took the package back, and says why in its own words.
Error taken_back(const std::string& url, const http::Response& response) {
  constexpr std::size_t kLongest = 600;
  Error failure =
      error(ErrorKind::NotFound, "{} doesn't deliver this package any more", http::loggable_url(url))
          .with_hint("kpm update, then choose another version or package");
  if (const auto said = encoding::parse_json(response.body); said.ok()) {
    const std::string_view what = said->string_at({"error", "message"});
    const std::string_view why = said->string_at({"error", "because"});
    failure.because = escape_controls(
        fmt::format("{}{}{}", what.substr(0, kLongest), why.empty() ? "" : ": ", why.substr(0, kLongest)));
  }
  return failure;
}

Result<ServiceKube> read_entry(const Value& entry, const std::string& archive) {
  const std::string digest(entry.string_at("digest"));
  MIST_TRY_VOID(crypto::Digest::parse(digest));
  const std::string file = fmt::format("{}/{}-{}/{}", archive, escape_controls(entry.string_at("name")),
                                       escape_controls(entry.string_at("version")), kMetadataFile);
  MIST_TRY(K3 k3, parse_k3(entry.string_at("k3"), file));
  if (k3.name != entry.string_at("name") || k3.version.to_string() != entry.string_at("version"))
    return error(ErrorKind::Invalid, "{} is of {}", file, k3.full_name());
  return ServiceKube{std::move(k3), digest, entry.is_true_at("yanked"),
                     std::string(entry.string_at("yankReason"))};
}

}  // namespace

Result<std::string> service_url(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  MIST_TRY(const http::Url url, http::Url::parse(text));
  if (!url.query.empty() || !url.user.empty())
    return error(ErrorKind::Invalid, "the address of a service has neither a query nor credentials: {}",
                 http::loggable_url(text));
  if (url.scheme == "http" && !registry::is_this_machine(text))
    return error(ErrorKind::Invalid, "anybody on the way could change what {} delivers",
                 http::loggable_url(text))
        .with_hint("use https://");
  return std::string(text);
}

Result<http::Response> Service::get(http::Transport& transport, const std::string& path,
                                    http::Headers headers, std::uint64_t limit,
                                    const Context& context) const {
  return transport.send({.method = "GET",
                         .url = http::join_url(url_, path),
                         .headers = std::move(headers),
                         .repeat = http::Repeat::Safe,
                         .response_limit = limit},
                        context);
}

Status Service::update(http::Transport& transport, const Context& context) const {
  http::Headers headers{{"Accept", "application/json"}};
  if (files_.exists(directory_ / "index.json") && files_.exists(directory_ / "etag")) {
    MIST_TRY(std::string etag, files_.read(directory_ / "etag", 1000));
    headers.push_back({"If-None-Match", std::move(etag)});
  }
  const std::string path = "/api/v1/index";
  MIST_TRY(const http::Response response, get(transport, path, std::move(headers), kLargestIndex, context));
  if (response.status == 304) return {};
  if (response.status != 200) return unexpected(http::join_url(url_, path), response);
  MIST_TRY(const Value document, encoding::parse_json(response.body));
  const Value* const kubes = document.find("kubes");
  if (kubes == nullptr || !kubes->is_array())
    return error(ErrorKind::Invalid, "{} is not a catalog", http::loggable_url(url_));
  if (kubes->size() > kMostEntries)
    return error(ErrorKind::Invalid, "the index of {} has more than {} entries", http::loggable_url(url_),
                 kMostEntries);
  // The name comes first off and last on, so that it never stands beside another index than its own.
  MIST_TRY_VOID(files_.remove(directory_ / "etag"));
  MIST_TRY_VOID(files_.write(directory_ / "index.json", response.body, {.mode = 0600}));
  const std::string etag(http::find_header(response.headers, "ETag"));
  if (etag.empty() || etag.size() > 900) return {};
  return files_.write(directory_ / "etag", etag, {.mode = 0600});
}

Result<ServiceIndex> Service::index(const std::string& name) const {
  const Path file = directory_ / "index.json";
  if (!files_.exists(file))
    return error(ErrorKind::NotFound, "the archive {} was never read", name).with_hint("kpm update reads it");
  MIST_TRY(const std::string text, files_.read(file, kLargestIndex));
  MIST_TRY(const Value document, encoding::parse_json(text, {.file = file.string()}));
  ServiceIndex index;
  const Value* const kubes = document.find("kubes");
  if (kubes == nullptr || !kubes->is_array()) return index;
  for (const Value& each : kubes->as_array()) {
    auto entry = read_entry(each, name);
    if (entry.ok())
      index.kubes.push_back(*std::move(entry));
    else if (++index.unread <= kMostProblems)
      index.problems.push_back(std::move(entry).error().with_detail(
          BrokenKube{.archive = name,
                     .name = std::string(each.string_at("name")),
                     .version = std::string(each.string_at("version"))}));
  }
  return index;
}

Result<registry::PackageContent> Service::package(const std::string& text, http::Transport& transport,
                                                  const Context& context) const {
  MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
  const Path kept = directory_ / "blobs" / digest.hex();
  if (files_.exists(kept)) {
    MIST_TRY(std::string bytes, files_.read(kept, kLargestBlob));
    // A damaged one is fetched again.
    if (crypto::sha256(bytes) == digest) return registry::content_of_blob(std::move(bytes));
  }
  const std::string path = "/api/v1/blobs/" + text;
  MIST_TRY(const http::Response response, get(transport, path, {}, kLargestBlob, context));
  if (response.status == 410) return taken_back(url_, response);
  if (response.status != 200) return unexpected(http::join_url(url_, path), response);
  if (crypto::sha256(response.body) != digest)
    return error(ErrorKind::Invalid, "{} sent other bytes than it promised", http::loggable_url(url_))
        .with_because(
            fmt::format("the index says {}, they have {}", text, crypto::sha256(response.body).str()))
        .with_hint("kpm update, then try again; if it stays so, tell whoever runs the service");
  MIST_TRY(registry::PackageContent content, registry::content_of_blob(response.body));
  MIST_TRY_VOID(files_.make_directories(kept.parent_path(), 0700));
  MIST_TRY_VOID(files_.write(kept, response.body, {.mode = 0600, .durable = false}));
  return content;
}

}  // namespace mist::kpm
