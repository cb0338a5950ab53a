#include "kube/access.h"

namespace mist::kube {

Result<bool> may(Client& client, std::string_view verb, const ObjectRef& ref, const Context& context) {
  const ResourceInfo reviews{
      {"authorization.k8s.io", "v1", "SelfSubjectAccessReview"}, "selfsubjectaccessreviews", false, {}};
  Value attributes = Value::object({{"verb", verb},
                                    {"group", ref.resource.gvk.group},
                                    {"resource", ref.resource.resource},
                                    {"name", ref.name}});
  if (ref.resource.namespaced) attributes.set("namespace", ref.ns);
  const Value review =
      Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                     {"kind", "SelfSubjectAccessReview"},
                     {"spec", Value::object({{"resourceAttributes", std::move(attributes)}})}});
  MIST_TRY(const Value answer, client.create(reviews, "", review, context));
  const Value* allowed = answer.at_path({"status", "allowed"});
  return allowed != nullptr && *allowed == Value(true);
}

}  // namespace mist::kube
