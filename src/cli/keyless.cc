#include "cli/keyless.h"

#include "base/event.h"
#include "cli/named_file.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "registry/oci_trust.h"
#include "sigstore/device_login.h"
#include "trust/policy.h"

namespace mist::cli {
namespace {

Status only_with_keyless(const Invocation& invocation) {
  for (const Flag& flag : kKeylessFlagList)
    if (flag.name != "keyless" && invocation.has(flag.name))
      return error(ErrorKind::Usage, "--{} goes with --keyless", flag.name);
  return {};
}

Result<sigstore::SigningConfig> signing_config(const Invocation& invocation, Machine& machine,
                                               const trust::Policy& policy) {
  const Path file =
      invocation.has("signing-config") ? Path(invocation.text("signing-config")) : policy.signing_config();
  if (file.empty())
    return error(ErrorKind::Usage, "--keyless needs a signing configuration")
        .with_because("it names the services that sign; none are used by default")
        .with_hint(
            "give one with --signing-config FILE, or write spec.signingConfig in trust.yaml (docs/trust.md)");
  MIST_TRY(const std::string text, machine.files.read(file, sigstore::kMaxSigningConfigBytes));
  return sigstore::SigningConfig::parse(text, file.string());
}

Result<std::shared_ptr<const trust::TrustRoot>> signing_root(const Invocation& invocation, Machine& machine,
                                                             const trust::Policy& policy) {
  if (invocation.has("trust-root")) return read_trust_root(machine, invocation.text("trust-root"));
  if (policy.trust_root() != nullptr) return policy.trust_root();
  return error(ErrorKind::Usage, "--keyless needs a trust root")
      .with_because("a signature is verified before it is published")
      .with_hint("give one with --trust-root FILE, or write spec.trustRoot in trust.yaml (docs/trust.md)");
}

// On a terminal a person is asked to log in; where a program reads events, by one of them.
Result<sigstore::IdentityToken> logged_in(const Invocation& invocation, Machine& machine,
                                          http::Transport& transport, const std::string& issuer) {
  const std::string client = invocation.text("token-audience");
  const sigstore::LoginDependencies login{
      .transport = transport,
      .clock = machine.clock,
      .random = machine.random,
      .show = [&machine](const sigstore::DeviceCode& code) {
        const std::string where =
            code.direct.empty() ? fmt::format("open {} and enter {}", code.page, code.code)
                                : fmt::format("open {} and see that it shows {}", code.direct, code.code);
        std::string words = fmt::format("To log in, {}. The code is valid for {}; Ctrl-C stops waiting.",
                                        where, format_age(code.valid));
        if (machine.json_events)
          machine.events->warn(std::move(words));
        else
          machine.err.write(words + "\n");
      }};
  return sigstore::log_in(login, issuer, client, machine.context);
}

Result<sigstore::IdentityToken> token_for(const Invocation& invocation,
                                          const std::optional<sigstore::Service>& issuer, Machine& machine) {
  if (invocation.has("identity-token")) {
    const std::string file = invocation.text("identity-token");
    MIST_TRY(const std::string text, read_named_file(machine, file, sigstore::kMaxTokenBytes));
    return sigstore::IdentityToken::parse(text, file == kStandardInput ? "standard input" : file);
  }
  const std::unique_ptr<http::Transport> transport = web_transport(machine, "the issuer");
  const sigstore::TokenPlaces places{
      .environment = machine.environment, .files = machine.files, .transport = *transport};
  MIST_TRY(const std::optional<sigstore::IdentityToken> found,
           sigstore::find_token(places, invocation.text("token-audience"), machine.context));
  if (found) return *found;
  if (issuer && machine.in.is_terminal() && machine.err.is_terminal())
    return logged_in(invocation, machine, *transport, issuer->url);
  const bool is_github = machine.environment("GITHUB_ACTIONS").value_or("") == "true";
  return error(ErrorKind::NotFound, "there is no identity token to sign with")
      .with_because(
          "SIGSTORE_ID_TOKEN is not set, this is no job of GitHub Actions that may have one, and "
          "/var/run/sigstore/cosign/oidc-token does not exist")
      .with_hint(
          is_github
              ? "give the job 'permissions: {id-token: write}'"
              : fmt::format("give one of the audience {} with --identity-token FILE; - is standard input{}",
                            invocation.text("token-audience"),
                            issuer ? ". On a terminal you are asked to log in" : ""));
}

}  // namespace

std::string identity_text(const trust::Identity& identity) {
  return fmt::format("{} ({})", identity.subject, identity.issuer);
}

Result<std::shared_ptr<const trust::TrustRoot>> read_trust_root(Machine& machine, const std::string& file) {
  MIST_TRY(const std::string text, machine.files.read(file, trust::kMaxTrustRootBytes));
  MIST_TRY(trust::TrustRoot root, trust::TrustRoot::parse(text, file));
  return std::make_shared<const trust::TrustRoot>(std::move(root));
}

Result<std::optional<KeylessPlan>> keyless_plan(const Invocation& invocation, Machine& machine) {
  if (!invocation.enabled("keyless")) {
    MIST_TRY_VOID(only_with_keyless(invocation));
    return std::optional<KeylessPlan>();
  }
  MIST_TRY(const config::Paths paths, paths_of(machine));
  MIST_TRY(const trust::Policy policy, registry::load_trust_policy(machine.files, paths));
  MIST_TRY(const sigstore::SigningConfig config, signing_config(invocation, machine, policy));
  MIST_TRY(std::shared_ptr<const trust::TrustRoot> root, signing_root(invocation, machine, policy));
  MIST_TRY(sigstore::ChosenServices services, config.choose(machine.clock.now()));
  MIST_TRY(sigstore::IdentityToken token, token_for(invocation, services.issuer, machine));
  MIST_TRY_VOID(token.check(invocation.text("token-audience"), machine.clock.now()));
  return std::optional(KeylessPlan{std::move(services), std::move(root), std::move(token)});
}

Result<std::unique_ptr<KeylessSigning>> KeylessSigning::open(const std::optional<KeylessPlan>& plan,
                                                             Machine& machine) {
  if (!plan) return std::unique_ptr<KeylessSigning>();
  std::unique_ptr<http::Transport> transport = web_transport(machine, "the signing service");
  Activity activity(*machine.events,
                    fmt::format("requesting a certificate from {}", plan->services.authority.url));
  Result<sigstore::KeylessSigner> signer = sigstore::KeylessSigner::open(
      {.transport = *transport, .clock = machine.clock, .random = machine.random}, plan->services, plan->root,
      plan->token, machine.context);
  if (!signer) {
    activity.fail();
    return std::move(signer).error();
  }
  return std::unique_ptr<KeylessSigning>(new KeylessSigning(std::move(transport), *std::move(signer)));
}

registry::StatementSigner KeylessSigning::signer() const {
  return {.sign = [this](std::string_view statement,
                         const Context& context) { return signer_.sign(statement, context); },
          .made =
              [this](const oci::SignatureClaim& claim) {
                if (!claim.damage.empty() || !claim.keyless) return false;
                const auto proof = trust::verify_keyless(claim, signer_.root());
                return proof && proof->identity == identity();
              },
          .identity = identity()};
}

}  // namespace mist::cli
