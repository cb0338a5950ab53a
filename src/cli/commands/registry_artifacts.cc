// The contents of OCI registries: registry tags, copy, tag, delete, attached.

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output/copy_report.h"
#include "cli/output/output.h"
#include "cli/output/prompt.h"
#include "cli/parse/flags.h"
#include "cli/registry_access.h"
#include "cli/signing.h"
#include "registry/oci_copy.h"
#include "registry/oci_layout_artifact.h"
#include "registry/oci_tags.h"

namespace mist::cli {
namespace {

using encoding::Value;

constexpr Flag kOverwriteFlag{.name = "overwrite",
                              .help = "Replace a version that is published with other content"};

registry::Overwrite overwrite_of(const Invocation& invocation) {
  return invocation.enabled(kOverwriteFlag.name) ? registry::Overwrite::Yes : registry::Overwrite::No;
}

Result<std::unique_ptr<registry::Registries>> open(const Invocation& invocation, Machine& machine) {
  MIST_TRY(registry::Registries::Dependencies access, registry_dependencies(invocation, machine));
  return std::make_unique<registry::Registries>(std::move(access));
}

// The tag of a destination, or none; a range or a digest is not a place.
Result<oci::Reference> destination_in(const std::string& text) {
  MIST_TRY(oci::Reference destination, oci::Reference::parse_destination(text));
  if (destination.range.empty() && !destination.digest) return destination;
  return error(ErrorKind::Usage, "{} is not a place to copy to", destination.str())
      .with_hint(fmt::format("name one tag: {}:1.0.0", destination.repository.str()));
}

Value digest_value(const oci::Reference& reference) { return Value(reference.digest->str()); }

// tags

constexpr Argument kTagsArguments[] = {
    {.name = "REPOSITORY", .help = "oci://HOST/PATH, or oci://HOST/PATH:RANGE for versions in a range"}};
constexpr Flag kTagsFlags[] = {kPlainHttpFlag};
constexpr FlagGroup kTagsGroups[] = {{"Flags", kTagsFlags}, kOutputFlags};
constexpr Example kTagsExamples[] = {
    {"mistctl registry tags oci://registry.example/team/shop", "Versions first, the newest at the top"},
    {"mistctl registry tags 'oci://registry.example/team/shop:^1.4'", "Those that a range allows"},
};

Result<ExitCode> run_tags(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse_destination(invocation.argument("REPOSITORY")));
  if (!wanted.tag.empty() || wanted.digest)
    return error(ErrorKind::Usage, "{} is one artifact, not a repository", wanted.str())
        .with_hint(wanted.repository.str());
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries->oci_client());
  MIST_TRY(const std::vector<registry::Tag> tags,
           registry::list_tags(*client, wanted.repository, wanted.range, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value::Array items;
    for (const registry::Tag& tag : tags)
      items.push_back(
          Value::object({{"tag", tag.name}, {"version", tag.version ? Value(*tag.version) : Value()}}));
    print_value(machine, format,
                Value::object({{"repository", wanted.repository.str()}, {"tags", Value(std::move(items))}}));
    return ExitCode::Ok;
  }
  for (const registry::Tag& tag : tags) machine.out.write(escape_controls(tag.name) + "\n");
  if (tags.empty())
    machine.events->info(wanted.range.empty() ? fmt::format("{} has no tags", wanted.repository.str())
                                              : fmt::format("no version of {} is in {}",
                                                            wanted.repository.str(), wanted.range));
  return ExitCode::Ok;
}

// copy

constexpr Argument kCopyArguments[] = {
    {.name = "SOURCE",
     .help = "oci://HOST/PATH:TAG, a range of versions, a digest, oci-archive:FILE[:NAME], or "
             "oci-layout:DIR[:NAME]",
     .completion = Completion::Package},
    {.name = "DESTINATION", .help = "oci://HOST/PATH:TAG; without TAG that of SOURCE"},
};
constexpr Flag kReferrersFlag{
    .name = "referrers",
    .help = "Copy what refers to the artifact too: signatures, SBOMs, provenance; --referrers=false doesn't",
    .fallback = "true"};
constexpr Flag kCopyFlags[] = {kReferrersFlag, kOverwriteFlag, kPlainHttpFlag};
constexpr FlagGroup kCopyGroups[] = {{"Flags", kCopyFlags}, kOutputFlags};
constexpr Example kCopyExamples[] = {
    {"mistctl registry copy oci://registry.example/team/shop:1.4.0 oci://mirror.example/team/shop",
     "To another registry, under the same tag"},
    {"mistctl registry copy 'oci://registry.example/dev/shop:^1.4' oci://registry.example/prod/shop",
     "Within one registry: it sends no layers"},
    {"mistctl registry copy oci://registry.example/team/shop:1.4.0 oci://mirror.example/team/shop "
     "--referrers=false",
     "Without its signatures"},
    {"mistctl registry copy oci-archive:operator.tar oci://registry.example/mistletoe-operator",
     "An image that was built into a file"},
};

std::string words_of(const registry::CopyReport& report) {
  if (report.was_there && report.referrers == 0) return "it was there already, the same";
  std::vector<std::string> words;
  if (report.was_there)
    words.emplace_back("it was there already, the same");
  else
    words.push_back(plural(report.manifests, "manifest"));
  if (report.referrers > 0)
    words.push_back(
        fmt::format("{} of signatures and other referrers", plural(report.referrers, "manifest")));
  if (report.mounted > 0) words.push_back(fmt::format("{} mounted", plural(report.mounted, "blob")));
  if (report.blobs > 0)
    words.push_back(fmt::format("{} with {} bytes sent", plural(report.blobs, "blob"), report.bytes));
  return join(words, ", ");
}

// `wanted`: nothing of a source that is a layout.
Result<registry::CopyReport> copy(registry::OciClient& client, const std::string& source,
                                  const std::optional<oci::Reference>& wanted, oci::Reference destination,
                                  const registry::CopyOptions& options, Machine& machine) {
  if (!wanted) {
    MIST_TRY(const registry::LayoutArtifact file,
             registry::open_layout_artifact(machine.files, source, destination));
    return registry::copy_artifact(*file.layout, client, file.reference, destination, options,
                                   machine.context);
  }
  MIST_TRY(const oci::Reference tagged, registry::with_tag(client, *wanted, machine.context));
  return registry::copy_artifact(client, client, tagged, destination, options, machine.context);
}

Result<ExitCode> run_copy(const Invocation& invocation, Machine& machine) {
  const std::string source = invocation.argument("SOURCE");
  std::optional<oci::Reference> wanted;
  if (!registry::names_layout(source)) {
    MIST_TRY(wanted, oci::Reference::parse(source));
  }
  MIST_TRY(const oci::Reference destination, destination_in(invocation.argument("DESTINATION")));
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries->oci_client());
  Activity activity(*machine.events,
                    fmt::format("copying {} to {}", escape_controls(source), destination.str()));
  const registry::CopyOptions options{.overwrite = overwrite_of(invocation),
                                      .referrers = invocation.enabled(kReferrersFlag.name)
                                                       ? registry::Referrers::Yes
                                                       : registry::Referrers::No};
  const Result<registry::CopyReport> report = copy(*client, source, wanted, destination, options, machine);
  if (!report) {
    activity.fail();
    return report.error();
  }
  registry::warn_of_tag(*machine.events, report->to, report->after);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    Value value = copy_report_value(*report);
    if (!wanted) value.set("from", fmt::format("{}@{}", source, report->to.digest->str()));
    print_value(machine, format, value);
    return ExitCode::Ok;
  }
  machine.out.write(report->to.str() + "\n");
  machine.events->info(words_of(*report));
  return ExitCode::Ok;
}

// tag

constexpr Argument kTagArguments[] = {
    {.name = "REFERENCE",
     .help = "oci://HOST/PATH:TAG, a range of versions, or a digest",
     .completion = Completion::Package},
    {.name = "TAG", .help = "Its other name, such as prod"},
};
constexpr Flag kTagFlags[] = {kOverwriteFlag, kPlainHttpFlag};
constexpr FlagGroup kTagGroups[] = {{"Flags", kTagFlags}, kOutputFlags};
constexpr Example kTagExamples[] = {
    {"mistctl registry tag oci://registry.example/team/shop:1.4.0 prod", "The tag prod is 1.4.0 from now on"},
};

Result<ExitCode> run_tag(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse(invocation.argument("REFERENCE")));
  MIST_TRY(const std::string tag, registry::parse_tag(invocation.argument("TAG")));
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries->oci_client());
  MIST_TRY(const oci::Reference source, registry::with_tag(*client, wanted, machine.context));
  MIST_TRY(const registry::TagReport report,
           registry::tag_artifact(*client, source, tag, overwrite_of(invocation), machine.context));
  registry::warn_of_tag(*machine.events, report.tagged, report.after);
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(machine, format,
                Value::object({{"reference", report.tagged.str()},
                               {"tag", report.tagged.tag},
                               {"digest", digest_value(report.tagged)},
                               {"before", report.before ? Value(report.before->str()) : Value()},
                               {"wasThere", report.was_there}}));
    return ExitCode::Ok;
  }
  machine.out.write(report.tagged.str() + "\n");
  if (report.was_there)
    machine.events->info("it had that tag already");
  else if (report.before)
    machine.events->info(fmt::format("{} was {} before", report.tagged.tag, report.before->str()));
  return ExitCode::Ok;
}

// delete

constexpr Argument kDeleteArguments[] = {
    {.name = "REFERENCE",
     .help =
         "oci://HOST/PATH:TAG removes that tag; oci://HOST/PATH@sha256:… the manifest and all of its tags",
     .completion = Completion::Package}};
constexpr Flag kDeleteFlags[] = {kPlainHttpFlag};
constexpr FlagGroup kDeleteGroups[] = {{"Flags", kDeleteFlags}, kConfirmFlags, kOutputFlags};
constexpr Example kDeleteExamples[] = {
    {"mistctl registry delete oci://registry.example/deploy/shop:pr-17", "Asks first"},
};

Result<ExitCode> run_delete(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse(invocation.argument("REFERENCE")));
  if (!wanted.range.empty())
    return error(ErrorKind::Usage, "{} may be several", wanted.str())
        .with_hint(fmt::format("name one: mistctl registry tags '{}'", wanted.str()));
  if (!wanted.tag.empty() && wanted.digest)
    return error(ErrorKind::Usage, "{} names a tag and a manifest", wanted.str())
        .with_hint("leave out the digest to remove only the tag, or the tag to remove the manifest");
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(registry::OciClient* const client, registries->oci_client());
  MIST_TRY(const oci::Reference found, registry::find_to_delete(*client, wanted, machine.context));
  const std::string question =
      wanted.tag.empty() ? fmt::format("Delete {} with all of its tags?", found.str())
                         : fmt::format("Delete the tag {} of {}?", wanted.tag, wanted.repository.str());
  MIST_TRY(const bool yes, confirm(machine, invocation, question));
  if (!yes) return error(ErrorKind::Forbidden, "nothing was deleted, because the answer was no");
  MIST_TRY_VOID(registry::delete_artifact(*client, wanted, found, machine.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table)
    print_value(machine, format,
                Value::object(
                    {{"reference", wanted.str()}, {"digest", found.digest ? digest_value(found) : Value()}}));
  else
    machine.events->info(fmt::format("{} deleted", wanted.str()));
  return ExitCode::Ok;
}

// attached

constexpr Argument kAttachedArguments[] = {
    {.name = "REFERENCE",
     .help = "oci://HOST/PATH:TAG, a range of versions, or a digest",
     .completion = Completion::Package},
    {.name = "DOCUMENT",
     .help = "sbom, provenance, attestation, or its digest as mistctl inspect package shows it"},
};
constexpr Flag kAttachedFlags[] = {kPlainHttpFlag};
constexpr FlagGroup kAttachedGroups[] = {{"Flags", kAttachedFlags}};
constexpr Example kAttachedExamples[] = {
    {"mistctl registry attached oci://registry.example/team/shop:1.4.0 sbom", "Its SBOM, as it was attached"},
};

// By its kind, if that names only one, or by a digest of its own or its manifest's.
Result<registry::AttachedDocument> chosen_document(const std::vector<registry::AttachedDocument>& documents,
                                                   const std::string& wanted, const std::string& name) {
  std::vector<registry::AttachedDocument> chosen;
  for (const registry::AttachedDocument& each : documents)
    if (oci::to_string(each.kind) == wanted || each.document.digest.str() == wanted ||
        each.manifest.str() == wanted)
      chosen.push_back(each);
  if (chosen.size() == 1) return chosen.front();
  std::vector<std::string> there;
  for (const registry::AttachedDocument& each : chosen.empty() ? documents : chosen)
    there.push_back(fmt::format("{} {}", oci::to_string(each.kind), each.document.digest.str()));
  if (chosen.empty())
    return error(ErrorKind::NotFound, "no {} is attached to {}", escape_controls(wanted), name)
        .with_hint(there.empty() ? "nothing is; mistctl push --sbom --provenance attaches them"
                                 : fmt::format("there is {}", join(there, ", ")));
  return error(ErrorKind::Conflict, "{} of {} fit {}", chosen.size(), name, escape_controls(wanted))
      .with_hint(fmt::format("name one by its digest: {}", join(there, ", ")));
}

Result<ExitCode> run_attached(const Invocation& invocation, Machine& machine) {
  MIST_TRY(const oci::Reference wanted, oci::Reference::parse(invocation.argument("REFERENCE")));
  MIST_TRY(const auto registries, open(invocation, machine));
  MIST_TRY(registry::OciSource* const source, registries->oci_source());
  MIST_TRY(oci::Reference reference, registry::with_tag(*source, wanted, machine.context));
  if (!reference.digest) {
    MIST_TRY(const registry::RawManifest raw,
             source->manifest(reference.repository, reference.tag, machine.context));
    reference.digest = raw.digest;
  }
  MIST_TRY(const std::vector<registry::AttachedDocument> documents,
           registry::list_documents(*source, reference.repository, *reference.digest, machine.context));
  MIST_TRY(const registry::AttachedDocument document,
           chosen_document(documents, invocation.argument("DOCUMENT"), reference.str()));
  MIST_TRY(const std::string bytes,
           source->blob(reference.repository, document.document, oci::kMaxDocumentBytes, machine.context));
  machine.out.write(machine.out.is_terminal() ? escape_controls(bytes, true) : bytes);
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kRegistryAttachedCommand{
    .path = "registry attached",
    .summary = "Print an SBOM or a provenance statement that is attached to an artifact",
    .run = run_attached,
    .arguments = kAttachedArguments,
    .flags = kAttachedGroups,
    .examples = kAttachedExamples,
    .cluster = ClusterUse::None};

constinit const Command kRegistryTagsCommand{.path = "registry tags",
                                             .summary = "List the tags of an OCI repository",
                                             .run = run_tags,
                                             .arguments = kTagsArguments,
                                             .flags = kTagsGroups,
                                             .examples = kTagsExamples,
                                             .cluster = ClusterUse::None};

constinit const Command kRegistryCopyCommand{
    .path = "registry copy",
    .summary = "Copy an artifact to an OCI repository, from another one or from a file",
    .run = run_copy,
    .arguments = kCopyArguments,
    .flags = kCopyGroups,
    .examples = kCopyExamples,
    .cluster = ClusterUse::None};

constinit const Command kRegistryTagCommand{.path = "registry tag",
                                            .summary = "Give an artifact of an OCI registry another tag",
                                            .run = run_tag,
                                            .arguments = kTagArguments,
                                            .flags = kTagGroups,
                                            .examples = kTagExamples,
                                            .cluster = ClusterUse::None};

constinit const Command kRegistryDeleteCommand{
    .path = "registry delete",
    .summary = "Delete a tag, or an artifact with all of its tags, from an OCI registry",
    .run = run_delete,
    .arguments = kDeleteArguments,
    .flags = kDeleteGroups,
    .examples = kDeleteExamples,
    .cluster = ClusterUse::None};

}  // namespace mist::cli
