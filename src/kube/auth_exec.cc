#include "kube/auth_exec.h"

#include <algorithm>
#include <charconv>

#include "base/duration.h"
#include "base/text.h"
#include "base/utc_time.h"
#include "encoding/json.h"

namespace mist::kube {

using encoding::Value;

namespace {

SteadyTime steady_after(Duration duration) {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<SteadyTime::duration>(duration);
}

}  // namespace

ExecCredentials::ExecCredentials(ExecEntry exec, std::string user, ClusterEntry cluster,
                                 std::shared_ptr<ClusterCa> ca, Credential base, Dependencies dependencies)
    : exec_(std::move(exec)),
      user_(std::move(user)),
      cluster_(std::move(cluster)),
      ca_(std::move(ca)),
      base_(std::move(base)),
      dependencies_(dependencies) {}

Result<Credential> ExecCredentials::get(const Context& context) {
  MIST_TRY_VOID(context.check());
  std::unique_lock lock(mutex_);
  if (current_ && (!current_->expires || dependencies_.clock.now() < *current_->expires))
    return current_->credential;
  if (!login_) begin_login();
  const std::shared_ptr<Login> login = login_;
  const auto over = [&] { return login->outcome.has_value(); };
  while (!over()) {
    const SteadyTime own_end = context.deadline().value_or(SteadyTime::max());
    const SteadyTime look = login->announced ? steady_after(std::chrono::hours(1)) : login->announce_at;
    if (ended_.wait_until(lock, context.stop(), std::min(own_end, look), over)) break;
    if (Status go_on = context.check(); !go_on)
      return std::move(go_on).error().with_frame("while waiting for " + described());
    if (!login->announced && std::chrono::steady_clock::now() >= login->announce_at) announce(*login);
  }
  return *login->outcome;
}

bool ExecCredentials::refresh(const Credential& rejected) {
  const std::lock_guard lock(mutex_);
  if (current_ && current_->credential == rejected) current_.reset();
  return true;
}

void ExecCredentials::begin_login() {
  current_.reset();
  login_ = std::make_shared<Login>();
  login_->announce_at = steady_after(announce_after());
  runner_ = std::jthread([this, login = login_](const std::stop_token& stop) {
    auto issued = run(Context(stop));
    const std::lock_guard lock(mutex_);
    if (issued) {
      current_ = *std::move(issued);
      login->outcome = current_->credential;
    } else {
      if (login->waiting) login->waiting->fail();
      login->outcome = std::move(issued).error().with_frame(
          fmt::format("while getting credentials for the user \"{}\"", user_));
    }
    login->waiting.reset();
    login_.reset();
    ended_.notify_all();
  });
}

bool ExecCredentials::is_interactive() const {
  return exec_.interactive == Interactive::Always ||
         (exec_.interactive == Interactive::IfAvailable && dependencies_.interactive_terminal);
}

std::string ExecCredentials::described() const {
  return fmt::format("the credential plugin {} of the user \"{}\"", exec_.command, user_);
}

// One that talks to a person has the terminal: a picture that moves would wipe out its prompts, and a line
// comes late enough not to stand behind each of them.
Duration ExecCredentials::announce_after() const {
  return dependencies_.announce_after * (is_interactive() ? 5 : 1);
}

void ExecCredentials::announce(Login& login) {
  login.announced = true;
  if (is_interactive())
    dependencies_.events.info("waiting for " + described());
  else
    login.waiting.emplace(dependencies_.events, "waiting for " + described());
}

std::string ExecCredentials::exec_info(bool interactive) const {
  Value info = Value::object({{"apiVersion", exec_.api_version}, {"kind", "ExecCredential"}});
  info["spec"].set("interactive", interactive);
  if (exec_.provide_cluster_info) {
    Value& cluster = info["spec"]["cluster"];
    cluster.set("server", cluster_.server);
    if (!cluster_.tls_server_name.empty()) cluster.set("tls-server-name", cluster_.tls_server_name);
    if (cluster_.insecure_skip_tls_verify) cluster.set("insecure-skip-tls-verify", true);
    // As data, wherever it came from.
    if (const std::string pem = ca_->pem(); !pem.empty())
      cluster.set("certificate-authority-data", base64_encode(pem));
    if (!cluster_.proxy_url.empty()) cluster.set("proxy-url", cluster_.proxy_url);
    if (cluster_.disable_compression) cluster.set("disable-compression", true);
    if (!cluster_.exec_extension.is_null()) cluster.set("config", cluster_.exec_extension);
  }
  return encoding::to_json(info);
}

Result<ExecCredentials::Issued> ExecCredentials::run(const Context& context) const {
  const bool interactive = is_interactive();
  if (interactive && !dependencies_.interactive_terminal)
    return error(ErrorKind::Forbidden,
                 "the credential plugin {} must talk to a person, and standard input is not a terminal",
                 exec_.command)
        .with_hint("run the command on a terminal, or use a user with another kind of credentials");

  Command command;
  command.program = exec_.command;
  command.arguments = exec_.arguments;
  for (const auto& [name, value] : exec_.env) command.env[name] = value;
  command.env["KUBERNETES_EXEC_INFO"] = exec_info(interactive);
  command.inherit_stdin = interactive;
  command.inherit_stderr = interactive;
  command.output_limit = 4 << 20;
  // Instructions for logging in must be seen while the plugin waits. The error only has words not yet shown.
  const bool shown = dependencies_.events.shows(EventLevel::Info);
  std::string told;
  const auto tell = [&](std::string_view words) {
    told += words;
    if (const std::string_view said = trim(words); !said.empty())
      dependencies_.events.info(fmt::format("{}: {}", exec_.command, escape_controls(said, true)));
  };
  command.on_stderr = tell;
  auto result =
      dependencies_.processes.run(command, interactive ? context : context.with_timeout(dependencies_.limit));
  if (!result) {
    Error failure = std::move(result).error();
    if (failure.kind == ErrorKind::Timeout)
      return error(ErrorKind::Forbidden, "the credential plugin {} gave no credentials within {}",
                   exec_.command, format_elapsed(dependencies_.limit))
          .with_because(shown ? std::string() : escape_controls(trim(told), true))
          .with_hint(fmt::format("run {} by itself to see what it waits for; one that must talk to a person "
                                 "needs a terminal, and not interactiveMode: Never in the kubeconfig",
                                 exec_.command));
    if (failure.kind == ErrorKind::NotFound)
      failure.message =
          fmt::format("the credential plugin {} is not installed, or not in PATH", exec_.command);
    if (failure.kind == ErrorKind::NotFound && !exec_.install_hint.empty())
      failure.hint = escape_controls(trim(exec_.install_hint), true);
    return failure;
  }
  const std::string_view unsaid = std::string_view(result->err).substr(told.size());
  if (result->exit_code != 0) {
    return error(ErrorKind::Forbidden, "the credential plugin {} failed with exit code {}", exec_.command,
                 result->exit_code)
        .with_because(escape_controls(trim(shown ? unsaid : result->err), true))
        .with_hint("run it by itself to see more, or log in again with your cloud's tool");
  }
  tell(unsaid);
  return parse(result->out);
}

// Nothing of the output may get into an error: it is a secret, or contains one.
Result<ExecCredentials::Issued> ExecCredentials::parse(std::string_view output) const {
  const auto refuse = [&](std::string_view why) {
    return error(ErrorKind::Forbidden, "the credential plugin {} printed no usable credentials: {}",
                 exec_.command, why);
  };
  const auto parsed = encoding::parse_json(output);
  if (!parsed) return refuse(trim(output).empty() ? "nothing at all" : "its output is not JSON");
  if (parsed->string_at("kind") != "ExecCredential") return refuse("its output's kind is not ExecCredential");
  if (const std::string_view version = parsed->string_at("apiVersion"); version != exec_.api_version)
    return refuse(
        fmt::format("it speaks {}, the kubeconfig says {}", escape_controls(version), exec_.api_version));
  const Value* status = parsed->find("status");
  if (status == nullptr || !status->is_object()) return refuse("its output has no status");

  Issued issued{.credential = base_, .expires = std::nullopt};
  Credential& credential = issued.credential;
  const std::string_view token = status->string_at("token");
  const std::string_view certificate = status->string_at("clientCertificateData");
  const std::string_view key = status->string_at("clientKeyData");
  if (token.empty() && certificate.empty())
    return refuse("status has neither token nor clientCertificateData");
  if (certificate.empty() != key.empty())
    return refuse("status has only one of clientCertificateData and clientKeyData");
  if (!token.empty()) {
    MIST_TRY(credential.authorization, bearer(token, "the plugin's status.token"));
  }
  if (!certificate.empty()) {
    credential.client_certificate_pem = certificate;
    credential.client_key_pem = SecretString(std::string(key));
  }
  if (const Value* stamp = status->find("expirationTimestamp"); stamp != nullptr && !stamp->is_null()) {
    issued.expires = stamp->is_string() ? parse_rfc3339(stamp->as_string()) : std::nullopt;
    if (!issued.expires) return refuse("status.expirationTimestamp is not an RFC 3339 time");
  }
  return issued;
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  const auto number = [&](std::size_t from, std::size_t length) -> std::optional<int> {
    if (text.size() < from + length) return std::nullopt;
    int value = 0;
    const char* end = text.data() + from + length;
    const auto [stop, failure] = std::from_chars(text.data() + from, end, value);
    if (failure != std::errc() || stop != end || value < 0) return std::nullopt;
    return value;
  };
  const auto is = [&](std::size_t at, char c) { return text.size() > at && (text[at] | 0x20) == (c | 0x20); };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const auto hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (!is(4, '-') || !is(7, '-') || !is(10, 'T') || !is(13, ':') || !is(16, ':')) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::sys_seconds time = std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                                        std::chrono::minutes(*minute) + std::chrono::seconds(*second);

  std::size_t zone = 19;
  if (zone < text.size() && text[zone] == '.') {
    const std::size_t digits = zone + 1;
    for (++zone; zone < text.size() && text[zone] >= '0' && text[zone] <= '9';) ++zone;
    if (zone == digits) return std::nullopt;
  }
  if (is(zone, 'Z') && text.size() == zone + 1) return nearest_time(time);
  const auto offset_hour = number(zone + 1, 2), offset_minute = number(zone + 4, 2);
  if (text.size() != zone + 6 || !is(zone + 3, ':') || !offset_hour || !offset_minute) return std::nullopt;
  const auto offset = std::chrono::hours(*offset_hour) + std::chrono::minutes(*offset_minute);
  if (text[zone] == '+') return nearest_time(time - offset);
  if (text[zone] == '-') return nearest_time(time + offset);
  return std::nullopt;
}

}  // namespace mist::kube
