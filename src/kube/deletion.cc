#include "kube/deletion.h"

#include <algorithm>

#include "kube/api_failure.h"

namespace mist::kube {
namespace {

constexpr int kMostDeletes = 20;
constexpr auto kPauseToLookAgain = std::chrono::milliseconds(5);
constexpr auto kLongestLookPause = std::chrono::milliseconds(200);

Deletion going(const Value& there, const Doomed& doomed) {
  if (doomed.going != nullptr) *doomed.going = there;
  return Deletion::Going;
}

// Of what is there under the name: nullopt if it is the object, and nobody has deleted it yet.
std::optional<Deletion> is_deleted(const Value& there, const Doomed& doomed) {
  if (there.string_at({"metadata", "uid"}) != doomed.uid) return Deletion::Other;
  // A namespace that is being emptied answers 409 to a second DELETE.
  if (apimachinery::is_terminating(there)) return going(there, doomed);
  return std::nullopt;
}

}  // namespace

Result<Deletion> delete_object(Client& client, const ObjectRef& ref, const Doomed& doomed,
                               const Context& context) {
  MIST_CHECK(!doomed.uid.empty(), "delete_object() needs the uid of the object");
  DeleteOptions options{
      .uid = doomed.uid, .resource_version = doomed.resource_version, .propagation = doomed.propagation};
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
      if (const auto deleted = is_deleted(*there, doomed)) return *deleted;
      std::string version(there->string_at({"metadata", "resourceVersion"}));
      if (refusal) {
        // At the very version that it was refused for, that was for another reason.
        const bool changed =
            refusal->kind == ErrorKind::Conflict && version != options.resource_version && !version.empty();
        if (!changed || tries > kMostDeletes + 1 || !context.pause(pause).ok()) return *std::move(refusal);
        pause = std::min(pause * 2, kLongestLookPause);
      }
      const bool known = version == doomed.resource_version;
      if (!known && doomed.still_goes) MIST_TRY_VOID(doomed.still_goes(*there));
      // Constant writes would keep the object. A caller that tried so often was not stopped meanwhile.
      options.resource_version = tries > kMostDeletes ? std::string() : std::move(version);
    }
    auto deleted = client.remove(ref, options, context);
    if (deleted.ok()) {
      const bool is_going = apimachinery::is_terminating(*deleted) && deleted->string_at("kind") != "Status";
      return is_going ? going(*deleted, doomed) : Deletion::Gone;
    }
    const bool unclear =
        deleted.error().kind == ErrorKind::Conflict || deleted.error().kind == ErrorKind::NotFound;
    if (!unclear || is_not_served(deleted.error())) return std::move(deleted).error();
    refusal = std::move(deleted).error();
  }
}

}  // namespace mist::kube
