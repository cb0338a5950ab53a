#include "apply/deletion.h"

#include "kube/not_served.h"

namespace mist::apply {

Result<Deletion> delete_object(kube::Client& client, const kube::ObjectRef& ref,
                               const kube::DeleteOptions& options, const Context& context) {
  MIST_CHECK(!options.uid.empty(), "delete_object() needs the uid of the object");
  auto deleted = client.remove(ref, options, context);
  if (deleted.ok()) {
    const bool going = apimachinery::is_terminating(*deleted) && deleted->string_at("kind") != "Status";
    return going ? Deletion::Going : Deletion::Gone;
  }
  Error refusal = std::move(deleted).error();
  const bool unclear = refusal.kind == ErrorKind::Conflict || refusal.kind == ErrorKind::NotFound;
  if (!unclear || kube::is_not_served(refusal)) return refusal;
  const auto there = client.get(ref, context);
  if (!there.ok()) {
    const Error& failure = there.error();
    if (failure.kind == ErrorKind::NotFound && !kube::is_not_served(failure)) return Deletion::Gone;
    return std::move(refusal).with_frame(
        fmt::format("and whether it is still there can't be read: {}", failure.to_line()));
  }
  if (there->string_at({"metadata", "uid"}) != options.uid) return Deletion::Other;
  // A namespace that is being emptied answers 409 to a second DELETE.
  if (apimachinery::is_terminating(*there)) return Deletion::Going;
  return refusal;
}

}  // namespace mist::apply
