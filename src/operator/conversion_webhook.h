#pragma once
// The operator's conversion webhook: it answers POST /convert/BLUEPRINT by TLS, in every replica, whichever
// of them leads, and knows what a CRD has to say so that the API server finds and trusts it. Anybody who
// reaches it may ask: an answer is a function of the question and of the blueprint's functions. Any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "http/web_server.h"
#include "operator/conversions.h"
#include "operator/metrics.h"
#include "operator/webhook_certificates.h"

namespace mist::operator_ {

class ConversionWebhook {
 public:
  struct Options {
    std::string listen;   ///< as of http::WebServer::listen
    std::string service;  ///< the Service that leads there, in the namespace of the blueprints, with port 443
    std::string url;      ///< in its place, without a path: "https://127.0.0.1:9443"
    std::optional<WebhookCertificates::Given> given = {};  ///< the certificate; else the operator makes one
  };
  struct Dependencies {
    kube::Client& client;  ///< as the operator
    package::Renderer& renderer;
    const FileSystem& files;
    Clock& clock;
    Random& random;
    EventSink& events;
    Metrics* metrics = nullptr;  ///< null: nobody counts
  };
  /// All of `dependencies` outlives this. `ns`: of the blueprints.
  ConversionWebhook(Dependencies dependencies, Options options, std::string ns);
  ~ConversionWebhook();
  ConversionWebhook(const ConversionWebhook&) = delete;
  ConversionWebhook& operator=(const ConversionWebhook&) = delete;

  /// It answers when this returns. Errors: those of the first requests; of http::WebServer::listen;
  /// Cancelled.
  Status start(const Context& context);
  /// Where it listens.
  std::string address() const { return server_->address(); }

  /// The value of spec.conversion in the CRD of a blueprint.
  Value strategy(const std::string& blueprint) const;
  /// As Conversions::publish().
  Status publish(const Conversion& conversion, const Value* crd, const Context& context) {
    return conversions_.publish(conversion, crd, context);
  }
  /// Whether it answers where the API server will ask, with a certificate that this will trust. Errors:
  /// NotFound: it doesn't, or not yet.
  Status check_answers(const Conversion& conversion, const Context& context) const;
  /// `changed`: strategy() is another one now, or somebody changed what publish() wrote; empty: nobody wants
  /// to know any more, and it isn't being called.
  void watch(std::function<void()> changed);

  /// Answers a request, as the server does.
  http::WebAnswer answer(const http::WebRequest& request);

 private:
  std::string url_of(const std::string& blueprint) const;
  std::string host() const;
  http::WebAnswer converted_by(const std::string& blueprint, const std::string& kind,
                               const ConversionReview& review);
  void tell_change();
  void tell_failure(const std::string& blueprint, const Error& failure);

  Dependencies dependencies_;
  const Options options_;
  const std::string ns_;
  std::mutex mutex_;
  std::function<void()> changed_;  // guarded by mutex_
  std::mutex told_mutex_;
  struct Told {
    SteadyTime at;
    std::uint64_t more = 0;  // failures since then
  };
  std::map<std::string, Told> told_;  // by blueprint; guarded by told_mutex_
  std::stop_source stop_;
  Conversions conversions_;
  WebhookCertificates certificates_;
  std::unique_ptr<http::WebServer> server_;
  std::jthread renewing_;
};

}  // namespace mist::operator_
