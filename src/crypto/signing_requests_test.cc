#include "crypto/signing_requests.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509.h>

#include <array>

#include "base/handle.h"
#include "crypto/keys.h"

namespace mist::crypto {
namespace {

TEST(SigningRequests, ACertificateRequestIsOfTheKeyAndSignedByIt) {
  std::array<std::byte, kKeyBytes> scalar{};
  scalar.fill(std::byte{7});
  const PrivateKey key = *PrivateKey::parse(p256_key(scalar)->private_pem);
  const std::string pem = certificate_request(key);
  const Handle<BIO, &BIO_free_all> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Handle<X509_REQ, &X509_REQ_free> request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  ASSERT_NE(request, nullptr);
  const Handle<EVP_PKEY, &EVP_PKEY_free> asked(X509_REQ_get_pubkey(request.get()));
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(X509_REQ_verify(request.get(), asked.get()), 1);
  EXPECT_EQ(X509_NAME_entry_count(X509_REQ_get_subject_name(request.get())), 0);
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(asked.get(), &der);
  ASSERT_GT(size, 0);
  const auto read = PublicKey::from_der({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, key.public_key());
}

TEST(SigningRequests, ATimestampRequestHasTheDigestAndWantsTheCertificate) {
  const std::string der = timestamp_request("message");
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const Handle<TS_REQ, &TS_REQ_free> request(d2i_TS_REQ(nullptr, &at, static_cast<long>(der.size())));
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(TS_REQ_get_version(request.get()), 1);
  EXPECT_EQ(TS_REQ_get_cert_req(request.get()), 1);
  ASN1_OCTET_STRING* const imprint = TS_MSG_IMPRINT_get_msg(TS_REQ_get_msg_imprint(request.get()));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(imprint)),
                        static_cast<std::size_t>(ASN1_STRING_length(imprint))),
            sha256("message").raw());
}

}  // namespace
}  // namespace mist::crypto
