#pragma once
// Certificates made on the spot, good and bad, for servers and clients in tests. Keys are P-256: quick to
// make.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace mist::testing {

struct CertifiedKey {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateOptions {
  std::string common_name = "test server";
  std::vector<std::string> names = {"127.0.0.1", "localhost"};  ///< DNS names and IP addresses
  std::chrono::seconds begins{-3600};                           ///< from now
  std::chrono::seconds ends{3600};                              ///< from now
};

/// A certificate authority that signs whatever it is asked to. One thread.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name = "Mistletoe test CA");
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate_pem() const { return certificate_pem_; }
  CertifiedKey issue(const CertificateOptions& options = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string certificate_pem_;
};

}  // namespace mist::testing
