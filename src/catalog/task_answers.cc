#include "catalog/task_answers.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "catalog/json_views.h"
#include "catalog/token.h"
#include "catalog/trial_messages.h"
#include "catalog/web_answers.h"

namespace mist::catalog {
namespace {

using http::WebAnswer;
using http::WebRequest;

struct TaskCall {
  const TaskSources& sources;
  const WebRequest& request;
  Task task;
};

Result<Task> task_of(TaskStore& tasks, const WebRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = http::find_header(request.headers, "Authorization");
  if (!header.starts_with(kScheme)) return error(ErrorKind::Forbidden, "this needs the token of a test");
  MIST_TRY(std::optional<Task> task, tasks.of_token(token_digest(header.substr(kScheme.size()))));
  if (!task) return error(ErrorKind::NotFound, "the test of this token is over");
  return *std::move(task);
}

Error wrong_method(const TaskCall& call) {
  return error(ErrorKind::Invalid, "{} isn't possible here", escape_controls(call.request.method));
}

Result<WebAnswer> package_of_task(const TaskCall& call, const std::string& text) {
  if (call.request.method != "GET") return wrong_method(call);
  MIST_TRY(const TrialRequest request, TrialRequest::from_line(call.task.request));
  if (text != request.job.digest && (text.empty() || text != request.job.previous_digest))
    return error(ErrorKind::NotFound, "the test has no package {}", escape_controls(text));
  MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
  MIST_TRY(std::string bytes, call.sources.blobs.get(digest));
  return WebAnswer{.content_type = "application/octet-stream", .body = std::move(bytes), .headers = {}};
}

Result<WebAnswer> take_piece(const TaskCall& call, std::string_view digits) {
  if (call.request.method != "PUT") return wrong_method(call);
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size())
    return error(ErrorKind::Invalid, "{} is not the number of a piece", escape_controls(digits));
  const std::string& text = call.request.body;
  if (!is_valid_utf8(text) || text.find('\0') != text.npos)
    return error(ErrorKind::Invalid, "a piece must be text in UTF-8");
  MIST_TRY_VOID(call.sources.tasks.add_piece(call.task.token, number, text, call.request.query == "last"));
  return nothing(204);
}

Result<WebAnswer> answer_to_pod(const TaskSources& sources, const WebRequest& request) {
  MIST_TRY(Task task, task_of(sources.tasks, request));
  const TaskCall call{.sources = sources, .request = request, .task = std::move(task)};
  const std::string_view rest = std::string_view(request.path).substr(kTaskPath.size());
  if (rest.empty()) {
    if (request.method != "GET") return wrong_method(call);
    return WebAnswer{.content_type = "application/json", .body = call.task.request, .headers = {}};
  }
  if (rest.starts_with(kTaskPackages))
    return package_of_task(call, std::string(rest.substr(kTaskPackages.size())));
  if (rest.starts_with(kTaskPieces)) return take_piece(call, rest.substr(kTaskPieces.size()));
  return error(ErrorKind::NotFound, "there is nothing at this address");
}

}  // namespace

bool is_task_path(std::string_view path) {
  return path.starts_with(kTaskPath) && (path.size() == kTaskPath.size() || path[kTaskPath.size()] == '/');
}

WebAnswer answer_task(const TaskSources& sources, const WebRequest& request) {
  auto answer = answer_to_pod(sources, request);
  if (answer.ok()) {
    answer->headers.push_back({"Cache-Control", "no-store"});
    return *std::move(answer);
  }
  const Error& failure = answer.error();
  const int status = status_of(failure);
  if (status >= 500)
    sources.events.warn(fmt::format("{} {}: {}", request.method, request.path, failure.to_line()));
  return json(to_value(for_everybody(failure)), status);
}

}  // namespace mist::catalog
