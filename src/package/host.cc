#include "package/host.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "encoding/json.h"
#include "package/looked_up.h"

namespace mist::package {

struct HostOperations {
  static Result<Value> secret_get(Host& host, const Value& request) { return host.secret_get(request); }
  static Result<Value> secret_hide(Host& host, const Value& request) { return host.secret_hide(request); }
  static Result<Value> log(Host& host, const Value& request) { return host.log(request); }
  static Result<Value> random_stream(Host& host, const Value& request) { return host.random_stream(request); }
  static Result<Value> chart_render(Host& host, const Value& request) { return host.chart_render(request); }
  static Result<Value> package_call(Host& host, const Value& request) { return host.package_call(request); }
  static Result<Value> lookup(Host& host, const Value& request) { return host.lookup(request); }
};

namespace {

struct Operation {
  std::string_view name;
  bool recorded;  ///< its answer can make a difference to the render
  Result<Value> (*answer)(Host&, const Value&);
};
constexpr std::array kOperations{
    Operation{"secret.get", true, &HostOperations::secret_get},
    // A digest of a short secret gives it away, so none is recorded.
    Operation{"secret.hide", false, &HostOperations::secret_hide},
    Operation{"log", false, &HostOperations::log},
    Operation{"random.stream", false, &HostOperations::random_stream},
    Operation{"package.call", true, &HostOperations::package_call},
    Operation{"lookup", true, &HostOperations::lookup},
    Operation{"chart.render", true, &HostOperations::chart_render},
};
constexpr std::array<std::string_view, kOperations.size()> kNames = [] {
  std::array<std::string_view, kOperations.size()> names;
  std::ranges::transform(kOperations, names.begin(), &Operation::name);
  return names;
}();

struct Level {
  std::string_view name;
  EventLevel level;
};
constexpr std::array kLevels{Level{"debug", EventLevel::Debug}, Level{"info", EventLevel::Info},
                             Level{"warn", EventLevel::Warning}};

crypto::Digest digest_of(Value request, const Value& answer) {
  request.sort_keys();
  return crypto::Hasher().field(encoding::to_json(request)).field(encoding::to_json(answer)).finish();
}

}  // namespace

Result<Value> Host::answer(std::string_view operation, const Value& request) {
  const auto found = std::ranges::find(kOperations, operation, &Operation::name);
  if (found == kOperations.end()) {
    Error failure = error(ErrorKind::NotFound, "this mistctl knows no operation \"{}\"",
                          escape_controls(operation.substr(0, 100)));
    if (const auto near = nearest(operation.substr(0, 100), kNames); !near.empty())
      failure.hint = fmt::format("did you mean {}?", near);
    return failure;
  }
  auto answer = found->answer(*this, request);
  if (!found->recorded) return answer;
  if (!answer.ok()) {
    repeatable_ = false;
    return answer;
  }
  const crypto::Digest digest = digest_of(request, *answer);
  if (known_.insert(digest).second) {
    exchanges_.push_back({std::string(operation), digest});
    questions_.push_back(request);
  }
  return answer;
}

const TextMask* SharedSecrets::mask() {
  if (!changed_) return &mask_;
  std::size_t bytes = 0;
  for (const auto& [name, value] : values) {
    // Each line of a text has a pattern too, and the text quoted and trimmed.
    const std::size_t forms = value.reveal().find('\n') == std::string::npos ? 1 : 4;
    bytes += value.reveal().size() * forms * 7 / 3;  // with their base64
  }
  if (bytes > kMostMasked - built_) return nullptr;
  built_ += bytes;
  mask_ = mask_of(values);
  changed_ = false;
  return &mask_;
}

void SharedSecrets::hide(const std::map<std::string, SecretString>& more) {
  for (const auto& [name, value] : more)
    if (values.try_emplace(name, value).second) changed_ = true;
}

Result<Value> Host::secret_hide(const Value& request) {
  const Value* const value = request.find("value");
  if (value == nullptr || !value->is_string())
    return error(ErrorKind::Invalid, "secret.hide: it takes \"value\", a text");
  std::map<std::string, SecretString> hidden;
  hide_text(hidden, value->as_string());
  shared_->hide(hidden);
  return Value::object();
}

Result<Value> Host::secret_get(const Value& request) {
  MIST_TRY(const SecretRequest wanted, SecretRequest::parse(request));
  const std::string key = fmt::format("{}\n{}\n{}", scope_.package, scope_.install, wanted.name);
  const auto [before, is_new] = shared_->asked.try_emplace(key, wanted);
  // One name, one secret: two forms of it would share what they are drawn from.
  if (!is_new && before->second != wanted)
    return error(ErrorKind::Invalid, "secret.get: \"{}\" was asked for in another form before", wanted.name)
        .with_hint("give each secret a name of its own");
  MIST_TRY(const Secret secret, derive_secret(scope_, wanted));
  secrets_.try_emplace(scope_.prefix + wanted.name, secret.value);
  // Another form may be there, of an attempt that was of no use.
  if (const auto [hidden, added] = shared_->values.try_emplace(key, secret.value);
      added || hidden->second != secret.value) {
    hidden->second = secret.value;
    shared_->changed_ = true;
  }
  Value answer = Value::object({{"value", secret.value.reveal()}});
  if (!secret.public_key.empty()) answer.set("publicKey", secret.public_key);
  return answer;
}

Result<Value> Host::log(const Value& request) {
  const auto level = std::ranges::find(kLevels, request.string_at("level"), &Level::name);
  const Value* const message = request.find("message");
  if (level == kLevels.end() || message == nullptr || !message->is_string())
    return error(ErrorKind::Invalid, "log: it takes \"level\" (debug, info or warn) and \"message\", a text");
  for (const Value::Member& member : request.as_object()) {
    if (member.key != "op" && member.key != "level" && member.key != "message")
      return error(ErrorKind::Invalid, "log: \"{}\" means nothing here",
                   escape_controls(member.key.substr(0, 100)));
  }
  ++lines_;
  if (lines_ == kMostLines + 1)
    events_.message({EventLevel::Debug,
                     fmt::format("package: more than {} log lines; the rest is left out", kMostLines)});
  if (lines_ > kMostLines) return Value::object();
  if (holds_lines_)
    held_.push_back({level->level, message->as_string()});
  else
    say(level->level, message->as_string());
  return Value::object();
}

void Host::say(EventLevel level, std::string_view message) {
  const TextMask* const mask = shared_->mask();
  if (mask == nullptr) {
    events_.message({EventLevel::Debug, "package: a log line is left out: too many secrets came before it"});
    return;
  }
  std::string text = without_secrets(std::string(message), *mask);
  if (text.size() > kLongestLine) text = text.substr(0, kLongestLine) + " …";
  shown_.push_back({level, fmt::format("package: {}", escape_controls(text))});
  events_.message({shown_.back().level, shown_.back().text});
}

void Host::show_held() {
  holds_lines_ = false;
  for (const LoggedLine& line : std::exchange(held_, {})) say(line.level, line.text);
}

std::vector<crypto::Digest> Host::answers() const {
  std::vector<crypto::Digest> digests;
  digests.reserve(exchanges_.size());
  for (const Exchange& exchange : exchanges_) digests.push_back(exchange.digest);
  return digests;
}

void Host::show(const std::vector<LoggedLine>& lines) {
  for (const LoggedLine& line : lines) events_.message({line.level, line.text});
}

Result<Value> Host::chart_render(const Value& request) {
  if (!charts_)
    return error(ErrorKind::Invalid, "chart.render: only the engine of kustomizations may ask for charts");
  MIST_TRY(Value answer, charts_(request, waits_with_));
  if (const Value* const drawn = answer.find("drawn"); drawn != nullptr && drawn->is_int())
    drawn_ += static_cast<std::uint64_t>(drawn->as_int());
  return answer;
}

Result<Value> Host::lookup(const Value& request) {
  // Without a cluster there are no objects, as in `helm template`.
  if (!lookup_)
    return request.string_at({"name"}).empty() ? Value::object({{"items", Value::array()}}) : Value();
  // The render fails with it whatever the guest does now: the cluster is not asked for nothing.
  if (refused_) return *refused_;
  Result<Value> answer = lookup_(asker_, request);
  if (!answer.ok()) {
    if (answer.error().kind == ErrorKind::Forbidden && !refused_) refused_ = answer.error();
    return answer;
  }
  for (auto& [name, value] : values_of_secrets(*answer)) {
    if (value.reveal().size() >= kShortestInText) {
      shared_->values.insert_or_assign("lookup " + name, value);
      shared_->changed_ = true;
    }
    shared_->looked_up.insert_or_assign(name, std::move(value));
  }
  return answer;
}

Result<Value> Host::package_call(const Value& request) {
  if (!calls_) return error(ErrorKind::Invalid, "package.call: packages can't be called here");
  MIST_TRY(CallAnswer answer, calls_(request, waits_with_));
  secrets_.merge(answer.secrets);
  drawn_ += answer.drawn;
  for (Exchange& each : answer.asked) {
    if (known_nested_.insert(each.digest).second) nested_.push_back(std::move(each));
  }
  return std::move(answer.value);
}

std::vector<Exchange> Host::take_exchanges() {
  std::vector<Exchange> all = std::move(exchanges_);
  for (Exchange& each : nested_) {
    if (!known_.contains(each.digest)) all.push_back(std::move(each));
  }
  return all;
}

Result<Value> Host::random_stream(const Value& request) {
  const Value* const name = request.find("name");
  if (name == nullptr || !name->is_string() || name->as_string().size() > kLongestStream)
    return error(ErrorKind::Invalid, "random.stream: it takes \"name\", a text of at most {} bytes",
                 kLongestStream);
  streams_.insert(name->as_string());
  if (streams_.size() > kMostStreams)
    return error(ErrorKind::Invalid, "random.stream: {} streams are enough for one render", kMostStreams);
  *stream_ = name->as_string();
  return Value::object();
}

}  // namespace mist::package
