#pragma once
// The owner of the objects of a plan: a release today. It has a name and the namespace of its record; the
// ownership labels of its objects (reserved_metadata.h) follow from these. A plain value; any thread.

#include <string>
#include <tuple>

#include "kube/client.h"

namespace mist::apply {

struct Owner {
  std::string ns;
  std::string name;
  std::string manager = std::string(kube::kFieldManager);  ///< of all that is written; no part of who it is
  std::string display() const { return ns + "/" + name; }
  friend bool operator==(const Owner& a, const Owner& b) { return a.ns == b.ns && a.name == b.name; }
  friend auto operator<=>(const Owner& a, const Owner& b) {
    return std::tie(a.ns, a.name) <=> std::tie(b.ns, b.name);
  }
};

/// "mistletoe.<name>": the Secret that is the parent of its objects (KEP-3659).
std::string anchor_name(const Owner& owner);
/// KEP-3659: the value of kPartOfLabel, "applyset-<base64url(sha256(name.namespace.kind.group))>-v1" of that
/// Secret.
std::string apply_set_id(const Owner& owner);

}  // namespace mist::apply
