#pragma once
// The record of a release: the anchor (one permanent Secret: identity, head, lock, seed) and its revisions
// (one Secret each, with chunks when large). Pure data and its JSON form, versioned as kRecordFormat;
// docs/formats/release.md is the specification. Plain values; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "apimachinery/object.h"
#include "apply/inventory.h"
#include "apply/owner.h"
#include "apply/reserved_metadata.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/strong.h"
#include "encoding/value.h"
#include "release/drawn.h"
#include "release/seal.h"

namespace mist::release {

using apimachinery::ObjectKey;
using apimachinery::RenderedObject;
using apply::InventoryItem;
using apply::ServerMade;
using encoding::Value;

/// 2: description and restores of revisions, their summary and the options of an uninstall in metadata.
/// 3: seals. An earlier Mistletoe would write without them.
inline constexpr int kRecordFormat = 3;

/// A release name: a DNS-1123 label of at most 63 characters, so that it can be the value of a
/// label too.
class ReleaseName {
 public:
  static Result<ReleaseName> parse(std::string_view text);
  const std::string& str() const { return text_; }
  friend auto operator<=>(const ReleaseName&, const ReleaseName&) = default;

 private:
  explicit ReleaseName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Which release: its name and the namespace of its record.
struct ReleaseId : apply::Owner {
  ReleaseId() = default;
  ReleaseId(std::string ns_, std::string name_, std::string cluster_words_ = {}, std::string called_as_ = {})
      : Owner{std::move(ns_), std::move(name_)},
        cluster_words(std::move(cluster_words_)),
        called_as(std::move(called_as_)) {}
  explicit ReleaseId(const apply::Owner& owner) : Owner(owner) {}
  /// " --context prod", empty where the user gave no such flag: what a command in a hint needs beside the
  /// name to find the same cluster (command_text.h). It identifies nothing: neither compared nor recorded.
  std::string cluster_words = {};
  /// The program that the user called, for commands in hints: "kpm"; empty: mistctl. No part of its identity
  /// either.
  std::string called_as = {};
  /// The reverse of display(); nullopt: it is none.
  static std::optional<ReleaseId> parse(std::string_view display);
};

enum class RevisionStatus : std::uint8_t { Pending, Deployed, Superseded, Failed, Uninstalling };
std::string_view to_string(RevisionStatus status);
std::optional<RevisionStatus> revision_status(std::string_view text);

/// A package that the revision's own package calls, or that is called by one of those.
struct CalledPackage {
  std::string id;       ///< names it in every version: "mistletoe/databases/mariadb", or a relative path
  std::string version;  ///< as its registry writes it; empty: a path whose package says none
  std::string digest;   ///< "sha256:…" of the bytes
  friend bool operator==(const CalledPackage&, const CalledPackage&) = default;
};

/// A package under the install name that it was called with.
struct PackageInstall {
  std::string id;       ///< CalledPackage::id; empty: the release's own package
  std::string install;  ///< its data.name; empty: the release's own package
  friend auto operator<=>(const PackageInstall&, const PackageInstall&) = default;
};

/// A call of one package by another during a render.
struct PackageCall {
  PackageInstall caller;
  std::string name;  ///< what the caller calls it: of spec.dependencies
  PackageInstall called;
  std::string version;  ///< empty: it says none
  friend bool operator==(const PackageCall&, const PackageCall&) = default;
};

/// By whom a package of an OCI registry was signed when it was used, of those by which it was known.
struct PackageSigners {
  std::string package;               ///< its repository: "oci://registry.example/team/shop"
  std::vector<std::string> signers;  ///< as trust::Memory has them, sorted; never empty
  friend bool operator==(const PackageSigners&, const PackageSigners&) = default;
};

/// The package that a revision was made from.
struct PackageInfo {
  std::string reference;  ///< as the user wrote it, made exact: "mistletoe/examples/namespace-example:0.1.2"
  std::string name;       ///< the package's own name
  std::string version;
  std::string digest;       ///< "sha256:…" of the bytes
  std::string engine = {};  ///< what rendered them, if they are a directory: "helm"; empty: themselves
  std::vector<CalledPackage> calls = {};     ///< what may be called, as it was resolved; sorted by id
  std::vector<PackageCall> call_tree = {};   ///< what was called, each pair once, in the order of the calls
  std::vector<PackageSigners> signers = {};  ///< of it and of what may be called; sorted by package
};

struct Revision {
  int number = 0;
  std::string action;  ///< "install", "upgrade", "rollback", "recover", "undo", "reapply"
  RevisionStatus status = RevisionStatus::Pending;
  std::string created;   ///< RFC 3339
  std::string finished;  ///< RFC 3339; empty: not yet
  std::string attempt;   ///< random token of the run that wrote it; part of its chunks' names
  PackageInfo package;
  Value user_values;  ///< what the user gave, without the package's defaults
  Value options;      ///< options that shape the result (flags), for "unchanged?" and for recover
  std::vector<RenderedObject>
      objects;  ///< with what Mistletoe adds, but without apply::kVersionLabel, which the inventory gives
  std::vector<RenderedObject> tests = {};  ///< only `mistctl test` applies them; as rendered
  std::vector<RenderedObject> hooks = {};  ///< of a chart, for all verbs; as rendered
  std::vector<InventoryItem> inventory;
  std::string message;      ///< for people: why it failed
  std::string description;  ///< for people, where the action doesn't say enough: "back to v1"
  std::string notes = {};   ///< of the package to its user; may hold anything
  int restores = -1;        ///< the revision whose record this one applies; -1: it was rendered
  Drawn drawn = {};         ///< what its package drew from the seed
};

/// A summary of a revision from its Secret's metadata, however large the revision is.
struct RevisionSummary {
  int number = 0;
  std::string action = {};  ///< empty: written by a Mistletoe that kept no summary
  RevisionStatus status = RevisionStatus::Pending;
  std::string created = {};   ///< RFC 3339
  std::string finished = {};  ///< RFC 3339; empty: not yet
  std::string attempt = {};
  std::string package = {};  ///< reference
  std::string package_version = {};
  std::size_t objects = 0;  ///< that it wants
  std::string description = {};
  std::string message = {};
  std::string uid = {};               ///< of its Secret; empty: it isn't stored
  std::string resource_version = {};  ///< of its Secret when it was listed
};
RevisionSummary summary_of(const Revision& revision);

/// The anchor's pointer to the revisions; readable from metadata alone.
struct Head {
  int latest = -1;                                  ///< newest revision; -1: none yet
  int deployed = -1;                                ///< newest revision that was finished; -1: none yet
  RevisionStatus status = RevisionStatus::Pending;  ///< of `latest`
  std::string action = {};
  std::string updated = {};  ///< RFC 3339
  std::string package = {};  ///< reference, of `latest`
  std::string package_version = {};
  std::size_t objects = 0;
  /// The Release (docs/release-resource.md) whose operator deployed it last, "namespace/name"; empty: none
  /// did.
  std::string kept_by = {};
  std::string kept_by_uid = {};  ///< of that Release; empty: none did, or an older version, which knew none
  Value options = {};  ///< of an uninstall under way, so that it can be ended as it was begun; else null
  friend bool operator==(const Head&, const Head&) = default;
};

/// The writer that holds the lock. Lives in an annotation of the anchor.
struct Lock {
  std::string holder;     ///< "alice@laptop pid 4711"
  std::string token;      ///< random: tells our own lock from a namesake's
  std::string operation;  ///< "upgrade"
  std::string acquired;   ///< RFC 3339
  std::string renewed;    ///< RFC 3339 with microseconds, by the holder's clock
  std::int64_t term_ms = 0;
  std::string process = {};  ///< own_process() of the holder (base/process_identity.h); empty: unknown
  friend bool operator==(const Lock&, const Lock&) = default;
};

struct Anchor {
  ReleaseId id;
  std::string uid;
  std::string resource_version;
  Head head;
  std::optional<Lock> lock;
  std::string created;
  Seals seals;        ///< unknown when only metadata was read
  SecretString seed;  ///< 32 bytes; empty when only metadata was read
  std::string
      frozen_clock;  ///< RFC 3339: the wall clock that packages see; empty when only metadata was read
  /// Of the anchor of a release's tests (apply::test_set): the release's, with which it goes. It has no seed.
  std::string tests_of = {};
  std::string tests_of_uid = {};
  std::vector<std::string> group_kinds;            ///< KEP-3659 contains-group-kinds
  std::vector<std::string> additional_namespaces;  ///< KEP-3659
  /// The parts of the Secret that can't be read, in words, and how each was made up for; empty: it is whole.
  /// A missing head was read from the metadata of the revisions; a missing seed is empty.
  std::vector<std::string> damage = {};
  bool cut = false;  ///< group_kinds and additional_namespaces are too long for annotations, and not complete
  bool head_lost = false;  ///< and no revision is kept that would tell it
};

std::string revision_name(const ReleaseId& id, int revision);  ///< "mistletoe.<name>.v<N>"

Value to_value(const Revision& revision);
/// As in the record and in what commands print: id, version and digest of each.
Value to_value(const std::vector<CalledPackage>& calls);
Value to_value(const std::vector<PackageCall>& calls);
Value to_value(const std::vector<PackageSigners>& signers);
/// Internal when the record is damaged, Invalid when a newer Mistletoe wrote it.
Result<Revision> revision_from_value(const Value& value);
Value to_value(const std::vector<InventoryItem>& inventory);
Result<std::vector<InventoryItem>> inventory_from_value(const Value& value);
Value to_value(const Head& head);
Head head_from_value(const Value& value);
Value to_value(const Lock& lock);
std::optional<Lock> lock_from_value(const Value& value);

}  // namespace mist::release
