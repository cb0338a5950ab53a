#include "catalog/trial_messages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/storage_fault.h"
#include "base/text.h"
#include "catalog/step_log.h"
#include "encoding/json.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

using encoding::Value;

// A trial has fewer than twenty steps.
constexpr int kMostTrialSteps = 64;
constexpr int kMostWarnings = 100;
// The objects are the longest: their text, and a graph of it, escaped.
constexpr std::size_t kLongestLine = std::size_t{32} << 20;
constexpr std::size_t kMostValues = 2'000'000;
constexpr std::size_t kLongestStepName = 64;
constexpr std::size_t kLongestWarning = 4096;

std::int64_t nanoseconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}
Duration duration_at(const Value& value, std::string_view key) {
  return std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(value.int_at(key)));
}

constexpr std::array kParts{std::pair(TrialPart::All, std::string_view("all")),
                            std::pair(TrialPart::Offline, std::string_view("offline")),
                            std::pair(TrialPart::OnCluster, std::string_view("on cluster")),
                            std::pair(TrialPart::Removal, std::string_view("removal"))};
constexpr std::array kStates{StepState::Passed, StepState::Failed, StepState::Skipped};
constexpr std::array kNodes{TestNodes::None, TestNodes::Real, TestNodes::Simulated,
                            TestNodes::RealAndSimulated};
constexpr std::array kKinds{ErrorKind::NotFound,  ErrorKind::Conflict, ErrorKind::Gone,
                            ErrorKind::Forbidden, ErrorKind::Invalid,  ErrorKind::Retryable,
                            ErrorKind::Timeout,   ErrorKind::Trap,     ErrorKind::Cancelled,
                            ErrorKind::Usage,     ErrorKind::Internal};

constexpr std::array kFaults{"installation", "cluster", "held", "storage"};

template <typename T, std::size_t N>
std::optional<T> value_named(const std::array<T, N>& all, std::string_view name) {
  for (const T each : all)
    if (to_string(each) == name) return each;
  return std::nullopt;
}

Error not_a_message(std::string_view what) {
  return error(ErrorKind::Invalid, "the process of the test said {}", what).with_detail(NotATrial());
}

Value job_value(const Job& job) {
  return Value::object({{"id", Value(job.id)},
                        {"attempt", Value(job.attempt)},
                        {"holder", Value(job.holder)},
                        {"package", Value(job.package)},
                        {"version", Value(job.version)},
                        {"digest", Value(job.digest)},
                        {"owner", Value(job.owner)},
                        {"previousVersion", Value(job.previous_version)},
                        {"previousDigest", Value(job.previous_digest)}});
}

Job read_job(const Value& value) {
  return {.id = value.int_at("id"),
          .attempt = static_cast<int>(value.int_at("attempt", 1)),
          .holder = std::string(value.string_at("holder")),
          .package = std::string(value.string_at("package")),
          .version = std::string(value.string_at("version")),
          .digest = std::string(value.string_at("digest")),
          .owner = std::string(value.string_at("owner")),
          .previous_version = std::string(value.string_at("previousVersion")),
          .previous_digest = std::string(value.string_at("previousDigest"))};
}

Value step_value(const Step& step) {
  return Value::object({{"name", Value(step.name)},
                        {"state", Value(to_string(step.state))},
                        {"summary", Value(step.summary)},
                        {"log", Value(step.log)},
                        {"began", Value(step.began.time_since_epoch().count())},
                        {"elapsed", Value(nanoseconds_of(step.elapsed))}});
}

Value error_value(const Error& failure) {
  Value frames = Value::array();
  for (const std::string& each : failure.frames) frames.push_back(Value(each));
  Value faults = Value::object();
  faults.set("installation", Value(failure.detail<package::InstallationFault>() != nullptr));
  faults.set("cluster", Value(failure.detail<ClusterFault>() != nullptr));
  faults.set("held", Value(failure.detail<HeldByAnotherTest>() != nullptr));
  faults.set("storage", Value(is_storage_fault(failure)));
  return Value::object({{"kind", Value(to_string(failure.kind))},
                        {"message", Value(failure.message)},
                        {"frames", std::move(frames)},
                        {"because", Value(failure.because)},
                        {"hint", Value(failure.hint)},
                        {"faults", std::move(faults)}});
}

std::string line_of(std::string_view name, Value value) {
  return encoding::to_json(Value::object({{name, std::move(value)}})) + '\n';
}

}  // namespace

std::string TrialRequest::to_line() const {
  std::string_view part_name;
  for (const auto& [each, name] : kParts)
    if (each == part) part_name = name;
  return encoding::to_json(Value::object({{"program", Value(program)},
                                          {"part", Value(part_name)},
                                          {"job", job_value(job)},
                                          {"instance", Value(instance)},
                                          {"timeout", Value(nanoseconds_of(timeout))},
                                          {"longest", Value(nanoseconds_of(longest))},
                                          {"spent", Value(nanoseconds_of(spent))},
                                          {"isolation", Value(isolation)},
                                          {"kubeconfig", Value(kubeconfig)},
                                          {"context", Value(context)},
                                          {"gitThroughProxy", Value(git_through_proxy)}})) +
         '\n';
}

Result<TrialRequest> TrialRequest::from_line(std::string_view line) {
  MIST_TRY(const Value value, encoding::parse_json(line));
  TrialRequest request{.program = std::string(value.string_at("program")),
                       .instance = std::string(value.string_at("instance")),
                       .timeout = duration_at(value, "timeout"),
                       .longest = duration_at(value, "longest"),
                       .spent = duration_at(value, "spent"),
                       .isolation = std::string(value.string_at("isolation")),
                       .kubeconfig = std::string(value.string_at("kubeconfig")),
                       .context = std::string(value.string_at("context")),
                       .git_through_proxy = value.is_true_at("gitThroughProxy")};
  const Value* const job = value.find("job");
  if (job == nullptr) return error(ErrorKind::Invalid, "the request of a test names no job");
  request.job = read_job(*job);
  for (const auto& [each, name] : kParts) {
    if (name != value.string_at("part")) continue;
    request.part = each;
    return request;
  }
  return error(ErrorKind::Invalid, "the request of a test names no part of it");
}

TrialReport report_by(const std::function<Status(const std::string& line)>& write) {
  return {.began = [write](std::string_view name) { (void)write(line_of("began", Value(name))); },
          .step = [write](const Step& step) { return write(line_of("step", step_value(step))); },
          .nodes = [write](TestNodes nodes) { return write(line_of("nodes", Value(to_string(nodes)))); },
          .objects =
              [write](const VersionObjects& objects) {
                return write(line_of("objects", Value::object({{"graph", objects.graph},
                                                               {"security", objects.security},
                                                               {"text", Value(objects.text)}})));
              },
          .warn = [write](const std::string& text) { (void)write(line_of("warn", Value(text))); }};
}

std::string hello_line(std::string_view program) { return line_of("hello", Value(program)); }

std::string end_line(const Result<bool>& result) {
  return result.ok() ? line_of("passed", Value(*result)) : line_of("error", error_value(result.error()));
}

Status TrialListener::hear(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    rest_ += piece.substr(0, end);
    if (rest_.size() > kLongestLine) return not_a_message("a line without end");
    if (end == piece.npos) return {};
    piece.remove_prefix(end + 1);
    const std::string line = std::exchange(rest_, {});
    MIST_TRY_VOID(hear_line(line));
  }
  return {};
}

Status TrialListener::hear_line(std::string_view line) {
  const auto message = encoding::parse_json(line, {.max_values = kMostValues});
  if (!message.ok() || !message->is_object() || message->size() != 1)
    return not_a_message("what is no message");
  return hear_message(*message);
}

Status TrialListener::hear_message(const Value& message) {
  const auto& [kind, value] = message.as_object().front();
  if (kind == "hello") {
    if (message.string_at("hello") != program_) return another_hello(message.string_at("hello"));
    began_ = true;
    return {};
  }
  if (!began_ || end_) return not_a_message("a message out of turn");
  if (kind == "began") {
    step_ = clipped(message.string_at("began"), kLongestStepName);
    return {};
  }
  if (kind == "step") {
    const auto state = value_named(kStates, value.string_at("state"));
    if (!state || ++steps_ > kMostTrialSteps) return not_a_message("more steps than a test has");
    const WallTime began{WallTime::duration(value.int_at("began"))};
    return report_.step({.name = clipped(value.string_at("name"), kLongestStepName),
                         .state = *state,
                         .summary = std::string(value.string_at("summary")),
                         .log = clipped(value.string_at("log"), StepLog::kMost),
                         .began = began,
                         .elapsed = duration_at(value, "elapsed")});
  }
  if (kind == "nodes") {
    const auto nodes = value_named(kNodes, message.string_at("nodes"));
    return nodes ? report_.nodes(*nodes) : Status(not_a_message("nodes of no kind"));
  }
  if (kind == "objects") {
    const std::string_view text = value.string_at("text");
    if (std::exchange(are_objects_told_, true) || text.size() > kMostTextBytes + kLongestWarning)
      return not_a_message("more objects than a test tells of");
    const Value* const graph = value.find("graph");
    const Value* const security = value.find("security");
    return report_.objects({.graph = graph == nullptr ? Value() : *graph,
                            .security = security == nullptr ? Value() : *security,
                            .text = std::string(text)});
  }
  if (kind == "warn") {
    if (++warnings_ <= kMostWarnings)
      report_.warn(escape_controls(clipped(message.string_at("warn"), kLongestWarning)));
    return {};
  }
  if (kind == "passed" && value.is_bool()) {
    end_ = value.as_bool();
    return {};
  }
  if (kind == "error") {
    end_ = read_error(value);
    return {};
  }
  return not_a_message("a message of no kind that there is");
}

Error TrialListener::another_hello(std::string_view program) const {
  // The image was looked at before the Pod ran anything (trial_jobs.h).
  if (part_ == TrialPart::All)
    return error(ErrorKind::Invalid, "the Pod says that its program is {}",
                 escape_controls(clipped(program, 100)))
        .with_detail(SaidByPod());
  return error(ErrorKind::Invalid, "the program of this worker was replaced by {}", program)
      .with_hint("restart the worker")
      .with_detail(package::InstallationFault());
}

Error TrialListener::read_error(const Value& value) const {
  Error failure = error(value_named(kKinds, value.string_at("kind")).value_or(ErrorKind::Internal), "{}",
                        clipped(value.string_at("message"), kLongestWarning));
  failure.because = clipped(value.string_at("because"), kLongestWarning);
  failure.hint = clipped(value.string_at("hint"), kLongestWarning);
  for (const std::string& each : value.texts_at("frames"))
    if (failure.frames.size() < kLongestStepName) failure.frames.push_back(clipped(each, kLongestWarning));
  if (part_ == TrialPart::All) {
    const auto says = [&](const char* fault) { return value.is_true_at({"faults", fault}); };
    if (std::ranges::any_of(kFaults, says)) failure.details.set(SaidByPod());
    return failure;
  }
  if (value.is_true_at({"faults", "installation"})) failure.details.set(package::InstallationFault());
  if (value.is_true_at({"faults", "storage"})) failure.details.set(StorageFault());
  if (part_ == TrialPart::Offline) return failure;
  if (value.is_true_at({"faults", "cluster"})) failure.details.set(ClusterFault());
  if (value.is_true_at({"faults", "held"})) failure.details.set(HeldByAnotherTest());
  return failure;
}

}  // namespace mist::catalog
