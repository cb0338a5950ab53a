#pragma once
// The store behind FakeCluster: kinds, objects, resource versions, history, and the rules by which the API
// server, its garbage collector and its namespace controller change them. Not thread-safe: FakeCluster holds
// the lock.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_failure.h"
#include "kube/client.h"
#include "testing/field_set.h"

namespace mist::testing {

using apimachinery::ObjectKey;
using kube::GroupKind;
using kube::ResourceInfo;

struct FakeKind {
  GroupKind kind;
  std::string resource;
  std::vector<std::string> versions;  ///< the preferred one first
  bool namespaced = true;
  bool status_subresource = false;
  bool generation = false;
  std::vector<std::string> verbs = {};  ///< empty: all; only discovery goes by them

  ResourceInfo info(const std::string& version) const;
};

struct FakeChange {
  std::uint64_t version = 0;
  kube::WatchEventType type = kube::WatchEventType::Added;
  ObjectKey key;
  Value object;
};

class FakeStore {
 public:
  FakeStore();

  // Settings, read at each write.
  bool establish_crds = true;    ///< CRDs become Established, and served, at once
  bool hold_namespaces = false;  ///< deleted namespaces stay Terminating until finish_namespaces()
  /// Objects that don't have the types of their schema any more. As the server does, an apply fails then, and
  /// other writes forget who owns which fields.
  std::function<bool(const Value&)> unreadable = {};
  /// The server's clock; without one a second passes with each write.
  std::function<WallTime()> now = {};
  bool instant_controllers = false;  ///< workloads become ready, Jobs complete, as soon as they are written

  const FakeKind* find_kind(const GroupKind& kind) const;
  const std::map<GroupKind, FakeKind>& kinds() const { return kinds_; }
  void register_kind(FakeKind kind);
  /// Serves what a CRD defines and makes it Established.
  void establish(const std::string& crd_name);

  const Value* find(const ObjectKey& key) const;
  const std::map<ObjectKey, Value>& objects() const { return objects_; }
  std::uint64_t version() const { return version_; }
  const std::deque<FakeChange>& history() const { return history_; }
  std::uint64_t oldest_version() const { return oldest_version_; }
  void forget_history();
  /// The objects and counters as a document, and a store with them; neither history nor settings.
  Value saved() const;
  void restore(const Value& saved);

  struct Writer {
    std::string manager;
    std::string operation = "Update";  ///< or "Apply"
    bool force = false;
    bool dry_run = false;
    std::string subresource = {};  ///< of an apply: "status", or empty
  };
  Result<Value> create(const FakeKind& kind, const ObjectKey& key, Value object, const Writer& writer);
  Result<Value> update(const FakeKind& kind, const ObjectKey& key, Value object, const Writer& writer);
  Result<Value> apply(const FakeKind& kind, const ObjectKey& key, Value object, const Writer& writer);
  Result<Value> merge_patch(const FakeKind& kind, const ObjectKey& key, const Value& patch,
                            const Writer& writer);
  /// Of the status subresource: nothing else of the patch counts.
  Result<Value> patch_status(const FakeKind& kind, const ObjectKey& key, const Value& patch,
                             const Writer& writer);
  Result<Value> remove(const FakeKind& kind, const ObjectKey& key, const kube::DeleteOptions& options);
  Status set_status(const ObjectKey& key, Value status);
  /// Without finalizers, preconditions or collection of dependents.
  void drop(const ObjectKey& key);
  void finish_namespaces();

 private:
  bool is_unreadable(const Value& live) const { return unreadable && unreadable(live); }
  Status check_body(const FakeKind& kind, const ObjectKey& key, Value& object) const;
  Status check_namespace(const FakeKind& kind, const ObjectKey& key) const;
  Status check_size(const ObjectKey& key, const Value& object) const;
  Result<Value> patched(const FakeKind& kind, const ObjectKey& key, const Value& patch) const;
  Status check_preconditions(const FakeKind& kind, const ObjectKey& key, const Value* live,
                             const Value& object) const;
  Result<Value> commit_new(const FakeKind& kind, const ObjectKey& key, Value object, const Writer& writer);
  Result<Value> commit_change(const FakeKind& kind, const ObjectKey& key, Value object, bool dry_run);
  void store(const ObjectKey& key, Value object, kube::WatchEventType type);
  void erase(const ObjectKey& key);
  void after_write(const FakeKind& kind, const ObjectKey& key);
  void mark_terminating(Value& object);
  void collect_dependents(const std::string& owner_uid, kube::Propagation propagation);
  void finish_namespace(const std::string& name);
  void run_controllers(const ObjectKey& key);
  std::string timestamp() const;

  std::map<GroupKind, FakeKind> kinds_;
  std::map<ObjectKey, Value> objects_;
  std::deque<FakeChange> history_;
  std::uint64_t version_ = 100;
  std::uint64_t oldest_version_ = 100;
  std::uint64_t uids_ = 0;
};

/// The error that RestClient makes of the server's answer: "cannot apply ConfigMap shop/a" because `words`.
Error fake_answer(ErrorKind kind, std::string_view verb, const ObjectKey& key, std::string words,
                  const std::vector<kube::ApiFailure::Cause>& causes = {});

}  // namespace mist::testing
