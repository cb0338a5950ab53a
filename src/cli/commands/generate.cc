#include "action/local_birth.h"
#include "apply/desired.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/package_flags.h"
#include "cli/places.h"
#include "cli/release_flags.h"
#include "encoding/yaml.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "Name of the release; packages see it as data.name"}};
constexpr std::string_view kFormats[] = {"yaml", "json", "raw", "dir="};
constexpr Flag kFlags[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help = "What to render: REGISTRY/PATH:VERSION, git+https://…, or a path that begins with ./ ../ or /",
     .completion = Completion::Package,
     .required = true},
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help =
         "yaml, json (a List), raw (as the package wrote it) or dir=PATH (one file for each of its files)",
     .fallback = "yaml",
     .choices = kFormats},
    {.name = "release",
     .letter = 'r',
     .help = "As a first install would apply it: namespace and ownership labels included"},
    {.name = "kube-version",
     .type = FlagType::Text,
     .value = "VERSION",
     .help = "Kubernetes version that packages see",
     .fallback = "v1.36.0"},
    {.name = "api-versions",
     .type = FlagType::Texts,
     .value = "VERSION",
     .help = "API version that packages see, beside the built-in ones"},
    {.name = "seed-file",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Seed and clock of the render; without it one of your own is kept",
     .completion = Completion::File},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kValuesFlags, kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl generate my-namespace -p mistletoe/examples/namespace-example:0.1.2",
     "Print what install would send, without a cluster"},
    {"mistctl generate web -p ./manifests -r | kubectl diff -f -", "With the labels of a first install"},
    {"mistctl generate web -p ./web.mist-pack.wasm -f prod.yaml -o dir=./out",
     "One file for each file of the package"},
};

// The groups of a Kubernetes that has nothing added, for packages that ask outside of a cluster.
constexpr std::string_view kBuiltInVersions[] = {"v1",
                                                 "admissionregistration.k8s.io/v1",
                                                 "apiextensions.k8s.io/v1",
                                                 "apiregistration.k8s.io/v1",
                                                 "apps/v1",
                                                 "authentication.k8s.io/v1",
                                                 "authorization.k8s.io/v1",
                                                 "autoscaling/v1",
                                                 "autoscaling/v2",
                                                 "batch/v1",
                                                 "certificates.k8s.io/v1",
                                                 "coordination.k8s.io/v1",
                                                 "discovery.k8s.io/v1",
                                                 "events.k8s.io/v1",
                                                 "flowcontrol.apiserver.k8s.io/v1",
                                                 "networking.k8s.io/v1",
                                                 "node.k8s.io/v1",
                                                 "policy/v1",
                                                 "rbac.authorization.k8s.io/v1",
                                                 "scheduling.k8s.io/v1",
                                                 "storage.k8s.io/v1"};

Result<action::ReleaseState> offline_state(const Invocation& invocation, World& world) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(invocation.argument("NAME")));
  action::ReleaseState state;
  state.id = {invocation.has("namespace") ? invocation.text("namespace") : "default", name.str()};
  if (!is_dns1123_label(state.id.ns))
    return error(ErrorKind::Usage, "\"{}\" is no namespace name", escape_controls(state.id.ns));
  MIST_TRY(const config::Paths paths, paths_of(world));
  const Path seed_file = invocation.has("seed-file") ? Path(invocation.text("seed-file")) : paths.seed_file();
  const action::SeedFile missing =
      invocation.has("seed-file") ? action::SeedFile::MustExist : action::SeedFile::MayBeMade;
  MIST_TRY(state.birth,
           action::local_birth(world.files, world.random, world.clock, seed_file, missing, state.id));
  return state;
}

Status write_directory(World& world, const Path& directory, const std::map<std::string, std::string>& files) {
  if (directory.empty()) return error(ErrorKind::Usage, "-o dir= needs a path");
  for (const auto& [path, text] : files) {
    // Paths come from the package: they must stay inside, whatever the ABI's check let through.
    const Path relative = Path(path).lexically_normal();
    if (relative.is_absolute() || relative.empty() || *relative.begin() == "..")
      return error(ErrorKind::Invalid, "the package gave a file outside of its directory: {}",
                   escape_controls(path));
    MIST_TRY_VOID(world.files.write(directory / relative, text));
  }
  world.events->info(fmt::format("{} written below {}", plural(files.size(), "file"), directory.string()));
  return {};
}

std::vector<Value> values_of(const std::vector<apimachinery::RenderedObject>& objects) {
  std::vector<Value> values;
  for (const apimachinery::RenderedObject& rendered : objects) values.push_back(rendered.object.value());
  return values;
}

void print_raw(World& world, const std::map<std::string, std::string>& files) {
  for (const auto& [path, text] : files) {
    if (files.size() > 1) world.out.write(fmt::format("---\n# {}\n", escape_controls(path)));
    world.out.write(text);
    if (!text.ends_with('\n')) world.out.write("\n");
  }
}

Result<ExitCode> run_generate(const Invocation& invocation, World& world) {
  MIST_TRY(const action::ReleaseState state, offline_state(invocation, world));
  MIST_TRY(Value values, read_values(invocation, world));
  MIST_TRY(const package::Source source, fetch_package(world, invocation.text("package")));
  MIST_TRY(const auto renderer, open_renderer(invocation, world));
  MIST_TRY(package::RenderRequest request, render_request(state, std::move(values)));
  request.capabilities = [&]() -> Result<package::Capabilities> {
    package::Capabilities capabilities{invocation.text("kube-version"),
                                       {std::begin(kBuiltInVersions), std::end(kBuiltInVersions)}};
    for (std::string& version : invocation.texts("api-versions"))
      capabilities.api_versions.push_back(std::move(version));
    return capabilities;
  };
  const std::string format = invocation.text("output");
  const bool as_release = invocation.enabled("release");
  if (format == "raw" || format.starts_with("dir=")) {
    if (as_release)
      return error(ErrorKind::Usage, "-r goes with -o yaml and -o json: raw output is the package's own");
    MIST_TRY(const package::Rendered rendered, renderer->render_files(source, request, world.context));
    if (format == "raw")
      print_raw(world, rendered.files);
    else
      MIST_TRY_VOID(write_directory(world, format.substr(4), rendered.files));
    return ExitCode::Ok;
  }
  MIST_TRY(package::Rendered rendered, renderer->render(source, request, world.context));
  std::vector<Value> objects;
  if (as_release) {
    MIST_TRY(const std::vector<apply::DesiredObject> desired,
             apply::prepare_offline(std::move(rendered.objects), state.id));
    for (const apply::DesiredObject& object : desired)
      objects.push_back(apply::with_version(object.rendered, 0));
  } else {
    objects = values_of(rendered.objects);
  }
  if (format == "yaml")
    world.out.write(encoding::to_yaml_documents(objects));
  else
    print_value(
        world, OutputFormat::Json,
        Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value(std::move(objects))}}));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kGenerateCommand{.path = "generate",
                                         .summary = "Render a package without a cluster",
                                         .run = run_generate,
                                         .arguments = kArguments,
                                         .flags = kGroups,
                                         .examples = kExamples,
                                         .alias = "template"};

}  // namespace mist::cli
