#pragma once
// The interface to a cluster for release, apply and the operator. rest_client.h is the real one;
// testing/fake_cluster.h keeps objects in memory. Blocking; any thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/gvk.h"
#include "apimachinery/object.h"
#include "base/context.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::kube {

using apimachinery::GroupKind;
using apimachinery::GroupVersionKind;
using apimachinery::GroupVersionResource;
using encoding::Value;

/// How the server serves a kind.
struct ResourceInfo {
  GroupVersionKind gvk;  ///< the version that was asked for, or the preferred one
  std::string resource;  ///< plural
  bool namespaced = false;
  std::vector<std::string> verbs;  ///< "get", "list", "patch", …
  bool has_status = false;         ///< its status is written through a subresource, and by nothing else

  GroupVersionResource gvr() const { return {gvk.group, gvk.version, resource}; }
};

/// One object on the server. `ns` is ignored for cluster-scoped resources.
struct ObjectRef {
  ResourceInfo resource;
  std::string ns;
  std::string name;
};

/// An API service that may serve kinds, and doesn't answer.
struct DownApi {
  std::string group;
  std::string version;
  std::string because;  ///< its condition
  std::string service() const { return version + "." + group; }
};

/// Everything that the server answers to, in each of its versions; sorted.
struct ServedApis {
  std::vector<std::string> group_versions;  ///< "v1", "apps/v1"; those without any resource too
  std::vector<std::string> kinds;  ///< "v1/Pod", "apps/v1/Deployment"; of subresources "apps/v1/Scale"
};

enum class DryRun : bool { No, Server };

/// How old what is known of a server's schemas may be.
enum class SchemaAge : bool {
  Kept,     ///< ten minutes
  Current,  ///< as the server has them now
};

/// The field manager of all that Mistletoe writes, unless another one is named.
inline constexpr std::string_view kFieldManager = "mistctl";

struct ApplyOptions {
  std::string field_manager = std::string(kFieldManager);
  bool force = false;
  DryRun dry_run = DryRun::No;
  std::string subresource = {};  ///< "status"; empty: the object itself
  bool insist = true;            ///< false: once is enough where the answer is a 5xx, or none
};

enum class Propagation : std::uint8_t { Background, Foreground, Orphan };

struct DeleteOptions {
  std::string uid = {};               ///< precondition; empty: none
  std::string resource_version = {};  ///< precondition; empty: none
  Propagation propagation = Propagation::Background;
  DryRun dry_run = DryRun::No;
  bool insist = true;  ///< as ApplyOptions::insist
};

struct ListOptions {
  std::string ns = {};  ///< empty: all namespaces (or cluster-scoped)
  std::string label_selector = {};
  std::string field_selector = {};
  bool metadata_only = false;  ///< PartialObjectMetadata: items have apiVersion, kind, metadata only
  /// Of the first page; 0: all at once. Further ones have as many items as make a page of some megabytes, by
  /// what the items before weighed, and at most `largest_page`: a page is held in memory twice for a moment,
  /// and a further page is a round trip more.
  int page_size = 500;
  int largest_page = 5000;
  /// Of list(): no more than that many items, the server's first; the rest isn't asked for. 0: all of them.
  std::size_t most = 0;
  /// Of watch(): told on the calling thread, with each try, why the collection couldn't be listed again after
  /// the watch was interrupted; the watch keeps trying. Empty: nobody wants to know.
  std::function<void(const Error&)> unlisted = {};
};

struct ObjectList {
  std::vector<Value> items;  ///< each with apiVersion and kind
  std::string resource_version;
};

enum class WatchEventType : std::uint8_t { Added, Modified, Deleted, Bookmark };
struct WatchEvent {
  WatchEventType type = WatchEventType::Added;
  Value object;
};
/// Returns false to end the watch.
using WatchHandler = std::function<bool(const WatchEvent&)>;

/// Errors of every call: NotFound, Conflict (409: `because` has the server's words), Gone (410), Forbidden
/// (401, 403), Invalid (400, 422: `because` lists the causes), Retryable (after the retries), Timeout,
/// Cancelled, Internal. Each says verb and object.
class Client {
 public:
  virtual ~Client() = default;

  /// Version, group and resource of a kind. `version` may be empty: the preferred one. An unknown kind
  /// refreshes discovery once; NotFound if it stays unknown.
  virtual Result<ResourceInfo> resource_for(const GroupKind& kind, const std::string& version,
                                            const Context& context) = 0;
  /// Forgets what discovery said (a CRD was just established).
  virtual void invalidate_discovery() = 0;
  /// Every resource that the server serves, each in its preferred version only (for pruning).
  virtual Result<std::vector<ResourceInfo>> all_resources(const Context& context) = 0;
  /// Every version of every group and kind (for capabilities), as Helm's GetVersionSet has them. An
  /// aggregated API that doesn't answer now is there with what the API server still lists of it.
  virtual Result<ServedApis> served_apis(const Context& context) = 0;
  /// The aggregated APIs that don't answer now, so that all_resources() may lack kinds of theirs.
  virtual Result<std::vector<DownApi>> apis_down(const Context& context) = 0;
  /// The schemas of a group version's kinds and of what these are made of, by name, as the `components` of
  /// OpenAPI v3 have them (without descriptions and CEL rules). Null: the server serves none, or they can't
  /// be read. Errors: of the context.
  virtual Result<std::shared_ptr<const Value>> schemas_of(const std::string& group,
                                                          const std::string& version, SchemaAge age,
                                                          const Context& context) = 0;
  /// GET /version: an object with major, minor, gitVersion.
  virtual Result<Value> server_version(const Context& context) = 0;

  virtual Result<Value> get(const ObjectRef& ref, const Context& context) = 0;
  /// All pages, or as many as hold ListOptions::most. A Gone in the middle begins again, and a page that is
  /// too large, or takes too long, is asked for again with fewer items. Invalid: a server whose list doesn't
  /// end.
  virtual Result<ObjectList> list(const ResourceInfo& resource, const ListOptions& options,
                                  const Context& context) = 0;
  /// POST. Not repeated after a broken connection.
  virtual Result<Value> create(const ResourceInfo& resource, const std::string& ns, const Value& object,
                               const Context& context, DryRun dry_run = DryRun::No) = 0;
  /// PUT; the object's resourceVersion guards it.
  virtual Result<Value> update(const ObjectRef& ref, const Value& object, const Context& context) = 0;
  /// Server-side apply (PATCH application/apply-patch+yaml). Repeated when the outcome is unknown.
  virtual Result<Value> apply(const ObjectRef& ref, const Value& object, const ApplyOptions& options,
                              const Context& context) = 0;
  /// PATCH application/merge-patch+json. `subresource`: as that of ApplyOptions.
  virtual Result<Value> merge_patch(const ObjectRef& ref, const Value& patch, const Context& context,
                                    DryRun dry_run = DryRun::No, const std::string& subresource = {}) = 0;
  virtual Result<Value> remove(const ObjectRef& ref, const DeleteOptions& options,
                               const Context& context) = 0;

  /// LIST, then WATCH from there with bookmarks, reconnecting and listing again after Gone, until `handler`
  /// returns false (ok), or the context ends (Timeout, Cancelled). After a new LIST the handler sees Added
  /// for everything that is there and Deleted for what it knew and is gone, then one Bookmark (apiVersion,
  /// kind and metadata.resourceVersion only): the handler has seen everything, so what it misses isn't there.
  /// The server's own bookmarks don't reach the handler. Called on the calling thread.
  virtual Status watch(const ResourceInfo& resource, const ListOptions& options, const WatchHandler& handler,
                       const Context& context) = 0;

  /// How many writes were sent whose caller was stopped, or had no more time, before an answer came: the
  /// server may still carry them out.
  virtual std::size_t unanswered_writes() const { return 0; }

  /// Warnings of the API server (RFC 7234 Warning headers) go to the EventSink that the client was built
  /// with. The context's default namespace in the kubeconfig; "default" if it names none.
  virtual const std::string& default_namespace() const = 0;
  /// For hints: "kubectl --context dev", with the flags that find the same cluster.
  virtual std::string kubectl() const { return "kubectl"; }
  /// For messages: "https://127.0.0.1:6443 (context dev)".
  virtual std::string describe() const = 0;
};

}  // namespace mist::kube
