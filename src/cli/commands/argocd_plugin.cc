#include <algorithm>
#include <array>

#include "action/authoring/applied_objects.h"
#include "base/text.h"
#include "cli/argocd_inputs.h"
#include "cli/argocd_request.h"
#include "cli/commands.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/places.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "package/source_facts.h"
#include "registry/local_source.h"
#include "render/local_fixed_inputs.h"

namespace mist::cli {
namespace {

using encoding::Value;

/// In the directory of an Application that names no plugin, and wants this one.
constexpr std::string_view kMarker = ".argocd-mistletoe";
/// Packages see it where no seed file says another time.
constexpr std::string_view kFixedClock = "2026-01-01T00:00:00Z";
constexpr std::uint64_t kLargestValues = std::uint64_t{16} << 20;
constexpr std::array<std::string_view, 3> kManifestEndings{".yaml", ".yml", ".json"};

constexpr Flag kAllowPackageFlag{
    .name = "allow-package",
    .type = FlagType::Texts,
    .value = "PREFIX",
    .help = "Let Applications name packages that begin so, such as oci://registry.example/team; '*': all"};
constexpr Flag kMountedSeedFlag{
    .name = kSeedFileFlag.name,
    .type = FlagType::Text,
    .value = "FILE",
    .help =
        "Seed and clock of the renders, a Secret that the sidecar mounts; without it packages may draw "
        "nothing",
    .completion = Completion::File};

// config

constexpr Flag kConfigFlagList[] = {
    {.name = "name",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Name of the plugin, unique among those of the Argo CD",
     .fallback = "mistletoe"},
    {.name = "plugin-version",
     .type = FlagType::Text,
     .value = "VERSION",
     .help = "Version of the plugin: Applications then name it NAME-VERSION"},
    kMountedSeedFlag,
    kAllowPackageFlag,
};
constexpr FlagGroup kConfigFlags[] = {{"Flags", kConfigFlagList}};
constexpr Example kConfigExamples[] = {
    {"mistctl argocd-plugin config", "For packages that draw no random values"},
    {"mistctl argocd-plugin config --seed-file /etc/mistletoe/seed.json "
     "--allow-package oci://registry.example/team",
     "With a seed, and for packages of a registry"},
};

constexpr std::string_view kNameHint = "give lower-case letters, digits, \"-\" and \".\"";

Value list_of(const std::vector<std::string>& words) {
  return Value(Value::Array(words.begin(), words.end()));
}

Result<ExitCode> run_config(const Invocation& invocation, Machine& machine) {
  const std::string name = invocation.text("name"), version = invocation.text("plugin-version");
  // Argo CD makes the name of a socket of them.
  if (!is_dns1123_subdomain(name))
    return error(ErrorKind::Usage, "\"{}\" can't be the name of a plugin", escape_controls(name))
        .with_hint(std::string(kNameHint));
  if (invocation.has("plugin-version") && !is_dns1123_subdomain(version))
    return error(ErrorKind::Usage, "\"{}\" can't be the version of a plugin", escape_controls(version))
        .with_hint(std::string(kNameHint));
  std::vector<std::string> allowed;
  for (const std::string& prefix : invocation.texts(kAllowPackageFlag.name))
    allowed.push_back(fmt::format("--{}={}", kAllowPackageFlag.name, prefix));
  const auto command = [](std::string_view verb) {
    return std::vector<std::string>{"mistctl", "argocd-plugin", std::string(verb)};
  };
  std::vector<std::string> generate_arguments;
  if (invocation.has(kMountedSeedFlag.name))
    generate_arguments.push_back(
        fmt::format("--{}={}", kMountedSeedFlag.name, invocation.text(kMountedSeedFlag.name)));
  generate_arguments.insert(generate_arguments.end(), allowed.begin(), allowed.end());
  Value generate = Value::object({{"command", list_of(command("generate"))}});
  if (!generate_arguments.empty()) generate.set("args", list_of(generate_arguments));
  Value dynamic = Value::object({{"command", list_of(command("parameters"))}});
  if (!allowed.empty()) dynamic.set("args", list_of(allowed));
  Value spec = Value::object();
  if (!version.empty()) spec.set("version", version);
  spec.set("discover", Value::object({{"find", Value::object({{"command", list_of(command("discover"))}})}}));
  spec.set("generate", std::move(generate));
  spec.set("parameters",
           Value::object({{"static", static_announcements()}, {"dynamic", std::move(dynamic)}}));
  print_value(machine, OutputFormat::Yaml,
              Value::object({{"apiVersion", "argoproj.io/v1alpha1"},
                             {"kind", "ConfigManagementPlugin"},
                             {"metadata", Value::object({{"name", name}})},
                             {"spec", std::move(spec)}}));
  return ExitCode::Ok;
}

// discover

// The kind of package in the directory, in words for logs; empty: nothing there can be rendered.
Result<std::string> kind_of(const Machine& machine, const Path& directory) {
  MIST_TRY(const registry::PackageTree tree, registry::read_directory_tree(machine.files, directory));
  package::Files files;
  for (const registry::PackageFile& each : tree.files)
    if (each.path != kMarker) files.emplace(each.path, each.bytes);
  const package::Source source{.reference = directory.string(),
                               .name = directory.filename().string(),
                               .version = {},
                               .digest = {},
                               .content = std::move(files)};
  MIST_TRY(const package::SourceTree looked_at, package::look_at(source));
  if (looked_at.engine != nullptr) return std::string(looked_at.engine->format);
  if (looked_at.declared) return std::string("package");
  const bool is_program = std::ranges::any_of(package::program_marks(), [&](const auto& mark) {
    return looked_at.files.contains(std::string(mark.file));
  });
  const bool has_manifests = std::ranges::any_of(looked_at.files, [](const auto& file) {
    return std::ranges::any_of(kManifestEndings,
                               [&](std::string_view ending) { return file.first.ends_with(ending); });
  });
  return std::string(has_manifests && !is_program ? "Kubernetes YAML" : "");
}

Result<ExitCode> run_discover(const Invocation& /*invocation*/, Machine& machine) {
  MIST_TRY(const ArgoRequest request, ArgoRequest::read(machine.environment));
  const Path here = registry::working_directory();
  // Else every chart of the Argo CD would be this plugin's.
  if (!request.names_plugin && !machine.files.exists(here / kMarker)) return ExitCode::Ok;
  std::string kind = "package";
  if (request.package.empty()) {
    MIST_TRY(kind, kind_of(machine, here));
  }
  if (!kind.empty()) machine.out.write(kind + "\n");
  return ExitCode::Ok;
}

// of generate and parameters

// A path of the Application's: relative to its directory, or to the repository's if it begins with a slash.
Result<Path> path_in_repository(const Path& root, const Path& here, const std::string& given) {
  const auto begin = given.find_first_not_of('/');
  const Path path = begin == 0 ? here / given : root / given.substr(std::min(begin, given.size()));
  // Before anything is looked up, or answers would tell which files the sidecar has.
  const Path normal = path.lexically_normal();
  if (std::ranges::mismatch(root, normal).in1 != root.end())
    return error(ErrorKind::Invalid, "\"{}\" leads out of the repository",
                 escape_controls(given.substr(0, 200)))
        .with_hint("name a file or a directory of the repository");
  return registry::real_path_inside(root, path);
}

struct Application {
  ArgoRequest request;
  Path directory, repository;
};

Result<Application> application_of(const Machine& machine) {
  Application application;
  MIST_TRY(application.request, ArgoRequest::read(machine.environment));
  application.directory = registry::working_directory();
  application.repository =
      argo_repository(application.directory, argo_variable(machine.environment, "ARGOCD_APP_SOURCE_PATH"));
  return application;
}

// The reference that the Application names; a path stays in its repository, and the administrator of the
// plugin decides about the rest.
Result<std::string> package_of(const Invocation& invocation, const Application& application) {
  const std::string& given = application.request.package;
  if (given.empty()) return std::string(".");
  if (given.starts_with('.') || given.starts_with('/')) {
    MIST_TRY(const Path path, path_in_repository(application.repository, application.directory, given)
                                  .in("while looking for the Application's package"));
    return path.string();
  }
  const std::vector<std::string> prefixes = invocation.texts(kAllowPackageFlag.name);
  if (std::ranges::any_of(prefixes, [&](const std::string& prefix) { return argo_allows(prefix, given); }))
    return given;
  return error(ErrorKind::Forbidden, "the plugin does not allow the package \"{}\"",
               escape_controls(given.substr(0, 200)))
      .with_because(prefixes.empty() ? "it allows only paths in the repository"
                                     : fmt::format("it allows {}", escape_controls(join(prefixes, ", "))))
      .with_hint(fmt::format("the administrator of Argo CD allows it with --{} in plugin.yaml: mistctl "
                             "help argocd-plugin",
                             kAllowPackageFlag.name));
}

struct Inspected {
  std::shared_ptr<const package::Source> source;
  std::shared_ptr<package::Renderer> renderer;
  std::vector<ArgoInput> inputs;
};

Result<Inspected> inspect(const Invocation& invocation, Machine& machine, const Application& application) {
  Inspected inspected;
  MIST_TRY(const std::string reference, package_of(invocation, application));
  MIST_TRY(package::Source source, fetch_package(invocation, machine, reference));
  inspected.source = std::make_shared<const package::Source>(std::move(source));
  MIST_TRY(inspected.renderer, open_renderer(invocation, machine));
  MIST_TRY(const package::Inspection inspection,
           inspected.renderer->inspect(*inspected.source, machine.context));
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(*inspected.source));
  inspected.inputs = argo_inputs(inspection.metadata, package::has_chart_values(engine));
  return inspected;
}

// parameters

constexpr Flag kParametersFlagList[] = {kAllowPackageFlag, kPlainHttpFlag};
constexpr FlagGroup kParametersFlags[] = {{"Flags", kParametersFlagList}, kSandboxFlags};

Result<ExitCode> run_parameters(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Application application, application_of(machine));
  MIST_TRY(const Inspected inspected, inspect(invocation, machine, application));
  Value announcements = Value::array();
  for (const ArgoInput& input : inspected.inputs) announcements.push_back(to_announcement(input));
  print_value(machine, OutputFormat::Json, announcements);
  return ExitCode::Ok;
}

// generate

constexpr Flag kGenerateFlagList[] = {kMountedSeedFlag, kAllowPackageFlag, kPlainHttpFlag, kSkipSchemaFlag};
constexpr FlagGroup kGenerateFlags[] = {{"Flags", kGenerateFlagList}, kClockFlags, kSandboxFlags};

Result<render::ReleaseFacts> release_of(const Invocation& invocation, Machine& machine) {
  const std::string application = argo_variable(machine.environment, "ARGOCD_APP_NAME");
  if (application.empty())
    return error(ErrorKind::Usage, "ARGOCD_APP_NAME is not set")
        .with_hint(
            "Argo CD sets it; to try the plugin by hand: ARGOCD_APP_NAME=shop "
            "ARGOCD_APP_NAMESPACE=shop mistctl argocd-plugin generate");
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(argo_release_name(application))
                                                .in("while making a release's name of ARGOCD_APP_NAME"));
  render::ReleaseFacts release;
  release.id = {argo_variable(machine.environment, "ARGOCD_APP_NAMESPACE"), name.str()};
  if (release.id.ns.empty()) release.id.ns = "default";
  if (!is_dns1123_label(release.id.ns))
    return error(ErrorKind::Invalid, "ARGOCD_APP_NAMESPACE is no name of a namespace: \"{}\"",
                 escape_controls(release.id.ns.substr(0, 100)));
  MIST_TRY(const config::Paths paths, paths_of(machine));
  const bool seeded = invocation.has(kMountedSeedFlag.name);
  const Path seed_file = seeded ? Path(invocation.text(kMountedSeedFlag.name)) : paths.seed_file();
  NullEventSink of_no_matter;  // a seed that can't be kept: what it draws is refused
  MIST_TRY(release.fixed, render::local_fixed_inputs(
                              machine.files, machine.random, machine.clock,
                              seeded ? *machine.events : static_cast<EventSink&>(of_no_matter), seed_file,
                              seeded ? render::SeedFile::Mounted : render::SeedFile::MayBeMade, release.id));
  if (!seeded) release.fixed.frozen_clock = kFixedClock;
  return release;
}

Result<std::vector<package::ValuesInput>> values_of(const Machine& machine, const Application& application,
                                                    const Inspected& inspected) {
  std::vector<package::ValuesInput> inputs;
  for (const std::string& file : application.request.values) {
    MIST_TRY(const Path path, path_in_repository(application.repository, application.directory, file)
                                  .in("while looking for the Application's values files"));
    MIST_TRY(std::string content,
             registry::read_inside(machine.files, application.repository, path, kLargestValues)
                 .in("while reading the Application's values files"));
    inputs.push_back({package::ValuesFlag::File, file, std::move(content)});
  }
  MIST_TRY(std::vector<package::ValuesInput> single, argo_values(application.request, inspected.inputs));
  std::ranges::move(single, std::back_inserter(inputs));
  return inputs;
}

Result<ExitCode> run_argocd_generate(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const Application application, application_of(machine));
  OfflineRender render;
  MIST_TRY(render.release, release_of(invocation, machine));
  MIST_TRY(render.choices, render_choices(invocation, machine));
  MIST_TRY(Inspected inspected, inspect(invocation, machine, application));
  MIST_TRY(render.inputs, values_of(machine, application, inspected));
  render.cluster.kube_version = argo_variable(machine.environment, "KUBE_VERSION");
  const std::string served = argo_variable(machine.environment, "KUBE_API_VERSIONS");
  for (const std::string_view each : split(served, ','))
    if (!each.empty()) render.cluster.api_versions.emplace_back(each);
  render.source = std::move(inspected.source);
  render.renderer = std::move(inspected.renderer);
  MIST_TRY(render::RenderedRelease rendered, render_offline(machine, std::move(render)));
  if (!invocation.has(kMountedSeedFlag.name) && rendered.drawn.anything())
    return error(ErrorKind::Conflict, "{} draws random values, and the plugin has no seed file",
                 rendered.package.name.empty() ? "the package" : escape_controls(rendered.package.name))
        .with_because("each container of the plugin would draw others, so syncs would change passwords")
        .with_hint(
            "keep a seed in a Secret, and name it in plugin.yaml: mistctl argocd-plugin config --seed-file "
            "FILE (docs/gitops.md)");
  MIST_TRY(const auto applied,
           action::applied_objects(std::move(rendered.objects), rendered.package.engine, *machine.events));
  std::vector<Value> objects;
  for (const release::RenderedObject& each : applied) objects.push_back(each.object.value());
  machine.out.write(encoding::to_yaml_documents(objects, {.escape_directions = machine.out.is_terminal()}));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kArgocdConfigCommand{.path = "argocd-plugin config",
                                             .summary = "Print plugin.yaml, which a sidecar of Argo CD reads",
                                             .run = run_config,
                                             .flags = kConfigFlags,
                                             .examples = kConfigExamples,
                                             .cluster = ClusterUse::None};
constinit const Command kArgocdDiscoverCommand{
    .path = "argocd-plugin discover",
    .summary = "Print what this directory is, if its Application asks for the plugin",
    .run = run_discover,
    .cluster = ClusterUse::None};
constinit const Command kArgocdParametersCommand{
    .path = "argocd-plugin parameters",
    .summary = "Print the inputs of the Application's package as Argo CD announces them",
    .run = run_parameters,
    .flags = kParametersFlags,
    .cluster = ClusterUse::None};
constinit const Command kArgocdGenerateCommand{
    .path = "argocd-plugin generate",
    .summary = "Print the objects of the Application in this directory",
    .run = run_argocd_generate,
    .flags = kGenerateFlags,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
