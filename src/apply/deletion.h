#pragma once
// DELETE of one object by its uid, and what the answer proves. Admission webhooks deny deletions with
// whatever HTTP status they like (Crossplane's Usage answers 409), so neither 409 nor 404 says by itself that
// an object is gone: a GET does. Blocking; any thread.

#include <cstdint>

#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

enum class Deletion : std::uint8_t {
  Gone,   ///< no object has that name any more
  Other,  ///< another object has its name: the one with the uid is gone
  Going,  ///< the server is deleting it; finalizers or a namespace's contents still hold it
};

/// `options.uid` is required. Every refusal is an error, with the server's words as `because`, and the object
/// is still there then. An error of not_served.h stays one: only discovery can say what became of the kind.
Result<Deletion> delete_object(kube::Client& client, const kube::ObjectRef& ref,
                               const kube::DeleteOptions& options, const Context& context);

}  // namespace mist::apply
