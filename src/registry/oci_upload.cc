#include "registry/oci_upload.h"

#include <algorithm>
#include <charconv>
#include <future>
#include <span>
#include <stop_token>
#include <utility>

#include "base/short_digest.h"
#include "base/text.h"
#include "base/url.h"
#include "http/url.h"

namespace mist::registry {
namespace {

constexpr int kUploadAttempts = 3;
// A registry that takes a byte at a time gets on each time, and would have all that is left sent again for
// each byte. So an upload may fall short of what was sent that often for each of its chunks, on average.
constexpr std::size_t kShortOfChunk = 8;

std::optional<std::size_t> number_in(std::string_view digits) {
  std::size_t number = 0;
  const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// "0-1233", "bytes=0-1233": the last byte that a registry has of an upload.
std::optional<std::size_t> range_end(const http::Response& response) {
  const std::string_view range = http::find_header(response.headers, "range");
  const auto dash = range.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return number_in(range.substr(dash + 1));
}

// How far an upload got by the `size` bytes from `offset` on, which a registry took. One that took fewer says
// so in Range. Anything else there means nothing: some give the end of the first chunk after each of them
// (AWS ECR, https://github.com/aws/containers-roadmap/issues/2831), and the digest tells in the end.
std::size_t reached_by(const http::Response& answer, std::size_t offset, std::size_t size) {
  const std::size_t all = offset + size;
  const std::optional<std::size_t> end = range_end(answer);
  return end && *end > 0 && *end >= offset && *end < all ? *end + 1 : all;
}

// The same request may succeed later.
bool is_passing(int status) { return status == 408 || status == 429 || (status >= 500 && status != 501); }

// Tells how far its blob is while it is read.
class CountedBody final : public http::BodySource {
 public:
  // `begin`: where it begins in the blob.
  CountedBody(std::shared_ptr<const http::BodySource> body, std::uint64_t begin, TransferProgress& told)
      : body_(std::move(body)), begin_(begin), told_(told) {}

  std::uint64_t size() const override { return body_->size(); }
  Status read(std::uint64_t offset, std::span<char> to) const override {
    MIST_TRY_VOID(body_->read(offset, to));
    told_.reached(begin_ + offset + to.size());
    return {};
  }

 private:
  std::shared_ptr<const http::BodySource> body_;
  std::uint64_t begin_;
  TransferProgress& told_;
};

std::shared_ptr<const http::BodySource> counted(const BlobBytes& bytes, std::size_t from, std::size_t size,
                                                TransferProgress& told) {
  return std::make_shared<CountedBody>(bytes.some(from, size), from, told);
}

}  // namespace

Result<bool> OciUpload::has_blob(const oci::Repository& repository, const std::string& digest,
                                 const Context& context) {
  OciCall look = OciCall::to(repository, "blobs/" + digest);
  look.access = oci::Access::Push;
  look.request.method = "HEAD";
  MIST_TRY(const http::Response there, registry_.send(look, context));
  return there.status == 200;
}

Result<std::optional<OciUpload::Opened>> OciUpload::open(const oci::Repository& repository,
                                                         const Context& context, const oci::Repository* mount,
                                                         const std::string& digest) {
  OciCall open = OciCall::to(repository, "blobs/uploads/");
  open.access = oci::Access::Push;
  open.request.method = "POST";
  if (mount != nullptr) {
    open.also_pull = mount->path;
    open.request.url +=
        fmt::format("?mount={}&from={}", http::escape_query(digest), http::escape_query(mount->path));
  }
  MIST_TRY(const http::Response opened, registry_.send(open, context));
  if (mount != nullptr && opened.status == 201) return std::optional<Opened>();
  const std::string_view location = http::find_header(opened.headers, "location");
  if (opened.status != 202 || location.empty())
    return unexpected_answer(opened, repository.host,
                             fmt::format("the request to upload to {}", repository.str()));
  MIST_TRY(std::string url, upload_address(repository, open.request.url, opened));
  const std::string_view least = http::find_header(opened.headers, "oci-chunk-min-length");
  return std::optional(Opened{std::move(url), number_in(least).value_or(0)});
}

// Where the answer to `asked` says that the upload goes on.
Result<std::string> OciUpload::upload_address(const oci::Repository& repository, const std::string& asked,
                                              const http::Response& response) const {
  const std::string origin = registry_.origin_of(repository.host);
  const std::string_view location = http::find_header(response.headers, "location");
  std::string url = resolved_url(resolved_url(origin + "/", asked), location);
  if (scheme_of(origin) == "https" && scheme_of(url) != "https")
    return error(ErrorKind::Invalid, "{} wants uploads over plain http", repository.host)
        .with_hint("ask whoever runs the registry");
  return url;
}

Result<http::Response> OciUpload::put_blob(const oci::Repository& repository, const std::string& location,
                                           const std::string& digest,
                                           std::shared_ptr<const http::BodySource> body,
                                           const Context& context) {
  OciCall put = OciCall::to(repository, "");
  put.access = oci::Access::Push;
  put.request.method = "PUT";
  put.request.url = location + (location.find('?') == std::string::npos ? "?digest=" : "&digest=") +
                    http::escape_query(digest);
  put.request.headers.push_back({"Content-Type", "application/octet-stream"});
  put.request.source = std::move(body);
  put.request.repeat = http::Repeat::Unsafe;
  return registry_.send(put, context);
}

Status OciUpload::send(const oci::Repository& repository, const Bytes& blob, std::optional<Opened> opened,
                       const Context& context) {
  TransferProgress told(events_,
                        fmt::format("uploading {} to {}", short_digest(blob.digest), repository.str()),
                        blob.bytes.size(), context);
  const auto all = [&]() -> Status {
    if (blob.bytes.size() < sizes_.large_from)
      return send_whole(repository, blob, std::move(opened), told, context);
    MIST_TRY(const Sending done, send_large(repository, blob, std::move(opened), told, context));
    return done == Sending::Done ? Status() : send_whole(repository, blob, {}, told, context);
  };
  Status sent = all();
  if (!sent) told.fail();
  return sent;
}

Status OciUpload::send_file(const oci::Repository& repository, const std::string& digest,
                            const FilePart& file, std::optional<Opened> opened,
                            const std::function<Status(const Context&)>& verify, const Context& context) {
  MIST_TRY(const BlobBytes bytes, BlobBytes::open(file));
  std::stop_source ended;
  const Context verifying = context.with_stop(ended.get_token());
  std::future<Status> result = std::async(std::launch::async, [&] { return verify(verifying); });
  std::optional<Status> known;
  const auto verified = [&]() -> Status {
    if (!known) known = result.get();
    return known->ok() ? bytes.check_unchanged() : *known;
  };
  Status sent = send(repository, {digest, bytes, verified}, std::move(opened), context);
  if (!known) {
    ended.request_stop();
    result.wait();
  }
  return sent;
}

// All bytes at once go without Content-Range, as docker and crane send them, which every registry takes
// (GHCR, ECR, Docker Hub, Harbor, Quay, GitLab, ACR, CNCF's): with it, the same request is a chunk, of which
// GHCR takes no more than 4 MiB. helm, oras and containerd send the bytes with the PUT instead; but that
// makes a blob of them before `verified` has said that they are the right ones, and an upload that broke off
// could not go on.
Result<OciUpload::Sending> OciUpload::send_part(const oci::Repository& repository, const BlobBytes& bytes,
                                                std::size_t size, Progress& progress,
                                                const Context& context) {
  OciCall patch = OciCall::to(repository, "");
  patch.access = oci::Access::Push;
  patch.request.method = "PATCH";
  patch.request.url = progress.upload.location;
  patch.request.headers.push_back({"Content-Type", "application/octet-stream"});
  if (progress.in_chunks)
    patch.request.headers.push_back(
        {"Content-Range", fmt::format("{}-{}", progress.offset, progress.offset + size - 1)});
  patch.request.source = counted(bytes, progress.offset, size, progress.told);
  patch.request.repeat = http::Repeat::Unsafe;
  const Result<http::Response> answer = registry_.send(patch, context);
  if (!answer && answer.error().kind != ErrorKind::Retryable) return answer.error();
  // A proxy on the way may let smaller ones through.
  const bool is_too_large = answer && answer->status == 413 && !progress.in_chunks;
  if (!answer || is_passing(answer->status) || is_too_large) return Sending::BrokenOff;
  if (answer->status == 416) return Sending::Misplaced;
  if (answer->status / 100 != 2) return Sending::Refused;
  MIST_TRY(progress.upload.location, upload_address(repository, progress.upload.location, *answer));
  progress.offset = reached_by(*answer, progress.offset, size);
  return Sending::Done;
}

// Sends the rest, at once or by the distribution specification, "Pushing a blob in chunks".
Result<OciUpload::Sending> OciUpload::send_parts(const oci::Repository& repository, const BlobBytes& bytes,
                                                 Progress& progress, const Context& context) {
  while (progress.offset < bytes.size()) {
    const std::size_t left = bytes.size() - progress.offset;
    const std::size_t chunk = std::max(sizes_.chunk_bytes, progress.upload.least_chunk);
    const std::size_t size = progress.in_chunks ? std::min(chunk, left) : left;
    const std::size_t wanted = progress.offset + size;
    MIST_TRY(const Sending sent, send_part(repository, bytes, size, progress, context));
    if (sent != Sending::Done) return sent;
    if (progress.offset < wanted && !progress.may_fall_short()) return Sending::BrokenOff;
    progress.in_chunks = true;
  }
  return Sending::Done;
}

// How much of it the registry has. False: it knows nothing of the upload, or doesn't say. CNCF's registry 2.8
// ends an upload of which a part of a chunk came when it is asked about it at the place before that chunk,
// which is the only one that we know (registry/handlers/blobupload.go); 3.1 answers.
Result<bool> OciUpload::find_offset(const oci::Repository& repository, std::size_t size, Progress& progress,
                                    const Context& context) {
  OciCall ask = OciCall::to(repository, "");
  ask.access = oci::Access::Push;
  ask.request.url = progress.upload.location;
  MIST_TRY(const http::Response answer, registry_.send(ask, context));
  const std::optional<std::size_t> end = range_end(answer);
  if (answer.status / 100 != 2 || !end || *end >= size) return false;
  MIST_TRY(progress.upload.location, upload_address(repository, progress.upload.location, answer));
  // "0-0" also stands for an upload of which nothing came.
  progress.offset = *end == 0 ? 0 : *end + 1;
  return true;
}

// Makes a blob of what has arrived, if it is the right one.
Result<OciUpload::Sending> OciUpload::finish(const oci::Repository& repository, const Bytes& blob,
                                             const std::string& location, const Context& context) {
  if (blob.verified) MIST_TRY_VOID(blob.verified());
  const Result<http::Response> stored = put_blob(repository, location, blob.digest, {}, context);
  if (stored && stored->status == 201) return Sending::Done;
  if (!stored && stored.error().kind != ErrorKind::Retryable) return stored.error();
  MIST_TRY(const bool there, has_blob(repository, blob.digest, context));
  if (there) return Sending::Done;
  // 404: it was started again, and knows nothing of the upload.
  const bool broke_off = !stored || is_passing(stored->status) || stored->status == 404;
  return broke_off ? Sending::BrokenOff : Sending::Refused;
}

Result<OciUpload::Sending> OciUpload::send_large(const oci::Repository& repository, const Bytes& blob,
                                                 std::optional<Opened> opened, TransferProgress& told,
                                                 const Context& context) {
  Progress progress{.upload = std::move(opened).value_or(Opened()),
                    .shortfalls_left = kShortOfChunk * (blob.bytes.size() / sizes_.chunk_bytes + 1),
                    .told = told};
  std::size_t farthest = 0;
  for (int attempt = 1; attempt <= kUploadAttempts; ++attempt) {
    if (progress.upload.location.empty()) {
      MIST_TRY(std::optional<Opened> begun, open(repository, context));
      progress.upload = std::move(begun).value_or(Opened());
      progress.offset = 0;
    }
    MIST_TRY(Sending sent, send_parts(repository, blob.bytes, progress, context));
    if (sent == Sending::Done) {
      MIST_TRY(sent, finish(repository, blob, progress.upload.location, context));
    }
    if (sent == Sending::Done || sent == Sending::Refused) return sent;
    // Any progress counts as a new beginning, as long as there is not too little of it all in all.
    const bool goes_on = progress.may_fall_short();
    if (progress.offset > farthest) attempt = 0;
    farthest = std::max(farthest, progress.offset);
    if (!goes_on) break;
    const std::size_t reached = progress.offset;
    MIST_TRY(const bool known, find_offset(repository, blob.bytes.size(), progress, context));
    // It isn't the place that the registry dislikes: GHCR answers so to a chunk of more than 4 MiB.
    if (sent == Sending::Misplaced && (!known || progress.offset == reached)) return Sending::Refused;
    if (!known) progress.upload = {};
    // A network that breaks off long requests may let short ones through.
    progress.in_chunks = true;
  }
  return error(ErrorKind::Retryable, "{} breaks off the upload of {} again and again", repository.host,
               blob.digest)
      .with_because(fmt::format("{} of its {} bytes arrived", farthest, blob.bytes.size()))
      .with_hint("try again; what has arrived in whole is not sent again");
}

Status OciUpload::send_whole(const oci::Repository& repository, const Bytes& blob,
                             std::optional<Opened> opened, TransferProgress& told, const Context& context) {
  const std::string& digest = blob.digest;
  if (blob.verified) MIST_TRY_VOID(blob.verified());
  for (int attempt = 1;; ++attempt) {
    if (!opened) {
      MIST_TRY(opened, open(repository, context));
    }
    const Result<http::Response> stored = put_blob(repository, std::exchange(opened, {})->location, digest,
                                                   counted(blob.bytes, 0, blob.bytes.size(), told), context);
    if (stored && stored->status == 201) return {};
    // The connection broke, or the registry was started again and knows nothing of the upload.
    const bool again =
        stored ? stored->status == 404 || stored->status >= 500 : stored.error().kind == ErrorKind::Retryable;
    if (!again || attempt == kUploadAttempts) {
      if (!stored) return stored.error();
      // A file that changed since then explains why a registry refuses it.
      if (blob.verified) MIST_TRY_VOID(blob.verified());
      return unexpected_answer(*stored, repository.host, fmt::format("the upload of {}", digest));
    }
    // All of it may have arrived, with only the answer lost.
    MIST_TRY(const bool there, has_blob(repository, digest, context));
    if (there) return {};
  }
}

}  // namespace mist::registry
