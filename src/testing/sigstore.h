#pragma once
// A small Sigstore for tests: an authority that issues certificates, a log of signatures, a log of
// certificates, an authority of timestamps; and signatures as cosign writes them with these. Every part is a
// function of the seed and of the times that are given. One thread.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "crypto/signing.h"
#include "encoding/value.h"
#include "oci/manifest.h"

namespace mist::testing {

struct CertificateRequest {
  std::string issuer = "https://accounts.example";
  std::string subject = "email:release@team.example";  ///< as OpenSSL writes names: "URI:…", "email:…"
  WallTime from{std::chrono::seconds(1'700'000'000)};
  Duration life = std::chrono::minutes(10);
  std::string usage = "codeSigning";  ///< extended key usage; empty: none
  enum class Issuer : std::uint8_t { Text, Raw, None } issuer_form = Issuer::Text;
  enum class Promise : std::uint8_t { None, Good, Wrong } promise = Promise::None;
  Duration promised_before = {};  ///< how long before `from` the promise says that it was made
};

/// A key for one signature and its certificate.
struct IssuedCertificate {
  crypto::PrivateKey key;
  std::string der;
  std::string pem;
};

class Sigstore {
 public:
  /// Another seed: another instance, of which this one knows nothing.
  explicit Sigstore(unsigned char seed = 1);
  Sigstore(const Sigstore&) = delete;
  Sigstore& operator=(const Sigstore&) = delete;
  ~Sigstore();

  enum class Parts : std::uint8_t { Basic, All, Renewed };
  /// trusted_root.json; All: with the log of certificates and the authority of timestamps. Renewed: of both
  /// authorities it has other certificates, under the same root; nothing here is issued or signed by those.
  encoding::Value trusted_root(Parts parts = Parts::Basic) const;
  IssuedCertificate issue(const CertificateRequest& request) const;
  /// The certificate (PEM) for the key of a certification request (PEM).
  std::string certify(const CertificateRequest& request, std::string_view certification_request) const;

  /// The bodies of log entries.
  static std::string hashedrekord(std::string_view message, std::string_view signature,
                                  const IssuedCertificate& by);
  /// As Rekor 2 has them: of envelopes too.
  static std::string hashedrekord_2(std::string_view message, std::string_view signature,
                                    std::string_view certificate);
  static std::string dsse(std::string_view payload, std::string_view signature, const IssuedCertificate& by);
  static std::string intoto(std::string_view payload, std::string_view signature,
                            const IssuedCertificate& by);

  /// The annotations of a layer whose blob is `payload`.
  oci::Annotations sign_layer(std::string_view payload, const IssuedCertificate& by, WallTime at) const;
  /// A bundle about the statement, whose entry has a promise, and a proof in a tree of five.
  encoding::Value sign_statement(std::string_view statement, const IssuedCertificate& by, WallTime at) const;
  /// An entry of a bundle with another body.
  encoding::Value entry(std::string_view body, WallTime at) const;
  /// A response of the authority of timestamps about `message`, DER.
  std::string timestamp(std::string_view message, WallTime at) const;
  /// The same to a request, DER.
  std::string stamp(std::string_view request, WallTime at) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// DSSE's pre-authentication encoding of an in-toto statement.
std::string envelope_message(std::string_view statement);

}  // namespace mist::testing
