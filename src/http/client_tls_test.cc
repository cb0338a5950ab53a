// The real Client against TLS servers and proxies, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "http/client.h"
#include "http/untrusted.h"
#include "testing/certificates.h"
#include "testing/http_server.h"
#include "testing/temp_dir.h"

namespace mist::http {
namespace {

using mist::testing::CertificateOptions;
using mist::testing::CertifiedKey;
using mist::testing::ClosedPort;
using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;
using mist::testing::ServerTls;
using mist::testing::TestAuthority;
using ::testing::HasSubstr;
using ::testing::Not;

class ClientTls : public ::testing::Test {
 protected:
  static void answer(const ServerRequest& request, ServerReply& reply) {
    reply.respond(200, request.client_subject.empty() ? "hello" : "hello " + request.client_subject);
  }
  ServerTls server_tls(const CertificateOptions& options = {}) const {
    const CertifiedKey pair = authority_.issue(options);
    return {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = {}};
  }
  ClientOptions trusting() const {
    ClientOptions options;
    options.tls.ca_pem = authority_.certificate_pem();
    return options;
  }
  static Result<Response> ask(const ClientOptions& options, const std::string& url) {
    Client client(options);
    Request request;
    request.url = url;
    return client.send(request, Context());
  }
  /// The error of an exchange that must fail as Forbidden.
  static Error refusal(const ClientOptions& options, const std::string& url) {
    const Result<Response> response = ask(options, url);
    if (response.ok()) return error(ErrorKind::Internal, "it was accepted");
    EXPECT_EQ(response.error().kind, ErrorKind::Forbidden) << response.error().to_line();
    return response.error();
  }

  TestAuthority authority_;
};

TEST_F(ClientTls, TrustsTheGivenAuthority) {
  HttpServer server(answer, server_tls());
  const auto response = ask(trusting(), server.url());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(server.requests().at(0).sni, "") << "addresses are no server names (RFC 6066)";
}

TEST_F(ClientTls, SaysWhoseCertificateNobodyTrusts) {
  HttpServer server(answer, server_tls());
  ClientOptions options;
  options.tls.ca_pem = TestAuthority("Somebody else").certificate_pem();
  const Error refused = refusal(options, server.url());
  EXPECT_THAT(refused.message, HasSubstr("no trusted authority signed CN=test server"));
  EXPECT_THAT(refused.message, HasSubstr("issued by CN=Mistletoe test CA"));
  EXPECT_THAT(refused.hint, HasSubstr("certificate-authority"));
  EXPECT_THAT(refused.hint, HasSubstr("insecure-skip-tls-verify"));
  EXPECT_TRUE(is_untrusted(refused));
  EXPECT_TRUE(server.requests().empty());
}

// libcurl repeats the request by itself when the kept connection ends, here by one to another server.
TEST_F(ClientTls, ARequestThatWasSentBeforeTheAuthorityChangedMayHaveArrived) {
  const TestAuthority new_authority("New CA");
  const CertifiedKey pair = new_authority.issue();
  HttpServer old_server(
      [](const ServerRequest& request, ServerReply& reply) {
        if (request.target == "/first") reply.respond(200, "hello");
      },
      server_tls());
  HttpServer new_server(answer, ServerTls{pair.certificate_pem, pair.key_pem, {}});
  std::atomic<int> tunnels{0};
  HttpServer proxy([&](const ServerRequest&, ServerReply& reply) {
    reply.tunnel(++tunnels == 1 ? old_server.port() : new_server.port());
  });
  ClientOptions options = trusting();
  options.proxy_url = proxy.url();
  Client client(options);
  ASSERT_TRUE(client.send({.url = old_server.url("/first")}, Context()).ok());
  const auto write =
      client.send({.method = "POST", .url = old_server.url("/second"), .body = "x"}, Context());
  ASSERT_FALSE(write.ok());
  EXPECT_TRUE(is_untrusted(write.error())) << write.error().to_line();
  EXPECT_TRUE(maybe_acted_on(write.error())) << write.error().to_line();
  EXPECT_THAT(write.error().message, HasSubstr("the server may have got the request"));
  EXPECT_EQ(old_server.requests().size(), 2u);
  EXPECT_TRUE(new_server.requests().empty());
}

TEST_F(ClientTls, TrustsOnlyTheSystemWhenNothingIsGiven) {
  HttpServer server(answer, server_tls());
  EXPECT_THAT(refusal({}, server.url()).message, HasSubstr("no trusted authority"));
}

TEST_F(ClientTls, SaysWhenACertificateExpired) {
  HttpServer server(answer, server_tls({.begins = std::chrono::hours(-3), .ends = -std::chrono::hours(2)}));
  const Error refused = refusal(trusting(), server.url());
  EXPECT_THAT(refused.message, HasSubstr("CN=test server"));
  EXPECT_THAT(refused.message, HasSubstr("expired at 20"));
  EXPECT_THAT(refused.message, HasSubstr("120m ago"));
}

TEST_F(ClientTls, SaysWhenACertificateBegins) {
  HttpServer server(answer, server_tls({.begins = std::chrono::hours(1), .ends = std::chrono::hours(2)}));
  EXPECT_THAT(refusal(trusting(), server.url()).message, HasSubstr("is valid only from"));
}

TEST_F(ClientTls, ListsTheNamesOfACertificateForAnotherHost) {
  HttpServer server(answer, server_tls({.names = {"kubernetes.default.svc", "10.0.0.1"}}));
  const Error refused = refusal(trusting(), server.url());
  EXPECT_THAT(refused.message,
              HasSubstr("it is good for kubernetes.default.svc, 10.0.0.1 but not for 127.0.0.1"));
  EXPECT_FALSE(is_untrusted(refused)) << "other roots don't change that";
}

TEST_F(ClientTls, ServerNameReplacesTheHostInTlsOnly) {
  HttpServer server(answer, server_tls({.names = {"kubernetes.default.svc"}}));
  ClientOptions options = trusting();
  options.tls.server_name = "kubernetes.default.svc";
  const auto response = ask(options, server.url("/x"));
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  const ServerRequest seen = server.requests().at(0);
  EXPECT_EQ(seen.sni, "kubernetes.default.svc");
  EXPECT_EQ(seen.header("host"), fmt::format("127.0.0.1:{}", server.port()));

  options.tls.server_name = "other.example";
  EXPECT_THAT(refusal(options, server.url()).message,
              HasSubstr("good for kubernetes.default.svc but not for other.example"));
}

TEST_F(ClientTls, SkippingVerificationAcceptsAnything) {
  HttpServer server(answer, server_tls({.names = {"other.example"}, .ends = -std::chrono::seconds(60)}));
  ClientOptions options;
  options.tls.insecure_skip_verify = true;
  EXPECT_TRUE(ask(options, server.url()).ok());
}

TEST_F(ClientTls, PresentsItsCertificate) {
  ServerTls tls = server_tls();
  tls.client_ca_pem = authority_.certificate_pem();
  HttpServer server(answer, tls);
  const CertifiedKey me = authority_.issue({.common_name = "admin", .names = {}});
  ClientOptions options = trusting();
  options.tls.client_certificate_pem = me.certificate_pem;
  options.tls.client_key_pem = SecretString(me.key_pem);
  const auto response = ask(options, server.url());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->body, "hello admin");
}

TEST_F(ClientTls, SaysThatAClientCertificateIsDemanded) {
  ServerTls tls = server_tls();
  tls.client_ca_pem = authority_.certificate_pem();
  HttpServer server(answer, tls);
  const Error refused = refusal(trusting(), server.url());
  EXPECT_THAT(refused.message, HasSubstr("demands a client certificate"));
  EXPECT_THAT(refused.hint, HasSubstr("client-certificate"));
}

TEST_F(ClientTls, SaysThatTheClientCertificateExpired) {
  ServerTls tls = server_tls();
  tls.client_ca_pem = authority_.certificate_pem();
  HttpServer server(answer, tls);
  const CertifiedKey me = authority_.issue({.common_name = "admin",
                                            .names = {},
                                            .begins = std::chrono::hours(-3),
                                            .ends = -std::chrono::hours(2)});
  ClientOptions options = trusting();
  options.tls.client_certificate_pem = me.certificate_pem;
  options.tls.client_key_pem = SecretString(me.key_pem);
  EXPECT_THAT(refusal(options, server.url()).message,
              HasSubstr("does not accept our client certificate CN=admin"));
  EXPECT_THAT(refusal(options, server.url()).message, HasSubstr("which expired at"));
}

// As a server of TLS 1.3 that refuses it, when we sent before its alert was read: only a reset is left to
// see.
TEST_F(ClientTls, NamesTheClientCertificateWhereAConnectionBreaksBeforeAnyAnswer) {
  const auto broken = [&](std::chrono::seconds ends, bool asks) {
    ServerTls tls = server_tls();
    if (asks) tls.client_ca_pem = authority_.certificate_pem();
    HttpServer server([](const ServerRequest&, ServerReply& reply) { reply.reset(); }, tls);
    const CertifiedKey me = authority_.issue(
        {.common_name = "admin", .names = {}, .begins = std::chrono::hours(-3), .ends = ends});
    ClientOptions options = trusting();
    options.tls.client_certificate_pem = me.certificate_pem;
    options.tls.client_key_pem = SecretString(me.key_pem);
    const auto response = ask(options, server.url());
    EXPECT_FALSE(response.ok());
    return response.ok() ? Error() : response.error();
  };
  const Error expired = broken(-std::chrono::hours(2), false);
  EXPECT_EQ(expired.kind, ErrorKind::Retryable) << expired.to_line();
  EXPECT_THAT(expired.message, HasSubstr("broke before an answer came"));
  EXPECT_THAT(expired.hint, HasSubstr("get a new client certificate: ours, CN=admin"));
  EXPECT_THAT(expired.hint, HasSubstr("120m ago"));
  EXPECT_THAT(broken(std::chrono::hours(2), true).hint,
              HasSubstr("the server may not accept our client certificate CN=admin"));
  EXPECT_EQ(broken(std::chrono::hours(2), false).hint, "") << "nobody asked for it";
}

TEST_F(ClientTls, UnusablePemTextsAreInvalid) {
  HttpServer server(answer, server_tls());
  ClientOptions options = trusting();
  options.tls.client_certificate_pem = authority_.issue().certificate_pem;
  options.tls.client_key_pem = SecretString(authority_.issue().key_pem);
  auto response = ask(options, server.url());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Invalid) << response.error().to_line();
  EXPECT_THAT(response.error().message, HasSubstr("client certificate or its key"));

  options = {};
  options.tls.ca_pem = "this is no certificate";
  response = ask(options, server.url());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Invalid) << response.error().to_line();
}

TEST_F(ClientTls, HttpsToAPlainServer) {
  HttpServer server(answer);
  const std::string url = fmt::format("https://127.0.0.1:{}/", server.port());
  EXPECT_THAT(refusal(trusting(), url).message, HasSubstr("does not speak TLS"));
}

TEST_F(ClientTls, HttpToATlsServer) {
  HttpServer server(answer, server_tls());
  const auto response = ask({}, fmt::format("http://127.0.0.1:{}/", server.port()));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().hint, HasSubstr("https://127.0.0.1"));
}

TEST_F(ClientTls, TunnelsThroughAProxyWithoutShowingItTheRequest) {
  HttpServer server(answer, server_tls());
  HttpServer proxy([&](const ServerRequest& request, ServerReply& reply) {
    if (request.method == "CONNECT") reply.tunnel(server.port());
  });
  ClientOptions options = trusting();
  options.proxy_url = proxy.url("");
  Client client(options);
  Request request;
  request.url = server.url("/secret-path");
  request.authorization = SecretString("Bearer geheim");
  const auto response = client.send(request, Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(server.requests().at(0).header("authorization"), "Bearer geheim");
  const ServerRequest connect = proxy.requests().at(0);
  EXPECT_EQ(connect.target, fmt::format("127.0.0.1:{}", server.port()));
  EXPECT_EQ(connect.header("authorization"), "");
}

TEST_F(ClientTls, ServerNameWorksThroughAProxy) {
  HttpServer server(answer, server_tls({.names = {"kubernetes"}}));
  HttpServer proxy([&](const ServerRequest&, ServerReply& reply) { reply.tunnel(server.port()); });
  ClientOptions options = trusting();
  options.proxy_url = proxy.url("");
  options.tls.server_name = "kubernetes";
  const auto response = ask(options, server.url());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(proxy.requests().at(0).target, fmt::format("127.0.0.1:{}", server.port()));
}

TEST_F(ClientTls, ProxyThatRefuses) {
  int status = 407;
  HttpServer proxy([&](const ServerRequest&, ServerReply& reply) { reply.respond(status); });
  ClientOptions options = trusting();
  options.proxy_url = fmt::format("http://user:geheim@127.0.0.1:{}", proxy.port());
  Error refused = refusal(options, "https://server.example/");
  EXPECT_THAT(refused.message, HasSubstr("answered 407"));
  EXPECT_THAT(refused.to_line(), Not(HasSubstr("geheim")));
  status = 403;
  refused = refusal(options, "https://server.example/");
  EXPECT_THAT(refused.message, HasSubstr("answered 403 to the request to reach server.example:443"));
}

TEST_F(ClientTls, ProxyThatIsNotThere) {
  const ClosedPort closed;
  ClientOptions options = trusting();
  options.proxy_url = fmt::format("http://127.0.0.1:{}", closed.port());
  const auto response = ask(options, "https://server.example/");
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_TRUE(surely_not_sent(response.error()));
  EXPECT_THAT(response.error().message, HasSubstr("the proxy http://127.0.0.1"));
}

// A proxy is trusted by the system's roots, whatever the cluster's authority is.
TEST_F(ClientTls, ProxyWithTls) {
  HttpServer proxy([](const ServerRequest&, ServerReply& reply) { reply.respond(403); }, server_tls());
  const TestAuthority other;
  ClientOptions options;
  options.tls.ca_pem = other.certificate_pem();
  options.proxy_url = proxy.url("");
  const mist::testing::TempDir dir;
  const auto trusted = [&](const TestAuthority& authority) {
    std::ofstream(dir.path() / "roots") << authority.certificate_pem();
    return refusal(options, "https://server.example/");
  };
  ::setenv("SSL_CERT_FILE", (dir.path() / "roots").c_str(), 1);
  EXPECT_THAT(trusted(authority_).message, HasSubstr("answered 403"));
  const Error refused = trusted(other);
  EXPECT_THAT(refused.message, HasSubstr("certificate of the proxy https://127.0.0.1"));
  EXPECT_THAT(refused.message, HasSubstr("no trusted authority"));
  EXPECT_THAT(refused.hint, HasSubstr("SSL_CERT_FILE"));
  ::unsetenv("SSL_CERT_FILE");
}

// As a registry's own authority and client certificate: those of one host and port.
class ClientHostTls : public ClientTls {
 protected:
  ClientHostTls() {
    std::ofstream(dir_.path() / "roots") << system_.certificate_pem();
    ::setenv("SSL_CERT_FILE", (dir_.path() / "roots").c_str(), 1);
  }
  ~ClientHostTls() override { ::unsetenv("SSL_CERT_FILE"); }

  static ClientOptions only_for(std::uint16_t port, const HostTls& tls) {
    ClientOptions options;
    options.find_host_tls = [port, shared = std::make_shared<const HostTls>(tls)](
                                const Url& url) -> Result<std::shared_ptr<const HostTls>> {
      return url.port == port ? shared : nullptr;
    };
    return options;
  }
  HostTls identity() const {
    const CertifiedKey me = authority_.issue({.common_name = "robot", .names = {}});
    return {.ca_pem = authority_.certificate_pem(),
            .client_certificate_pem = me.certificate_pem,
            .client_key_pem = SecretString(me.key_pem)};
  }
  ServerTls demanding() const {
    ServerTls tls = server_tls();
    tls.client_ca_pem = authority_.certificate_pem();
    return tls;
  }
  static Result<Response> get(Client& client, const std::string& url) {
    return client.send({.url = url, .repeat = Repeat::Safe}, Context());
  }

  const TestAuthority system_{"Authority of the system"};
  const mist::testing::TempDir dir_;
};

TEST_F(ClientHostTls, TrustsAnAuthorityForItsHostBesideThoseOfTheSystem) {
  HttpServer own(answer, server_tls());
  HttpServer other(answer, server_tls());
  const CertifiedKey by_system = system_.issue();
  HttpServer common(answer, ServerTls{by_system.certificate_pem, by_system.key_pem, {}});
  Client client(only_for(own.port(), {.ca_pem = authority_.certificate_pem()}));
  EXPECT_TRUE(get(client, own.url()).ok()) << get(client, own.url()).error().to_line();
  EXPECT_TRUE(get(client, common.url()).ok()) << get(client, common.url()).error().to_line();
  const auto refused = get(client, other.url());
  ASSERT_FALSE(refused.ok()) << "the authority counts for one host and port";
  EXPECT_TRUE(is_untrusted(refused.error())) << refused.error().to_line();

  Client of_system(only_for(common.port(), {.ca_pem = authority_.certificate_pem()}));
  EXPECT_TRUE(get(of_system, common.url()).ok()) << "the system's authorities still count there";
}

TEST_F(ClientHostTls, PresentsAClientCertificateToItsHostOnly) {
  HttpServer own(answer, demanding());
  HttpServer other(answer, demanding());
  ClientOptions options = only_for(own.port(), identity());
  options.tls.ca_pem = authority_.certificate_pem();
  Client client(std::move(options));
  const auto mine = get(client, own.url());
  ASSERT_TRUE(mine.ok()) << mine.error().to_line();
  EXPECT_EQ(mine->body, "hello robot");
  const auto refused = get(client, other.url());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("demands a client certificate and got none"));
  EXPECT_TRUE(other.requests().empty());
  EXPECT_TRUE(get(client, own.url()).ok());
}

TEST_F(ClientHostTls, NeedsNoAuthorityBesideAClientCertificate) {
  const CertifiedKey by_system = system_.issue();
  HttpServer server(answer,
                    ServerTls{by_system.certificate_pem, by_system.key_pem, authority_.certificate_pem()});
  HostTls tls = identity();
  tls.ca_pem.clear();
  Client client(only_for(server.port(), tls));
  const auto response = get(client, server.url());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->body, "hello robot");
}

TEST_F(ClientHostTls, SaysWhereItsCertificatesGo) {
  HttpServer server(answer, demanding());
  const HostTls nothing{.authority_hint = "put ca.crt there", .certificate_hint = "put client.cert there"};
  EXPECT_EQ(refusal(only_for(server.port(), nothing), server.url()).hint, "put ca.crt there");
  ClientOptions trusting_it = only_for(server.port(), nothing);
  trusting_it.tls.ca_pem = authority_.certificate_pem();
  EXPECT_EQ(refusal(trusting_it, server.url()).hint, "put client.cert there");

  const CertifiedKey stranger =
      TestAuthority("Somebody else").issue({.common_name = "stranger", .names = {}});
  HostTls wrong = identity();
  wrong.client_certificate_pem = stranger.certificate_pem;
  wrong.place = "/certs.d/registry.example";
  const auto unusable = ask(only_for(server.port(), wrong), server.url());
  ASSERT_FALSE(unusable.ok());
  EXPECT_EQ(unusable.error().kind, ErrorKind::Invalid) << "the key isn't that of the certificate";
  EXPECT_THAT(unusable.error().hint, HasSubstr("/certs.d/registry.example"));
}

TEST_F(ClientHostTls, SendsNothingWhenItsCertificatesCantBeRead) {
  HttpServer server(answer, server_tls());
  ClientOptions options;
  options.find_host_tls = [](const Url& url) -> Result<std::shared_ptr<const HostTls>> {
    return error(ErrorKind::Invalid, "no certificates for {}", url.authority());
  };
  const auto refused = ask(options, server.url());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, fmt::format("no certificates for 127.0.0.1:{}", server.port()));
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(ClientTls, EnvironmentsProxyIsNotUsedForLoopback) {
  const ClosedPort closed;
  HttpServer server(answer, server_tls());
  ClientOptions options = trusting();
  options.proxy_environment.https_proxy = fmt::format("127.0.0.1:{}", closed.port());
  EXPECT_TRUE(ask(options, server.url()).ok());
  EXPECT_FALSE(ask(options, "https://server.example/").ok());
}

}  // namespace
}  // namespace mist::http
