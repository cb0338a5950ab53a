#include "kube/deletion.h"

#include <algorithm>

#include "kube/api_failure.h"

namespace mist::kube {
namespace {

constexpr int kMostDeletes = 20;
constexpr auto kPauseToLookAgain = std::chrono::milliseconds(5);
constexpr auto kLongestLookPause = std::chrono::milliseconds(200);

Deletion terminating(const Value& there, const DeletionTarget& target) {
  if (target.terminating != nullptr) *target.terminating = there;
  return Deletion::Terminating;
}

// Of what is there under the name: nullopt if it is the object, and nobody has deleted it yet.
std::optional<Deletion> is_deleted(const Value& there, const DeletionTarget& target) {
  if (there.string_at({"metadata", "uid"}) != target.uid) return Deletion::Other;
  // A namespace that is being emptied answers 409 to a second DELETE.
  if (apimachinery::is_terminating(there)) return terminating(there, target);
  return std::nullopt;
}

}  // namespace

Result<Deletion> delete_object(Client& client, const ObjectRef& ref, const DeletionTarget& target,
                               const Context& context) {
  MIST_CHECK(!target.uid.empty(), "delete_object() needs the uid of the object");
  DeleteOptions options{
      .uid = target.uid, .resource_version = target.resource_version, .propagation = target.propagation};
  std::optional<Error> refusal;  // of the version before
  auto pause = kPauseToLookAgain;
  for (int tries = 1;; ++tries) {
    if (options.resource_version.empty() || refusal) {
      const auto there = client.get(ref, context);
      if (!there.ok()) {
        if (is_absent(there.error())) return Deletion::Gone;
        if (!refusal) return there.error();
        return (*std::move(refusal))
            .with_frame(
                fmt::format("and whether it is still there can't be read: {}", there.error().to_line()));
      }
      if (const auto deleted = is_deleted(*there, target)) return *deleted;
      std::string version(there->string_at({"metadata", "resourceVersion"}));
      if (refusal) {
        // At the very version that it was refused for, that was for another reason.
        const bool changed =
            refusal->kind == ErrorKind::Conflict && version != options.resource_version && !version.empty();
        if (!changed || tries > kMostDeletes + 1 || !context.pause(pause).ok()) return *std::move(refusal);
        pause = std::min(pause * 2, kLongestLookPause);
      }
      const bool known = version == target.resource_version;
      if (!known && target.recheck) MIST_TRY_VOID(target.recheck(*there));
      // Constant writes would keep the object. A caller that tried so often was not stopped meanwhile.
      options.resource_version = tries > kMostDeletes ? std::string() : std::move(version);
    }
    auto deleted = client.remove(ref, options, context);
    if (deleted.ok()) {
      const bool is_terminating =
          apimachinery::is_terminating(*deleted) && deleted->string_at("kind") != "Status";
      return is_terminating ? terminating(*deleted, target) : Deletion::Gone;
    }
    const bool unclear =
        deleted.error().kind == ErrorKind::Conflict || deleted.error().kind == ErrorKind::NotFound;
    if (!unclear || is_not_served(deleted.error())) return std::move(deleted).error();
    refusal = std::move(deleted).error();
  }
}

}  // namespace mist::kube
