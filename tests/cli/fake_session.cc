#include "fake_session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "encoding/json.h"
#include "testing/api_refusal.h"
#include "testing/client_with_logs.h"
#include "testing/fake_kinds.h"

namespace mist::testing {
namespace {

using encoding::Value;

constexpr std::string_view kFirstTime = "2026-03-01T09:30:00Z";
constexpr Duration kLook = std::chrono::milliseconds(20);
constexpr int kKilled = 137;  // as the shell shows it: 128 + SIGKILL

FileLock locked(const Path& file) {
  auto lock = FileLock::acquire(file.string() + ".lock", Context());
  MIST_CHECK(lock.ok(), "cannot lock the file of the cluster");
  return *std::move(lock);
}

Value state_in(const Path& file) {
  const HostFileSystem files;
  if (!files.exists(file))
    return Value::object({{"commands", 0},
                          {"time", kFirstTime},
                          {"rules", Value::array()},
                          {"logs", Value::array()},
                          {"cluster", FakeCluster().saved()}});
  const auto text = files.read(file);
  MIST_CHECK(text.ok(), "cannot read the file of the cluster");
  auto state = encoding::parse_json(*text);
  MIST_CHECK(state.ok(), "the file of the cluster is damaged");
  return *std::move(state);
}

// No thread but this one works or wants to (proc_pid_stat(5)): on a busy machine, a pause says nothing.
bool others_sleep() {
  const std::string self = std::to_string(::gettid());
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (thread.path().filename() == self) continue;
    std::ifstream file(thread.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;  // it ended
    const char state = line.at(line.rfind(')') + 2);
    if (state == 'R' || state == 'D') return false;
  }
  return true;
}

// Everybody waits, and no request comes: nothing happens before time passes.
class Silence {
 public:
  /// Asked at each look. `requests`: how many there were.
  bool lasts(std::size_t requests) {
    looks_ = requests == requests_ && others_sleep() ? looks_ + 1 : 0;
    requests_ = requests;
    return looks_ >= 3;
  }

 private:
  std::size_t requests_ = 0;
  int looks_ = 0;
};

}  // namespace

// A watch that has nothing to report is how a command waits.
class FakeSession::Client final : public ClientWithLogs {
 public:
  Client(std::unique_ptr<FakeCluster> cluster, std::string ns, EventClock& clock)
      : ClientWithLogs(*cluster), cluster_(std::move(cluster)), ns_(std::move(ns)), clock_(clock) {}

  Status watch(const kube::ResourceInfo& resource, const kube::ListOptions& options,
               const kube::WatchHandler& handler, const Context& context) override {
    const EventClock::Waiting waiting(clock_, context.deadline());
    return cluster_->watch(resource, options, handler, context);
  }
  std::size_t unanswered_writes() const override { return cluster_->unanswered_writes(); }
  const std::string& default_namespace() const override { return ns_; }

 private:
  std::unique_ptr<FakeCluster> cluster_;
  const std::string ns_;
  EventClock& clock_;
};

FakeSession::FakeSession(const Path& file)
    : file_(file),
      lock_(locked(file)),
      state_(state_in(file)),
      clock_(*parse_time(state_.string_at("time"))),
      random_(static_cast<unsigned>(state_.find("commands")->as_int()) * 1000) {
  cluster_.restore(*state_.find("cluster"));
  state_.set("commands", state_.find("commands")->as_int() + 1);
  cluster_.set_now([this] { return clock_.now(); });
  cluster_.set_before([this](const FakeCall& call) { return before(call); });
  cluster_.set_after([this](const FakeCall& call) { return after(call); });
  time_ = std::jthread([this](const std::stop_token& stop) { pass_time(stop); });
}

FakeSession::~FakeSession() {
  time_.request_stop();
  time_.join();
  save();
}

std::unique_ptr<kube::Client> FakeSession::client(std::string user, std::string ns) {
  auto client = std::make_unique<Client>(cluster_.client_for(std::move(user)), std::move(ns), clock_);
  for (const Value& log : state_.find("logs")->as_array())
    for (const bool previous : {false, true})
      client->set_log(std::string(log.string_at("pod")), std::string(log.string_at("container")),
                      std::string(log.string_at("text")), previous);
  return client;
}

void FakeSession::add_rule(Value rule) {
  std::erase_if(state_["rules"].as_array(), [&](const Value& other) {
    return std::ranges::all_of(std::array{"what", "verb", "object"}, [&](std::string_view field) {
      return other.string_at(field) == rule.string_at(field);
    });
  });
  state_["rules"].push_back(std::move(rule));
}

void FakeSession::remove_rules(std::string_view what) {
  std::erase_if(state_["rules"].as_array(),
                [&](const Value& rule) { return rule.string_at("what") == what; });
}

void FakeSession::add_log(const std::string& pod, const std::string& container, const std::string& text) {
  state_["logs"].push_back(Value::object({{"pod", pod}, {"container", container}, {"text", text}}));
}

const Value* FakeSession::rule(std::string_view what, const FakeCall& call) const {
  const auto& rules = state_.find("rules")->as_array();
  const auto found = std::ranges::find_if(rules, [&](const Value& rule) {
    const std::string_view verb = rule.string_at("verb");
    return rule.string_at("what") == what && (verb.empty() || verb == call.verb) &&
           rule.string_at("object") == call.key.display();
  });
  return found == rules.end() ? nullptr : &*found;
}

// Other requests are on their way at the same time. What is done of them would differ from run to run, so all
// of them end before this one.
void FakeSession::let_others_end() const {
  for (Silence silence; !silence.lasts(requests_);) machine_clock().sleep(kLook, {});
}

std::optional<Error> FakeSession::before(const FakeCall& call) {
  ++requests_;
  if (!call.dry_run && rule("kill", call) != nullptr) {
    let_others_end();
    remove_rules("kill");
    save();
    std::_Exit(kKilled);
  }
  const Value* refusal = rule("refuse", call);
  if (refusal == nullptr) return std::nullopt;
  if (!call.dry_run) let_others_end();
  const std::string words(refusal->string_at("because")), field(refusal->string_at("field"));
  const std::string message = fmt::format("cannot {} {}", call.verb, call.key.display());
  if (field.empty()) return api_refusal(ErrorKind::Forbidden, message, words);
  return api_refusal(ErrorKind::Invalid, message, words, {{"FieldValueInvalid", field}});
}

// The controllers: what a rule says, else all goes well.
std::optional<Error> FakeSession::after(const FakeCall& call) {
  control(call);
  if (call.dry_run || rule("lose", call) == nullptr) return std::nullopt;
  remove_rules("lose");
  return error(ErrorKind::Retryable, "the connection was closed");
}

void FakeSession::control(const FakeCall& call) {
  if (!call.executed_ok || call.dry_run || !call.writes() || call.verb == "delete") return;
  const auto live = cluster_.find(call.key);
  if (!live) return;
  const Value* told = rule("status", call);
  Value status = told != nullptr ? *told->find("status") : ready_status(*live);
  if (!status.is_null()) set_status(call.key, std::move(status));
}

void FakeSession::set_status(const ObjectKey& key, Value status) {
  const auto live = cluster_.find(key);
  if (!live) return;
  if (const Value* generation = live->at_path({"metadata", "generation"}); generation != nullptr)
    status.set("observedGeneration", *generation);
  cluster_.set_status(key, std::move(status));
}

void FakeSession::pass_time(const std::stop_token& stop) {
  Silence silence;
  while (machine_clock().sleep(kLook, stop)) {
    if (!silence.lasts(requests_)) continue;
    clock_.jump();
    silence = {};
  }
}

void FakeSession::save() {
  state_.set("cluster", cluster_.saved());
  state_.set("time", format_time(clock_.now()));
  HostFileSystem files;
  MIST_CHECK(files.write(file_, encoding::to_json(state_), {.mode = 0600, .durable = false}).ok(),
             "cannot write the file of the cluster");
}

}  // namespace mist::testing
