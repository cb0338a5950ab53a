#include "action/status.h"

#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/diagnosis_tree.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/release_flags.h"

namespace mist::cli {
namespace {

using action::ObjectHealth;
using action::ObjectStatus;
using action::ReleaseStatus;
using encoding::Value;

constexpr FlagGroup kGroups[] = {kOutputFlags};
constexpr Example kExamples[] = {
    {"mistctl status web", "What the release has, and what is not ready and why"}};

Tone tone_of(ObjectHealth health) {
  switch (health) {
    case ObjectHealth::Ready:
      return Tone::Good;
    case ObjectHealth::InProgress:
    case ObjectHealth::Unknown:
      return Tone::Warning;
    case ObjectHealth::Failed:
    case ObjectHealth::Missing:
      return Tone::Bad;
  }
  return Tone::Plain;
}

Value certificates_value(const ReleaseStatus& status) {
  Value::Array list;
  for (const action::AgingCertificate& each : status.certificates)
    list.push_back(identity_value(each.key, {{"path", each.path},
                                             {"subject", each.subject},
                                             {"notAfter", each.not_after},
                                             {"expired", each.expired}}));
  return Value(std::move(list));
}

Value status_value(const World& world, const ReleaseStatus& status) {
  Value::Array objects;
  for (const ObjectStatus& object : status.objects)
    objects.push_back(identity_value(object.key, {{"health", action::to_string(object.health)},
                                                  {"detail", text_or_null(object.detail)},
                                                  {"revision", object.revision},
                                                  {"retained", object.retained},
                                                  {"hook", object.hook},
                                                  {"created", text_or_null(object.created)},
                                                  {"ageSeconds", age_seconds(world, object.created)}}));
  Value::Array unfinished;
  for (const release::Revision& revision : status.unfinished)
    unfinished.push_back(Value::object({{"revision", revision.number},
                                        {"action", revision.action},
                                        {"status", release::to_string(revision.status)},
                                        {"created", revision.created},
                                        {"message", text_or_null(revision.message)}}));
  const release::Head& head = status.anchor.head;
  return Value::object(
      {{"name", status.anchor.id.name},
       {"namespace", status.anchor.id.ns},
       {"status", release::to_string(head.status)},
       {"revision", number_or_null(head.latest)},
       {"deployedRevision", number_or_null(head.deployed)},
       {"package", head.package},
       {"updated", head.updated},
       {"lockedBy", text_or_null(status.anchor.lock ? status.anchor.lock->holder : std::string())},
       {"unfinished", Value(std::move(unfinished))},
       {"certificates", certificates_value(status)},
       {"objects", Value(std::move(objects))},
       {"diagnosis", status.diagnosis ? diagnosis_to_value(*status.diagnosis) : Value()}});
}

void print_head(World& world, const ReleaseStatus& status) {
  const release::Head& head = status.anchor.head;
  const auto line = [&](std::string_view name, std::string_view text) {
    world.out.write(fmt::format("{:<11}{}\n", name, escape_controls(text)));
  };
  line("Release", status.anchor.id.name);
  line("Namespace", status.anchor.id.ns);
  line("Package", head.package);
  line("Revision", head.deployed < 0
                       ? "none is deployed"
                       : fmt::format("v{}, {} ago", head.deployed,
                                     age(world, status.deployed ? status.deployed->created : head.updated)));
  line("Status", release::to_string(head.status));
  if (status.anchor.lock)
    line("Locked by", fmt::format("{} (\"{}\" since {})", status.anchor.lock->holder,
                                  status.anchor.lock->operation, status.anchor.lock->acquired));
  for (const release::Revision& revision : status.unfinished) {
    const bool failed = revision.status == release::RevisionStatus::Failed;
    line("Unfinished",
         fmt::format(
             "v{} ({} at {}) {}", revision.number, revision.action, revision.created,
             failed ? fmt::format("failed: {}", revision.message)
                    : "did not end; the next install or upgrade takes over from it, or mistctl recover"));
  }
  line("Health", fmt::format("{} of {} ready", status.count(ObjectHealth::Ready),
                             std::ranges::count_if(status.objects, [](const ObjectStatus& object) {
                               return !object.retained && !object.hook;
                             })));
  for (const action::AgingCertificate& certificate : status.certificates)
    line("Renew", action::to_string(certificate));
}

Result<ExitCode> run_status(const Invocation& invocation, World& world) {
  MIST_TRY(const Cluster cluster, open_cluster(invocation, world));
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(const ReleaseStatus status, action::status(cluster.environment, id, world.context));
  if (const OutputFormat format = output_format(invocation); format != OutputFormat::Table) {
    print_value(world, format, status_value(world, status));
    return ExitCode::Ok;
  }
  print_head(world, status);
  Table table({"OBJECT", "HEALTH", "CHANGED IN", "AGE", "DETAIL"});
  for (const ObjectStatus& object : status.objects)
    table.add({{object.key.display()},
               {object.retained ? "retained" : std::string(action::to_string(object.health)),
                object.retained ? Tone::Plain : tone_of(object.health)},
               {fmt::format("v{}", object.revision)},
               {age(world, object.created)},
               {object.hook ? fmt::format("hook{}{}", object.detail.empty() ? "" : ": ", object.detail)
                            : object.detail}});
  if (!table.empty()) world.out.write("\n" + table.render(world.color_out));
  if (status.diagnosis)
    world.out.write("\n" + join(diagnosis_lines(*status.diagnosis, world.color_out), "\n") + "\n");
  return ExitCode::Ok;
}

}  // namespace

constinit const Command kStatusCommand{.path = "status",
                                       .summary = "Show a release, its objects and what is not ready",
                                       .run = run_status,
                                       .arguments = kReleaseArgument,
                                       .flags = kGroups,
                                       .examples = kExamples};

}  // namespace mist::cli
