#include "kube/api_failure.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/transport.h"

namespace mist::kube {
namespace {

using encoding::Value;

// How the API server says that a field can't be changed; there is no reason code for it.
constexpr std::array<std::string_view, 6> kImmutable{
    "is immutable",   "may not be changed",     "cannot be changed",
    "may not change", "updates to statefulset", "Forbidden: spec is immutable"};
// crConverter in apiextensions-apiserver, of a version that the CustomResourceDefinition doesn't have.
constexpr std::string_view kLostVersion = "request to convert CR to an invalid group/version: ";
// structured-merge-diff's typed objects: of a version in which some manager wrote, unless it is the object
// that was sent which can't be read in its own.
constexpr std::string_view kUndeclared = "field not declared in schema",
                           kNotTyped = "failed to create typed patch object",
                           kLiveNotTyped = "failed to create typed live object";
// rest.DefaultUpdatedObjectInfo, of an apply that names a uid where nothing is there.
constexpr std::string_view kOtherUid = "uid mismatch: ";
constexpr std::string_view kUnanswered = "failed calling webhook \"";
// forbiddenMessage of apiserver's responsewriters: `User "ann" cannot patch resource "pods"`.
constexpr std::string_view kUser = "User \"", kCannot = "\" cannot ";
constexpr std::string_view kEscalates = " is attempting to grant RBAC permissions not currently held";
// NewDryRunUnsupportedErr of apiserver's admission.
constexpr std::string_view kNoDryRun = "does not support dry run";
// The resourcequota plugin of apiserver's admission.
constexpr std::string_view kOverQuota = "exceeded quota: ";
constexpr std::string_view kCopyNotReady = "storage is (re)initializing";
// The dispatcher of apiserver's admission policies, and webhookerrors.ToStatusErr.
constexpr std::string_view kPolicy = "Policy '", kBinding = "' with binding '", kDenied = " denied ";
constexpr std::string_view kWebhook = "admission webhook \"";
constexpr std::string_view kUidField = "metadata.uid";

constexpr std::string_view kFieldManagerConflict = "FieldManagerConflict";
constexpr std::array<std::string_view, 8> kFieldReasons{
    "FieldValueRequired", "FieldValueInvalid", "FieldValueNotSupported", "FieldValueDuplicate",
    "FieldValueTooLong",  "FieldValueTooMany", "FieldValueTypeInvalid",  "FieldValueForbidden"};

// Of these, no change is to blame.
constexpr std::array<std::string_view, 6> kOfValues{"FieldValueRequired",  "FieldValueNotSupported",
                                                    "FieldValueDuplicate", "FieldValueTooLong",
                                                    "FieldValueTooMany",   "FieldValueTypeInvalid"};

bool says_immutable(std::string_view words) {
  return std::ranges::any_of(kImmutable, [&](std::string_view each) { return words.contains(each); });
}

bool is_about_a_field(const ApiFailure::Cause& cause) {
  return !cause.field.empty() && std::ranges::find(kFieldReasons, cause.reason) != kFieldReasons.end();
}

// Server-side apply writes ": .spec.replicas: " into its message, and has no other place for it.
std::string_view field_in(std::string_view words) {
  for (auto at = words.find(": ."); at != std::string_view::npos; at = words.find(": .", at + 1)) {
    const std::string_view path = words.substr(at + 2);
    const auto end = path.find(": ");
    if (end != std::string_view::npos && end > 1 && !path.substr(0, end).contains(' '))
      return path.substr(0, end);
  }
  return {};
}

// NewInternalError(ErrCallingWebhook) of apiserver's admission; of a denial it says "denied the request".
std::string webhook_in(std::string_view words) {
  const auto begin = words.find(kUnanswered);
  if (begin == std::string_view::npos) return {};
  const std::string_view name = words.substr(begin + kUnanswered.size());
  return escape_controls(name.substr(0, name.find('"')));
}

// "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: …", "admission webhook "w" denied the
// request: …"
std::vector<std::string> deniers_in(std::string_view words) {
  if (!words.contains(kDenied)) return {};
  if (const auto policy = words.find(kPolicy); policy != std::string_view::npos) {
    std::string_view rest = words.substr(policy + kPolicy.size());
    const auto binding = rest.find(kBinding);
    if (binding == std::string_view::npos) return {};
    const std::string_view name = rest.substr(0, binding);
    rest = rest.substr(binding + kBinding.size());
    return {escape_controls(name), escape_controls(rest.substr(0, rest.find('\'')))};
  }
  const auto webhook = words.find(kWebhook);
  if (webhook == std::string_view::npos) return {};
  const std::string_view rest = words.substr(webhook + kWebhook.size());
  return {escape_controls(rest.substr(0, rest.find('"')))};
}

// RBAC also refuses to give others what one hasn't: a Role, or a binding of one.
bool says_no_right(std::string_view words) {
  if (words.find(kEscalates) != std::string_view::npos) return true;
  const auto user = words.find(kUser);
  return user != std::string_view::npos && words.find(kCannot, user) != std::string_view::npos;
}

const ApiFailure& fact(const Error& failure) {
  static const ApiFailure kNothing;
  const ApiFailure* const known = failure.detail<ApiFailure>();
  return known != nullptr ? *known : kNothing;
}

}  // namespace

ApiFailure read_failure(const Value& status, ErrorKind kind) {
  ApiFailure failure;
  const std::string_view message = status.string_at("message");
  failure.webhook = webhook_in(message);
  failure.no_right = kind == ErrorKind::Forbidden && says_no_right(message);
  failure.copy_not_ready = kind == ErrorKind::Retryable && message.contains(kCopyNotReady);
  failure.over_quota = kind == ErrorKind::Forbidden && message.contains(kOverQuota);
  failure.denied_by = deniers_in(message);
  failure.no_dry_run = kind == ErrorKind::Invalid && message.contains(kNoDryRun);
  bool immutable = says_immutable(message);
  const Value* const causes = status.at_path({"details", "causes"});
  if (causes != nullptr && causes->is_array()) {
    for (const Value& cause : causes->as_array()) {
      failure.causes.push_back(
          {std::string(cause.string_at("reason")), escape_controls(cause.string_at("field"))});
      immutable = immutable || says_immutable(cause.string_at("message"));
      // A patch with the uid of another object is answered as if it were a change of that field.
      failure.other_object = failure.other_object || (cause.string_at("field") == kUidField &&
                                                      says_immutable(cause.string_at("message")));
    }
  }
  failure.other_object = failure.other_object || (kind == ErrorKind::Conflict && message.contains(kOtherUid));
  const auto owned = std::ranges::find(failure.causes, kFieldManagerConflict, &ApiFailure::Cause::reason);
  if (kind == ErrorKind::Conflict && owned != failure.causes.end()) failure.field = owned->field;
  if (kind != ErrorKind::Invalid || failure.other_object) return failure;
  failure.immutable = immutable;
  failure.invalid_anyway = std::ranges::any_of(failure.causes, [](const ApiFailure::Cause& cause) {
    return std::ranges::find(kOfValues, cause.reason) != kOfValues.end();
  });
  failure.lost_version = message.starts_with(kLostVersion);
  failure.live_unreadable = message.starts_with(kLiveNotTyped);
  failure.sent_undeclared = message.contains(kUndeclared) && message.starts_with(kNotTyped);
  failure.narrow_version =
      message.contains(kUndeclared) && !failure.sent_undeclared && !failure.live_unreadable;
  failure.invalid_fields = !failure.causes.empty() && std::ranges::all_of(failure.causes, is_about_a_field);
  failure.field = failure.invalid_fields ? failure.causes.front().field : escape_controls(field_in(message));
  return failure;
}

Error as_not_served(Error failure) {
  ApiFailure known = fact(failure);
  known.not_served = true;
  return std::move(failure)
      .with_detail(std::move(known))
      .with_frame("while asking for a kind that the server doesn't serve");
}

bool is_not_served(const Error& failure) { return fact(failure).not_served; }

bool is_absent(const Error& failure) {
  return failure.kind == ErrorKind::NotFound && !is_not_served(failure);
}

bool is_lost_version(const Error& failure) { return fact(failure).lost_version; }

bool is_narrow_version(const Error& failure) { return fact(failure).narrow_version; }

bool is_live_unreadable(const Error& failure) { return fact(failure).live_unreadable; }

bool is_sent_undeclared(const Error& failure) { return fact(failure).sent_undeclared; }

bool is_field_conflict(const Error& failure) {
  return std::ranges::find(fact(failure).causes, kFieldManagerConflict, &ApiFailure::Cause::reason) !=
         fact(failure).causes.end();
}

bool is_conflict_only_of(const Error& failure, std::string_view field) {
  const auto is_of = [&](const ApiFailure::Cause& cause) {
    return cause.reason == kFieldManagerConflict && cause.field == field;
  };
  return is_field_conflict(failure) && std::ranges::all_of(fact(failure).causes, is_of);
}

bool is_other_object(const Error& failure) { return fact(failure).other_object; }
bool is_immutable(const Error& failure) { return fact(failure).immutable; }
bool is_invalid_anyway(const Error& failure) { return fact(failure).invalid_anyway; }
bool names_invalid_fields(const Error& failure) { return fact(failure).invalid_fields; }
bool is_without_answer(const Error& failure) {
  return http::surely_not_sent(failure) || http::maybe_acted_on(failure);
}

std::string_view unanswering_webhook(const Error& failure) { return fact(failure).webhook; }
const std::vector<std::string>& webhook_namespaces(const Error& failure) {
  return fact(failure).webhook_namespaces;
}
bool is_without_right(const Error& failure) { return fact(failure).no_right; }
bool is_denied(const Error& failure) {
  return failure.kind == ErrorKind::Forbidden || !fact(failure).denied_by.empty();
}
bool is_denied_by_admission(const Error& failure) { return is_denied(failure) && !is_without_right(failure); }
bool is_over_quota(const Error& failure) { return fact(failure).over_quota; }
bool is_copy_not_ready(const Error& failure) { return fact(failure).copy_not_ready; }
const std::vector<std::string>& denied_by(const Error& failure) { return fact(failure).denied_by; }
bool is_without_dry_run(const Error& failure) { return fact(failure).no_dry_run; }
std::string_view refused_field(const Error& failure) { return fact(failure).field; }

}  // namespace mist::kube
