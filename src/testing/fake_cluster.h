#pragma once
// FakeCluster: an API server in memory behind kube::Client, for tests of what writes to clusters. It keeps
// the server's rules that those depend on: resource versions, uids, generations, server-side apply with field
// managers and conflicts, preconditions, finalizers, namespace lifecycle, ownership, CRDs, watch history, how
// much a Secret or a ConfigMap holds. It does not validate against schemas, fill in defaults or run
// controllers (but see instant_controllers). Any thread; hooks run on the calling thread without the lock, so
// a hook may change the cluster through the functions under "Behind the API's back".

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client.h"

namespace mist::testing {

using apimachinery::ObjectKey;
using encoding::Value;

/// One request, as a log entry and as what a hook sees.
struct FakeCall {
  std::size_t number = 0;  ///< from 1, over all clients of the cluster
  /// get, list, create, update, apply, patch, delete, watch, version; discovery: resource_for() of an API
  /// that is down, which others answer from what they know.
  std::string verb = {};
  ObjectKey key = {};        ///< of a list or watch: without name
  std::string version = {};  ///< of a list: in which it was asked for
  std::string user = {};
  std::string field_manager = {};   ///< of an apply
  std::string label_selector = {};  ///< of a list or watch
  bool metadata_only = false;
  bool dry_run = false;
  bool executed_ok = false;  ///< set for `after`: the server did it

  bool writes() const {
    return !dry_run && verb != "get" && verb != "list" && verb != "watch" && verb != "version" &&
           verb != "discovery";
  }
};

/// An error to return in place of the request (`before`: the server never saw it) or of its answer (`after`:
/// the server did it, the answer was lost).
using FakeFault = std::function<std::optional<Error>(const FakeCall&)>;

struct FakeKind;

/// The kinds of an aggregated API that answers no more, in discovery.
enum class DownKinds : std::uint8_t {
  Lost,
  Stale,  ///< still listed, as long as the aggregator remembers them
};

class FakeCluster final : public kube::Client {
 public:
  /// With the namespaces of a new cluster and the built-in kinds.
  FakeCluster();
  ~FakeCluster() override;

  /// Another client of the same cluster: `user` stands in the log, and is the manager of its creates, updates
  /// and patches. It may outlive this one. The first client is "mistctl".
  std::unique_ptr<FakeCluster> client_for(std::string user) const;

  // Faults and the request log, shared by all clients.
  void set_before(FakeFault fault);
  void set_after(FakeFault fault);
  std::vector<FakeCall> calls() const;
  std::size_t count(std::string_view verb) const;
  std::size_t writes() const;
  void clear_calls();

  // Settings.
  /// Workloads become ready and Jobs complete as soon as they are written. Off at first.
  void set_instant_controllers(bool on);
  /// CRDs become Established at once. On at first; else see establish().
  void set_establish_crds(bool on);
  /// A deleted Namespace stays Terminating until finish_namespaces(). Off at first.
  void set_hold_namespaces(bool on);

  /// Replaces the server's clock, which counts a second for each write at first.
  void set_now(std::function<WallTime()> now);

  /// FakeStore::unreadable. None at first.
  void set_unreadable(std::function<bool(const Value& live)> unreadable);

  // Behind the API's back: not logged, no faults, no preconditions.
  /// Creates or replaces; `manager` owns what changes. Returns what is stored. A defect if the kind is
  /// unknown or the server would refuse the body.
  Value put(Value object, std::string_view manager = "kubectl-edit");
  std::optional<Value> find(const ObjectKey& key) const;
  /// `find("Deployment.apps", "shop", "api")`; the kind as KEP-3659 spells it.
  std::optional<Value> find(std::string_view group_kind, std::string_view ns, std::string_view name) const;
  bool has(std::string_view group_kind, std::string_view ns, std::string_view name) const;
  /// Every object, sorted; without what each namespace has by itself (ServiceAccount default, ConfigMap
  /// kube-root-ca.crt) and the four initial namespaces.
  std::vector<ObjectKey> objects() const;
  void set_status(const ObjectKey& key, Value status);
  /// Removes it as if its finalizers were done; nothing depends on it.
  void drop(const ObjectKey& key);
  void establish(const std::string& crd_name);
  void finish_namespaces();
  /// Without verbs it has all of them. No request is refused for want of one: discovery tells.
  void register_kind(const kube::ResourceInfo& resource);
  /// The objects of `known`, a kind that is served, are also served under another group, as Events are.
  void serve_also(const kube::GroupKind& known, const kube::ResourceInfo& other);
  /// The aggregated API of that group answers no more; empty: it is back.
  void set_api_down(std::string group, DownKinds kinds = DownKinds::Lost);
  /// Discovery keeps its present answers until a request shows that a kind isn't served.
  void freeze_discovery();
  /// The schemas of a group version that the server publishes; none at first. One that was asked for as
  /// Kept before goes on being told to those who ask so.
  void set_schemas(const std::string& group, const std::string& version, Value schemas);
  /// One more write was sent, and its caller gave up waiting for the answer.
  void leave_unanswered() { ++unanswered_; }
  /// Compaction: every watch has to list again (410 Gone).
  void forget_history();
  /// Its objects as a document, for another process to go on with: restore() makes a new cluster have them,
  /// and serve the CRDs among them. Neither has settings, faults, the log or kinds that were registered by
  /// hand.
  Value saved() const;
  void restore(const Value& saved);

  Result<kube::ResourceInfo> resource_for(const kube::GroupKind& kind, const std::string& version,
                                          const Context& context) override;
  void invalidate_discovery() override;
  Result<std::vector<kube::ResourceInfo>> all_resources(const Context& context) override;
  Result<kube::ServedApis> served_apis(const Context& context) override;
  Result<std::vector<kube::DownApi>> apis_down(const Context& context) override;
  Result<std::shared_ptr<const Value>> schemas_of(const std::string& group, const std::string& version,
                                                  kube::SchemaAge age, const Context& context) override;
  Result<Value> server_version(const Context& context) override;
  Result<Value> get(const kube::ObjectRef& ref, const Context& context) override;
  Result<kube::ObjectList> list(const kube::ResourceInfo& resource, const kube::ListOptions& options,
                                const Context& context) override;
  Result<Value> create(const kube::ResourceInfo& resource, const std::string& ns, const Value& object,
                       const Context& context, kube::DryRun dry_run = kube::DryRun::No) override;
  Result<Value> update(const kube::ObjectRef& ref, const Value& object, const Context& context) override;
  Result<Value> apply(const kube::ObjectRef& ref, const Value& object, const kube::ApplyOptions& options,
                      const Context& context) override;
  Result<Value> merge_patch(const kube::ObjectRef& ref, const Value& patch, const Context& context,
                            kube::DryRun dry_run = kube::DryRun::No,
                            const std::string& subresource = {}) override;
  Result<Value> remove(const kube::ObjectRef& ref, const kube::DeleteOptions& options,
                       const Context& context) override;
  Status watch(const kube::ResourceInfo& resource, const kube::ListOptions& options,
               const kube::WatchHandler& handler, const Context& context) override;
  std::size_t unanswered_writes() const override { return unanswered_; }
  const std::string& default_namespace() const override { return default_namespace_; }
  std::string describe() const override { return "fake cluster"; }

 private:
  struct State;
  Result<const FakeKind*> served_kind(const kube::ResourceInfo& resource, std::string_view verb,
                                      const ObjectKey& key);
  FakeCluster(std::shared_ptr<State> state, std::string user);
  template <typename Work>
  auto perform(FakeCall call, const Context& context, Work&& work) -> decltype(work());

  std::shared_ptr<State> state_;
  std::atomic<std::size_t> unanswered_ = 0;
  std::string user_ = "mistctl";
  std::string default_namespace_ = "default";
};

}  // namespace mist::testing
