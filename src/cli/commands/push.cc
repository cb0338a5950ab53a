#include "action/authoring/push_package.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
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
    {.name = "sign",
     .type = FlagType::Text,
     .value = "KEY",
     .help = "Sign it with the private key in that file, as mistctl sign does",
     .completion = Completion::File},
    kPlainHttpFlag,
};
constexpr FlagGroup kPushGroups[] = {{"Flags", kPushFlags}, kSandboxFlags, kOutputFlags};
constexpr Example kPushExamples[] = {
    {"mistctl push shop-1.4.0.mist-pack.wasm oci://registry.example/team/shop:1.4.0", "A module"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart",
     "A chart, in the version of its Chart.yaml"},
    {"mistctl push ./my-chart oci://registry.example/charts/my-chart --sign release.key", "And signs it"},
};

Value to_value(const registry::PushReport& report, const std::optional<registry::SignReport>& signature) {
  return Value::object({{"reference", Value(report.pushed.str())},
                        {"tag", Value(report.pushed.tag)},
                        {"digest", Value(report.pushed.digest->str())},
                        {"bytes", Value(report.bytes)},
                        {"wasThere", Value(report.was_there)},
                        {"signedWith", signature ? Value(signature->key) : Value()}});
}

Result<ExitCode> run_push(const Invocation& invocation, World& world) {
  MIST_TRY(const oci::Reference destination,
           oci::Reference::parse_destination(invocation.argument("DESTINATION")));
  if (!destination.range.empty() || destination.digest)
    return error(ErrorKind::Usage, "{} is not a place to push to", destination.str())
        .with_hint(fmt::format("name one version: {}:1.0.0", destination.repository.str()));
  // Before anything is sent: the password may be wrong.
  std::optional<crypto::PrivateKey> key;
  if (invocation.has("sign")) {
    MIST_TRY(key, read_signing_key(invocation, world, invocation.text("sign")));
  }
  MIST_TRY(registry::Registries::World access, registries_world(invocation, world));
  registry::Registries registries(std::move(access));
  const Path source = std::filesystem::absolute(invocation.argument("SOURCE")).lexically_normal();
  MIST_TRY(const registry::Fetched package,
           registries.fetch(registry::PackageRef(registry::LocalRef{source}), world.context));
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  MIST_TRY(registry::OciClient* const client, registries.oci_client());
  const action::PushOptions options{.overwrite = invocation.enabled("overwrite") ? registry::Overwrite::Yes
                                                                                 : registry::Overwrite::No};
  const auto push = [&] {
    Activity activity(*world.events, fmt::format("pushing to {}", destination.str()));
    Result<registry::PushReport> pushed =
        action::push_package(*client, *renderer, package, destination, options, world.context);
    if (!pushed) activity.fail();
    return pushed;
  };
  MIST_TRY(const registry::PushReport report, push());
  std::optional<registry::SignReport> signature;
  if (key) {
    MIST_TRY(signature, sign_reference(world, *client, report.pushed, *key));
  }
  const OutputFormat format = output_format(invocation);
  if (format != OutputFormat::Table) {
    print_value(world, format, to_value(report, signature));
    return ExitCode::Ok;
  }
  world.out.write(report.pushed.str() + "\n");
  world.events->info(report.was_there ? "it was there already, the same"
                                      : fmt::format("{} bytes", report.bytes));
  return ExitCode::Ok;
}

// pull

constexpr Argument kPullArguments[] = {
    {.name = "REFERENCE", .help = "oci://HOST/PATH:VERSION, a range of versions, or a digest"}};
constexpr Flag kPullFlags[] = {
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Text,
     .value = "PATH",
     .help = "File or directory to write; without it NAME-VERSION.wasm, NAME-VERSION.tgz or NAME-VERSION",
     .completion = Completion::File},
    kPlainHttpFlag,
};
constexpr FlagGroup kPullGroups[] = {{"Flags", kPullFlags}};
constexpr Example kPullExamples[] = {
    {"mistctl pull oci://registry.example/charts/postgresql:15.2.0", "Writes postgresql-15.2.0.tgz"},
    {"mistctl pull 'oci://registry.example/team/shop:^1.4' -o shop.wasm", "The newest 1.x from 1.4 on"},
};

Result<ExitCode> run_pull(const Invocation& invocation, World& world) {
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse(invocation.argument("REFERENCE")));
  MIST_TRY(registry::Registries::World access, registries_world(invocation, world));
  registry::Registries registries(std::move(access));
  MIST_TRY(const registry::Fetched package, registries.fetch(registry::PackageRef(wanted), world.context));
  const auto& reference = std::get<oci::Reference>(package.resolved.form());
  MIST_TRY(const action::SavedPackage saved,
           action::save_package(world.files, package, reference, Path(invocation.text("output"))));
  world.out.write(saved.path.string() + "\n");
  if (!saved.left_out.empty())
    world.events->warn(fmt::format("left out, because other programs would read them as configuration: {}",
                                   join(saved.left_out, ", ")));
  world.events->info(reference.str());
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

constinit const Command kPullCommand{.path = "pull",
                                     .summary = "Write a package or chart of an OCI registry to disk",
                                     .run = run_pull,
                                     .arguments = kPullArguments,
                                     .flags = kPullGroups,
                                     .examples = kPullExamples,
                                     .cluster = ClusterUse::None};

}  // namespace mist::cli
