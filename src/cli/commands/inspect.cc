#include <algorithm>

#include "action/query/revision_diff.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/keyring.h"
#include "cli/output/output.h"
#include "cli/package_flags.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/release_flags.h"
#include "cli/signing.h"
#include "encoding/yaml.h"
#include "release/store.h"
#include "render/hidden_values.h"
#include "view/packages.h"
#include "view/record.h"

namespace mist::cli {
namespace {

using encoding::Value;

// package

constexpr Argument kPackageArgument[] = {
    {.name = "PACKAGE",
     .help = "REGISTRY/PATH:VERSION, oci://HOST/PATH:VERSION, or a path that begins with ./ ../ or /",
     .completion = Completion::Package},
};
constexpr std::string_view kPartsOfPackages[] = {"values"};
constexpr Flag kPackageFlags[] = {{.name = "only",
                                   .type = FlagType::Choice,
                                   .value = "PART",
                                   .help = "Only the values that it starts from, as a file for -f",
                                   .choices = kPartsOfPackages},
                                  kEngineFlag,
                                  kPlainHttpFlag,
                                  kVerifyChartFlag,
                                  kKeyringFlag};
constexpr FlagGroup kPackageGroups[] = {{"Flags", kPackageFlags}, kSandboxFlags, kOutputFlags};
constexpr Example kPackageExamples[] = {
    {"mistctl inspect package mistletoe/examples/hello-web:0.1.0",
     "Its metadata and inputs, without running it"},
    {"mistctl inspect package ./my-chart --only values",
     "Its default values, to be changed and given with -f"},
};

// As somebody would start a file for -f: the author's own where there is one, with its comments.
Result<ExitCode> print_default_values(Machine& machine, OutputFormat format,
                                      const package::Metadata& metadata) {
  if (format == OutputFormat::Table && !metadata.values_file.empty()) {
    const std::string& text = metadata.values_file;
    machine.out.write(machine.out.is_terminal() ? escape_controls(text, true) : text);
    if (!text.ends_with('\n')) machine.out.write("\n");
    return ExitCode::Ok;
  }
  print_value(machine, format == OutputFormat::Table ? OutputFormat::Yaml : format,
              view::starting_values(metadata));
  return ExitCode::Ok;
}

// The documents beside a package of an OCI registry. Nothing: it is of no such registry, or that can't be
// asked now, which doesn't keep anybody from reading a package that is here.
Result<std::optional<std::vector<ExaminedDocument>>> documents_of(const Invocation& invocation,
                                                                  Machine& machine,
                                                                  const std::string& reference) {
  std::optional<std::vector<ExaminedDocument>> none;
  if (!reference.starts_with(oci::kScheme)) return none;
  const Result<oci::Reference> parsed = oci::Reference::parse(reference);
  if (!parsed || !parsed->digest) return none;
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  registry::Registries registries(std::move(access));
  MIST_TRY(registry::OciSource* const source, registries.oci_source());
  Result<std::vector<ExaminedDocument>> documents = examined_documents(machine, *source, *parsed);
  if (documents) return std::optional(*std::move(documents));
  if (documents.error().kind == ErrorKind::Cancelled) return documents.error();
  machine.events->warn(fmt::format("SBOMs and provenance are not known: {}", documents.error().to_line()));
  return none;
}

// A chart on this machine that somebody signed, and nobody asks by whom.
void tell_of_provenance(Machine& machine, const std::string& reference) {
  if (!reference.starts_with('/') || !reference.ends_with(".tgz") ||
      !machine.files.exists(reference + std::string(trust::kProvenanceEnding)))
    return;
  machine.events->info(
      fmt::format("there is a provenance file, which is read with --verify: mistctl verify {} --keyring FILE",
                  shell_word(reference)));
}

Result<ExitCode> run_package(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const auto packages, open_packages(invocation, machine));
  MIST_TRY(const package::Source source,
           packages->fetch(invocation.argument("PACKAGE"), invocation.text("engine"), machine.context));
  MIST_TRY(const auto renderer, open_renderer(invocation, machine));
  MIST_TRY(const package::Inspection inspection, renderer->inspect(source, machine.context));
  if (invocation.text("only") == "values")
    return print_default_values(machine, output_format(invocation), inspection.metadata);
  MIST_TRY(std::optional<registry::Verdict> signatures, recorded_signatures(machine, source));
  if (!packages->verified().empty()) {
    if (!signatures) signatures.emplace();
    // The policy's rule may have had it proved already.
    for (const trust::Proof& proof : packages->verified())
      if (std::ranges::find(signatures->proofs, proof) == signatures->proofs.end())
        signatures->proofs.push_back(proof);
  } else {
    tell_of_provenance(machine, source.reference);
  }
  MIST_TRY(const auto documents, documents_of(invocation, machine, source.reference));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value value = view::package_value(source, inspection);
    value.set("signatures", signatures ? signatures_value(signatures->proofs) : Value());
    value.set("documents", documents ? documents_value(*documents) : Value());
    print_value(machine, format, value);
    return ExitCode::Ok;
  }
  std::string signers;
  if (signatures) signers = trust::signers_text(signatures->proofs);
  if (signatures && signers.empty()) signers = "nobody";
  std::vector<std::string> attached;
  if (documents) std::ranges::transform(*documents, std::back_inserter(attached), document_text);
  machine.out.write(view::package_text(source, inspection, {signers, attached}, machine.color_out));
  return ExitCode::Ok;
}

// release

constexpr std::string_view kPartsOfReleases[] = {"values", "manifest"};
constexpr Flag kReleaseFlags[] = {
    {.name = "revision",
     .type = FlagType::Text,
     .value = "REVISION",
     .help = "This revision, as mistctl history shows it, instead of the deployed one and those after it",
     .completion = Completion::Revision},
    {.name = "only",
     .type = FlagType::Choice,
     .value = "PART",
     .help = "Only the values that the user gave, as a file for -f, or only the objects, as one for kubectl",
     .choices = kPartsOfReleases},
    {.name = "show-secrets", .help = "Print the data of Secrets instead of ***"}};
constexpr FlagGroup kReleaseGroups[] = {{"Flags", kReleaseFlags}, kOutputFlags};
constexpr Example kReleaseExamples[] = {
    {"mistctl inspect release web -o yaml", "Package, values and every object as it was rendered"},
    {"mistctl inspect release web --only values --revision v3",
     "The values that revision v3 was given with -f and --set"},
    {"mistctl inspect release web --only manifest", "The objects of the deployed revision"},
};

Result<ExitCode> run_release(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const std::optional<int> number, revision_of(invocation, "revision"));
  const std::string only = invocation.text("only");
  MIST_TRY(const Cluster cluster, open_cluster(invocation, machine));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  const bool show = invocation.enabled("show-secrets");
  release::Anchor anchor;
  std::vector<release::Revision> chosen;
  if (number) {
    MIST_TRY(action::InspectedRevision found,
             action::inspect_revision(cluster.environment, id, *number, machine.context));
    anchor = std::move(found.anchor);
    chosen.push_back(std::move(found.revision));
  } else {
    MIST_TRY(action::ReleaseState state, action::read_release(cluster.environment, id, machine.context));
    if (!state.anchor) return action::missing_release(cluster.environment, id, machine.context);
    anchor = *std::move(state.anchor);
    if (state.deployed) chosen.push_back(*std::move(state.deployed));
    std::ranges::move(state.unfinished, std::back_inserter(chosen));
  }
  if (!show) std::ranges::for_each(chosen, render::hide_looked_up);
  const OutputFormat format = output_format(invocation);
  if (!only.empty()) {
    if (chosen.empty())
      return error(ErrorKind::NotFound, "no revision of release {} was recorded so far", id.display());
    const release::Revision& first = chosen.front();
    if (only != "manifest")
      print_value(machine, format == OutputFormat::Table ? OutputFormat::Yaml : format, first.user_values);
    else if (format == OutputFormat::Json)
      print_value(machine, format, view::manifest_value(first, show));
    else
      machine.out.write(encoding::to_yaml_documents(view::manifest(first, show),
                                                    {.escape_directions = machine.out.is_terminal()}));
    return ExitCode::Ok;
  }
  print_value(machine, format == OutputFormat::Table ? OutputFormat::Yaml : format,
              view::record_value(anchor, chosen, show));
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kInspectPackageCommand{.path = "inspect package",
                                               .summary = "Show what a package is and which inputs it takes",
                                               .run = run_package,
                                               .arguments = kPackageArgument,
                                               .flags = kPackageGroups,
                                               .examples = kPackageExamples,
                                               .cluster = ClusterUse::None};
constinit const Command kInspectReleaseCommand{.path = "inspect release",
                                               .summary = "Show the record of a release",
                                               .run = run_release,
                                               .arguments = kReleaseArgument,
                                               .flags = kReleaseGroups,
                                               .examples = kReleaseExamples,
                                               .alias = "inspect install"};

}  // namespace mist::cli
