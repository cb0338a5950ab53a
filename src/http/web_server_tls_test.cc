#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.h"
#include "http/web_server.h"
#include "testing/certificates.h"
#include "testing/raw_connection.h"

namespace mist::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const ServerTls> tls_of(const testing::TestAuthority& authority) {
  const testing::CertifiedKey key = authority.issue();
  auto tls = ServerTls::of(key.certificate_pem, SecretString(key.key_pem));
  EXPECT_TRUE(tls.ok()) << tls.error().to_line();
  return *std::move(tls);
}

std::unique_ptr<WebServer> secure_server(const ServerTlsHolder& holder) {
  WebServerOptions options;
  options.tls = &holder;
  auto server = WebServer::listen("127.0.0.1:0", options, [](const WebRequest& request) {
    return WebAnswer{.body = request.method + " " + request.path + " " + request.body};
  });
  EXPECT_TRUE(server.ok()) << server.error().to_line();
  return *std::move(server);
}

Result<Response> ask(const WebServer& server, const testing::TestAuthority& trusted, std::string body) {
  ClientOptions options;
  options.tls.ca_pem = trusted.certificate_pem();
  Client client(options);
  return client.send({.method = "POST",
                      .url = "https://" + server.address() + "/convert",
                      .headers = {{"Content-Type", "application/json"}},
                      .body = std::move(body)},
                     Context().with_timeout(std::chrono::seconds(30)));
}

TEST(WebServerTls, AnswersClientsThatTrustItsCertificate) {
  const testing::TestAuthority authority;
  ServerTlsHolder holder;
  holder.set(tls_of(authority));
  const auto server = secure_server(holder);
  // More than one TLS record, both ways.
  const std::string body(300'000, 'x');
  const auto answer = ask(*server, authority, body);
  ASSERT_TRUE(answer.ok()) << answer.error().to_line();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "POST /convert " + body);
}

TEST(WebServerTls, IsNotTrustedByOthers) {
  const testing::TestAuthority authority, other("another CA");
  ServerTlsHolder holder;
  holder.set(tls_of(authority));
  const auto server = secure_server(holder);
  const auto answer = ask(*server, other, "hello");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::Forbidden) << answer.error().to_line();
}

TEST(WebServerTls, NewConnectionsGetTheRenewedCertificate) {
  const testing::TestAuthority before, after("the next CA");
  ServerTlsHolder holder;
  holder.set(tls_of(before));
  const auto server = secure_server(holder);
  EXPECT_TRUE(ask(*server, before, "hello").ok());
  holder.set(tls_of(after));
  EXPECT_TRUE(ask(*server, after, "hello").ok());
  EXPECT_FALSE(ask(*server, before, "hello").ok());
}

TEST(WebServerTls, SaysNothingWithoutTls) {
  const testing::TestAuthority authority;
  ServerTlsHolder holder;
  const auto server = secure_server(holder);
  const auto early = testing::connect_to(server->address());
  EXPECT_EQ(testing::read_all(early), "");
  holder.set(tls_of(authority));
  const auto plain = testing::connect_to(server->address());
  testing::send_all(plain, "POST /convert HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(testing::read_all(plain), Not(HasSubstr("HTTP/1.1")));
  EXPECT_TRUE(ask(*server, authority, "hello").ok());
}

TEST(ServerTls, RefusesWhatDoesNotBelongTogether) {
  const testing::TestAuthority authority;
  const testing::CertifiedKey one = authority.issue(), other = authority.issue();
  EXPECT_TRUE(ServerTls::of(one.certificate_pem, SecretString(one.key_pem)).ok());
  for (const auto& [certificate, key] :
       {std::pair(one.certificate_pem, other.key_pem), std::pair(std::string("none"), one.key_pem),
        std::pair(one.certificate_pem, std::string()), std::pair(std::string(), std::string())}) {
    const auto tls = ServerTls::of(certificate, SecretString(key));
    ASSERT_FALSE(tls.ok());
    EXPECT_EQ(tls.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(tls.error().hint, HasSubstr("PEM"));
  }
}

}  // namespace
}  // namespace mist::http
