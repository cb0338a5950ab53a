#pragma once
// The meaning of an API server's refusal for the program, as a fact of the error (ErrorDetails). The server
// has reason codes for some refusals and only English for the rest: api_failure.cc is the one place that
// reads that. Any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "encoding/value.h"

namespace mist::kube {

struct ApiFailure {
  /// One of the server's causes (metav1.StatusCause).
  struct Cause {
    std::string reason;  ///< "FieldValueInvalid", "FieldManagerConflict", …; may be empty
    std::string field;   ///< as the server wrote it, control characters escaped
  };
  std::vector<Cause> causes;
  /// The kind isn't served, whatever discovery said: the 404 is of the path, and not of an object.
  bool not_served = false;
  /// Fields were written in a version that the CustomResourceDefinition doesn't have any more.
  bool lost_version = false;
  /// Fields were written in a version whose schema lacks a field that the object has in another one.
  bool narrow_version = false;
  /// The object that is there doesn't have the types of its schema, as after a change of its
  /// CustomResourceDefinition: no apply succeeds, whatever it has. Patches and updates may.
  bool live_unreadable = false;
  /// The object that was sent has a field that its schema doesn't, as where the program is newer than the
  /// CustomResourceDefinition: a write without it may succeed.
  bool sent_undeclared = false;
  /// The write names a uid, and no object with it is there.
  bool other_object = false;
  /// It would change a field that can't be changed.
  bool immutable = false;
  /// Some cause would be one of a new object too: a value that isn't supported, is missing or is too long.
  bool invalid_anyway = false;
  /// Every cause is about a field of the object that was sent (field.ErrorType in apimachinery). Admission,
  /// which may decide otherwise once something else is written, gives other causes, or none.
  bool invalid_fields = false;
  /// The first field that is wrong, from the causes or else from the message; may be empty.
  std::string field;
  /// The admission webhook that couldn't be asked and must be; empty: there is none.
  std::string webhook = {};
  /// Where what answers for it runs: the namespaces of the Services that its configurations name, "" of a
  /// URL. Empty: they were not found.
  std::vector<std::string> webhook_namespaces = {};
  /// The caller has no right to do this (RBAC or another authorizer), whatever the object.
  bool no_right = false;
  /// A webhook that a dry run may not call: that says nothing about the object.
  bool no_dry_run = false;
  /// A ResourceQuota would be exceeded.
  bool over_quota = false;
  /// The server's own copy of the collection isn't there (cacher.go of its storage): it has just started, or
  /// can't read one of the objects. It says which only to a list with a limit and without selectors.
  bool copy_not_ready = false;
  /// Denied by: a policy and its binding (ValidatingAdmissionPolicy), or a webhook, by its name in its
  /// configuration. Empty: nobody is named.
  std::vector<std::string> denied_by = {};
};

/// Of a metav1.Status that became an error of this kind. Pure.
ApiFailure read_failure(const encoding::Value& status, ErrorKind kind);

/// The error of a request for objects of a kind that isn't served. The client that met it has forgotten what
/// discovery said.
Error as_not_served(Error failure);
bool is_not_served(const Error& failure);
/// Whether a failed request says that the object isn't there, and not that nobody serves its path.
bool is_absent(const Error& failure);

/// Whether an apply, or its dry run, failed for a version that is gone (lost_version.h).
bool is_lost_version(const Error& failure);
/// Whether an apply, or its dry run, failed for a version that has fewer fields (lost_version.h).
bool is_narrow_version(const Error& failure);
/// Whether an apply, or its dry run, failed for what the live object has (ApiFailure::live_unreadable).
bool is_live_unreadable(const Error& failure);
/// Whether an apply, or its dry run, failed for a field that was sent and isn't in the schema
/// (ApiFailure::sent_undeclared).
bool is_sent_undeclared(const Error& failure);

/// Whether the server refused an apply because other field managers own what it would change.
bool is_field_conflict(const Error& failure);
/// Whether that is so of this field alone, given as the server writes it: ".metadata.labels.a.b/c".
bool is_conflict_only_of(const Error& failure, std::string_view field);

/// Whether it refused a write that names a uid because no object with it is there.
bool is_other_object(const Error& failure);
/// Whether it refused a write because fields differ that can't be changed.
bool is_immutable(const Error& failure);
/// Whether it would refuse the object also if it were a new one.
bool is_invalid_anyway(const Error& failure);
/// Whether it found the object's own fields wrong: 422 with a cause for each.
bool names_invalid_fields(const Error& failure);
/// Whether it didn't answer at all: nothing arrived, or the connection broke.
bool is_without_answer(const Error& failure);
/// The admission webhook that it couldn't ask, by its name in its configuration; empty: that isn't why.
std::string_view unanswering_webhook(const Error& failure);
/// ApiFailure::webhook_namespaces.
const std::vector<std::string>& webhook_namespaces(const Error& failure);
/// Whether it refused a request for want of rights: admission wasn't asked.
bool is_without_right(const Error& failure);
/// Whether rights or admission were in the way, whatever status that has: a policy denies with the one that
/// it names, by default 422.
bool is_denied(const Error& failure);
/// The same, but for want of rights.
bool is_denied_by_admission(const Error& failure);
/// Whether a ResourceQuota was in the way.
bool is_over_quota(const Error& failure);
/// As ApiFailure::copy_not_ready.
bool is_copy_not_ready(const Error& failure);
/// The policy and the binding, or the webhook, that denied it, by name; empty: it was nothing of that.
const std::vector<std::string>& denied_by(const Error& failure);
/// Whether it refused a dry run only because one of its webhooks can't be asked in one.
bool is_without_dry_run(const Error& failure);
/// The first field that it found wrong, "spec.containers[0].image"; empty: it named none.
std::string_view refused_field(const Error& failure);

}  // namespace mist::kube
