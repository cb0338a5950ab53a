#include "action/authoring/publish.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/keyless.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "cli/signing.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr std::string_view kSecretsChoices[] = {"refuse", "include", "external"};

constexpr Argument kArguments[] = {
    {.name = "PACKAGE",
     .help =
         "Package to render: REGISTRY/PATH:VERSION, oci://HOST/PATH:VERSION, git+https://…, or a path that "
         "begins with ./ ../ or /",
     .completion = Completion::Package},
    {.name = "DESTINATION",
     .help = "oci://HOST/PATH:TAG; without TAG the version of the package, if it is a whole one"},
};
constexpr Flag kFlags[] = {
    {.name = "name",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Name of the release that packages see as data.name; without it the last part of DESTINATION's "
             "path"},
    {.name = "secrets",
     .type = FlagType::Choice,
     .value = "POLICY",
     .help = "Treatment of secrets that the package draws: refuse is an error, external leaves those Secrets "
             "out, include publishes them",
     .fallback = "refuse",
     .choices = kSecretsChoices},
    {.name = "source",
     .type = FlagType::Text,
     .value = "URL",
     .help = "Where it comes from, as an annotation; without it the package, unless that is a path"},
    {.name = "revision",
     .type = FlagType::Text,
     .value = "TEXT",
     .help = "Its revision there, as an annotation, such as main@sha1:0123…; without it the package's "
             "version and digest"},
    {.name = "overwrite", .help = "Replace a version that is published with other content"},
    kSignFlag,
    kEngineFlag,
    kPlainHttpFlag,
};
constexpr Flag kChartFlags[] = {
    {.name = "skip-crds", .help = "Leave out the files of crds/", .rare = true},
    kSkipSchemaFlag,
};
// Its help is a screen without them, and most jobs have the files that trust.yaml names.
constexpr auto kRareKeylessFlags = [] {
  auto flags = std::to_array(kKeylessFlagList);
  for (Flag& each : flags) each.rare = each.name != "keyless";
  return flags;
}();
constexpr FlagGroup kGroups[] = {{"Flags", kFlags},
                                 kValuesFlags,
                                 {"Flags for charts", kChartFlags},
                                 {kKeylessFlags.title, kRareKeylessFlags},
                                 kOfflineFlags,
                                 kClockFlags,
                                 kSandboxFlags,
                                 kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl publish ./shop oci://registry.example/deploy/shop:prod -f prod.yaml",
     "Rendered YAML, for Flux"},
    {"mistctl publish ./shop oci://registry.example/deploy/shop:prod --seed-file seed.json "
     "--secrets=external --source https://git.example/team/shop --revision main@sha1:1f2e3d",
     "In CI, without the Secrets that the package makes"},
    {"mistctl publish ./shop oci://registry.example/deploy/shop:prod --sign release.key",
     "Signed, as Flux's OCIRepository verifies it"},
};

action::DrawnSecrets secrets_policy(const Invocation& invocation) {
  const std::string text = invocation.text("secrets");
  if (text == "include") return action::DrawnSecrets::Include;
  return text == "external" ? action::DrawnSecrets::External : action::DrawnSecrets::Refuse;
}

// The signature of a publication.
struct PublishSignature {
  std::optional<std::string> key = {};  // its fingerprint
  std::optional<trust::Identity> identity = {};
};

// The means to sign, which are read before anything is rendered: a password may be wrong, a token too old.
struct PublishSigner {
  std::optional<crypto::PrivateKey> key = {};
  std::optional<KeylessPlan> plan = {};
};

Result<PublishSigner> signer_of_publication(const Invocation& invocation, Machine& machine) {
  MIST_TRY_VOID(check_one_signer(invocation));
  PublishSigner signer;
  MIST_TRY(signer.plan, keyless_plan(invocation, machine));
  if (invocation.has(kSignFlag.name)) {
    MIST_TRY(signer.key, read_signing_key(invocation, machine, invocation.text(kSignFlag.name)));
  }
  return signer;
}

Result<PublishSignature> sign_publication(Machine& machine, registry::OciClient& client,
                                          const oci::Reference& pushed, const PublishSigner& signer,
                                          const KeylessSigning* keyless) {
  PublishSignature signature;
  if (keyless != nullptr) {
    MIST_TRY_VOID(sign_reference(machine, client, pushed, keyless->signer()));
    signature.identity = keyless->identity();
  }
  if (signer.key) {
    MIST_TRY(const registry::SignReport report, sign_reference(machine, client, pushed, *signer.key));
    signature.key = report.key;
  }
  return signature;
}

Value to_value(const registry::PushReport& report, const action::Publication& publication,
               const PublishSignature& signature) {
  Value signed_by;
  if (signature.identity)
    signed_by =
        Value::object({{"identity", signature.identity->subject}, {"issuer", signature.identity->issuer}});
  Value::Array left_out;
  for (const apimachinery::ObjectKey& key : publication.left_out) left_out.push_back(identity_value(key, {}));
  return Value::object({{"reference", report.pushed.str()},
                        {"tag", report.pushed.tag},
                        {"digest", report.pushed.digest->str()},
                        {"bytes", report.bytes},
                        {"wasThere", report.was_there},
                        {"source", text_or_null(publication.source)},
                        {"revision", publication.revision},
                        {"objects", publication.objects.size()},
                        {"leftOut", Value(std::move(left_out))},
                        {"signedWith", signature.key ? Value(*signature.key) : Value()},
                        {"signedBy", std::move(signed_by)}});
}

Result<ExitCode> run_publish(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference destination,
           oci::Reference::parse_destination(invocation.argument("DESTINATION")));
  if (!destination.range.empty() || destination.digest)
    return error(ErrorKind::Usage, "{} is not a place to publish to", destination.str())
        .with_hint(fmt::format("name one tag: {}:prod", destination.repository.str()));
  const std::string name = invocation.has("name") ? invocation.text("name") : destination.repository.name();
  if (!invocation.has("name") && !release::ReleaseName::parse(name))
    return error(ErrorKind::Usage, "{} is not a name of a release", name)
        .with_hint("give one with --name: lower-case letters, digits and \"-\"");
  const action::PublishOptions options{
      .secrets = secrets_policy(invocation),
      .skip_crds = invocation.enabled("skip-crds"),
      .source = invocation.text("source"),
      .revision = invocation.text("revision"),
      .overwrite = invocation.enabled("overwrite") ? registry::Overwrite::Yes : registry::Overwrite::No};
  MIST_TRY(const PublishSigner signer, signer_of_publication(invocation, machine));
  MIST_TRY(render::RenderedRelease rendered,
           render_offline(invocation, machine, invocation.argument("PACKAGE"), name));
  MIST_TRY(const action::Publication publication,
           action::prepare_publication(std::move(rendered), options, *machine.events, machine.context));
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  MIST_TRY(registry::OciClient* const client, registries.oci_client());
  // The certificate before the publication: a service may fail.
  MIST_TRY(const std::unique_ptr<KeylessSigning> keyless, KeylessSigning::open(signer.plan, machine));
  std::optional<Activity> activity(std::in_place, *machine.events,
                                   fmt::format("publishing to {}", destination.str()));
  Result<registry::PushReport> report =
      action::publish(*client, publication, destination, options, machine.context);
  if (!report) {
    activity->fail();
    return std::move(report).error();
  }
  activity.reset();
  registry::warn_of_tag(*machine.events, report->pushed, report->after);
  MIST_TRY(const PublishSignature signature,
           sign_publication(machine, *client, report->pushed, signer, keyless.get())
               .in(fmt::format("it is published, but not signed: {}", report->pushed.str())));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format, to_value(*report, publication, signature));
    return ExitCode::Ok;
  }
  machine.out.write(report->pushed.str() + "\n");
  for (const apimachinery::ObjectKey& key : publication.left_out)
    machine.events->info(fmt::format("left out: {}", key.display()));
  machine.events->info(report->was_there ? "it was there already, the same"
                                         : plural(publication.objects.size(), "object"));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPublishCommand{
    .path = "publish",
    .summary = "Publish rendered objects in an OCI registry, for Flux and others",
    .run = run_publish,
    .arguments = kArguments,
    .flags = kGroups,
    .examples = kExamples,
    .cluster = ClusterUse::Namespace};

}  // namespace mist::cli
