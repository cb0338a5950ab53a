#pragma once
// The labels, annotations and names by which Mistletoe recognises its own objects: a release's record, the
// objects of a release, the objects of a blueprint's instance. No object that a package renders may carry one
// of them: an object that looks like a record would be read as one. Pure; any thread.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::apply {

// On the Secrets of a record (docs/formats/release.md).
inline constexpr std::string_view kRecordType = "mistletoe.dev/release";  ///< of the Secrets
inline constexpr std::string_view kRecordLabel =
    "mistletoe.dev/record";  ///< anchor, revision, chunk, tests; on instances of blueprints: what they have
inline constexpr std::string_view kRecordOfLabel = "mistletoe.dev/release-name";
inline constexpr std::string_view kRevisionLabel = "mistletoe.dev/revision";
inline constexpr std::string_view kApplySetIdLabel = "applyset.kubernetes.io/id";  // KEP-3659, as those below
inline constexpr std::string_view kToolingAnnotation = "applyset.kubernetes.io/tooling";
inline constexpr std::string_view kGroupKindsAnnotation = "applyset.kubernetes.io/contains-group-kinds";
inline constexpr std::string_view kNamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces";
inline constexpr std::string_view kCutAnnotation = "mistletoe.dev/applyset-cut";
inline constexpr std::string_view kHeadAnnotation = "mistletoe.dev/head";
inline constexpr std::string_view kHeadSealAnnotation = "mistletoe.dev/head-seal";
inline constexpr std::string_view kLockAnnotation = "mistletoe.dev/lock";
inline constexpr std::string_view kStatusAnnotation = "mistletoe.dev/status";
inline constexpr std::string_view kMessageAnnotation = "mistletoe.dev/message";
inline constexpr std::string_view kSummaryAnnotation = "mistletoe.dev/summary";
inline constexpr std::string_view kFinishedAnnotation = "mistletoe.dev/finished";
inline constexpr std::string_view kAttemptAnnotation = "mistletoe.dev/attempt";

// On objects of a release.
inline constexpr std::string_view kPartOfLabel = "applyset.kubernetes.io/part-of";  // KEP-3659
inline constexpr std::string_view kReleaseAnnotation = "mistletoe.dev/release";
inline constexpr std::string_view kNameLabel = "mistletoe.dev/tied-to-install-name";
inline constexpr std::string_view kVersionLabel = "mistletoe.dev/tied-to-install-version";
/// The labels among them.
inline constexpr std::array kOwnershipLabels{kPartOfLabel, kNameLabel, kVersionLabel};
/// Written by people on objects: pruning and uninstalling leave the object where it is.
inline constexpr std::string_view kKeepAnnotation = "mistletoe.dev/keep";
/// Helm's word for the same, with the value "keep".
inline constexpr std::string_view kResourcePolicy = "helm.sh/resource-policy";

// On objects of a blueprint's instance, and on blueprints (operator/reconcile.h says what they hold).
inline constexpr std::string_view kInstanceLabel = "mistletoe.dev/instance-uid";
inline constexpr std::string_view kHashAnnotation = "mistletoe.dev/applied";
inline constexpr std::string_view kInstanceKindAnnotation = "mistletoe.dev/kind";
/// Of a blueprint's ConfigMap: the account with whose rights the operator does its work.
inline constexpr std::string_view kServiceAccountAnnotation = "mistletoe.dev/service-account";

/// Whether an object says by kKeepAnnotation that it stays, with any value but "" and "false".
bool is_marked_kept(const encoding::Value& object);
/// Whether its kResourcePolicy is "keep", as Helm reads it: without white space around it, in any case.
bool is_kept_by_policy(const encoding::Value& object);
/// By which annotation people say that the object stays, as "mistletoe.dev/keep"; empty: by none.
std::string_view keeping_annotation(const encoding::Value& object);

/// The ApplySet that a live object says it is part of, by its label; empty: of none.
std::string_view apply_set_of(const encoding::Value& live);

/// Whether the name of a Secret is that of a part of some release's record.
bool is_record_name(std::string_view name);
/// Whether a Secret is, or says that it is, a part of some release's record.
bool is_record(const encoding::Value& secret);

/// A part of a rendered object that only Mistletoe may write.
struct Reserved {
  /// Continues "Secret shop/web ": "sets the label mistletoe.dev/record, which belongs to Mistletoe".
  std::string words;
  const encoding::Value* at = nullptr;  ///< within the object
};

/// The first that is found: a label or an annotation from above, also in the templates from which controllers
/// make objects; the type or the name of a record's Secret; and a reference to one, by which a Pod would read
/// its seed. Selectors don't matter.
std::optional<Reserved> find_reserved(const encoding::Value& object);

}  // namespace mist::apply
