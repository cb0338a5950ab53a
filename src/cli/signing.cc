#include "cli/signing.h"

#include "base/text.h"
#include "cli/keyless.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/places.h"
#include "registry/chart_trust.h"
#include "registry/oci_copy.h"
#include "trust/key_file.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::uint64_t kMostKeyFile = 64 << 10;
constexpr std::string_view kPasswordVariables[] = {"MIST_KEY_PASSWORD", "COSIGN_PASSWORD"};

}  // namespace

namespace {

trust::AskPassword password_of(const Invocation& invocation, Machine& machine, const std::string& file) {
  return [&invocation, &machine, file]() -> Result<SecretString> {
    for (const std::string_view variable : kPasswordVariables)
      if (std::optional<std::string> given = machine.environment(variable))
        return SecretString(*std::move(given));
    return ask_secret(machine, invocation,
                      {fmt::format("Password of {}: ", file), "the password in MIST_KEY_PASSWORD"});
  };
}

}  // namespace

Status check_one_signer(const Invocation& invocation) {
  if (!invocation.has(kSignFlag.name) || !invocation.enabled("keyless")) return {};
  return error(ErrorKind::Usage, "--sign and --keyless exclude each other")
      .with_hint("sign with one of them, and add the other signature with mistctl sign");
}

Result<crypto::PrivateKey> read_signing_key(const Invocation& invocation, Machine& machine,
                                            const std::string& file) {
  MIST_TRY(const std::string text, machine.files.read(file, kMostKeyFile));
  if (trust::is_minisign(text))
    return error(ErrorKind::Invalid, "{} is a key of minisign's", file)
        .with_because(
            "minisign signs files, in registries in git; what OCI registries hold is signed as cosign does")
        .with_hint("use a key of OpenSSL's or cosign's");
  return trust::read_private_key(text, password_of(invocation, machine, file))
      .in(fmt::format("while reading {}", file));
}

Result<trust::MinisignKey> read_minisign_key(const Invocation& invocation, Machine& machine,
                                             const std::string& file) {
  MIST_TRY(const std::string text, machine.files.read(file, kMostKeyFile));
  return trust::MinisignKey::read(text, password_of(invocation, machine, file))
      .in(fmt::format("while reading {}", file));
}

Result<registry::SignReport> sign_reference(Machine& machine, registry::OciClient& client,
                                            const oci::Reference& reference, const crypto::PrivateKey& key,
                                            std::map<std::string, std::string> annotations) {
  Activity activity(*machine.events, fmt::format("signing {}", reference.str()));
  Result<registry::SignReport> report = registry::sign_artifact(
      client, reference, key, {.now = machine.clock.now(), .annotations = std::move(annotations)},
      machine.context);
  if (!report) {
    activity.fail();
    return report;
  }
  machine.events->info(report->was_there ? fmt::format("it was signed with key {} already", report->key)
                                         : fmt::format("signed with key {}", report->key));
  return report;
}

void say_signed(Machine& machine, const trust::Identity& identity, bool was_there) {
  machine.events->info(was_there ? fmt::format("it was signed by {} already", identity_text(identity))
                                 : fmt::format("signed by {}", identity_text(identity)));
}

Result<IdentityReport> sign_reference(Machine& machine, registry::OciClient& client,
                                      const oci::Reference& reference,
                                      const registry::StatementSigner& signer,
                                      std::map<std::string, std::string> annotations) {
  Activity activity(*machine.events, fmt::format("signing {}", reference.str()));
  const auto sign = [&]() -> Result<IdentityReport> {
    const oci::Repository& repository = reference.repository;
    MIST_TRY(const registry::RawManifest raw,
             client.manifest(repository, reference.digest ? reference.digest->str() : reference.tag,
                             machine.context));
    MIST_TRY(const std::string media_type, registry::media_type_of(raw, reference.str()));
    MIST_TRY(const registry::SignatureBundle bundle,
             registry::sign_as_bundle(client, repository, oci::descriptor_of(media_type, raw.bytes), signer,
                                      {.annotations = std::move(annotations)}, machine.context));
    IdentityReport report{.signed_reference = reference,
                          .manifest = bundle.manifest,
                          .was_there = !bundle.artifact.has_value()};
    report.signed_reference.digest = raw.digest;
    if (bundle.artifact) {
      MIST_TRY([[maybe_unused]] const bool was_there,
               registry::attach_document(client, repository, raw.digest, *bundle.artifact, machine.context));
    }
    return report;
  };
  Result<IdentityReport> report = sign();
  if (!report) {
    activity.fail();
    return report;
  }
  say_signed(machine, *signer.identity, report->was_there);
  return report;
}

Value signatures_value(const std::vector<trust::Proof>& proofs) {
  Value list{Value::Array{}};
  for (const trust::Proof& proof : proofs) {
    Value keys{Value::Array{}};
    for (const std::string& key : proof.keys) keys.push_back(key);
    list.push_back(
        Value::object({{"form", oci::to_string(proof.form)},
                       {"keys", std::move(keys)},
                       {"algorithm", view::text_or_null(proof.algorithm)},
                       {"name", view::text_or_null(proof.name.empty() ? proof.user : proof.name)},
                       {"signedAt", proof.signed_at ? Value(format_time(*proof.signed_at)) : Value()},
                       {"valid", proof.objection.empty()},
                       {"objection", view::text_or_null(proof.objection)},
                       {"identity", proof.identity ? Value(proof.identity->subject) : Value()},
                       {"issuer", proof.identity ? Value(proof.identity->issuer) : Value()}}));
  }
  return list;
}

Result<std::optional<registry::Verdict>> recorded_signatures(Machine& machine,
                                                             const package::Source& source) {
  std::optional<registry::Verdict> none;
  const Result<registry::PackageRef> parsed = registry::PackageRef::parse(source.reference);
  if (!parsed) return none;
  MIST_TRY(const config::Paths paths, paths_of(machine));
  registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events);
  if (const auto* const there = std::get_if<oci::Reference>(&parsed->form()))
    return there->digest ? trust.recorded(there->repository, *there->digest) : none;
  const auto* const named = std::get_if<registry::RegistryRef>(&parsed->form());
  const Result<crypto::Digest> digest = crypto::Digest::parse(source.digest);
  if (named == nullptr || !digest) return none;
  return trust.recorded(registry::chart_subject(*named, *digest), registry::package_of(*named));
}

Result<std::vector<ExaminedDocument>> examined_documents(Machine& machine, registry::OciSource& source,
                                                         const oci::Reference& reference) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  registry::OciTrust trust(machine.files, paths, machine.clock, *machine.events);
  const trust::Subject subject{reference.repository.identity(), *reference.digest};
  MIST_TRY(const trust::Rule rule, trust.rule_for(subject.package));
  MIST_TRY(std::vector<registry::AttachedDocument> listed,
           registry::list_documents(source, reference.repository, *reference.digest, machine.context));
  std::vector<ExaminedDocument> documents;
  for (registry::AttachedDocument& each : listed) {
    ExaminedDocument one{std::move(each), {}};
    const std::optional<oci::SignatureClaim>& claim = one.document.claim;
    if (claim && (!claim->signature.empty() || !claim->damage.empty()))
      one.proofs = trust::examine({&*claim, 1}, subject, rule);
    documents.push_back(std::move(one));
  }
  return documents;
}

Value documents_value(const std::vector<ExaminedDocument>& documents) {
  Value list{Value::Array{}};
  for (const ExaminedDocument& each : documents) {
    const registry::AttachedDocument& document = each.document;
    list.push_back(Value::object({{"kind", oci::to_string(document.kind)},
                                  {"type", document.document.media_type},
                                  {"predicate", view::text_or_null(document.predicate)},
                                  {"digest", document.document.digest.str()},
                                  {"bytes", document.document.size},
                                  {"manifest", document.manifest.str()},
                                  {"tag", view::text_or_null(document.tag)},
                                  {"signatures", signatures_value(each.proofs)}}));
  }
  return list;
}

std::string document_text(const ExaminedDocument& document) {
  const registry::AttachedDocument& about = document.document;
  std::string text = fmt::format("{} {} {}, ", oci::to_string(about.kind),
                                 about.predicate.empty() ? about.document.media_type : about.predicate,
                                 about.document.digest.str());
  if (document.proofs.empty()) return text + "not signed";
  if (const std::string signers = trust::signers_text(document.proofs); !signers.empty())
    return text + fmt::format("signed by {}", signers);
  return text + fmt::format("its signature proves nothing: {}", document.proofs.front().objection);
}

}  // namespace mist::cli
