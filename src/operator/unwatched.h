#pragma once
// The words for a blueprint of which the server doesn't list the instances, in some namespaces or anywhere:
// the account lacks the right, perhaps because a namespace is gone, or an object can't be converted. Pure;
// any thread.

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace mist::operator_ {

/// The reason by namespace; "" stands for all. As kube::MultiNamespaceInformer::list_failures() has it.
using Unwatched = std::map<std::string, Error>;

/// Without those of a kind that isn't served, which is said of its CRD.
Unwatched unwatched_instances(Unwatched failures);

/// For the status of the blueprint: a line for each namespace, with the server's words, and what helps. The
/// same failures give the same text.
std::string unwatched_words(const Unwatched& failures);

/// For the log: a line for each namespace where something is different now.
std::vector<std::string> unwatched_news(const Unwatched& before, const Unwatched& now);

}  // namespace mist::operator_
