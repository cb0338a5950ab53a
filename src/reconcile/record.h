#pragma once
// The record of an instance between two looks at it, in an annotation of its own: which objects were made for
// it or were about to be, with what their teardown needs to know without the blueprint, and what was reached.
// An operator that starts again knows nothing else. Plain values; any thread.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "apimachinery/gvk.h"
#include "apimachinery/object.h"
#include "apply/reserved_metadata.h"
#include "base/result.h"
#include "blueprint/blueprint.h"
#include "encoding/value.h"

namespace mist::reconcile {

using encoding::Value;

/// Of instances: the record, as JSON.
inline constexpr std::string_view kRecordAnnotation = apply::kRecordLabel;

/// An object's identity as it is written to records.
struct ObjectId {
  std::string api_version, kind, ns, name;
  /// "Deployment shop/web".
  std::string display() const;
  /// "apps/v1/Deployment/shop/web".
  std::string text() const;
  apimachinery::GroupVersionKind gvk() const;
  /// The same for all versions of its kind: what the object is known by.
  apimachinery::ObjectKey key() const { return {gvk().group_kind(), ns, name}; }
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

/// Whether both name the same object: its kind may be served in several versions.
bool is_same_object(const ObjectId& a, const ObjectId& b);

/// Of ObjectId::text(): without the version, and so the same for all versions of its kind.
std::string text_of_key(std::string_view text);

/// Of an object as it is written or read.
ObjectId id_of(const Value& object);

/// That an object was about to be created, or is there.
struct Recorded {
  std::string node;
  ObjectId id;
  std::vector<std::string> after = {};  ///< nodes that come before it: it is gone before they are deleted
  std::vector<std::string> uses = {};   ///< texts of the ids of own objects whose values it holds
  std::string hash = {};                ///< of the input for which its edges held when it was last written
  blueprint::Policy policy = blueprint::Policy::Delete;
  bool shown = false;  ///< not stored, not compared: the object shows that hash as soon as it is written
  friend bool operator==(const Recorded& a, const Recorded& b) {
    return a.hash == b.hash && a.is_same_but_for_hash(b);
  }
  bool is_same_but_for_hash(const Recorded& other) const {
    return std::tie(node, id, after, uses, policy) ==
           std::tie(other.node, other.id, other.after, other.uses, other.policy);
  }
};

/// Progress that can't be read off objects: that an act has succeeded, that a state was reached.
struct Progress {
  std::vector<std::string> reached = {};  ///< digests of inputs, the last one last
  std::string failed = {};                ///< the input of an act that failed and whose Job may be gone
  std::string failure = {};
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct Record {
  std::vector<Recorded> objects = {};
  std::map<std::string, Progress> progress = {};  ///< by node
  /// Objects with the mark of the instance that were found when its record was lost, and that no node makes.
  /// Nobody knows what is to become of them.
  std::vector<ObjectId> unaccounted = {};
  /// The acts that are to run before the instance is torn down, with the nodes whose objects stay until then.
  /// Without the blueprint nobody else would know of them.
  std::map<std::string, std::vector<std::string>> last_acts = {};

  /// In whatever version of its kind it was written.
  const Recorded* find(const ObjectId& id) const;
  bool reached(const std::string& node, std::string_view hash) const;
  /// Keeps the last kMostReached of a node.
  void reach(const std::string& node, const std::string& hash);
  bool empty() const {
    return objects.empty() && progress.empty() && unaccounted.empty() && last_acts.empty();
  }
  friend bool operator==(const Record&, const Record&) = default;
};

inline constexpr std::size_t kMostReached = 500;

/// Whether nothing is lost if `now` isn't stored where `before` is: they differ at most in what objects show.
bool says_as_much(const Record& before, const Record& now);

/// The union of both, where `known` is the later one: it counts for objects that both name.
Record united(Record known, const Record& other);

/// A record in text is what is stored, or, where the operator keeps it, has besides which inputs the objects
/// show.
enum class RecordText : std::uint8_t { Stored, Known };
/// JSON.
std::string to_text(const Record& record, RecordText kind = RecordText::Stored);
/// Of an empty text an empty record. Invalid: somebody damaged it.
Result<Record> record_from(std::string_view text);

}  // namespace mist::reconcile
