#include "view/status.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "release/command_text.h"
#include "view/diagnosis_tree.h"
#include "view/table.h"
#include "view/values.h"

namespace mist::view {

using action::HolderLife;
using action::ObjectHealth;
using action::ObjectStatus;
using action::ReleaseStatus;
using encoding::Value;

namespace {

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
  for (const render::AgingCertificate& each : status.certificates)
    list.push_back(identity_value(each.key, {{"path", each.path},
                                             {"subject", each.subject},
                                             {"notAfter", each.not_after},
                                             {"expired", each.expired}}));
  return Value(std::move(list));
}

Value lock_value(const ReleaseStatus& status) {
  if (!status.holder) return {};
  const release::Lock& lock = *status.anchor.lock;
  const HolderLife& life = *status.holder;
  const std::int64_t silent = std::chrono::duration_cast<std::chrono::seconds>(life.silent).count();
  return Value::object(
      {{"holder", lock.holder},
       {"operation", lock.operation},
       {"acquired", lock.acquired},
       {"renewed", lock.renewed},
       {"termMs", lock.term_ms},
       {"state", action::to_string(life.state)},
       {"silentSeconds",
        life.state == HolderLife::State::Unsure ? Value() : Value(std::max<std::int64_t>(silent, 0))}});
}

Value managing_release_value(const ReleaseStatus& status) {
  if (!status.managing_release) return {};
  const action::ManagingRelease& managing = *status.managing_release;
  return Value::object({{"namespace", managing.ns},
                        {"name", managing.name},
                        {"state", action::to_string(managing.state)},
                        {"message", text_or_null(managing.message)}});
}

// Whether its process lives can't be known from here: clocks of two machines may differ.
std::string holder_words(const HolderLife& life, const release::Lock& lock) {
  switch (life.state) {
    case HolderLife::State::Dead: {
      const Duration left = std::chrono::milliseconds(lock.term_ms) - std::max(life.silent, Duration{});
      return left > Duration{}
                 ? fmt::format("is dead: its process on this machine has ended; its lock runs out in {}",
                               format_age(left))
                 : "is dead: its process on this machine has ended; the next command that writes takes over";
    }
    case HolderLife::State::Alive:
      return fmt::format("is under way, last sign of life {} ago", format_age(life.silent));
    case HolderLife::State::Silent:
      return fmt::format(
          "silent for {}: its process seems to have died, if its clock agrees with this one's; the next "
          "command that writes finds out and takes over",
          format_age(life.silent));
    case HolderLife::State::Unsure:
      break;
  }
  if (life.silent == Duration{})
    return "says no time; the next command that writes finds out whether it lives";
  return fmt::format(
      "its clock is {} ahead of this one's; the next command that writes finds out whether it lives",
      format_age(-life.silent));
}

std::string unfinished_words(const ReleaseStatus& status, const release::Revision& revision) {
  if (revision.status == release::RevisionStatus::Failed) return fmt::format("failed: {}", revision.message);
  if (status.holder && status.holder->state == HolderLife::State::Alive)
    return fmt::format("has not ended yet: \"{}\" of {} is under way", status.anchor.lock->operation,
                       status.anchor.lock->holder);
  return fmt::format("did not end; the next install or upgrade takes over from it, or {}",
                     release::command_text("recover", status.anchor.id));
}

// "demo 1.2.3, from ./chart"; a reference that ends with the version says it all.
std::string package_words(const release::PackageInfo& package) {
  if (package.version.empty() || package.reference.ends_with(":" + package.version)) return package.reference;
  const std::string named =
      package.name.empty() ? package.version : fmt::format("{} {}", package.name, package.version);
  return fmt::format("{}, from {}", named, package.reference);
}

std::string head_text(const ReleaseStatus& status, WallTime now) {
  std::string out;
  const release::Head& head = status.anchor.head;
  const auto line = [&](std::string_view name, std::string_view text) {
    out += fmt::format("{:<11}{}\n", name, escape_controls(text));
  };
  line("Release", status.anchor.id.name);
  line("Namespace", status.anchor.id.ns);
  // That of the revision in the next line; one that did not end names its own.
  const std::string package = package_words(status.deployed ? status.deployed->package : status.package);
  line("Package", package);
  line("Revision", head.deployed < 0
                       ? "none is deployed"
                       : fmt::format("v{}, {} ago", head.deployed,
                                     age(now, status.deployed ? status.deployed->created : head.updated)));
  line("Status", release::to_string(head.status));
  if (status.holder) {
    const release::Lock& lock = *status.anchor.lock;
    line("Locked by", fmt::format("{} (\"{}\" since {})", lock.holder, lock.operation, lock.acquired));
    line("Holder", holder_words(*status.holder, lock));
  }
  if (status.managing_release) {
    const action::ManagingRelease& managing = *status.managing_release;
    line("Kept by", fmt::format("{}, {}{}", managing.display(), action::to_string(managing.state),
                                managing.message.empty() ? "" : ": " + managing.message));
  }
  for (const release::Revision& revision : status.unfinished) {
    const std::string own = package_words(revision.package);
    line("Unfinished",
         fmt::format("v{} ({} at {}{}) {}", revision.number, revision.action, revision.created,
                     own == package ? "" : ", package " + own, unfinished_words(status, revision)));
  }
  line("Health", fmt::format("{} of {} ready", status.count(ObjectHealth::Ready),
                             std::ranges::count_if(status.objects, [](const ObjectStatus& object) {
                               return !object.retained && !object.hook;
                             })));
  for (const render::AgingCertificate& certificate : status.certificates)
    line("Renew", render::to_string(certificate));
  if (const auto lookups = lookups_of(status); !lookups.empty()) {
    if (!lookups.objects.empty()) line("Looks up", join(lookups.objects, ", "));
    if (!lookups.secrets.empty()) line("Looks up", "Secrets " + join(lookups.secrets, ", "));
  }
  return out;
}

// Releases with more objects than this are shown folded, and no more than this of what is not ready.
constexpr std::size_t kShownObjects = 50;

// How urgently an object should be seen: 0 is the most urgent, kAtRest needs no attention.
constexpr int kAtRest = 4;
int urgency(const ObjectStatus& object) {
  if (object.retained) return kAtRest;
  switch (object.health) {
    case ObjectHealth::Failed:
      return 0;
    case ObjectHealth::Missing:
      return 1;
    case ObjectHealth::InProgress:
      return 2;
    case ObjectHealth::Unknown:
      return 3;
    case ObjectHealth::Ready:
      return kAtRest;
  }
  return kAtRest;
}

// "v0", or "v0-v2".
std::string span(std::string first, const std::string& last) {
  return first == last ? first : std::move(first) + "-" + last;
}

class ObjectTable {
 public:
  explicit ObjectTable(WallTime now) : now_(now) {}

  void add(const ObjectStatus& object) {
    table_.add({{object.key.display()},
                {object.retained ? "retained" : std::string(action::to_string(object.health)),
                 object.retained ? Tone::Plain : tone_of(object.health)},
                {fmt::format("v{}", object.revision)},
                {age(now_, object.created)},
                {object.hook ? fmt::format("hook{}{}", object.detail.empty() ? "" : ": ", object.detail)
                             : object.detail}});
  }

  // Ready ones of one kind and namespace.
  void add_folded(const std::vector<const ObjectStatus*>& objects) {
    if (objects.size() == 1) return add(*objects.front());
    const auto [lowest, highest] = std::ranges::minmax_element(objects, {}, &ObjectStatus::revision);
    const auto [oldest, youngest] = std::ranges::minmax_element(objects, {}, &ObjectStatus::created);
    const apimachinery::ObjectKey& key = objects.front()->key;
    table_.add({{fmt::format("{} {}{} objects", key.group_kind.kind, key.ns.empty() ? "" : key.ns + ": ",
                             objects.size())},
                {std::string(action::to_string(ObjectHealth::Ready)), tone_of(ObjectHealth::Ready)},
                {span(fmt::format("v{}", (*lowest)->revision), fmt::format("v{}", (*highest)->revision))},
                {span(age(now_, (*youngest)->created), age(now_, (*oldest)->created))},
                {}});
  }

  std::string text(bool color) const { return table_.empty() ? "" : "\n" + table_.render(color); }

 private:
  WallTime now_;
  Table table_{{"OBJECT", "HEALTH", "CHANGED IN", "AGE", "DETAIL"}};
};

// Objects that are not ready stand first; of a large release, the ready ones are only counted.
std::string objects_text(const ReleaseStatus& status, WallTime now, const StatusOptions& options) {
  std::vector<const ObjectStatus*> sorted;
  for (const ObjectStatus& object : status.objects) sorted.push_back(&object);
  std::ranges::stable_sort(sorted, {}, [](const ObjectStatus* object) { return urgency(*object); });
  const bool fold = !options.all_objects && sorted.size() > kShownObjects;
  ObjectTable table(now);
  using Place = std::pair<apimachinery::GroupKind, std::string>;
  std::map<Place, std::vector<const ObjectStatus*>> ready;
  std::size_t unready = 0, folded = 0;
  for (const ObjectStatus* object : sorted) {
    const bool at_rest = urgency(*object) == kAtRest;
    if (!at_rest) ++unready;
    if (!fold || (!at_rest && unready <= kShownObjects) || object->retained || (at_rest && object->hook)) {
      table.add(*object);
    } else if (at_rest) {
      ready[{object->key.group_kind, object->key.ns}].push_back(object);
    }
  }
  for (const auto& [place, objects] : ready) {
    table.add_folded(objects);
    if (objects.size() > 1) folded += objects.size();
  }
  std::string text = table.text(options.color);
  std::vector<std::string> left_out;
  if (fold && unready > kShownObjects)
    left_out.push_back(fmt::format("{} more not ready", unready - kShownObjects));
  if (folded > 0) left_out.push_back(fmt::format("{} ready", folded));
  if (!left_out.empty())
    text +=
        fmt::format("\nnot shown one by one: {}; --all-objects shows every object\n", join(left_out, ", "));
  return text;
}

}  // namespace

std::string_view notes_of(const ReleaseStatus& status) {
  return status.deployed ? std::string_view(status.deployed->notes) : std::string_view();
}

Value status_value(const ReleaseStatus& status, WallTime now) {
  Value::Array objects;
  for (const ObjectStatus& object : status.objects)
    objects.push_back(identity_value(object.key, {{"health", action::to_string(object.health)},
                                                  {"detail", text_or_null(object.detail)},
                                                  {"revision", object.revision},
                                                  {"retained", object.retained},
                                                  {"hook", object.hook},
                                                  {"created", text_or_null(object.created)},
                                                  {"ageSeconds", age_seconds(now, object.created)}}));
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
       {"packageName", text_or_null(status.package.name)},
       {"packageVersion", text_or_null(status.package.version)},
       {"updated", head.updated},
       {"allowLookup", texts_value(lookups_of(status).objects)},
       {"allowLookupSecrets", texts_value(lookups_of(status).secrets)},
       {"lockedBy", text_or_null(status.anchor.lock ? status.anchor.lock->holder : std::string())},
       {"lock", lock_value(status)},
       {"keptBy", managing_release_value(status)},
       {"unfinished", Value(std::move(unfinished))},
       {"certificates", certificates_value(status)},
       {"notes", text_or_null(notes_of(status))},
       {"objects", Value(std::move(objects))},
       {"diagnosis", status.diagnosis ? diagnosis_to_value(*status.diagnosis) : Value()}});
}

std::string status_text(const ReleaseStatus& status, WallTime now, const StatusOptions& options) {
  return head_text(status, now) + objects_text(status, now, options);
}

}  // namespace mist::view
