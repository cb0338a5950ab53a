#include "catalog/remove_marked.h"

#include "action/recover/labelled.h"
#include "apply/wait/wait.h"
#include "base/doubled_pause.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "kube/deletion.h"

namespace mist::catalog {
namespace {

using apply::InventoryItem;

// A server asks a webhook, judges by a policy, and serves another server's kinds for a moment after these
// were deleted.
constexpr int kTriesToRemove = 3;
constexpr Duration kFirstRest = std::chrono::milliseconds(400);
constexpr Duration kLongestRest = std::chrono::seconds(5);

// Webhooks and policies may refuse to let anything else go, but not each other; and a server that an
// APIService names may answer that nothing of its kinds can be listed.
const std::vector<std::string>& kinds_in_the_way() {
  static const std::vector<std::string> kKinds{
      "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
      "MutatingWebhookConfiguration.admissionregistration.k8s.io",
      "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
      "ValidatingAdmissionPolicy.admissionregistration.k8s.io", "APIService.apiregistration.k8s.io"};
  return kKinds;
}

struct TerminatingObject {
  kube::ObjectRef ref;
  std::string uid;
};

struct Removals {
  std::vector<TerminatingObject> terminating;
  std::vector<std::string> refused;  // which, and why
};

Status remove_one(kube::Client& client, const InventoryItem& item,
                  std::vector<TerminatingObject>& terminating, const Context& context) {
  auto resource = client.resource_for(item.key.group_kind, item.version, context);
  // Its definition was deleted before it.
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound) return {};
  if (!resource.ok()) return std::move(resource).error();
  const kube::ObjectRef ref{*std::move(resource), item.key.ns, item.key.name};
  const auto deleted = kube::delete_object(client, ref, {.uid = item.uid}, context);
  if (!deleted.ok()) return kube::is_not_served(deleted.error()) ? Status() : Status(deleted.error());
  if (*deleted == kube::Deletion::Terminating) terminating.push_back({ref, item.uid});
  return {};
}

// Of these kinds; none: of all.
Result<Removals> remove_each(const action::Environment& environment, const release::ReleaseId& id,
                             const std::vector<std::string>& kinds, const Context& context) {
  MIST_TRY(const std::vector<InventoryItem> items, action::labelled_outside(environment, id, kinds, context));
  Removals deleted;
  for (const InventoryItem& item : items) {
    const Status done = remove_one(environment.client, item, deleted.terminating, context);
    if (done.ok()) continue;
    MIST_TRY_VOID(context.check());
    deleted.refused.push_back(fmt::format("{} ({})", item.key.display(), done.error().to_line()));
  }
  return deleted;
}

Result<Removals> try_to_remove(const action::Environment& environment, const release::ReleaseId& id,
                               const Context& context) {
  // Those that stay are among all of them again.
  MIST_TRY_VOID(remove_each(environment, id, kinds_in_the_way(), context));
  return remove_each(environment, id, {}, context);
}

}  // namespace

Result<std::vector<std::string>> remove_marked(const action::Environment& environment,
                                               const release::ReleaseId& id, Duration limit,
                                               const Context& context) {
  const Context limited = context.with_timeout(limit);
  auto deleted = try_to_remove(environment, id, limited);
  for (int tries = 1; tries < kTriesToRemove && !(deleted.ok() && deleted->refused.empty()); ++tries) {
    if (!environment.clock.sleep(doubled_pause(kFirstRest, tries - 1, kLongestRest), limited.stop())) break;
    deleted = try_to_remove(environment, id, limited);
  }
  if (!deleted.ok()) return std::move(deleted).error();
  if (!deleted->refused.empty())
    return error(ErrorKind::Conflict, "what {} has outside of its namespace can't be removed: {}",
                 id.display(), join(deleted->refused, ", "));
  std::vector<std::string> held;
  for (const TerminatingObject& each : deleted->terminating) {
    const Status gone = apply::wait_until_gone(environment.client, each.ref, each.uid, limit, limited);
    if (gone.ok()) continue;
    MIST_TRY_VOID(context.check());
    held.push_back(
        fmt::format("{} {} ({})", each.ref.resource.gvk.kind, each.ref.name, gone.error().to_line()));
  }
  return held;
}

}  // namespace mist::catalog
