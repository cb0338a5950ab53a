#include "apply/wait/binding_modes.h"

namespace mist::apply {

bool BindingModes::binds_late(std::string_view storage_class, const Context& context) {
  if (storage_class.empty()) return false;
  const std::scoped_lock lock(mutex_);
  if (const auto found = known_.find(storage_class); found != known_.end()) return found->second;
  const std::string name(storage_class);
  const kube::ResourceInfo resource{{"storage.k8s.io", "v1", "StorageClass"}, "storageclasses", false, {}};
  const auto read = client_.get({resource, "", name}, context);
  const bool late = read.ok() && read->string_at("volumeBindingMode") == "WaitForFirstConsumer";
  const bool final =
      read.ok() || read.error().kind == ErrorKind::NotFound || read.error().kind == ErrorKind::Forbidden;
  if (final) known_.emplace(name, late);
  return late;
}

}  // namespace mist::apply
