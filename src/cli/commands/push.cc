#include "action/authoring/push_documents.h"
#include "action/authoring/push_package.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/keyless.h"
#include "cli/keyring.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "cli/signing.h"

namespace mist::cli {
namespace {

using encoding::Value;

// push

constexpr Argument kPushArguments[] = {
    {.name = "SOURCE", .help = "A module, a packed chart or a directory", .completion = Completion::File},
    {.name = "DESTINATION", .help = "oci://HOST/PATH:VERSION; without VERSION that of the package"},
};
constexpr Flag kPushFlags[] = {
    {.name = "overwrite", .help = "Replace a version that is published with other content"},
    kSignFlag,
    {.name = "sbom",
     .help = "Attach a list of its parts (CycloneDX): its locked dependencies and its engine"},
    {.name = "provenance",
     .help = "Attach a statement of how it was made (SLSA): from which commit, with which parts"},
    kPlainHttpFlag,
};
constexpr FlagGroup kPushGroups[] = {{"Flags", kPushFlags}, kKeylessFlags, kSandboxFlags, kOutputFlags};
constexpr Example kPushExamples[] = {
    {"mistctl push shop-1.4.0.mist-pack.wasm oci://registry.example/team/shop:1.4.0", "A module"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart",
     "A chart, in the version of its Chart.yaml"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart --sign release.key", "And signs it"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart --sbom --provenance --sign release.key",
     "With an SBOM, and provenance that the key signs"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart --provenance --keyless",
     "Signed by an identity instead, such as a workflow of GitHub's"},
};

Value signer_value(const std::optional<trust::Identity>& identity) {
  if (!identity) return {};
  return Value::object({{"identity", identity->subject}, {"issuer", identity->issuer}});
}

// The signature of the package, and the documents that hang on it.
struct Attached {
  std::optional<registry::SignReport> signature = {};
  std::optional<trust::Identity> identity = {};
  std::vector<action::PushedDocument> documents = {};
};

Value to_value(const registry::PushReport& report, const Attached& attached) {
  Value documents{Value::Array{}};
  for (const action::PushedDocument& each : attached.documents)
    documents.push_back(Value::object({{"kind", oci::to_string(each.kind)},
                                       {"digest", each.manifest.str()},
                                       {"artifactType", each.type},
                                       {"signedWith", view::text_or_null(each.key)},
                                       {"signedBy", signer_value(each.identity)},
                                       {"wasThere", each.was_there}}));
  return Value::object({{"reference", Value(report.pushed.str())},
                        {"tag", Value(report.pushed.tag)},
                        {"digest", Value(report.pushed.digest->str())},
                        {"bytes", Value(report.bytes)},
                        {"wasThere", Value(report.was_there)},
                        {"signedWith", attached.signature ? Value(attached.signature->key) : Value()},
                        {"signedBy", signer_value(attached.identity)},
                        {"attached", std::move(documents)}});
}

// The commit for the provenance. A package is published without one too, and the statement says nothing then.
std::optional<registry::SourceCommit> commit_of(Machine& machine, const Path& source,
                                                const registry::Fetched& package) {
  Result<std::optional<registry::SourceCommit>> found =
      registry::source_commit(machine.files, machine.processes, source, package.content, machine.context);
  if (!found) {
    machine.events->warn(fmt::format("the provenance names no commit: {}", found.error().to_line()));
    return std::nullopt;
  }
  if (!*found)
    machine.events->warn(
        fmt::format("the provenance names no commit: {} is in no git checkout", source.string()));
  else if (!(*found)->clean)
    machine.events->warn(
        fmt::format("the provenance names no commit: files of {} are not those of commit {}, and it says so",
                    source.string(), (*found)->commit));
  return *std::move(found);
}

// The documents that the flags ask for; found out before anything is sent.
Result<action::DocumentOptions> document_options(const Invocation& invocation, Machine& machine,
                                                 package::Renderer& renderer,
                                                 const registry::Fetched& package, const Path& source,
                                                 const oci::Reference& destination) {
  action::DocumentOptions options;
  if (invocation.enabled("sbom")) options.kinds.insert(oci::DocumentKind::Sbom);
  if (invocation.enabled("provenance")) options.kinds.insert(oci::DocumentKind::Provenance);
  if (options.kinds.empty()) return options;
  options.tool_version = machine.build.version;
  MIST_TRY(const config::Paths paths, paths_of(machine));
  const package::EngineStore engines(paths.engines, machine.build.engines);
  MIST_TRY(options.parts, action::package_parts(renderer, engines, package, destination, machine.context));
  if (invocation.enabled("provenance")) options.commit = commit_of(machine, source, package);
  return options;
}

void say(Machine& machine, const action::PushedDocument& document) {
  const std::string_view name = document.kind == oci::DocumentKind::Sbom ? "SBOM" : "provenance";
  const std::string signer = document.kind == oci::DocumentKind::Sbom ? std::string()
                             : document.identity
                                 ? fmt::format(", signed by {}", identity_text(*document.identity))
                             : document.key.empty() ? ", not signed"
                                                    : fmt::format(", signed with key {}", document.key);
  machine.events->info(fmt::format(
      "{}{} {}{}", name,
      document.was_there ? " was attached already:" : " attached:", document.manifest.str(), signer));
}

// All that an identity signs is signed, and verified, before the package is sent: a service may fail.
struct SignedAhead {
  registry::SignatureBundle signature;
  std::vector<action::MadeDocument> documents;
};
Result<SignedAhead> sign_ahead(Machine& machine, registry::OciClient& client,
                               const action::PreparedPush& push, action::DocumentOptions documents,
                               const registry::StatementSigner& signer) {
  const oci::Reference& to = push.destination;
  Activity activity(*machine.events, fmt::format("signing {}", to.str()));
  const auto sign = [&]() -> Result<SignedAhead> {
    MIST_TRY(const std::optional<crypto::Digest> there,
             client.find_digest(to.repository, to.digest->str(), machine.context));
    documents.is_new = !there;
    documents.signer = signer;
    MIST_TRY(registry::SignatureBundle signature,
             registry::sign_as_bundle(client, to.repository,
                                      oci::descriptor_of(oci::kManifestType, push.artifact.manifest), signer,
                                      {.is_new = documents.is_new}, machine.context));
    MIST_TRY(std::vector<action::MadeDocument> made,
             action::make_documents(client, to, push.artifact.manifest, documents, machine.context));
    return SignedAhead{std::move(signature), std::move(made)};
  };
  Result<SignedAhead> ahead = sign();
  if (!ahead) activity.fail();
  return ahead;
}

Result<registry::PushReport> send_package(Machine& machine, registry::OciClient& client,
                                          const action::PreparedPush& push, registry::Overwrite overwrite) {
  const oci::Reference& to = push.destination;
  Activity activity(*machine.events, fmt::format("pushing to {}", to.str()));
  Result<registry::PushReport> pushed =
      registry::push_artifact(client, to, push.artifact, overwrite, machine.context)
          .in(fmt::format("while pushing to {}", to.str()));
  if (!pushed)
    activity.fail();
  else
    registry::warn_of_tag(*machine.events, pushed->pushed, pushed->after);
  return pushed;
}

// After the package, with what was signed ahead.
Result<Attached> attach_all(Machine& machine, registry::OciClient& client, const registry::PushReport& report,
                            SignedAhead ahead, const trust::Identity& identity) {
  Attached attached{.identity = identity};
  const oci::Reference& pushed = report.pushed;
  if (ahead.signature.artifact) {
    MIST_TRY([[maybe_unused]] const bool was_there,
             registry::attach_document(client, pushed.repository, *pushed.digest, *ahead.signature.artifact,
                                       machine.context)
                 .in(fmt::format("while attaching the signature to {}", pushed.str())));
  }
  say_signed(machine, identity, !ahead.signature.artifact.has_value());
  MIST_TRY(attached.documents,
           action::attach_documents(client, pushed, std::move(ahead.documents), machine.context));
  return attached;
}

// With a key, or without a signature.
Result<Attached> sign_and_attach(Machine& machine, registry::OciClient& client,
                                 const registry::PushReport& report, const action::PreparedPush& push,
                                 const std::optional<crypto::PrivateKey>& key,
                                 action::DocumentOptions documents) {
  Attached attached;
  if (key) {
    MIST_TRY(attached.signature, sign_reference(machine, client, report.pushed, *key));
    documents.signer = registry::key_signer(*key);
  }
  if (documents.kinds.empty()) return attached;
  MIST_TRY(std::vector<action::MadeDocument> made,
           action::make_documents(client, report.pushed, push.artifact.manifest, documents, machine.context));
  MIST_TRY(attached.documents,
           action::attach_documents(client, report.pushed, std::move(made), machine.context));
  return attached;
}

// Of a packed chart, as `helm push` takes it along; empty: there is none.
Result<std::string> provenance_beside(Machine& machine, const Path& source) {
  const Path file = source.string() + std::string(trust::kProvenanceEnding);
  if (source.extension() != ".tgz" || !machine.files.exists(file)) return std::string();
  return machine.files.read(file, trust::kMaxProvenanceBytes);
}

Result<ExitCode> run_push(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference destination,
           oci::Reference::parse_destination(invocation.argument("DESTINATION")));
  if (!destination.range.empty() || destination.digest)
    return error(ErrorKind::Usage, "{} is not a place to push to", destination.str())
        .with_hint(fmt::format("name one version: {}:1.0.0", destination.repository.str()));
  MIST_TRY_VOID(check_one_signer(invocation));
  // Before anything is sent: the password may be wrong, a token too old.
  MIST_TRY(const std::optional<KeylessPlan> plan, keyless_plan(invocation, machine));
  std::optional<crypto::PrivateKey> key;
  if (invocation.has("sign")) {
    MIST_TRY(key, read_signing_key(invocation, machine, invocation.text("sign")));
  }
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  const Path source = std::filesystem::absolute(invocation.argument("SOURCE")).lexically_normal();
  MIST_TRY(const registry::Fetched package,
           registries.fetch(registry::PackageRef(registry::LocalRef{source}), machine.context));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries.oci_client());
  MIST_TRY(action::DocumentOptions documents,
           document_options(invocation, machine, *renderer, package, source, destination));
  MIST_TRY(const std::string provenance, provenance_beside(machine, source));
  MIST_TRY(const action::PreparedPush prepared,
           action::prepare_push(*renderer, package, destination, provenance, machine.context));
  const oci::Reference& to = prepared.destination;
  const registry::Overwrite overwrite =
      invocation.enabled("overwrite") ? registry::Overwrite::Yes : registry::Overwrite::No;
  // A version that can't be published needs no certificate.
  if (plan)
    MIST_TRY_VOID(
        registry::is_published(*client, to.repository, to.tag, *to.digest, overwrite, machine.context)
            .in(fmt::format("while pushing to {}", to.str())));
  MIST_TRY(const std::unique_ptr<KeylessSigning> keyless, KeylessSigning::open(plan, machine));
  std::optional<SignedAhead> ahead;
  if (keyless) {
    MIST_TRY(ahead, sign_ahead(machine, *client, prepared, documents, keyless->signer()));
  }
  MIST_TRY(const registry::PushReport report, send_package(machine, *client, prepared, overwrite));
  MIST_TRY(const Attached attached,
           ahead ? attach_all(machine, *client, report, *std::move(ahead), keyless->identity())
                 : sign_and_attach(machine, *client, report, prepared, key, std::move(documents)));
  for (const action::PushedDocument& each : attached.documents) say(machine, each);
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table) {
    print_value(machine, format, to_value(report, attached));
    return ExitCode::Ok;
  }
  machine.out.write(report.pushed.str() + "\n");
  machine.events->info(report.was_there ? "it was there already, the same"
                                        : fmt::format("{} bytes", report.bytes));
  return ExitCode::Ok;
}

// pull

constexpr Argument kPullArguments[] = {
    {.name = "REFERENCE",
     .help = "oci://HOST/PATH:VERSION or REGISTRY/PATH:VERSION, a range of versions, or a digest; or a path "
             "in a git repository",
     .completion = Completion::Package}};
constexpr Flag kPullFlags[] = {
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Text,
     .value = "PATH",
     .help = "File or directory to write; without it NAME-VERSION.wasm, NAME-VERSION.tgz or NAME-VERSION",
     .completion = Completion::File},
    {.name = "destination",
     .letter = 'd',
     .type = FlagType::Text,
     .value = "DIRECTORY",
     .help = "Directory to write it to, under that name; without it the working directory",
     .completion = Completion::Directory},
    {.name = "untar", .help = "Unpack a chart: write its files to the directory NAME"},
    {.name = "prov",
     .help = "Write the provenance file beside a chart's archive too; only --verify checks it"},
    kPlainHttpFlag,
    kVerifyChartFlag,
    kKeyringFlag,
};
constexpr FlagGroup kPullGroups[] = {{"Flags", kPullFlags}};
constexpr Example kPullExamples[] = {
    {"mistctl pull oci://registry.example/charts/postgresql:15.2.0", "Writes postgresql-15.2.0.tgz"},
    {"mistctl pull 'oci://registry.example/team/shop:^1.4' -o shop.wasm", "The newest 1.x from 1.4 on"},
    {"mistctl pull bitnami/postgresql:15.2.0 --untar -d charts",
     "From the chart repository that is the registry bitnami, to charts/postgresql/"},
};

// Under --verify only what the keyring signed.
Result<registry::Fetched> pulled(const registry::PackageRef& wanted, registry::Registries& registries,
                                 const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::shared_ptr<const trust::Keyring> keyring, demanded_keyring(invocation, machine));
  if (keyring == nullptr) return registries.fetch(wanted, machine.context);
  MIST_TRY(registry::VerifiedPackage verified, registries.fetch_verified(wanted, keyring, machine.context));
  MIST_TRY_VOID(std::move(verified.verdict.judged));
  machine.events->info(fmt::format("signed by {}", trust::signers_text(verified.verdict.proofs)));
  return std::move(verified.package);
}

Status check_pull_flags(const Invocation& invocation) {
  if (invocation.has("output") && invocation.has("destination"))
    return error(ErrorKind::Usage, "-o and -d exclude each other")
        .with_hint("-o names the file or directory itself, -d the directory that it is written to");
  if (invocation.enabled("untar") && invocation.enabled("prov"))
    return error(ErrorKind::Usage, "--untar and --prov exclude each other")
        .with_because("a provenance file is of the archive, which --untar doesn't write")
        .with_hint("--verify checks the archive before it is unpacked");
  return {};
}

// Nothing, with a warning: there is none, which is no error for helm pull either.
Result<std::optional<std::string>> wanted_provenance(const Invocation& invocation, Machine& machine,
                                                     registry::Registries& registries,
                                                     const registry::Fetched& package) {
  if (!invocation.enabled("prov")) return std::optional<std::string>();
  MIST_TRY(registry::ProvenanceFile file, registries.provenance(package, machine.context));
  if (!file.text)
    machine.events->warn(
        fmt::format("{} has no provenance file: there is no {}", package.resolved.display(), file.place));
  return std::move(file.text);
}

Result<ExitCode> run_pull(const Invocation& invocation, Machine& machine) {
  MIST_TRY_VOID(check_pull_flags(invocation));
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  MIST_TRY(const registry::PackageRef wanted, registries.parse(invocation.argument("REFERENCE")));
  if (std::holds_alternative<registry::LocalRef>(wanted.form()))
    return error(ErrorKind::Usage, "{} is on this machine already", wanted.display())
        .with_hint("name a package elsewhere: oci://HOST/PATH:VERSION or REGISTRY/PATH:VERSION");
  action::SaveOptions options{.target = invocation.text("output"),
                              .directory = invocation.text("destination"),
                              .untar = invocation.enabled("untar")};
  MIST_TRY(const bool to_stdout, takes_stdout(machine, options.target));
  if (to_stdout && invocation.enabled("prov"))
    return error(ErrorKind::Usage, "--prov needs a file name, and standard output has none")
        .with_hint("name a file with -o, or a directory with -d");
  MIST_TRY(const registry::Fetched package, pulled(wanted, registries, invocation, machine));
  MIST_TRY(options.provenance, wanted_provenance(invocation, machine, registries, package));
  MIST_TRY(const action::SavedPackage saved,
           action::save_package(machine.files, package, std::move(options)));
  if (!to_stdout) machine.out.write(saved.path.string() + "\n");
  if (!saved.provenance.empty()) machine.out.write(saved.provenance.string() + "\n");
  if (!saved.left_out.empty())
    machine.events->warn(fmt::format("left out, because other programs would read them as configuration: {}",
                                     join(saved.left_out, ", ")));
  machine.events->info(package.resolved.display());
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPushCommand{.path = "push",
                                     .summary = "Publish a package or chart in an OCI registry",
                                     .run = run_push,
                                     .arguments = kPushArguments,
                                     .flags = kPushGroups,
                                     .examples = kPushExamples,
                                     .cluster = ClusterUse::None};

constinit const Command kPullCommand{
    .path = "pull",
    .summary = "Write a package or chart of a registry or chart repository to disk",
    .run = run_pull,
    .arguments = kPullArguments,
    .flags = kPullGroups,
    .examples = kPullExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
