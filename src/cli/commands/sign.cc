// Signatures of what OCI registries hold: sign, verify.

#include <algorithm>
#include <functional>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/keyless.h"
#include "cli/keyring.h"
#include "cli/output/output.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "cli/signing.h"
#include "registry/chart_trust.h"
#include "registry/file_trust.h"
#include "registry/oci_packages.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::uint64_t kMostPublicKey = 64 << 10;

constexpr Argument kReferenceArgument[] = {
    {.name = "REFERENCE",
     .help = "oci://HOST/PATH:TAG, a range of versions, or a digest; or a package on this "
             "machine, for a registry in git",
     .completion = Completion::Package}};

Result<std::unique_ptr<registry::Registries>> open_registries(const Invocation& invocation,
                                                              Machine& machine) {
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  return std::make_unique<registry::Registries>(std::move(access));
}

// sign

constexpr Flag kSignFlags[] = {
    {.name = "key",
     .type = FlagType::Texts,
     .value = "FILE",
     .help = "Private key: PEM, encrypted or not, or one of `cosign generate-key-pair`",
     .completion = Completion::File},
    {.name = "annotation",
     .type = FlagType::Texts,
     .value = "KEY=TEXT",
     .help = "Signed along with it",
     .rare = true},
    kPlainHttpFlag,
};
constexpr FlagGroup kSignGroups[] = {{"Flags", kSignFlags}, kKeylessFlags, kOutputFlags};
constexpr Example kSignExamples[] = {
    {"mistctl sign oci://registry.example/team/shop:1.4.0 --key release.key", "Asks for the key's password"},
    {"mistctl sign oci://registry.example/team/shop:1.4.0 --keyless --identity-token token.txt",
     "Without a key: by whom the token names, with the services that trust.yaml names"},
    {"mistctl sign ./web/web-1.4.0.mist-pack.wasm --key minisign.key",
     "In a working copy: writes web-1.4.0.mist-pack.wasm.minisig; commit both"},
};

Result<std::map<std::string, std::string>> annotations_in(const Invocation& invocation) {
  std::map<std::string, std::string> annotations;
  for (const std::string& each : invocation.texts("annotation")) {
    const auto equals = each.find('=');
    if (equals == std::string::npos || equals == 0)
      return error(ErrorKind::Usage, "--annotation needs the form KEY=TEXT");
    annotations[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return annotations;
}

// A module, or the directory of a version, in a working copy of a registry.
struct LocalPackage {
  Path signature;     ///< the file
  std::string bytes;  ///< that are signed
  std::string name;   ///< as registry::signed_name
};

bool is_local(const std::string& reference) {
  return reference.starts_with('.') || reference.starts_with('/');
}

Result<LocalPackage> local_package(const std::string& reference, registry::Registries& registries,
                                   Machine& machine) {
  const Path path = std::filesystem::absolute(reference).lexically_normal();
  const Path clean = path.has_filename() ? path : path.parent_path();
  MIST_TRY(const registry::Fetched package,
           registries.fetch(registry::PackageRef(registry::LocalRef{clean}), machine.context, "yaml"));
  // In git it leaves nothing out, so the bytes would be others there.
  if (machine.files.exists(clean / ".helmignore"))
    return error(ErrorKind::Invalid, "{} has a .helmignore, so it can't be signed for a registry in git",
                 clean.string())
        .with_hint("remove the file, and what it leaves out");
  LocalPackage local;
  local.signature = clean.string() + std::string(trust::kMinisignEnding);
  MIST_TRY(local.bytes, registry::signed_bytes(package.content));
  local.name = clean.filename().string();
  if (std::holds_alternative<registry::PackageTree>(package.content))
    local.name = clean.parent_path().filename().string() + "/" + local.name;
  return local;
}

Value signature_value(const registry::SignReport& report) {
  return Value::object({{"key", report.key},
                        {"tag", report.tag},
                        {"wasThere", report.was_there},
                        {"identity", Value()},
                        {"issuer", Value()},
                        {"manifest", Value()}});
}

Value signature_value(const IdentityReport& report, const trust::Identity& identity) {
  return Value::object({{"key", Value()},
                        {"tag", Value()},
                        {"wasThere", report.was_there},
                        {"identity", identity.subject},
                        {"issuer", identity.issuer},
                        {"manifest", report.manifest.str()}});
}

Result<ExitCode> sign_local(const Invocation& invocation, Machine& machine) {
  if (invocation.texts("key").size() != 1 || invocation.has("annotation") || invocation.enabled("keyless"))
    return error(ErrorKind::Usage, "a file is signed with one key of minisign's, without annotations")
        .with_hint("`minisign -G` makes such a key");
  MIST_TRY(const auto registries, open_registries(invocation, machine));
  MIST_TRY(const LocalPackage local, local_package(invocation.argument("REFERENCE"), *registries, machine));
  MIST_TRY(const trust::MinisignKey key,
           read_minisign_key(invocation, machine, invocation.texts("key").front()));
  MIST_TRY_VOID(machine.files.write(local.signature, key.sign(local.bytes, local.name, machine.clock.now()),
                                    kUsersFile));
  const std::string fingerprint = key.public_key().fingerprint().str();
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table) {
    Value signatures{Value::Array{}};
    signatures.push_back(
        signature_value({.signed_reference = {}, .tag = local.signature.string(), .key = fingerprint}));
    print_value(machine, format,
                Value::object({{"reference", local.name}, {"signatures", std::move(signatures)}}));
  } else {
    machine.out.write(local.signature.string() + "\n");
  }
  return ExitCode::Ok;
}

Result<ExitCode> run_sign(const Invocation& invocation, Machine& machine) {
  if (is_local(invocation.argument("REFERENCE"))) return sign_local(invocation, machine);
  const std::vector<std::string> files = invocation.texts("key");
  if (files.empty() && !invocation.enabled("keyless"))
    return error(ErrorKind::Usage, "mistctl sign needs --key FILE or --keyless")
        .with_hint("mistctl sign REFERENCE --key FILE signs with a key, --keyless with an identity");
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse(invocation.argument("REFERENCE")));
  MIST_TRY(const auto annotations, annotations_in(invocation));
  // Before anything is signed: a password may be wrong, a token too old.
  MIST_TRY(const std::optional<KeylessPlan> plan, keyless_plan(invocation, machine));
  std::vector<crypto::PrivateKey> keys;
  for (const std::string& file : files) {
    MIST_TRY(crypto::PrivateKey key, read_signing_key(invocation, machine, file));
    keys.push_back(std::move(key));
  }
  MIST_TRY(const auto registries, open_registries(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries->oci_client());
  MIST_TRY(oci::Reference exact, registry::with_tag(*client, wanted, machine.context));
  // Each signer signs the same manifest, wherever the tag points meanwhile.
  if (!exact.digest) {
    MIST_TRY(const registry::RawManifest raw, client->manifest(exact.repository, exact.tag, machine.context));
    exact.digest = raw.digest;
  }
  MIST_TRY(const std::unique_ptr<KeylessSigning> keyless, KeylessSigning::open(plan, machine));
  Value signatures{Value::Array{}};
  std::string reference;
  if (keyless) {
    MIST_TRY(const IdentityReport report,
             sign_reference(machine, *client, exact, keyless->signer(), annotations));
    reference = report.signed_reference.str();
    signatures.push_back(signature_value(report, keyless->identity()));
  }
  for (const crypto::PrivateKey& key : keys) {
    MIST_TRY(const registry::SignReport report, sign_reference(machine, *client, exact, key, annotations));
    reference = report.signed_reference.str();
    signatures.push_back(signature_value(report));
  }
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table)
    print_value(machine, format,
                Value::object({{"reference", reference}, {"signatures", std::move(signatures)}}));
  else
    machine.out.write(reference + "\n");
  return ExitCode::Ok;
}

// verify

constexpr Flag kVerifyFlags[] = {
    {.name = "key",
     .type = FlagType::Texts,
     .value = "FILE",
     .help = "Public key that must have signed it; if several, each of them. Without one the trust policy "
             "decides",
     .completion = Completion::File},
    {.name = "identity",
     .type = FlagType::Text,
     .value = "SUBJECT",
     .help = "E-mail address or URI whose certificate must have signed it, in place of a key or beside it; "
             "'*' stands for anything but '/', '**' for anything"},
    {.name = "issuer",
     .type = FlagType::Text,
     .value = "URL",
     .help = "Where the owner of --identity logs in"},
    {.name = "trust-root",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Sigstore's trusted_root.json, for --identity. Without it that of the trust policy counts",
     .completion = Completion::File},
    {.name = "keyring",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "OpenPGP keys, of which one must have signed the chart (its provenance file, as helm verify "
             "reads it)",
     .completion = Completion::File},
    {.name = "signed-for",
     .type = FlagType::Texts,
     .value = "PATTERN",
     .help = "Take signatures that were made for other repositories, such as oci://origin.example/team/*",
     .rare = true},
    {.name = "accept-changed",
     .help = "Know the package by its signers, and the version by its bytes, from now on, whatever they were "
             "before; with --key, --identity or --keyring by those signers alone"},
    kPlainHttpFlag,
};
constexpr FlagGroup kVerifyGroups[] = {{"Flags", kVerifyFlags}, kOutputFlags};
constexpr Example kVerifyExamples[] = {
    {"mistctl verify oci://registry.example/team/shop:1.4.0 --key release.pub", "Whether that key signed it"},
    {"mistctl verify oci://registry.example/team/shop:1.4.0 --identity release@team.example "
     "--issuer https://accounts.example --trust-root trusted_root.json",
     "Whether that identity signed it, without a key (keyless)"},
    {"mistctl verify ./shop-1.4.0.tgz --keyring team.gpg",
     "Whether shop-1.4.0.tgz.prov is of a key in team.gpg"},
    {"mistctl verify oci://registry.example/team/shop:1.4.0", "Its signers, and whether they suffice here"},
};

Result<std::vector<trust::TrustedKey>> keys_in(const Invocation& invocation, Machine& machine) {
  std::vector<trust::TrustedKey> keys;
  for (const std::string& file : invocation.texts("key")) {
    MIST_TRY(const std::string text, machine.files.read(file, kMostPublicKey));
    MIST_TRY(crypto::PublicKey key, (trust::is_minisign(text) ? trust::read_minisign_public_key(text)
                                                              : crypto::PublicKey::parse(text))
                                        .in(fmt::format("while reading {}", file)));
    keys.push_back({file, std::move(key)});
  }
  return keys;
}

// The identity that must have signed; none: the flags don't say one.
Result<std::vector<trust::TrustedIdentity>> identities_in(const Invocation& invocation) {
  std::vector<trust::TrustedIdentity> identities;
  const bool has_identity = invocation.has("identity");
  if (has_identity != invocation.has("issuer"))
    return error(ErrorKind::Usage, "--identity and --issuer go together")
        .with_because("an issuer vouches for its own accounts alone")
        .with_hint("a workflow of GitHub's has the issuer https://token.actions.githubusercontent.com");
  if (!has_identity && invocation.has("trust-root"))
    return error(ErrorKind::Usage, "--trust-root goes with --identity and --issuer")
        .with_hint("for all packages write spec.trustRoot in trust.yaml (docs/trust.md)");
  if (!has_identity) return identities;
  identities.push_back({std::string(invocation.text("issuer")), std::string(invocation.text("identity"))});
  if (const std::string why = trust::objection_to(identities.front()); !why.empty())
    return error(ErrorKind::Usage, "an identity {}", why)
        .with_hint("write --identity release@team.example --issuer https://accounts.example");
  return identities;
}

// The authorities and logs that identities are held against: of the flag, or else of the policy.
Result<std::shared_ptr<const trust::TrustRoot>> trust_root_for(const Invocation& invocation, Machine& machine,
                                                               registry::OciTrust& trust,
                                                               const std::string& package) {
  if (!invocation.has("trust-root")) {
    MIST_TRY(const trust::Rule rule, trust.rule_for(package));
    if (rule.root == nullptr)
      return error(ErrorKind::Usage, "--identity needs a trust root")
          .with_hint(
              "give one with --trust-root FILE, or write spec.trustRoot in trust.yaml (docs/trust.md)");
    return rule.root;
  }
  return read_trust_root(machine, invocation.text("trust-root"));
}

std::string signer_of(const trust::Proof& proof) {
  if (proof.identity) return proof.identity->subject;
  const std::string& name = proof.name.empty() ? proof.user : proof.name;
  return name.empty() ? "-" : name;
}

std::string vouched_by(const trust::Proof& proof) {
  if (proof.identity) return proof.identity->issuer;
  return proof.keys.empty() ? "-" : join(proof.keys, " or ");
}

void print_proofs(Machine& machine, const std::vector<trust::Proof>& proofs) {
  const bool has_identities =
      std::ranges::any_of(proofs, [](const trust::Proof& proof) { return proof.identity.has_value(); });
  Table table({"SIGNED BY", has_identities ? "KEY OR ISSUER" : "KEY", "FORM", "AT", "RESULT"});
  for (const trust::Proof& proof : proofs)
    table.add({{signer_of(proof)},
               {vouched_by(proof)},
               {std::string(oci::to_string(proof.form))},
               {proof.signed_at ? format_time(*proof.signed_at) : std::string("-")},
               {proof.objection.empty() ? std::string("valid") : proof.objection}});
  if (!table.empty()) machine.out.write(table.render(machine.color_out));
}

// `here`: whether this machine takes it, by what it remembers.
Value refused_here(const Status& here) { return here ? Value() : Value(here.error().message); }

void warn_of_refusal(Machine& machine, const Status& here) {
  if (here) return;
  machine.events->warn(fmt::format("this machine refuses it all the same: {}; {}",
                                   escape_controls(here.error().message), here.error().hint));
}

Value to_value(const oci::Reference& reference, const registry::Verdict& verdict, const Status& judged,
               const Status& here) {
  return Value::object({{"reference", reference.str()},
                        {"digest", reference.digest->str()},
                        {"trusted", judged.ok()},
                        {"because", judged.ok() ? Value() : Value(judged.error().message)},
                        {"refusedHere", refused_here(here)},
                        {"rule", text_or_null(verdict.rule.match)},
                        {"signatures", signatures_value(verdict.proofs)}});
}

// From now on the package is known by the signers of `verdict`, as far as the policy remembers any.
Status accept_signers(registry::OciTrust& trust, const oci::Reference& exact,
                      const registry::Verdict& verdict) {
  MIST_TRY(const trust::Rule rule, trust.rule_for(exact.repository.identity()));
  if (!trust::remembers(rule.mode))
    return error(ErrorKind::Usage, "--accept-changed changes nothing for {}", exact.repository.str())
        .with_because(fmt::format("the trust policy says so: {}", rule.place))
        .with_hint("write a rule for it with 'mode: remember' in trust.yaml (docs/trust.md)");
  return trust.accept(exact.repository, *exact.digest, verdict);
}

// Whether the manifest may have its tag.
struct TagChecks {
  Status version = {};                                             // once it is signed
  Status bytes = {};                                               // unless changes are accepted
  std::function<Status()> held_bytes = [] { return Status(); };    // as `bytes`, also if changes are accepted
  std::function<Status()> accept_bytes = [] { return Status(); };  // makes them those of the version
};

TagChecks check_tag(registry::Registries& registries, registry::OciSource& source,
                    const oci::Reference& tagged, const registry::RawManifest& raw,
                    registry::TagChosen chosen, const Invocation& invocation, Machine& machine) {
  TagChecks checks;
  checks.version = registry::check_signed_version(tagged, raw, chosen);
  checks.held_bytes = [&registries, &machine, tagged, raw] {
    return registries.check_bytes(tagged, raw, machine.context);
  };
  checks.accept_bytes = [&registries, &source, &machine, tagged, raw] {
    return registries.accept_bytes(source, tagged, raw, machine.context);
  };
  if (!invocation.enabled("accept-changed")) checks.bytes = checks.held_bytes();
  return checks;
}

// The signers of `verdict`, and the bytes that the version has now, are what this machine knows from now on.
Status accept_changed(registry::OciTrust& trust, const oci::Reference& exact,
                      const registry::Verdict& verdict, const TagChecks& tag) {
  MIST_TRY(const trust::Rule rule, trust.rule_for(exact.repository.identity()));
  // Where no signers are remembered, bytes are.
  if (trust::remembers(rule.mode) || tag.held_bytes().ok())
    MIST_TRY_VOID(accept_signers(trust, exact, verdict));
  else
    MIST_TRY_VOID(trust.judge(exact.repository, *exact.digest, verdict));
  return tag.accept_bytes();
}

// Judges by the requirements of the command line, or else by the policy and the memory of this machine.
Status judged(registry::OciTrust& trust, const oci::Reference& exact, const registry::Verdict& verdict,
              const TagChecks& tag, const Invocation& invocation, Machine& machine) {
  const bool accepts = invocation.enabled("accept-changed");
  const bool is_told = invocation.has("key") || invocation.has("identity") || invocation.has("keyring");
  if (is_told)
    MIST_TRY_VOID(trust::judge_required(verdict.rule, {exact.repository.identity(), *exact.digest},
                                        verdict.proofs, machine.clock.now(), verdict.missing));
  const bool is_signed =
      std::ranges::any_of(verdict.proofs, [](const trust::Proof& proof) { return proof.objection.empty(); });
  const bool is_by_provenance = std::ranges::any_of(verdict.proofs, [](const trust::Proof& proof) {
    return proof.form == oci::SignatureForm::Helm && proof.objection.empty();
  });
  if (is_by_provenance) MIST_TRY_VOID(trust.check_proved_tag(exact));
  if (is_signed && !tag.version) return tag.version.error();
  // Bytes that no install takes leave nothing behind: their signers would be the package's from then on.
  if (!tag.bytes) return tag.bytes.error();
  if (accepts) return accept_changed(trust, exact, verdict, tag);
  if (is_told) return {};
  MIST_TRY_VOID(trust.judge(exact.repository, *exact.digest, verdict));
  if (!trust::keys_in(verdict.proofs).empty()) return {};
  return error(ErrorKind::NotFound, "{} has no valid signature", exact.str())
      .with_hint(fmt::format("its author signs it with: mistctl sign {} --key FILE", exact.str()));
}

Result<ExitCode> verify_local(const Invocation& invocation, const std::vector<trust::TrustedKey>& keys,
                              Machine& machine) {
  if (keys.empty() || invocation.enabled("accept-changed") || invocation.has("signed-for") ||
      invocation.has("identity"))
    return error(ErrorKind::Usage, "a file is verified with --key, a public key of minisign's");
  if (keys.size() > 1)
    return error(ErrorKind::Usage, "a file is verified with one --key")
        .with_because(fmt::format("its {} holds one signature", trust::kMinisignEnding));
  const crypto::KeyKind kind = keys.front().key.kind();
  if (kind != crypto::KeyKind::Ed25519)
    return error(ErrorKind::Usage, "{} is no key of minisign's", keys.front().name)
        .with_because(fmt::format("it is {}, and minisign signs with Ed25519", crypto::to_string(kind)))
        .with_hint("give the public key that `minisign -G` wrote");
  MIST_TRY(const auto registries, open_registries(invocation, machine));
  MIST_TRY(const LocalPackage local, local_package(invocation.argument("REFERENCE"), *registries, machine));
  MIST_TRY(const std::string signature, machine.files.read(local.signature, kMostPublicKey));
  const trust::Rule rule{.match = {}, .mode = trust::Mode::Require, .keys = keys, .threshold = 1};
  const std::vector<trust::Proof> proofs{
      registry::examine_minisign(signature, local.bytes, local.name, rule)};
  Status status;
  if (!proofs.front().objection.empty())
    status = error(ErrorKind::Forbidden, "{} is not signed by {}", local.name, keys.front().name)
                 .with_because(proofs.front().objection)
                 .with_hint("ask whoever publishes it");
  const std::string digest = crypto::sha256(local.bytes).str();
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format,
                Value::object({{"reference", local.name},
                               {"digest", digest},
                               {"trusted", status.ok()},
                               {"because", status.ok() ? Value() : Value(status.error().message)},
                               {"refusedHere", Value()},
                               {"rule", Value()},
                               {"signatures", signatures_value(proofs)}}));
  else
    print_proofs(machine, proofs);
  if (!status) return std::move(status).error();
  return ExitCode::Ok;
}

// The keys for a chart that is in no OCI registry: of the flag, of the policy, those that are remembered, or
// GnuPG's, as Helm has it.
Result<std::shared_ptr<const trust::Keyring>> keyring_for(const Invocation& invocation, Machine& machine,
                                                          const registry::PackageRef& reference) {
  const auto* const named = std::get_if<registry::RegistryRef>(&reference.form());
  if (named != nullptr && !invocation.has("keyring")) {
    MIST_TRY(const config::Paths paths, paths_of(machine));
    registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events);
    const std::string package = registry::package_of(*named);
    MIST_TRY(const trust::Rule rule, trust.rule_for(package));
    if (rule.keyring != nullptr) return rule.keyring;
    MIST_TRY(std::shared_ptr<const trust::Keyring> known, trust.known_keyring(package));
    if (known != nullptr) return known;
  }
  return read_keyring(machine, std::string(invocation.text("keyring")));
}

// From now on other versions must be signed by the same key.
Status learn_chart(const Invocation& invocation, const registry::Fetched& package,
                   const std::vector<trust::Proof>& proofs, Machine& machine) {
  const auto* const named = std::get_if<registry::RegistryRef>(&package.resolved.form());
  if (named == nullptr) return {};
  MIST_TRY(const config::Paths paths, paths_of(machine));
  registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events);
  const std::string name = registry::package_of(*named);
  const trust::Subject subject = registry::chart_subject(*named, package.digest);
  return invocation.enabled("accept-changed") ? trust.remember_signers(subject, name, proofs)
                                              : trust.learn_chart(subject, name, proofs);
}

// OciTrust::judge_here of a chart in a chart repository; of a file nothing is remembered.
Status refusal_of_chart(const registry::Fetched& package, const std::vector<trust::Proof>& proofs,
                        Machine& machine) {
  const auto* const named = std::get_if<registry::RegistryRef>(&package.resolved.form());
  if (named == nullptr) return {};
  MIST_TRY(const config::Paths paths, paths_of(machine));
  registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events);
  return trust.judge_here(registry::chart_subject(*named, package.digest), registry::package_of(*named),
                          proofs);
}

// By its provenance file: a chart on this machine, or in a chart repository.
Result<ExitCode> verify_chart(const Invocation& invocation, registry::Registries& registries,
                              const registry::PackageRef& reference, Machine& machine) {
  const auto* const named = std::get_if<registry::RegistryRef>(&reference.form());
  if (named == nullptr && invocation.enabled("accept-changed"))
    return error(ErrorKind::Usage,
                 "--accept-changed is for packages of registries; of a file nothing is remembered");
  for (const std::string_view flag : {"key", "identity", "signed-for"})
    if (invocation.has(flag))
      return error(ErrorKind::Usage, "--{} is not for a chart that is in no OCI registry", flag)
          .with_because("its provenance file is signed with OpenPGP")
          .with_hint("name the publisher's keys: --keyring FILE, which gpg --export KEY >FILE writes");
  MIST_TRY(const auto keyring, keyring_for(invocation, machine, reference));
  MIST_TRY(registry::VerifiedPackage verified,
           registries.fetch_to_verify(reference, keyring, machine.context));
  const registry::Fetched& package = verified.package;
  registry::ChartVerdict& verdict = verified.verdict;
  MIST_TRY(const trust::ChartArchive archive,
           registry::chart_archive(package.content, package.resolved.display()));
  const std::string name = package.resolved.display();
  Status here;
  if (verdict.judged && !invocation.enabled("accept-changed")) {
    here = refusal_of_chart(package, verdict.proofs, machine);
  }
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(
        machine, format,
        Value::object({{"reference", name},
                       {"digest", archive.digest.str()},
                       {"trusted", verdict.judged.ok()},
                       {"because", verdict.judged.ok() ? Value() : Value(verdict.judged.error().message)},
                       {"refusedHere", refused_here(here)},
                       {"rule", Value()},
                       {"signatures", signatures_value(verdict.proofs)}}));
  } else {
    if (verdict.judged) machine.out.write(name + "\n");
    print_proofs(machine, verdict.proofs);
  }
  if (!verdict.judged) return std::move(verdict.judged).error();
  warn_of_refusal(machine, here);
  MIST_TRY_VOID(learn_chart(invocation, package, verdict.proofs, machine));
  return ExitCode::Ok;
}

// A chart that is in no OCI registry; nothing: it is a package in one, or none that is signed with OpenPGP.
Result<std::optional<registry::PackageRef>> chart_named(const Invocation& invocation,
                                                        const registry::Registries& registries) {
  const std::string& named = invocation.argument("REFERENCE");
  if (named.starts_with(oci::kScheme)) return std::optional<registry::PackageRef>();
  if (is_local(named) && !invocation.has("keyring") && (!named.ends_with(".tgz") || invocation.has("key")))
    return std::optional<registry::PackageRef>();
  MIST_TRY(registry::PackageRef reference, registries.parse(named));
  MIST_TRY(const std::optional<oci::Reference> there, registries.oci_reference(reference));
  return there ? std::optional<registry::PackageRef>() : std::optional(std::move(reference));
}

Result<oci::Reference> oci_reference(const Invocation& invocation, const registry::Registries& registries) {
  const std::string& named = invocation.argument("REFERENCE");
  if (named.starts_with(oci::kScheme)) return oci::Reference::parse(named);
  MIST_TRY(const registry::PackageRef reference, registries.parse(named));
  MIST_TRY(std::optional<oci::Reference> there, registries.oci_reference(reference));
  MIST_CHECK(there);  // chart_named saw it
  return *std::move(there);
}

Result<ExitCode> run_verify(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::vector<trust::TrustedKey> keys, keys_in(invocation, machine));
  MIST_TRY(const std::vector<trust::TrustedIdentity> identities, identities_in(invocation));
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  const config::Paths paths = access.paths;
  const trust::CheckProvenance check = access.check_provenance;
  registry::Registries registries(std::move(access));
  MIST_TRY(const std::optional<registry::PackageRef> chart, chart_named(invocation, registries));
  if (chart) return verify_chart(invocation, registries, *chart, machine);
  if (is_local(invocation.argument("REFERENCE"))) return verify_local(invocation, keys, machine);
  MIST_TRY(const oci::Reference wanted, oci_reference(invocation, registries));
  std::shared_ptr<const trust::Keyring> keyring;
  if (invocation.has("keyring")) {
    MIST_TRY(keyring, read_keyring(machine, std::string(invocation.text("keyring"))));
  }
  const bool is_told = !keys.empty() || !identities.empty() || keyring != nullptr;
  if (!is_told && invocation.has("signed-for"))
    return error(ErrorKind::Usage, "--signed-for goes with --key or --identity")
        .with_hint("without one the trust policy says which repositories signatures may be made for");
  MIST_TRY(registry::OciSource * client, registries.oci_source());
  MIST_TRY(oci::Reference exact, registry::with_tag(*client, wanted, machine.context));
  // The registry itself, not a mirror, must say what is to be remembered.
  if (invocation.enabled("accept-changed") && client->behind(exact.repository) != nullptr)
    client = client->behind(exact.repository);
  TagChecks tag;
  if (!exact.digest) {
    MIST_TRY(const registry::RawManifest raw, client->manifest(exact.repository, exact.tag, machine.context));
    const auto chosen = wanted.range.empty() ? registry::TagChosen::ByName : registry::TagChosen::ByRange;
    tag = check_tag(registries, *client, exact, raw, chosen, invocation, machine);
    MIST_TRY_VOID(machine.context.check());
    exact.digest = raw.digest;
  }
  registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events, check);
  trust::Rule given{.match = {},
                    .mode = trust::Mode::Require,
                    .keys = keys,
                    .threshold = keys.size() + identities.size() + (keyring != nullptr ? 1 : 0),
                    .signed_for = invocation.texts("signed-for"),
                    .identities = identities,
                    .keyring = keyring};
  if (!identities.empty()) {
    MIST_TRY(given.root, trust_root_for(invocation, machine, trust, exact.repository.identity()));
  }
  const trust::Rule* const rule = is_told ? &given : nullptr;
  MIST_TRY(registry::Verdict verdict,
           trust.look(exact.repository, *exact.digest, *client, rule, machine.context));
  Status status = judged(trust, exact, verdict, tag, invocation, machine);
  // It may have been signed since it was mirrored.
  registry::OciSource* const registry = status ? nullptr : client->behind(exact.repository);
  if (registry != nullptr) {
    Result<registry::Verdict> there =
        trust.look(exact.repository, *exact.digest, *registry, rule, machine.context);
    MIST_TRY_VOID(machine.context.check());
    if (there) {
      verdict = *std::move(there);
      status = judged(trust, exact, verdict, tag, invocation, machine);
    }
  }
  Status here;
  if (status)
    here = trust.judge_here({exact.repository.identity(), *exact.digest}, exact.repository.identity(),
                            verdict.proofs);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, to_value(exact, verdict, status, here));
  } else {
    if (status) machine.out.write(exact.str() + "\n");
    print_proofs(machine, verdict.proofs);
  }
  if (!status) return status.error();
  warn_of_refusal(machine, here);
  if (client->behind(exact.repository) == nullptr)
    MIST_TRY_VOID(trust.learn(exact.repository, *exact.digest, verdict));
  const bool nobody_vouches = !is_told && verdict.rule.mode != trust::Mode::Require;
  if (nobody_vouches)
    machine.events->info(
        verdict.rule.mode == trust::Mode::Ignore
            ? "the signer is known from here alone: compare the key or identity with what the publisher "
              "says, or give the publisher's with --key or --identity"
            : "the signer is known from here alone, and later versions must be of the same one: compare the "
              "key or identity with what the publisher says, or give the publisher's with --key or "
              "--identity");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kSignCommand{.path = "sign",
                                     .summary = "Sign a package",
                                     .run = run_sign,
                                     .arguments = kReferenceArgument,
                                     .flags = kSignGroups,
                                     .examples = kSignExamples,
                                     .cluster = ClusterUse::None};

constinit const Command kVerifyCommand{.path = "verify",
                                       .summary = "Show who signed a package, and whether that suffices",
                                       .run = run_verify,
                                       .arguments = kReferenceArgument,
                                       .flags = kVerifyGroups,
                                       .examples = kVerifyExamples,
                                       .cluster = ClusterUse::None};

}  // namespace mist::cli
