#include "action/authoring/applied_objects.h"
#include "apply/plan/desired.h"
#include "apply/plan/test_objects.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "cli/keyring.h"
#include "cli/offline.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "encoding/yaml.h"
#include "package/capabilities.h"
#include "package/excerpt.h"
#include "package/images.h"
#include "package/lint_types.h"
#include "package/value_places.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Argument kArguments[] = {
    {.name = "NAME", .help = "Name of the release; packages see it as data.name"}};
constexpr std::string_view kFormats[] = {"yaml", "json", "raw", "helm", "kustomize", "images", "dir="};
constexpr std::string_view kRandomSources[] = {"stable", "fresh"};
constexpr Flag kFlags[] = {
    {.name = "package",
     .letter = 'p',
     .type = FlagType::Text,
     .value = "PACKAGE",
     .help =
         "Package to render: REGISTRY/PATH:VERSION, oci://HOST/PATH:VERSION, git+https://…, or a path that "
         "begins with ./ ../ or /",
     .completion = Completion::Package,
     .required = true},
    kEngineFlag,
    kPlainHttpFlag,
    kVerifyChartFlag,
    kKeyringFlag,
    {.name = "output",
     .letter = 'o',
     .type = FlagType::Choice,
     .value = "FORMAT",
     .help =
         "yaml, json (a List), raw (as the package wrote it), helm or kustomize (byte for byte what `helm "
         "template` or `kustomize build` print), images (those that its containers run), or dir=PATH (one "
         "file "
         "for each of its files)",
     .fallback = "yaml",
     .choices = kFormats},
    {.name = "validate",
     .help = "Check the objects against the schemas of --kube-version: kinds, fields and types"},
    {.name = "release",
     .letter = 'r',
     .help = "As a first install would apply it: namespace and ownership labels included"},
    {.name = "for-controller",
     .help =
         "As Argo CD or Flux should apply it: with the hooks of installs and upgrades as ordinary objects, "
         "without other hooks and tests",
     .rare = true},
    {.name = "force",
     .help = "With -o dir=PATH: into a directory that isn't empty, over files that are there"},
};
constexpr Flag kChartFlags[] = {
    {.name = "include-crds", .help = "With -o helm: the files of crds/ too", .rare = true},
    {.name = "skip-crds", .help = "Leave out the files of crds/", .rare = true},
    {.name = "skip-tests", .help = "With -o helm: leave out tests", .rare = true},
    {.name = "show-only",
     .type = FlagType::Texts,
     .value = "TEMPLATE",
     .help = "With -o helm: only what this template gives, such as templates/service.yaml",
     .rare = true},
    kSkipSchemaFlag,
    {.name = "is-upgrade", .help = "Render as an upgrade would: .Release.IsUpgrade", .rare = true},
    {.name = "random",
     .type = FlagType::Choice,
     .value = "SOURCE",
     .help =
         "stable: the same bytes at each render, from the seed; fresh: as helm template, others each time",
     .fallback = "stable",
     .choices = kRandomSources,
     .rare = true},
};
constexpr std::size_t kMostRefused = 20;  // problems that are named
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}, kValuesFlags, {"Flags for charts", kChartFlags},
                                 kOfflineFlags,     kClockFlags,  kSandboxFlags};
constexpr Example kExamples[] = {
    {"mistctl generate my-namespace -p mistletoe/examples/namespace-example:0.1.2",
     "Print what install would send, without a cluster"},
    {"mistctl generate web -p ./manifests -r | kubectl diff -f -", "With the labels of a first install"},
    {"mistctl generate web -p ./web.mist-pack.wasm -f prod.yaml -o dir=./out",
     "One file for each file of the package"},
    {"mistctl generate web -p ./web --kube-version 1.35 --validate", "Would a Kubernetes 1.35 take it?"},
    {"mistctl generate web -p ./web -f prod.yaml -o images",
     "The images that the cluster's nodes have to be able to pull"},
};

// Names come from the package.
Status write_directory(Machine& machine, const Path& directory,
                       const std::map<std::string, std::string>& files, bool force) {
  if (directory.empty()) return error(ErrorKind::Usage, "-o dir= needs a path");
  std::vector<TreeFile> tree;
  tree.reserve(files.size());
  for (const auto& [path, text] : files) tree.push_back({path, text});
  if (Status written =
          write_tree(machine.files, directory, tree, {.existing = force, .permissions = Permissions::Users});
      !written.ok()) {
    Error failure = std::move(written).error().with_frame("while the package's files were written");
    if (failure.kind == ErrorKind::Conflict)
      return std::move(failure).with_hint(
          "give another directory, or write over what is in this one with --force");
    return failure;
  }
  machine.events->info(fmt::format("{} written below {}", plural(files.size(), "file"), directory.string()));
  return {};
}

std::vector<Value> values_of(const std::vector<apimachinery::RenderedObject>& objects) {
  std::vector<Value> values;
  values.reserve(objects.size());
  for (const apimachinery::RenderedObject& rendered : objects) values.push_back(rendered.object.value());
  return values;
}

// The package's output, byte for byte; but a terminal would obey some of it.
std::string for_reader(const Machine& machine, const std::string& text) {
  return machine.out.is_terminal() ? escape_controls(text, true) : text;
}

void print_raw(Machine& machine, const std::map<std::string, std::string>& files) {
  for (const auto& [path, text] : files) {
    if (files.size() > 1) machine.out.write(fmt::format("---\n# {}\n", escape_controls(path)));
    machine.out.write(for_reader(machine, text));
    if (!text.ends_with('\n')) machine.out.write("\n");
  }
}

void print_images(Machine& machine, const std::vector<Value>& objects) {
  for (const std::string& image : package::images_of(objects))
    machine.out.write(escape_controls(image) + "\n");
}

bool is_peer(std::string_view format) { return format == "helm" || format == "kustomize"; }

Value engine_options(const Invocation& invocation, std::string_view format) {
  Value options = Value::object();
  if (is_peer(format)) options.set("print", true);
  if (invocation.enabled("include-crds")) options.set("includeCrds", true);
  if (invocation.enabled("skip-crds")) options.set("skipCrds", true);
  if (invocation.enabled("skip-tests")) options.set("skipTests", true);
  if (invocation.enabled("is-upgrade")) options.set("isUpgrade", true);
  if (invocation.enabled(kSkipSchemaFlag.name)) options.set(package::kSkipSchemaOption, true);
  if (const std::vector<std::string> only = invocation.texts("show-only"); !only.empty())
    options.set("showOnly", Value(Value::Array(only.begin(), only.end())));
  return options;
}

// Flags that count with some forms of the output only.
Status check_flags(const Invocation& invocation, std::string_view format) {
  if (invocation.enabled("skip-tests") && format != "helm")
    return error(ErrorKind::Usage, "--skip-tests goes with -o helm")
        .with_hint(
            "--for-controller leaves out tests, and the hooks that neither an install nor an upgrade runs");
  if (!invocation.enabled("for-controller")) return {};
  if (invocation.enabled("release"))
    return error(ErrorKind::Usage, "--for-controller and -r can't be given together")
        .with_hint("leave -r out: objects that a controller applies are no release of mistctl's");
  if (format == "yaml" || format == "json" || format == "images") return {};
  return error(ErrorKind::Usage, "--for-controller goes with -o yaml, json and images, not with {}", format)
      .with_hint(
          "write all objects into one file: mistctl generate NAME -p PACKAGE --for-controller >FILE.yaml");
}

Result<ExitCode> print_as_peer(Machine& machine, const package::Rendered& rendered, std::string_view format) {
  if (rendered.engine != format)
    return error(
        ErrorKind::Usage, "-o {} goes with packages that {} renders; this one is {}", format, format,
        rendered.engine.empty() ? "rendered by no engine" : fmt::format("rendered by {}", rendered.engine));
  if (!rendered.print)
    return error(ErrorKind::Internal, "the engine {} gave nothing to print", rendered.engine);
  machine.out.write(for_reader(machine, *rendered.print));
  return ExitCode::Ok;
}

// Reports everything that a Kubernetes of that version would refuse; its warnings go to the events.
Status validate(Machine& machine, const package::Source& source, const package::Rendered& rendered,
                const std::string& kube_version) {
  MIST_TRY(const package::TypeStore store, type_store(machine));
  MIST_TRY(const apimachinery::KubeMinor minor, known_minor(store, kube_version));
  MIST_TRY(const auto types, store.types(machine.files, minor));
  std::optional<Error> failure;
  std::size_t refused = 0;
  for (package::Finding& each : package::lint_types(rendered, *types)) {
    const std::string place = SourceLocation{each.file, each.line, 0, {}}.text();
    if (each.level != package::LintLevel::Error) {
      const std::string words = fmt::format("{} ({})", each.message, place);
      if (each.level == package::LintLevel::Warning)
        machine.events->warn(words);
      else
        machine.events->info(words);
    } else if (!failure) {
      failure = error(ErrorKind::Invalid, "{}", each.message).at({each.file, each.line, 0, {}});
    } else if (++refused < kMostRefused) {
      failure->frames.push_back(fmt::format("also: {} ({})", each.message, place));
    }
  }
  if (!failure) return {};
  if (refused >= kMostRefused)
    failure->frames.push_back(fmt::format("and {} more", refused + 1 - kMostRefused));
  failure->frames.push_back(fmt::format("while comparing {} with the schemas of Kubernetes {}",
                                        source.reference, types->minor().text()));
  return package::with_excerpt(*std::move(failure), source, rendered.origins);
}

Result<ExitCode> run_generate(const Invocation& invocation, Machine& machine) {
  const std::string format = invocation.text("output");
  MIST_TRY_VOID(check_flags(invocation, format));
  MIST_TRY(const render::ReleaseFacts release,
           offline_release(invocation, machine, invocation.argument("NAME")));
  MIST_TRY(const auto inputs, read_values(invocation, machine));
  MIST_TRY(const package::Source source,
           fetch_package(invocation, machine, invocation.text("package"), invocation.text("engine")));
  MIST_TRY(Value values, render::values_for(source, inputs, *machine.events));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(package::RenderRequest request, render::render_request(release, std::move(values)));
  MIST_TRY(const render::RenderChoices choices, render_choices(invocation, machine));
  if (choices.clock && !choices.clock->empty()) request.clock = *parse_time(*choices.clock);
  request.engine_options = engine_options(invocation, format);
  render::AssumedCluster cluster = assumed_cluster(invocation);
  package::assume_cluster(request, std::move(cluster.kube_version), std::move(cluster.api_versions));
  if (invocation.enabled("is-upgrade")) request.is_upgrade = true;
  if (invocation.text("random") == "fresh") {
    machine.random.fill(request.seed);
    request.charts_share_seed = false;
  }
  const bool as_release = invocation.enabled("release");
  if (invocation.enabled("force") && !format.starts_with("dir="))
    return error(ErrorKind::Usage, "--force goes with -o dir=PATH");
  const std::string kube_version = invocation.text(kKubeVersionFlag.name);
  const auto render_text = [&]() -> Result<package::Rendered> {
    if (!invocation.enabled("validate"))
      return package::with_value_places(renderer->render_files(source, request, machine.context), inputs);
    MIST_TRY(package::Rendered rendered,
             package::with_value_places(renderer->render(source, request, machine.context), inputs));
    MIST_TRY_VOID(validate(machine, source, rendered, kube_version));
    return rendered;
  };
  if (is_peer(format)) {
    if (as_release)
      return error(ErrorKind::Usage, "-r goes with -o yaml and -o json: -o {} is what {} prints", format,
                   format);
    MIST_TRY(const package::Rendered rendered, render_text());
    return print_as_peer(machine, rendered, format);
  }
  if (format == "raw" || format.starts_with("dir=")) {
    if (as_release)
      return error(ErrorKind::Usage, "-r goes with -o yaml and -o json: raw output is the package's own");
    MIST_TRY(const package::Rendered rendered, render_text());
    if (format == "raw")
      print_raw(machine, rendered.files);
    else
      MIST_TRY_VOID(write_directory(machine, format.substr(4), rendered.files, invocation.enabled("force")));
    return ExitCode::Ok;
  }
  MIST_TRY(package::Rendered rendered,
           package::with_value_places(renderer->render(source, request, machine.context), inputs));
  if (invocation.enabled("validate")) MIST_TRY_VOID(validate(machine, source, rendered, kube_version));
  std::vector<Value> objects;
  if (as_release) {
    std::vector<release::RenderedObject> hooks;
    if (rendered.engine == apply::kChartEngine) hooks = apply::take_chart_parts(rendered.objects).hooks;
    MIST_TRY_VOID(apply::take_tests(rendered.objects));
    const apply::HookVerb verb = request.is_upgrade ? apply::HookVerb::Upgrade : apply::HookVerb::Install;
    MIST_TRY(const apply::WithHooks wanted,
             apply::prepare_with_hooks_offline(std::move(rendered.objects), hooks, verb, release.id));
    apply::warn_of_left_out(wanted.desired, *machine.events);
    for (const apply::DesiredObject& object : wanted.desired)
      objects.push_back(apply::with_version(object.rendered, 0));
  } else if (invocation.enabled("for-controller")) {
    MIST_TRY(const auto applied,
             action::applied_objects(std::move(rendered.objects), rendered.engine, *machine.events));
    objects = values_of(applied);
  } else {
    objects = values_of(rendered.objects);
  }
  if (format == "images")
    print_images(machine, objects);
  else if (format == "yaml")
    machine.out.write(for_reader(machine, encoding::to_yaml_documents(objects)));
  else
    print_value(
        machine, OutputFormat::Json,
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
