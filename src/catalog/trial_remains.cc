#include "catalog/trial_remains.h"

#include <algorithm>
#include <utility>

#include "action/authoring/release_trial.h"
#include "apimachinery/conditions.h"
#include "apply/plan/test_objects.h"
#include "apply/wait/wait.h"
#include "base/text.h"
#include "catalog/remove_marked.h"
#include "kube/deletion.h"
#include "release/lock.h"
#include "release/store.h"

namespace mist::catalog {

using encoding::Value;
using release::ReleaseId;

namespace {

// Of namespaces that dead tests left, in one test: one that can't be removed mustn't keep others from theirs.
constexpr std::size_t kMostAbandoned = 2;

std::string name_of(const Value& object) { return std::string(object.string_at({"metadata", "name"})); }
std::string uid_of(const Value& object) { return std::string(object.string_at({"metadata", "uid"})); }

}  // namespace

Result<kube::ObjectRef> namespace_ref(kube::Client& client, const std::string& name, const Context& context) {
  MIST_TRY(kube::ResourceInfo resource, client.resource_for({"", "Namespace"}, "v1", context));
  return kube::ObjectRef{std::move(resource), {}, name};
}

Status TrialRemains::uninstall(const ReleaseId& id, const Context& context) {
  return action::uninstall_trial(dependencies_.environment, id, action::UninstallHooks::Skipped,
                                 {.delete_crds = true, .delete_pvcs = true, .delete_namespaces = true},
                                 dependencies_.times.timeout, context);
}

Status TrialRemains::clear_up(const ReleaseId& id, const std::string& namespace_uid, const Context& context) {
  Status cleared = clear_up_whole(id, namespace_uid, context);
  if (!cleared.ok()) warn_that_stays(id.ns, cleared.error());
  return cleared;
}

Status TrialRemains::clear_up_whole(const ReleaseId& id, const std::string& namespace_uid,
                                    const Context& context) {
  (void)uninstall(id, context.with_timeout(dependencies_.times.timeout));
  MIST_TRY_VOID(remove_what_stays({id}, context));
  return remove_namespace(id.ns, namespace_uid, context);
}

Status TrialRemains::remove_attempt(const ReleaseId& left, const Context& context) {
  MIST_TRY(const kube::ObjectRef ref, namespace_ref(client(), left.ns, context));
  const auto there = client().get(ref, context);
  if (!there.ok() && there.error().kind == ErrorKind::NotFound) return {};
  if (!there.ok()) return there.error();
  Status uninstalled = uninstall(left, context);
  if (!uninstalled.ok() && uninstalled.error().detail<release::LockHeld>() != nullptr) return uninstalled;
  MIST_TRY_VOID(remove_what_stays({left}, context));
  return remove_namespace(left.ns, uid_of(*there), context);
}

void TrialRemains::remove_abandoned(const std::string& own_namespace, std::int64_t job,
                                    const Context& context) {
  const auto abandoned = abandoned_namespaces(own_namespace, context.with_timeout(kProbe));
  if (!abandoned.ok()) return;
  const std::size_t all = abandoned->size();
  for (std::size_t i = 0; i < std::min(all, kMostAbandoned); ++i) {
    const Value& ns = abandoned->at((static_cast<std::size_t>(job) + i) % all);
    const Status removed = remove_test(ns, context);
    if (!context.check().ok()) return;
    if (!removed.ok()) warn_that_stays(name_of(ns), removed.error());
  }
}

bool TrialRemains::is_older_than_any_test(const Value& ns) const {
  const WallTime now = dependencies_.environment.clock.now();
  if (const auto until = parse_time(ns.string_at({"metadata", "annotations", kUntilAnnotation})))
    return now >= *until;
  const auto created = parse_time(ns.string_at({"metadata", "creationTimestamp"}));
  return !created || now - *created >= dependencies_.times.longest_life();
}

Result<std::vector<Value>> TrialRemains::abandoned_namespaces(const std::string& own_namespace,
                                                              const Context& context) {
  MIST_TRY(const kube::ObjectRef ref, namespace_ref(client(), own_namespace, context));
  MIST_TRY(kube::ObjectList list,
           client().list(ref.resource,
                         {.label_selector = fmt::format("{}={}", kInstanceLabel, dependencies_.instance),
                          .metadata_only = true},
                         context));
  std::erase_if(list.items, [&](const Value& each) {
    return name_of(each) == own_namespace || apimachinery::is_terminating(each) ||
           !is_older_than_any_test(each);
  });
  return std::move(list.items);
}

// Its record may be of no use any more: what carries its labels goes all the same. As long as some of that
// stays, so does the namespace, for the next test.
Status TrialRemains::remove_test(const Value& ns, const Context& context) {
  MIST_TRY(const std::vector<ReleaseId> releases, releases_in(ns, context.with_timeout(kProbe)));
  const Context uninstalling = context.with_timeout(kProbe);
  for (const ReleaseId& each : releases) (void)uninstall(each, uninstalling);
  MIST_TRY_VOID(remove_what_stays(releases, context.with_timeout(2 * kProbe)));
  return delete_namespace(name_of(ns), uid_of(ns), context.with_timeout(kProbe));
}

Result<std::vector<ReleaseId>> TrialRemains::releases_in(const Value& ns, const Context& context) {
  const std::string name = name_of(ns);
  const std::string package(ns.string_at({"metadata", "annotations", kPackageAnnotation}));
  if (!package.empty()) return std::vector{ReleaseId(name, package)};
  // An earlier catalog made it.
  release::Store store(client());
  MIST_TRY(const std::vector<release::Anchor> anchors, store.list_anchors(name, context));
  std::vector<ReleaseId> releases;
  for (const release::Anchor& each : anchors) releases.push_back(each.id);
  return releases;
}

// Of releases that are uninstalled, or can't be: what they have outside of their namespace. An error: some of
// it can't be removed.
Status TrialRemains::remove_what_stays(const std::vector<ReleaseId>& releases, const Context& context) {
  for (const ReleaseId& each : releases)
    for (const ReleaseId& of : {each, ReleaseId(apply::test_set(each))}) {
      MIST_TRY(const std::vector<std::string> held,
               remove_marked(dependencies_.environment, of, look_time(), context));
      for (const std::string& one : held)
        dependencies_.warn(fmt::format("of the test in {}, still being deleted: {}", each.ns, one));
    }
  return {};
}

// One that is being deleted already is fine.
Status TrialRemains::delete_namespace(const std::string& name, const std::string& uid,
                                      const Context& context) {
  MIST_TRY(const kube::ObjectRef ref, namespace_ref(client(), name, context));
  MIST_TRY_VOID(kube::delete_object(client(), ref, {.uid = uid}, context));
  return {};
}

Status TrialRemains::remove_namespace(const std::string& name, const std::string& uid,
                                      const Context& context) {
  MIST_TRY_VOID(delete_namespace(name, uid, context));
  MIST_TRY(const kube::ObjectRef ref, namespace_ref(client(), name, context));
  return apply::wait_until_gone(client(), ref, uid, dependencies_.times.timeout, context)
      .in("while waiting for the namespace of the test to go");
}

void TrialRemains::warn_that_stays(const std::string& ns, const Error& why) {
  dependencies_.warn(fmt::format("the namespace {} of a test stays: {}", ns, why.to_line()));
}

// For what a release left, and again for what its tests did.
Duration TrialRemains::look_time() const { return std::min(kProbe, dependencies_.times.timeout / 2); }

}  // namespace mist::catalog
