#include "view/releases.h"

#include "base/text.h"
#include "view/values.h"

namespace mist::view {

using action::HistoryEntry;
using encoding::Value;
using release::RevisionStatus;
using release::RevisionSummary;

namespace {

Tone tone_of(RevisionStatus status) {
  switch (status) {
    case RevisionStatus::Deployed:
      return Tone::Good;
    case RevisionStatus::Failed:
      return Tone::Bad;
    case RevisionStatus::Pending:
    case RevisionStatus::Uninstalling:
      return Tone::Warning;
    case RevisionStatus::Superseded:
      return Tone::Plain;
  }
  return Tone::Plain;
}

const std::string& updated(const RevisionSummary& revision) {
  return revision.finished.empty() ? revision.created : revision.finished;
}

std::string description(const RevisionSummary& revision) {
  if (revision.description.empty() || revision.message.empty())
    return revision.description + revision.message;
  return fmt::format("{}: {}", revision.description, revision.message);
}

Value entry_value(const HistoryEntry& entry) {
  const RevisionSummary& revision = entry.revision;
  return Value::object({{"revision", revision.number},
                        {"action", revision.action},
                        {"status", release::to_string(entry.status)},
                        {"created", revision.created},
                        {"updated", updated(revision)},
                        {"package", revision.package},
                        {"packageVersion", text_or_null(revision.package_version)},
                        {"objects", revision.objects},
                        {"description", text_or_null(revision.description)},
                        {"message", text_or_null(revision.message)}});
}

Tone tone_in_list(RevisionStatus status) {
  switch (status) {
    case RevisionStatus::Deployed:
      return Tone::Good;
    case RevisionStatus::Failed:
      return Tone::Bad;
    case RevisionStatus::Pending:
    case RevisionStatus::Superseded:
    case RevisionStatus::Uninstalling:
      return Tone::Warning;
  }
  return Tone::Plain;
}

Value release_value(const release::Anchor& anchor) {
  const release::Head& head = anchor.head;
  return Value::object({{"name", anchor.id.name},
                        {"namespace", anchor.id.ns},
                        {"revision", number_or_null(head.latest)},
                        {"deployedRevision", number_or_null(head.deployed)},
                        {"status", release::to_string(head.status)},
                        {"package", head.package},
                        {"packageVersion", text_or_null(head.package_version)},
                        {"objects", head.objects},
                        {"updated", head.updated},
                        {"lockedBy", text_or_null(anchor.lock ? anchor.lock->holder : std::string())}});
}

}  // namespace

Value releases_value(const std::vector<release::Anchor>& anchors) {
  Value::Array releases;
  for (const release::Anchor& anchor : anchors) releases.push_back(release_value(anchor));
  return Value::object({{"releases", Value(std::move(releases))}});
}

Table releases_table(const std::vector<release::Anchor>& anchors, WallTime now) {
  Table table({"NAMESPACE", "NAME", "REVISION", "STATUS", "OBJECTS", "UPDATED", "PACKAGE"});
  for (const release::Anchor& anchor : anchors)
    table.add({{anchor.id.ns},
               {anchor.id.name},
               {anchor.head.latest < 0 ? "-" : fmt::format("v{}", anchor.head.latest)},
               {std::string(release::to_string(anchor.head.status)) + (anchor.lock ? " (locked)" : ""),
                tone_in_list(anchor.head.status)},
               {fmt::format("{}", anchor.head.objects)},
               {age(now, anchor.head.updated)},
               {anchor.head.package}});
  return table;
}

Value history_value(const action::History& history) {
  Value::Array revisions;
  for (const HistoryEntry& entry : history.entries) revisions.push_back(entry_value(entry));
  return Value::object({{"name", history.anchor.id.name},
                        {"namespace", history.anchor.id.ns},
                        {"status", release::to_string(history.anchor.head.status)},
                        {"deployedRevision", number_or_null(history.anchor.head.deployed)},
                        {"revisions", Value(std::move(revisions))}});
}

Table history_table(const action::History& history) {
  Table table({"REVISION", "UPDATED", "STATUS", "ACTION", "OBJECTS", "VERSION", "PACKAGE", "DESCRIPTION"});
  for (const HistoryEntry& entry : history.entries)
    table.add({{fmt::format("v{}", entry.revision.number)},
               {updated(entry.revision)},
               {std::string(release::to_string(entry.status)), tone_of(entry.status)},
               {entry.revision.action},
               {fmt::format("{}", entry.revision.objects)},
               {entry.revision.package_version.empty() ? "-" : entry.revision.package_version},
               {entry.revision.package},
               {description(entry.revision)}});
  return table;
}

}  // namespace mist::view
