#pragma once
// DELETE of one object as its deleter knows it: by its uid, and by the resourceVersion at which it was looked
// at. A request may arrive long after it was sent, when a process that lost its lock is no longer the one to
// say what goes: whoever came after it has written the object since, and the server refuses. Where it merely
// changed (its status, say), it is looked at once more; after some of those it goes by its uid alone.
// Blocking; any thread.
//
// Admission webhooks deny deletions with whatever HTTP status they like (Crossplane's Usage answers 409), so
// neither 409 nor 404 says by itself that an object is gone, or that it changed: a GET does.

#include <cstdint>
#include <functional>

#include "base/context.h"
#include "kube/client.h"

namespace mist::kube {

enum class Deletion : std::uint8_t {
  Gone,         ///< no object has that name any more
  Other,        ///< another object has its name: the one with the uid is gone
  Terminating,  ///< the server is deleting it; finalizers or a namespace's contents still hold it
};

/// The object to delete.
struct DeletionTarget {
  std::string uid;                    ///< required
  std::string resource_version = {};  ///< at which it was looked at; empty: it is looked at first
  Propagation propagation = Propagation::Background;
  /// Called with the object if its version has changed, before it is deleted at the new one. Its error keeps
  /// the object, and is returned. Empty: it is deleted whatever changed.
  std::function<Status(const Value& now)> recheck = {};
  Value* terminating = nullptr;  ///< where Deletion::Terminating: gets the object as it is now
};

/// Every refusal is an error, with the server's words as `because`, and the object is still there then. An
/// error of not_served.h stays one: only discovery can say what became of the kind. Whether we may still
/// write is for the guard of `context`, before each request.
Result<Deletion> delete_object(Client& client, const ObjectRef& ref, const DeletionTarget& target,
                               const Context& context);

}  // namespace mist::kube
