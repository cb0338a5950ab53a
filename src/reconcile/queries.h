#pragma once
// The input of decisions, besides blueprint, instance and record: the functions of nodes, the live objects,
// and what was learnt since the operator started. All of them answer from memory and are pure while one
// instance is looked at. Plain values.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apply/reserved_metadata.h"
#include "reconcile/http_question.h"
#include "reconcile/record.h"
#include "release/record.h"

namespace mist::reconcile {

inline constexpr std::string_view kManager = "mistletoe-operator";
/// Of instances: an object of theirs may be left. Of Jobs: their outcome isn't recorded yet.
inline constexpr std::string_view kFinalizer = "mistletoe.dev/operator";
/// On objects, as label and, in case somebody removes that, as annotation: the uid of the instance that they
/// belong to.
using apply::kInstanceLabel;
/// On objects: a digest of what was last applied.
using apply::kHashAnnotation;
/// On instances, by people: nothing is done for the instance while it is "true".
inline constexpr std::string_view kSuspendAnnotation = "mistletoe.dev/suspend";
/// On instances, by people: the names of nodes, with commas between them, or "*" for all, whose objects are
/// deleted although what came after them is still there.
inline constexpr std::string_view kOutOfOrderAnnotation = "mistletoe.dev/delete-out-of-order";

struct Observation {
  enum class State : std::uint8_t {
    Unknown,  ///< nothing is known of its kind yet: wait
    Absent,
    There,
  };
  State state = State::Unknown;
  Value object = {};
  std::string why = {};  ///< of what isn't known: the server's words, if it refused to tell
  /// The changes that the server made to it when it was last applied.
  std::vector<apply::ServerMade> made = {};

  bool there() const { return state == State::There; }
  bool absent() const { return state == State::Absent; }
};

/// For people: why nothing is known of the object yet.
std::string not_known(const ObjectId& id, const Observation& observed);

/// Which objects a node with `list` looks at.
struct Collection {
  std::string api_version, kind;
  std::string ns;               ///< empty: all namespaces
  std::string label_selector;   ///< "a=b,c in (d,e)", equalities first; empty: all
  std::string display() const;  ///< "ConfigMap of namespace shop with a=b"
  friend auto operator<=>(const Collection&, const Collection&) = default;
};

struct ObjectKind {
  std::string api_version, kind;
  friend auto operator<=>(const ObjectKind&, const ObjectKind&) = default;
};

/// Of arrays and objects in a spec. The server takes more than we read (encoding::JsonOptions::cut_deep): a
/// spec of which a part is missing has more than that, however it was read.
inline constexpr int kMostSpecLevels = 500;

struct Queries {
  /// The result of a node's function, with namespaces filled in, but for those of `unplaced`. `environment`:
  /// the instance and what edges extract.
  std::function<Result<Value>(const std::string& node, const Value& environment)> make;
  /// Whether `make` couldn't tell what is in a namespace and what isn't of this kind, because the server
  /// didn't serve it. Such an object without a namespace may be any of its kind and name. Null: it always
  /// could.
  std::function<bool(const apimachinery::GroupKind&)> unplaced = {};
  /// The identities of the objects of a node's function (a list), if they don't depend on the values with
  /// these names, which aren't known yet; nullopt: they do, or nobody can tell. Not asked where null. Where
  /// this and `kinds` are null, no object is kept because a node may make it that can't be called now.
  std::function<std::optional<Value>(const std::string& node, const Value& environment,
                                     const std::vector<std::string>& unknown)>
      identities = {};
  /// The kinds of what a node's function makes (a list of records with apiVersion and kind) in the same way.
  std::function<std::optional<Value>(const std::string& node, const Value& environment,
                                     const std::vector<std::string>& unknown)>
      kinds = {};
  /// `owned`: objects of instances only are known, so that somebody else's object counts as absent.
  std::function<Observation(const ObjectId&, bool owned)> observe;
  /// The objects of these kinds that carry the mark of the instance. Null: somebody knows its record since it
  /// was accounted for.
  std::function<std::vector<ObjectId>(const std::set<ObjectKind>&)> marked = {};
  /// nullopt: not known yet.
  std::function<std::optional<Value::Array>(const Collection&)> list = {};
  /// Whether no version of that kind is served, so that nobody has an object of it now, although none was
  /// looked for. Asked after `observe` or `list`. Null: nobody can tell.
  std::function<bool(const apimachinery::GroupKind&)> unserved = {};
  /// Of a list that isn't known: the server's words, if it refused to tell; else empty.
  std::function<std::string(const Collection&)> unlisted = {};
  /// Whether an object matches the contract of a node, or of the edge with that index; an error says why not.
  std::function<Status(const std::string& node, const Value& object)> check_node = {};
  std::function<Status(std::size_t edge, const Value& object)> check_edge = {};
  /// Whether the spec of an instance matches the contract of its kind; an error says where it doesn't.
  std::function<Status(const Value& spec)> check_spec = {};
  /// The same for what nodes write to its status.
  std::function<Status(const Value& status)> check_status = {};
  /// The answer to an HTTP node, as far as it is known.
  std::function<HttpAnswer(const std::string& node, const HttpQuestion&)> ask = {};
  /// Whether an HTTP node that can't be asked now had an answer a short time ago. Null: nobody knows of any.
  std::function<bool(const std::string& node)> answered = {};
  /// Why an object isn't written with that input now: the server's last words, until the pause is over.
  std::function<std::optional<std::string>(const ObjectId&, const std::string& hash)> held = {};
  /// Why this operator doesn't look at a Release, and what to do about it; empty: it does.
  std::function<std::string(const Value& release)> not_kept = {};
  /// Why a workload of the instance that isn't ready isn't, as far as somebody has found out; empty: nobody
  /// has.
  std::function<std::string(const ObjectId&, const Value& live)> trouble = {};
  /// Whether the server refused to change that object in place to that input.
  std::function<bool(const ObjectId&, const std::string& hash)> immutable = {};
  /// A node that came and went too often: it stays as it is.
  std::function<bool(const std::string& node)> frozen = {};
};

}  // namespace mist::reconcile
