#include "crypto/certificate.h"

#include <gtest/gtest.h>

namespace mist::crypto {
namespace {

// pyca/cryptography: Ed25519 key 00…1f, O=shop, CN=web, from 2026-01-01 to 2026-12-31.
constexpr std::string_view kPem =
    "-----BEGIN CERTIFICATE-----\n"
    "MIHmMIGZoAMCAQICAQEwBQYDK2VwMB0xDTALBgNVBAoMBHNob3AxDDAKBgNVBAMM\n"
    "A3dlYjAeFw0yNjAxMDEwMDAwMDBaFw0yNjEyMzEwMDAwMDBaMB0xDTALBgNVBAoM\n"
    "BHNob3AxDDAKBgNVBAMMA3dlYjAqMAUGAytlcAMhAAOhB7/zzhC+HXDdGOdLwJln\n"
    "5NYwm6UNXx3chmQSVTG4MAUGAytlcANBAGEgTpIcLrjM3l3sWjJZF6Ipsv2yWuwE\n"
    "f9u4OU/v1d8TUw3vLOFu60S/er3s4osPSsAdcFSMAOmv/KKcuo/U8Ao=\n"
    "-----END CERTIFICATE-----\n";

TEST(Certificates, AreFoundAmongOtherText) {
  const std::string text = "tls: |\n" + std::string(kPem) + "-----BEGIN PRIVATE KEY-----\nAAAA\n" +
                           "-----END PRIVATE KEY-----\n" + std::string(kPem);
  const std::vector<Certificate> found = certificates_in(text);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].subject, "CN=web,O=shop");
  EXPECT_EQ(format_time(found[0].not_before), "2026-01-01T00:00:00Z");
  EXPECT_EQ(format_time(found[0].not_after), "2026-12-31T00:00:00Z");
  EXPECT_EQ(certificates_in(kPem.substr(0, kPem.size() - 1)).size(), 1U) << "without the last newline";
}

TEST(Certificates, AreOldAfterTwoThirdsOfTheirLife) {
  const Certificate certificate = certificates_in(kPem).at(0);
  EXPECT_FALSE(certificate.is_old(*parse_time("2026-08-31T15:59:59Z")));
  EXPECT_TRUE(certificate.is_old(*parse_time("2026-08-31T16:00:00Z")));
  EXPECT_TRUE(certificate.is_old(*parse_time("2030-01-01T00:00:00Z")));
}

// Until the year 9966.
TEST(Certificates, ThatNeverExpireAreNotOld) {
  constexpr std::string_view kEver =
      "-----BEGIN CERTIFICATE-----\n"
      "MIIBNDCB56ADAgECAhQ7L246ZbyBbsqagwJ5RMJ7x+es4zAFBgMrZXAwDzENMAsG\n"
      "A1UEAwwEZXZlcjAgFw0yNjExMjgxODE4MDBaGA85OTY2MTEwMzE4MTgwMFowDzEN\n"
      "MAsGA1UEAwwEZXZlcjAqMAUGAytlcAMhAF+sGyhyQvSsTzRXvDjFCM4+XilWNH9W\n"
      "nS1etdiFganuo1MwUTAdBgNVHQ4EFgQUyOqspxOTXRQXN+IHFG2hozDOXvAwHwYD\n"
      "VR0jBBgwFoAUyOqspxOTXRQXN+IHFG2hozDOXvAwDwYDVR0TAQH/BAUwAwEB/zAF\n"
      "BgMrZXADQQATb25HKKUzqpPg74NqtxQwuFBYm6Es4zlPOvl0L4zmgcSYLKl4zOSY\n"
      "NDdvS2HBOEn7QU+wZaos4jSMsQBAemoO\n"
      "-----END CERTIFICATE-----\n";
  const std::vector<Certificate> found = certificates_in(kEver);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found[0].not_after, *parse_time("2200-01-01T00:00:00Z"));
  EXPECT_FALSE(found[0].is_old(*parse_time("2100-01-01T00:00:00Z")));
}

TEST(Certificates, WhatIsNoneIsLeftOut) {
  for (const std::string& text :
       {std::string(), std::string("-----BEGIN CERTIFICATE-----"),
        std::string("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
        std::string("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n"),
        std::string("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")})
    EXPECT_TRUE(certificates_in(text).empty()) << text;
  std::string many;
  for (int i = 0; i < 300; ++i) many += kPem;
  EXPECT_EQ(certificates_in(many).size(), 100U);
}

}  // namespace
}  // namespace mist::crypto
