#pragma once
// RestClient: where a request to a cluster leaves. It turns the calls of Client into HTTP requests of the
// Kubernetes API and the answers into values and errors. Authentication and retries belong to the Transport
// that it is given (connect.h puts all together). Any thread.

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/random.h"
#include "http/transport.h"
#include "kube/api_status.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/open_api.h"
#include "kube/pod_log.h"
#include "kube/server_clock.h"
#include "kube/service_proxy.h"

namespace mist::kube {

struct RestOptions {
  std::string server = {};   ///< "https://127.0.0.1:6443", perhaps with a base path
  std::string context = {};  ///< the kubeconfig's, for messages
  std::string user = {};     ///< the kubeconfig's, for messages
  /// " --context dev --kubeconfig /tmp/config": the flags that the user gave, for hints.
  std::string cluster_words = {};
  std::string default_namespace = "default";
  DiscoveryCache discovery_cache = {};
  /// Of everything but watches; the caller's Context may end a request earlier.
  Duration request_timeout = std::chrono::seconds(60);
  /// How long the answer to a write is waited for once its caller was stopped.
  Duration await_answer = std::chrono::seconds(5);
};

class RestClient final : public Client, public PodLogs, public ServiceProxy, public ServerClock {
 public:
  /// References must outlive the client.
  struct Dependencies {
    FileSystem& fs;
    Clock& clock;
    Random& random;
    EventSink& events;
  };

  RestClient(std::shared_ptr<http::Transport> transport, RestOptions options, Dependencies dependencies);

  Result<ResourceInfo> resource_for(const GroupKind& kind, const std::string& version,
                                    const Context& context) override;
  /// By kind, plural, singular or short name ("deploy", "pods.v1"), as people type it.
  Result<ResourceInfo> resource_for_alias(std::string_view word, const Context& context);
  void invalidate_discovery() override { discovery_.invalidate(); }
  Result<std::vector<ResourceInfo>> all_resources(const Context& context) override;
  Result<ServedApis> served_apis(const Context& context) override;
  Result<std::vector<DownApi>> apis_down(const Context& context) override;
  Result<std::shared_ptr<const Value>> schemas_of(const std::string& group, const std::string& version,
                                                  SchemaAge age, const Context& context) override {
    return open_api_.schemas_of(group, version, age, context);
  }
  Result<Value> server_version(const Context& context) override;
  Result<Value> get(const ObjectRef& ref, const Context& context) override;
  Result<ObjectList> list(const ResourceInfo& resource, const ListOptions& options,
                          const Context& context) override;
  Result<Value> create(const ResourceInfo& resource, const std::string& ns, const Value& object,
                       const Context& context, DryRun dry_run = DryRun::No) override;
  Result<Value> update(const ObjectRef& ref, const Value& object, const Context& context) override;
  /// An unknown field is an error (of the server's typed conversion, whatever fieldValidation says): what it
  /// would drop in silence is a mistake of the package.
  Result<Value> apply(const ObjectRef& ref, const Value& object, const ApplyOptions& options,
                      const Context& context) override;
  Result<Value> merge_patch(const ObjectRef& ref, const Value& patch, const Context& context,
                            DryRun dry_run = DryRun::No, const std::string& subresource = {}) override;
  Result<Value> remove(const ObjectRef& ref, const DeleteOptions& options, const Context& context) override;
  Status watch(const ResourceInfo& resource, const ListOptions& options, const WatchHandler& handler,
               const Context& context) override;
  Result<std::string> proxied_get(const ProxyRequest& wanted, const Context& context) override;
  Status pod_log(const std::string& ns, const std::string& pod, const PodLogOptions& options,
                 const LogPiece& piece, const Context& context) override;

  /// How an answer came, or why it did not.
  struct Transfer {
    std::size_t bytes = 0;
    bool too_slow = false;   ///< request_timeout was over, or the server's own limit
    bool too_large = false;  ///< http::is_over_limit
    bool unchanged = false;  ///< 304, which only who sent If-None-Match gets; the value is null then
    std::string etag = {};
  };
  const std::string& default_namespace() const override { return options_.default_namespace; }
  std::size_t unanswered_writes() const override { return unanswered_; }
  std::optional<Duration> clock_skew() const override;
  std::string kubectl() const override { return "kubectl" + options_.cluster_words; }
  std::string describe() const override;
  /// RestOptions::server
  const std::string& server() const { return options_.server; }

 private:
  using Query = std::vector<std::pair<std::string, std::string>>;

  http::Request request(std::string method, const std::string& path, const Query& query,
                        std::string accept) const;
  static constexpr std::int64_t kNoSkew = std::numeric_limits<std::int64_t>::min();

  Asked asked(std::string verb, std::string object) const;
  Asked asked(std::string verb, const ObjectRef& ref) const;
  /// Sends, hands on warnings, decodes; errors say what was asked. `sent`: what the request's body says.
  Result<Value> exchange(http::Request request, const Asked& asked, const Context& context,
                         const Value& sent = {}, Transfer* transfer = nullptr);
  Error over_request_timeout(Error failure) const;
  Result<Discovery::Answer> discover(const Discovery::Question& question, const Context& context);
  Result<Value> exchange_with_body(std::string method, const std::string& path, const Query& query,
                                   std::string content_type, const Value& body, http::Repeat repeat,
                                   const Asked& asked, const Context& context);
  Error with_configuration(Error failure, const Context& context);
  void warn_once(const std::string& words);
  Result<http::Response> open_watch(const ResourceInfo& resource, const ListOptions& options,
                                    const std::string& version, Duration timeout,
                                    const http::BodyPiece& piece, const Asked& asked, const Context& context);
  /// Each page as it comes, while `page` returns true; `first`: a try begins. Gives the resourceVersion.
  using PageHandler = std::function<bool(std::vector<Value>& items, bool first)>;
  Result<std::string> list_pages(const ResourceInfo& resource, const ListOptions& options,
                                 const PageHandler& page, const Context& context);
  Result<std::string> list_once(const ResourceInfo& resource, const ListOptions& options, const Asked& asked,
                                const PageHandler& page, const Context& context);
  Error why_not_listed(const ResourceInfo& resource, const std::string& ns, const Asked& what, Error failure,
                       const Context& context);
  Asked asked_for(std::string verb, const ResourceInfo& resource, const ListOptions& options) const;

  const std::shared_ptr<http::Transport> transport_;
  const RestOptions options_;
  const Dependencies dependencies_;
  std::atomic<std::int64_t> skew_ = kNoSkew;  // nanoseconds
  std::atomic<std::size_t> unanswered_ = 0;
  std::atomic<bool> answered_ = false;
  std::mutex warnings_mutex_;
  std::set<std::string> warned_;  // guarded by warnings_mutex_
  Discovery discovery_;
  OpenApi open_api_;
};

}  // namespace mist::kube
