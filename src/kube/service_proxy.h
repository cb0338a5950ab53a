#pragma once
// HTTP of Services and Pods by way of the API server: it decides who may (services/proxy, pods/proxy),
// reaches what only the cluster's network reaches, and forwards only to addresses that a Pod has. Blocking;
// any thread.

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"
#include "kube/client.h"

namespace mist::kube {

struct ProxyRequest {
  enum class Target : std::uint8_t { Service, Pod };
  Target target = Target::Service;
  std::string ns, name;
  std::string scheme = "http";
  std::string port = {};   ///< number or name; empty: the Service's without a name, the Pod's first
  std::string path = "/";  ///< with its query, escaped
  Duration time_limit = std::chrono::seconds(5);
  std::uint64_t limit = std::uint64_t{64} << 10;  ///< bytes of the body; more is an Invalid error
  /// "http://web:8080/report", for messages.
  std::string display() const;
};

/// The clients that can.
class ServiceProxy {
 public:
  virtual ~ServiceProxy() = default;
  /// GET, once, without redirects: the body of a 2xx answer. Errors: NotFound, Forbidden, Retryable (no
  /// endpoint, any other status), Invalid (too large), Timeout; is_unreached() those that aren't the
  /// target's.
  virtual Result<std::string> proxied_get(const ProxyRequest& request, const Context& context) = 0;
};

/// The fact of an error of proxied_get that says nothing about the Service or Pod.
struct Unreached {};

/// Whether the API server didn't answer, refused to ask, or failed itself. That a Service has no endpoint, or
/// that a connection to one fails, is the target's own.
inline bool is_unreached(const Error& failure) { return failure.detail<Unreached>() != nullptr; }

/// Through a client that is a ServiceProxy too; Invalid: this one isn't.
Result<std::string> proxied_get(Client& client, const ProxyRequest& request, const Context& context);

}  // namespace mist::kube
