// mistctl package init.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/new_files.h"
#include "cli/output/output.h"
#include "cli/templates.h"
#include "encoding/yaml.h"

namespace mist::cli {
namespace {

constexpr auto kTemplates = [] {
  std::array<std::string_view, std::size(kPackageTemplates)> names;
  std::ranges::transform(kPackageTemplates, names.begin(), &PackageTemplate::name);
  return names;
}();
constexpr Argument kArguments[] = {{.name = "DIR",
                                    .help = "Where to; without it a new directory of the package's name",
                                    .arity = Arity::Optional,
                                    .completion = Completion::Directory}};
constexpr Flag kFlags[] = {
    {.name = "template",
     .letter = 't',
     .type = FlagType::Choice,
     .value = "KIND",
     .help = "Kind of package",
     .fallback = "chart",
     .choices = kTemplates},
    {.name = "name",
     .type = FlagType::Text,
     .value = "NAME",
     .help = "Name of the package; without it that of the directory"},
    {.name = "list", .help = "Print the templates, and do nothing"},
};
constexpr FlagGroup kGroups[] = {{"Flags", kFlags}};
constexpr Example kExamples[] = {
    {"mistctl package init shop", "Makes a chart in the directory shop"},
    {"mistctl package init shop --template chart", "Makes the chart shop in the directory shop"},
    {"mistctl package init . -t kustomize --name shop", "The same, of Kustomize, right here"},
    {"mistctl package init --list", "Which templates are there?"},
};

// Templates write it as a plain YAML word and as part of labels.
Status check_name(const std::string& name) {
  const auto as_yaml = encoding::parse_yaml(name);
  const bool good = is_dns1123_label(name) && name.size() <= 50 && name.front() >= 'a' &&
                    name.front() <= 'z' && as_yaml.ok() && as_yaml->is_string();
  if (good) return {};
  return error(ErrorKind::Usage, "\"{}\" can't be the name of a package", escape_controls(name))
      .with_hint("give --name with at most 50 lower-case letters, digits and dashes, begun by a letter");
}

Result<ExitCode> print_list(Machine& machine) {
  Table table({"TEMPLATE", "WHAT"});
  for (const PackageTemplate& each : kPackageTemplates)
    table.add({{std::string(each.name), Tone::Name}, {std::string(each.summary)}});
  machine.out.write(table.render(machine.color_out));
  return ExitCode::Ok;
}

Result<ExitCode> run_init(const Invocation& invocation, Machine& machine) {
  if (invocation.enabled("list")) return print_list(machine);
  Path directory = invocation.argument("DIR");
  std::string name = invocation.text("name");
  if (directory.empty() && name.empty())
    return error(ErrorKind::Usage, "the package has no name").with_hint("give DIR, or --name");
  if (directory.empty()) directory = name;
  if (name.empty()) {
    const Path whole = std::filesystem::absolute(directory).lexically_normal();
    name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  }
  MIST_TRY_VOID(check_name(name));
  const std::string kind = invocation.text("template");
  const std::map<std::string, std::string> files = instantiate(kind, name);
  MIST_TRY_VOID(write_new_files(machine, directory, files));
  machine.out.write(directory.string() + "\n");
  const std::string others =
      invocation.has("template") ? "" : "; mistctl package init --list has other templates";
  machine.events->info(fmt::format("{} written from the template {}; begin with {}{}",
                                   plural(files.size(), "file"), kind, (directory / "README.md").string(),
                                   others));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kPackageInitCommand{.path = "package init",
                                            .summary = "Begin a package from a template",
                                            .run = run_init,
                                            .arguments = kArguments,
                                            .flags = kGroups,
                                            .examples = kExamples,
                                            .cluster = ClusterUse::None};

}  // namespace mist::cli
