#include "operator/webhook_certificates.h"

#include "base/text.h"
#include "crypto/certificate.h"

namespace mist::operator_ {
namespace {

constexpr std::chrono::hours kBetweenLooks{1};
constexpr std::chrono::minutes kAfterFailure{1}, kBetweenFiles{1};
constexpr std::chrono::milliseconds kPause{50};
constexpr std::chrono::seconds kKeysTime{30};
constexpr std::uint64_t kLargestFile = 1u << 20;

}  // namespace

WebhookCertificates::WebhookCertificates(Dependencies dependencies, std::function<void()> changed)
    : dependencies_(dependencies), changed_(std::move(changed)) {}
WebhookCertificates::~WebhookCertificates() { stop_.request_stop(); }

Status WebhookCertificates::keep(Kept kept, const Context& context) {
  kept_ = std::move(kept);
  for (const std::string& name : kept_->names)
    if (!crypto::is_server_name(name))
      return error(ErrorKind::Invalid, "\"{}\", of the webhook, is neither a DNS name nor an IP address",
                   escape_controls(name))
          .with_hint("the API server asks at --webhook-url, or at the Service that --webhook-service names");
  MIST_TRY(const kube::ResourceInfo secrets,
           dependencies_.client.resource_for({"", "Secret"}, "v1", context));
  const kube::ListOptions one{.ns = kept_->ns,
                              .field_selector = fmt::format("metadata.name={}", kept_->secret)};
  const std::string frame =
      fmt::format("while looking for the webhook's keys in Secret {}/{}", kept_->ns, kept_->secret);
  // Says at once what is wrong with permissions.
  MIST_TRY_VOID(dependencies_.client.list(secrets, one, context).in(frame));
  secrets_ = std::make_unique<kube::Informer>(
      dependencies_.client, secrets, one, [](Value& secret) { secret["metadata"].erase("managedFields"); },
      [this](const std::optional<kube::Informer::Key>&) {
        {
          // The first look is keep()'s.
          const std::lock_guard lock(mutex_);
          if (certificate_.empty()) return;
        }
        if (Status looked = look(Context(stop_.get_token()).with_timeout(kKeysTime)); !looked)
          dependencies_.events.warn("the webhook's keys: " + looked.error().to_line());
      },
      dependencies_.clock, dependencies_.events);
  while (!secrets_->synced()) MIST_TRY_VOID(context.pause(kPause));
  for (;;) {
    Status looked = look(context);
    if (looked || looked.error().kind != ErrorKind::Conflict) return std::move(looked).in(frame);
    // Another replica was faster, and the watch will show its keys.
    MIST_TRY_VOID(context.pause(kPause));
  }
}

Status WebhookCertificates::use(Given given) {
  given_ = std::move(given);
  return read_files();
}

Status WebhookCertificates::look(const Context& context) {
  return kept_ ? look_at_secret(context) : read_files();
}

Status WebhookCertificates::look_at_secret(const Context& context) {
  const std::lock_guard lock(looking_);
  const auto live = secrets_->get({kept_->ns, kept_->secret});
  std::optional<WebhookKeys> held = live ? keys_in(*live) : std::nullopt;
  const bool is_stored = held.has_value();
  // Somebody deleted or damaged it: clients know these keys.
  if (!held) held = keys_;
  const auto next = renewed(held, kept_->names, dependencies_.clock.now(), dependencies_.random);
  if (next || !is_stored) {
    const WebhookKeys& wanted = next ? *next : *held;
    Value secret =
        live ? *live : Value::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "Opaque"}});
    if (!live) secret["metadata"] = Value::object({{"name", kept_->secret}, {"namespace", kept_->ns}});
    secret.set("data", data_of(wanted));
    const kube::ObjectRef ref{secrets_->resource(), kept_->ns, kept_->secret};
    auto written = live ? dependencies_.client.update(ref, secret, context)
                        : dependencies_.client.create(secrets_->resource(), kept_->ns, secret, context);
    if (!written.ok()) return std::move(written).error();
    secrets_->put(*std::move(written), kube::Informer::Echo::Silent);
    dependencies_.events.info(
        fmt::format("wrote the webhook's keys to Secret {}/{}", kept_->ns, kept_->secret));
    held = wanted;
  }
  keys_ = held;
  return adopt(held->server.certificate_pem, held->server.key_pem, held->bundle());
}

Status WebhookCertificates::read_files() {
  const auto read = [&](const Path& file) { return dependencies_.files.read(file, kLargestFile); };
  MIST_TRY(const std::string certificate, read(given_->certificate));
  MIST_TRY(std::string key, read(given_->key));
  std::string authority;
  if (!given_->authority.empty()) {
    MIST_TRY(authority, read(given_->authority));
  }
  return adopt(certificate, SecretString(std::move(key)), authority)
      .in(fmt::format("while the webhook's certificate was read from {}", given_->certificate.string()));
}

// The same once more changes nothing.
Status WebhookCertificates::adopt(const std::string& certificate, const SecretString& key,
                                  const std::string& authorities) {
  bool tells = false;
  {
    const std::lock_guard lock(mutex_);
    if (certificate_ == certificate && authorities_ == authorities) return {};
    // Renewed files are written one after the other: until they belong together, the ones before are used.
    MIST_TRY(auto tls, http::ServerTls::of(certificate, key));
    tls_.set(std::move(tls));
    tells = !certificate_.empty() && authorities_ != authorities;
    certificate_ = certificate;
    authorities_ = authorities;
  }
  if (const auto found = crypto::certificates_in(certificate); !found.empty())
    dependencies_.events.info(
        fmt::format("the webhook's certificate is valid until {}", format_time(found.front().not_after)));
  if (tells) changed_();
  return {};
}

void WebhookCertificates::run(const std::stop_token& stop) {
  Duration pause = given_ ? Duration(kBetweenFiles) : Duration(kBetweenLooks);
  while (dependencies_.clock.sleep(pause, stop)) {
    const Status looked = look(Context(stop).with_timeout(kKeysTime));
    pause = given_ ? Duration(kBetweenFiles) : looked ? Duration(kBetweenLooks) : Duration(kAfterFailure);
    if (!looked && !stop.stop_requested())
      dependencies_.events.warn("the webhook's certificate: " + looked.error().to_line());
  }
}

std::string WebhookCertificates::authorities() const {
  const std::lock_guard lock(mutex_);
  return authorities_;
}

}  // namespace mist::operator_
