#pragma once
// The side of a test's Pod: gets its task and its packages from the catalog, and tells it what it finds. It
// waits for a catalog that is away for a while. Blocking; one thread.

#include <chrono>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "catalog/blobs.h"
#include "catalog/trial_messages.h"
#include "http/transport.h"

namespace mist::catalog {

/// The files in the directory that a Pod's Secret is mounted at. The kubeconfig is that of the cluster for
/// tests.
inline constexpr const char* kTaskUrlFile = "url";
inline constexpr const char* kTaskTokenFile = "token";
inline constexpr const char* kTaskKubeconfigFile = "kubeconfig";

/// The error of a Pod whose image has another program than the worker: an InstallationFault.
Error another_program(std::string_view of_image, std::string_view of_worker);

class TaskClient {
 public:
  struct Options {
    std::string url;  ///< of the catalog, without a slash at its end
    SecretString token;
    Duration patience = std::chrono::minutes(10);  ///< with a catalog that is away
    Duration pause = std::chrono::seconds(5);      ///< between attempts
  };
  /// `transport` outlives it.
  TaskClient(http::Transport& transport, Options options)
      : transport_(transport), options_(std::move(options)) {}

  /// NotFound: the task is over.
  Result<TrialRequest> request(const Context& context);
  /// Puts the bytes of a digest into `packages`. Errors: NotFound; Invalid: they are others.
  Status fetch(const std::string& digest, Blobs& packages, const Context& context);
  /// Says a line, which TrialListener understands; in several pieces, if it is long.
  Status say(std::string_view line, bool is_last, const Context& context);

 private:
  Result<std::string> exchange(std::string method, const std::string& path, std::string body,
                               const Context& context);

  http::Transport& transport_;
  const Options options_;
  std::int64_t said_ = 0;  // pieces
};

}  // namespace mist::catalog
