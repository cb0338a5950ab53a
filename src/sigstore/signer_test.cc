#include "sigstore/signer.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "oci/attestation.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/sigstore.h"

namespace mist::sigstore {
namespace {

using encoding::Value;
using testing::CertificateRequest;
using testing::FakeTransport;
using testing::Sigstore;

const WallTime kSigningTime{std::chrono::seconds(1'700'000'000)};
const crypto::Digest kSubject = crypto::sha256("manifest");

const Sigstore& issuing() {
  static const Sigstore sigstore(1);
  return sigstore;
}

std::string identity_token() {
  return "aGVhZGVyLWhlYWRlcg." +
         encoding::base64url_encode(
             R"({"iss":"https://accounts.example","aud":"sigstore","exp":1700000300})") +
         ".c2lnbmF0dXJl";
}

// The answer of Rekor 1, of the entry of a bundle.
std::string as_rekor1(const Value& entry) {
  const auto hex_of = [](std::string_view encoded) {
    std::string bytes;
    EXPECT_TRUE(base64_decode(encoded, bytes));
    return hex(crypto::as_bytes(bytes));
  };
  const Value& proof = *entry.find("inclusionProof");
  Value hashes{Value::Array{}};
  for (const std::string& each : proof.texts_at("hashes")) hashes.push_back(hex_of(each));
  return encoding::to_json(Value::object(
      {{"24296fb24b8ad77a",
        Value::object(
            {{"body", entry.string_at("canonicalizedBody")},
             {"integratedTime", std::stoll(std::string(entry.string_at("integratedTime")))},
             {"logID", hex_of(entry.string_at({"logId", "keyId"}))},
             {"logIndex", std::stoll(std::string(entry.string_at("logIndex")))},
             {"verification",
              Value::object(
                  {{"signedEntryTimestamp", entry.string_at({"inclusionPromise", "signedEntryTimestamp"})},
                   {"inclusionProof",
                    Value::object({{"logIndex", 2},
                                   {"treeSize", 5},
                                   {"rootHash", hex_of(proof.string_at("rootHash"))},
                                   {"hashes", std::move(hashes)},
                                   {"checkpoint", proof.string_at({"checkpoint", "envelope"})}})}})}})}}));
}

// The services as they should be; a test changes one answer.
class SigningPlace {
 public:
  SigningPlace() {
    web_.otherwise([this](const http::Request& request, const Context&) -> Result<http::Response> {
      if (change) {
        if (std::optional<http::Response> other = change(request)) return *std::move(other);
      }
      return answer(request);
    });
  }

  Result<KeylessSigner> open(int rekor = 1, bool with_timestamps = true) {
    ChosenServices services{.authority = {.url = "https://ca.example", .version = 1, .run_by = ""}};
    services.logs = {{.url = fmt::format("https://rekor{}.example", rekor), .version = rekor, .run_by = ""}};
    if (with_timestamps)
      services.timestamps = {{.url = "https://tsa.example/stamp", .version = 1, .run_by = ""}};
    const auto parsed = IdentityToken::parse(token, "token.txt");
    return KeylessSigner::open({.transport = web_, .clock = clock_, .random = random_}, std::move(services),
                               root, *parsed, Context());
  }

  Result<std::string> sign(int rekor = 1, bool with_timestamps = true) {
    MIST_TRY(const KeylessSigner signer, open(rekor, with_timestamps));
    return signer.sign(oci::signature_statement(kSubject, {}), Context());
  }

  std::shared_ptr<const trust::TrustRoot> root = root_of(issuing());
  CertificateRequest certificate{.promise = CertificateRequest::Promise::Good};
  std::string token = identity_token();
  WallTime logged_at = kSigningTime + std::chrono::minutes(1);
  std::function<std::optional<http::Response>(const http::Request&)> change;

  static std::shared_ptr<const trust::TrustRoot> root_of(const Sigstore& sigstore,
                                                         Sigstore::Parts parts = Sigstore::Parts::All) {
    return std::make_shared<const trust::TrustRoot>(
        *trust::TrustRoot::parse(encoding::to_json(sigstore.trusted_root(parts)), "trusted_root.json"));
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> found;
    for (const http::Request& each : web_.requests()) found.push_back(each.url);
    return found;
  }

  http::Response answer(const http::Request& request) const {
    if (request.url.ends_with("/stamp"))
      return {.status = 201, .headers = {}, .body = issuing().stamp(request.body, logged_at)};
    const Value asked = *encoding::parse_json(request.body);
    if (request.url == "https://ca.example/api/v2/signingCert") {
      EXPECT_EQ(asked.string_at({"credentials", "oidcIdentityToken"}), identity_token());
      std::string pem;
      EXPECT_TRUE(base64_decode(asked.string_at("certificateSigningRequest"), pem));
      return {.status = 200,
              .headers = {},
              .body = encoding::to_json(Value::object(
                  {{"signedCertificateEmbeddedSct",
                    Value::object(
                        {{"chain", Value::object({{"certificates", Value::array({Value(issuing().certify(
                                                                       certificate, pem))})}})}})}}))};
    }
    if (request.url == "https://rekor1.example/api/v1/log/entries") {
      const Value& content = *asked.at_path({"spec", "proposedContent"});
      const Value envelope = *encoding::parse_json(content.string_at("envelope"));
      std::string payload, signature, pem;
      EXPECT_TRUE(base64_decode(envelope.string_at("payload"), payload));
      EXPECT_TRUE(base64_decode(envelope.find("signatures")->as_array()[0].string_at("sig"), signature));
      EXPECT_TRUE(base64_decode(content.find("verifiers")->as_array()[0].as_string(), pem));
      const testing::IssuedCertificate by{issuing().issue({}).key, {}, pem};
      return {.status = 201,
              .headers = {},
              .body = as_rekor1(issuing().entry(Sigstore::dsse(payload, signature, by), logged_at))};
    }
    EXPECT_EQ(request.url, "https://rekor2.example/api/v2/log/entries");
    const Value& record = *asked.find("hashedRekordRequestV002");
    std::string signature, certificate_der;
    EXPECT_TRUE(base64_decode(record.string_at({"signature", "content"}), signature));
    EXPECT_TRUE(base64_decode(record.string_at({"signature", "verifier", "x509Certificate", "rawBytes"}),
                              certificate_der));
    const std::string message = oci::statement_message(oci::signature_statement(kSubject, {}));
    Value entry = issuing().entry(Sigstore::hashedrekord_2(message, signature, certificate_der), logged_at);
    entry.erase("inclusionPromise");
    entry.set("integratedTime", "0");
    return {.status = 201, .headers = {}, .body = encoding::to_json(entry)};
  }

 private:
  FakeTransport web_;
  testing::FakeClock clock_{kSigningTime};
  SystemRandom random_;
};

std::string line_of(const auto& result) { return result.ok() ? std::string() : result.error().to_line(); }

TEST(KeylessSigner, MakesABundleThatProvesTheIdentity) {
  for (const int rekor : {1, 2}) {
    SigningPlace place;
    const auto bundle = place.sign(rekor);
    ASSERT_TRUE(bundle.ok()) << line_of(bundle);
    const oci::SignatureClaim claim = oci::bundle_claim(*bundle);
    EXPECT_EQ(claim.damage, "");
    EXPECT_EQ(claim.digest, kSubject);
    ASSERT_TRUE(claim.keyless.has_value());
    EXPECT_EQ(claim.keyless->timestamps.size(), 1U);
    EXPECT_EQ(claim.keyless->entries.front().promise.empty(), rekor == 2);
    const auto proof = trust::verify_keyless(claim, *place.root);
    ASSERT_TRUE(proof.ok()) << line_of(proof);
    EXPECT_EQ(proof->identity.str(), "https://accounts.example release@team.example");
    EXPECT_EQ(place.urls(), (std::vector<std::string>{
                                "https://ca.example/api/v2/signingCert", "https://tsa.example/stamp",
                                fmt::format("https://rekor{0}.example/api/v{0}/log/entries", rekor)}));
  }
}

TEST(KeylessSigner, Rekor1NeedsNoTimestamp) {
  SigningPlace place;
  const auto bundle = place.sign(1, false);
  ASSERT_TRUE(bundle.ok()) << line_of(bundle);
  EXPECT_TRUE(oci::bundle_claim(*bundle).keyless->timestamps.empty());
}

TEST(KeylessSigner, Rekor2WithoutATimestampIsRefusedBeforeAnythingIsAsked) {
  SigningPlace place;
  place.root = SigningPlace::root_of(issuing(), Sigstore::Parts::Basic);
  const auto signer = place.open(2);
  ASSERT_FALSE(signer.ok());
  EXPECT_EQ(signer.error().message, "nothing would prove when it was signed");
  EXPECT_TRUE(place.urls().empty());
}

TEST(KeylessSigner, TheAuthoritysRefusalIsToldWithoutTheToken) {
  SigningPlace place;
  place.change = [](const http::Request&) {
    return http::Response{.status = 400,
                          .headers = {},
                          .body = R"({"code":3,"message":"bad token )" + identity_token() + R"("})"};
  };
  const auto signer = place.open();
  ASSERT_FALSE(signer.ok());
  EXPECT_EQ(signer.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(signer.error().message, "the certificate authority https://ca.example issued no certificate");
  EXPECT_EQ(signer.error().because, "status 400: bad token ***");
  EXPECT_EQ(signer.error().hint,
            "it must accept the issuer and the audience: the token is of https://accounts.example for "
            "sigstore, and expires at 2023-11-14T22:18:20Z");
}

// Longer than the words that are shown.
TEST(KeylessSigner, NoPieceOfALongTokenIsInTheAuthoritysRefusal) {
  constexpr std::size_t kLength = 16;
  SigningPlace place;
  place.token = "aGVhZGVyLWhlYWRlcg." +
                encoding::base64url_encode(fmt::format(
                    R"({{"iss":"https://accounts.example","aud":"sigstore","exp":1700000300,"groups":"{}"}})",
                    [] {
                      std::string groups;
                      for (int i = 0; groups.size() < 500; ++i) groups += fmt::format("group-{} ", i);
                      return groups;
                    }())) +
                ".c2lnbmF0dXJl";
  for (const std::string& body :
       {R"({"code":3,"message":"bad token )" + place.token + R"("})", "bad token " + place.token,
        "bad token " + place.token.substr(0, 100) + "..."}) {
    place.change = [&](const http::Request&) {
      return http::Response{.status = 400, .headers = {}, .body = body};
    };
    const auto signer = place.open();
    ASSERT_FALSE(signer.ok());
    const std::string told = signer.error().to_line() + signer.error().hint;
    EXPECT_NE(told.find("bad token ***"), std::string::npos) << told;
    for (std::size_t at = 0; at + kLength <= place.token.size(); ++at)
      EXPECT_EQ(told.find(place.token.substr(at, kLength)), std::string::npos) << at << " " << told;
  }
}

TEST(KeylessSigner, ACertificateThatTheTrustRootDoesNotKnowIsNotUsed) {
  SigningPlace place;
  place.root = SigningPlace::root_of(Sigstore(50));
  const auto elsewhere = place.open();
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().message, "the certificate of https://ca.example can't be used");
  EXPECT_TRUE(elsewhere.error().because.starts_with("its certificate is of no authority of the trust root"));

  SigningPlace unpromised;
  unpromised.certificate.promise = CertificateRequest::Promise::None;
  EXPECT_EQ(unpromised.open().error().because, "its certificate has no promise of a log of certificates");

  SigningPlace exchanged;
  exchanged.change = [](const http::Request&) {
    return http::Response{
        .status = 200,
        .headers = {},
        .body = encoding::to_json(Value::object(
            {{"signedCertificateEmbeddedSct",
              Value::object(
                  {{"chain",
                    Value::object({{"certificates", Value::array({Value(issuing().issue({}).pem)})}})}})}}))};
  };
  EXPECT_EQ(exchanged.open().error().because, "its certificate is for another key");
}

TEST(KeylessSigner, ALogThatRefusesIsNamed) {
  for (const int rekor : {1, 2}) {
    SigningPlace place;
    place.change = [](const http::Request& request) -> std::optional<http::Response> {
      if (request.url.find("rekor") == std::string::npos) return std::nullopt;
      return http::Response{.status = 503, .headers = {}, .body = "overloaded"};
    };
    const auto bundle = place.sign(rekor);
    ASSERT_FALSE(bundle.ok());
    EXPECT_EQ(bundle.error().kind, ErrorKind::Retryable);
    EXPECT_EQ(bundle.error().message,
              fmt::format("the transparency log https://rekor{}.example took no entry", rekor));
    EXPECT_EQ(bundle.error().because, "status 503: overloaded");
  }
}

TEST(KeylessSigner, AnEntryThatIsThereAlreadyIsFetched) {
  SigningPlace place;
  std::string logged;
  place.change = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url == "https://rekor1.example/api/v1/log/entries/24296fb2")
      return http::Response{.status = 200, .headers = {}, .body = logged};
    if (request.url.find("rekor") == std::string::npos) return std::nullopt;
    logged = place.answer(request).body;
    return http::Response{
        .status = 409, .headers = {{"Location", "/api/v1/log/entries/24296fb2"}}, .body = "{}"};
  };
  EXPECT_EQ(line_of(place.sign()), "");
}

TEST(KeylessSigner, ATimestampAuthorityThatRefusesIsNamed) {
  SigningPlace place;
  place.change = [](const http::Request& request) -> std::optional<http::Response> {
    if (!request.url.ends_with("/stamp")) return std::nullopt;
    // PKIStatusInfo: status 2 (rejection), "no time".
    return http::Response{
        .status = 200, .headers = {}, .body = "\x30\x10\x30\x0e\x02\x01\x02\x30\x09\x0c\x07no time"};
  };
  const auto bundle = place.sign();
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().message, "the timestamp authority https://tsa.example/stamp gave no timestamp");
  EXPECT_EQ(bundle.error().because, "status 2: no time");
}

TEST(KeylessSigner, AProofThatDoesNotHoldIsFoundBeforeAnythingIsPublished) {
  SigningPlace place;
  place.change = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("rekor") == std::string::npos) return std::nullopt;
    http::Response response = place.answer(request);
    const std::string_view size = R"("treeSize":5)";
    response.body.replace(response.body.find(size), size.size(), R"("treeSize":6)");
    return response;
  };
  const auto bundle = place.sign();
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().message,
            "the signature that was made can't be verified, so it is not sent to the registry");
  EXPECT_EQ(bundle.error().because, "the checkpoint of its log entry is of another tree");
}

TEST(KeylessSigner, ClocksThatDisagreeAreNamed) {
  SigningPlace place;
  place.logged_at = kSigningTime + std::chrono::hours(2);
  const auto bundle = place.sign();
  ASSERT_FALSE(bundle.ok());
  EXPECT_EQ(bundle.error().because,
            "its certificate was not valid at 2023-11-15T00:13:20Z, when it was made (it was from "
            "2023-11-14T22:13:20Z to 2023-11-14T22:23:20Z)");
  EXPECT_NE(bundle.error().hint.find("this machine's clock shows 2023-11-14T22:13:20Z"), std::string::npos);
}

TEST(KeylessSigner, AnAnswerThatCannotBeReadIsOne) {
  for (const std::string_view part : {"signingCert", "stamp", "rekor"}) {
    SigningPlace place;
    place.change = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.url.find(part) == std::string::npos) return std::nullopt;
      return http::Response{.status = 200, .headers = {}, .body = "<html>"};
    };
    const auto bundle = place.sign();
    ASSERT_FALSE(bundle.ok()) << part;
    EXPECT_EQ(bundle.error().kind, ErrorKind::Invalid) << part;
  }
}

}  // namespace
}  // namespace mist::sigstore
