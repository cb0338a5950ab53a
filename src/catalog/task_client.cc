#include "catalog/task_client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "catalog/task_answers.h"
#include "catalog/task_store.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

Error refused(const http::Response& answer, const std::string& method, const std::string& path) {
  constexpr std::size_t kMostOfAnAnswer = 500;
  const bool is_passing = answer.status >= 500 || answer.status == 429;
  const ErrorKind kind = is_passing                                     ? ErrorKind::Retryable
                         : answer.status == 404 || answer.status == 410 ? ErrorKind::NotFound
                                                                        : ErrorKind::Invalid;
  return error(kind, "the catalog answered {} to {} {}", answer.status, method, path)
      .with_because(escape_controls(clipped(answer.body, kMostOfAnAnswer)));
}

// As much of the text as fits, cut between characters.
std::size_t first_piece_of(std::string_view text) {
  std::size_t size = std::min(text.size(), TaskStore::kMostPieceBytes);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
  return size;
}

}  // namespace

Error another_program(std::string_view of_image, std::string_view of_worker) {
  return error(ErrorKind::Invalid, "the image of the Job has mistletoe-catalog {}, the worker is {}",
               of_image, of_worker)
      .with_hint("start the worker with an image of its own version as --jobs-image")
      .with_detail(package::InstallationFault());
}

Result<std::string> TaskClient::exchange(std::string method, const std::string& path, std::string body,
                                         const Context& context) {
  const http::Request request{.method = std::move(method),
                              .url = options_.url + path,
                              .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                              .body = std::move(body),
                              .authorization = SecretString("Bearer " + options_.token.reveal()),
                              .repeat = http::Repeat::Safe};
  const Context patient = context.with_timeout(options_.patience);
  for (;;) {
    auto answer = transport_.send(request, patient);
    MIST_TRY_VOID(context.check());
    Error failure = answer.ok() ? refused(*answer, request.method, path) : answer.error();
    if (answer.ok() && answer->status < 300) return std::move(answer->body);
    if (failure.kind != ErrorKind::Retryable || !patient.pause(options_.pause).ok()) return failure;
  }
}

Result<TrialRequest> TaskClient::request(const Context& context) {
  MIST_TRY(const std::string line, exchange("GET", std::string(kTaskPath), {}, context));
  return TrialRequest::from_line(line);
}

Status TaskClient::fetch(const std::string& digest, Blobs& packages, const Context& context) {
  MIST_TRY(const std::string bytes,
           exchange("GET", fmt::format("{}{}{}", kTaskPath, kTaskPackages, digest), {}, context));
  MIST_TRY(const crypto::Digest kept, packages.put(bytes));
  if (kept.str() == digest) return {};
  return error(ErrorKind::Invalid, "digest mismatch: the catalog names {}, the content is {}", digest,
               kept.str());
}

Status TaskClient::say(std::string_view line, bool is_last, const Context& context) {
  while (!line.empty()) {
    const std::size_t size = first_piece_of(line);
    const bool ends = is_last && size == line.size();
    MIST_TRY_VOID(exchange("PUT", fmt::format("{}{}{}{}", kTaskPath, kTaskPieces, said_, ends ? "?last" : ""),
                           std::string(line.substr(0, size)), context));
    ++said_;
    line.remove_prefix(size);
  }
  return {};
}

}  // namespace mist::catalog
