#pragma once
// What lies in a namespace and isn't the release's. A namespace takes along all that is in it, so it is
// looked into before anybody agrees to deleting it, and once more right before that is done. Reads only,
// metadata only; a LIST for each kind. Blocking; any thread.

#include <set>
#include <string>
#include <vector>

#include "action/environment.h"

namespace mist::action {

struct NamespaceContents {
  std::vector<std::string> foreign;  ///< sorted: "ConfigMap shop/theirs"
  std::set<std::string> tied;        ///< uids of what owners tie to `ours`, directly or not
};

/// `ours`: uids of what goes anyway. Not foreign beside that: what each namespace has by itself, the
/// release's record, what owners tie to `ours`, what is being deleted, and what the garbage collector is
/// about to delete because all its owners are gone.
Result<NamespaceContents> look_into_namespace(const Environment& environment, const release::ReleaseId& id,
                                              const std::string& ns, const std::set<std::string>& ours,
                                              const Context& context);

/// "2 objects in it are not the release's (ConfigMap shop/theirs, …)".
std::string foreign_words(const std::vector<std::string>& foreign);

}  // namespace mist::action
