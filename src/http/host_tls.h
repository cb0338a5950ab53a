#pragma once
// TLS with one server: authorities that only that server's certificate may be signed by, and the client
// certificate that only that server gets. The maker of a Client says where they come from
// (ClientOptions::find_host_tls).

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/secret.h"
#include "http/url.h"

namespace mist::http {

/// PEM texts, and what to tell people about them. A plain value.
struct HostTls {
  std::string ca_pem = {};                  ///< trusted beside the system's authorities; empty: none
  std::string client_certificate_pem = {};  ///< may be followed by its chain; empty: none
  SecretString client_key_pem = {};         ///< not encrypted
  std::string place = {};                   ///< where they are kept: "/etc/docker/certs.d/registry.example"
  std::string authority_hint = {};          ///< where the certificate of an unknown authority goes
  std::string certificate_hint = {};        ///< where the client certificate goes that a server demands
};

/// Finds the certificates for the server of an https URL, a host and a port, beside the client's TlsOptions;
/// null: none. Called by any thread, for each request. Its errors end the request before anything is sent.
using FindHostTls = std::function<Result<std::shared_ptr<const HostTls>>(const Url& url)>;

}  // namespace mist::http
