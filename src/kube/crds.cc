#include "kube/crds.h"

namespace mist::kube {

using encoding::Value;

std::vector<std::string> served_versions(const Value& crd) {
  std::vector<std::string> served;
  const Value* const versions = crd.at_path({"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return served;
  for (const Value& version : versions->as_array())
    if (version.is_true_at("served")) served.emplace_back(version.string_at("name"));
  return served;
}

std::string readable_version(const Value& crd) {
  const std::vector<std::string> served = served_versions(crd);
  if (served.empty()) return {};
  for (const Value& version : crd.at_path({"spec", "versions"})->as_array())
    if (version.is_true_at("served") && version.is_true_at("storage"))
      return std::string(version.string_at("name"));
  return served.front();
}

}  // namespace mist::kube
