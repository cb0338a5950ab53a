#pragma once
// Objects whose fields were written in a version that their CustomResourceDefinition doesn't have any more,
// or that lacks fields which the object has by now. The server keeps each manager's fields in the version in
// which it wrote them (metadata.managedFields), and server-side apply, whoever asks, converts the object to
// each of those. For a version that is gone, and for one whose schema doesn't declare a field, it answers
// 500, again and again. Other writes drop all entries of a version that is gone, and with them the knowledge
// of whose fields they were. Any thread.

#include "kube/client.h"

namespace mist::kube {

/// `live` as a patch of its managedFields has to have it, so that the server doesn't forget them: what was
/// written in a lost version counts as written in that of `resource`. Without a request, unless it has fields
/// of another version, and nothing is written.
Value with_present_owners(Client& client, const ResourceInfo& resource, Value live, const Context& context);

/// As Client::apply(). Where it fails for a lost version (is_lost_version()), fields written in that version
/// become, for the server, fields written in the version of `ref`: they keep their owners, and the ones that
/// we don't want any more go. For one that has fewer fields (is_narrow_version()) all other versions are
/// renewed so, but not where a webhook converts: there a field may have another name in each version. All
/// versions that the CRD lacks are renewed at once (a client that may not read CRDs learns them from
/// discovery): while one is left, the server forgets all owners with any write. Entries of one manager in
/// several versions become one entry. The renewal is a write of its own, at exactly the version of the object
/// that was read, and only if uid and version are those that `object` names, where it does. Of a dry run: the
/// error. Errors: as of apply(), get() and merge_patch(); Conflict.
Result<Value> apply_over_lost_version(Client& client, const ObjectRef& ref, const Value& object,
                                      const ApplyOptions& options, const Context& context);

}  // namespace mist::kube
