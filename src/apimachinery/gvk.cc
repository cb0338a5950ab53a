#include "apimachinery/gvk.h"

namespace mist::apimachinery {

Result<GroupVersionKind> GroupVersionKind::parse(std::string_view api_version, std::string_view kind) {
  if (kind.empty()) return error(ErrorKind::Invalid, "the object has no kind");
  if (api_version.empty()) return error(ErrorKind::Invalid, "the {} has no apiVersion", kind);
  const auto slash = api_version.find('/');
  GroupVersionKind gvk;
  gvk.kind = kind;
  if (slash == std::string_view::npos) {
    gvk.version = api_version;
  } else {
    gvk.group = api_version.substr(0, slash);
    gvk.version = api_version.substr(slash + 1);
  }
  const bool odd = gvk.version.empty() || gvk.version.find('/') != std::string::npos ||
                   (slash != std::string_view::npos && gvk.group.empty());
  if (odd)
    return error(ErrorKind::Invalid, "\"{}\" is not an apiVersion: it must be VERSION or GROUP/VERSION",
                 api_version);
  return gvk;
}

std::string to_string(const GroupKind& gk) { return gk.group.empty() ? gk.kind : gk.kind + "." + gk.group; }

GroupKind parse_group_kind(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(dot + 1)), std::string(text.substr(0, dot))};
}

}  // namespace mist::apimachinery
