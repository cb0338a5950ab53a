#include "registry/host_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "http/client.h"
#include "registry/docker_config.h"
#include "registry/oci_client.h"
#include "testing/certificates.h"
#include "testing/http_server.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using mist::testing::CertifiedKey;
using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;
using mist::testing::TestAuthority;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

config::Environment environment_of(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

class HostCertificates : public ::testing::Test {
 protected:
  Path home() const { return dir_.path(); }
  // Of Podman's directory of this user.
  Path certs(std::string_view host) const { return home() / ".config/containers/certs.d" / host; }

  void put(const Path& file, std::string_view text, unsigned mode = 0600) {
    ASSERT_TRUE(files_.write(file, text, {.mode = mode}).ok());
  }
  void put_pair(const Path& directory, const CertifiedKey& pair) {
    put(directory / "client.cert", pair.certificate_pem);
    put(directory / "client.key", pair.key_pem);
  }
  http::FindHostTls finder(ClientCertificates clients = ClientCertificates::Present) const {
    return host_certificates(files_, environment_of({{"HOME", home().string()}}), clients);
  }
  Result<std::shared_ptr<const http::HostTls>> find(std::string_view url) const {
    return finder()(*http::Url::parse(url));
  }
  http::HostTls found(std::string_view url) const {
    const auto result = find(url);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().to_line());
    return result.ok() ? **result : http::HostTls();
  }
  Error refused(std::string_view url) const {
    const auto result = find(url);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error() : result.error();
  }

  const mist::testing::TempDir dir_;
  HostFileSystem files_;
  const TestAuthority authority_;
  const CertifiedKey me_ = authority_.issue({.common_name = "robot", .names = {}});
};

TEST(HostCertificateDirectories, AreThoseOfPodmanAndDocker) {
  EXPECT_THAT(certificate_directories(environment_of({{"HOME", "/h"}})),
              ElementsAre("/h/.config/containers/certs.d", "/h/.config/docker/certs.d",
                          "/etc/containers/certs.d", "/etc/docker/certs.d"));
  EXPECT_THAT(certificate_directories(environment_of({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}})),
              ElementsAre("/x/containers/certs.d", "/x/docker/certs.d", "/etc/containers/certs.d",
                          "/etc/docker/certs.d"));
  EXPECT_THAT(certificate_directories({}), ElementsAre("/etc/containers/certs.d", "/etc/docker/certs.d"));
}

TEST_F(HostCertificates, AreOfAHostAndAPort) {
  put(certs("registry.example:5000") / "ca.crt", authority_.certificate_pem());
  put_pair(certs("registry.example:5000"), me_);
  const http::HostTls tls = found("https://registry.example:5000/v2/");
  EXPECT_THAT(tls.ca_pem, HasSubstr(authority_.certificate_pem()));
  EXPECT_EQ(tls.client_certificate_pem, me_.certificate_pem);
  EXPECT_EQ(tls.client_key_pem.reveal(), me_.key_pem);
  EXPECT_EQ(tls.place, certs("registry.example:5000"));
  for (const std::string_view other :
       {"https://registry.example/", "https://registry.example:5001/", "https://other.example:5000/"}) {
    EXPECT_EQ(found(other).ca_pem, "") << other;
    EXPECT_TRUE(found(other).client_key_pem.empty()) << other;
  }
}

TEST_F(HostCertificates, OfThePortOfHttpsNeedNoPort) {
  put(certs("one.example") / "ca.crt", authority_.certificate_pem());
  put(certs("two.example:443") / "ca.crt", authority_.certificate_pem());
  put(certs("docker.io") / "ca.crt", authority_.certificate_pem());
  for (const std::string_view url : {"https://one.example/", "https://one.example:443/",
                                     "https://two.example/", "https://registry-1.docker.io/v2/"})
    EXPECT_NE(found(url).ca_pem, "") << url;
}

TEST_F(HostCertificates, AllAuthoritiesOfADirectoryCount) {
  const TestAuthority other("Second authority");
  put(certs("registry.example") / "a.crt", authority_.certificate_pem());
  put(certs("registry.example") / "b.crt", other.certificate_pem());
  put(certs("registry.example") / "notes.txt", "not for us");
  const http::HostTls tls = found("https://registry.example/");
  EXPECT_THAT(tls.ca_pem, HasSubstr(authority_.certificate_pem()));
  EXPECT_THAT(tls.ca_pem, HasSubstr(other.certificate_pem()));
}

TEST_F(HostCertificates, OfTheFirstDirectoryWin) {
  const TestAuthority other("Docker's");
  put(home() / ".config/docker/certs.d/registry.example/ca.crt", other.certificate_pem());
  EXPECT_THAT(found("https://registry.example/").ca_pem, HasSubstr(other.certificate_pem()));
  put_pair(certs("registry.example"), me_);
  EXPECT_EQ(found("https://registry.example/").ca_pem, "");
  EXPECT_EQ(found("https://registry.example/").client_certificate_pem, me_.certificate_pem);
}

TEST_F(HostCertificates, SayWhereTheyGoWhereThereAreNone) {
  const http::HostTls tls = found("https://registry.example:5000/");
  EXPECT_THAT(tls.authority_hint, HasSubstr(certs("registry.example:5000").string() + "/ as ca.crt"));
  EXPECT_THAT(tls.certificate_hint, HasSubstr(certs("registry.example:5000").string() + "/ as client.cert"));
  // Another directory would hide the one that exists.
  const Path docker = home() / ".config/docker/certs.d/registry.example";
  put_pair(docker, me_);
  EXPECT_THAT(found("https://registry.example/").authority_hint, HasSubstr(docker.string() + "/ as ca.crt"));
}

TEST_F(HostCertificates, AMissingPartnerIsNamed) {
  put(certs("a.example") / "client.cert", me_.certificate_pem);
  put(certs("b.example") / "client.key", me_.key_pem);
  put(certs("c.example") / "one.cert", me_.certificate_pem);
  put(certs("c.example") / "two.key", me_.key_pem);
  Error failure = refused("https://a.example/");
  EXPECT_EQ(failure.kind, ErrorKind::Invalid);
  EXPECT_THAT(failure.message, HasSubstr((certs("a.example") / "client.cert").string() + " has no key " +
                                         (certs("a.example") / "client.key").string()));
  EXPECT_THAT(failure.to_line(), HasSubstr("a.example:443"));
  EXPECT_THAT(refused("https://b.example/").message,
              HasSubstr((certs("b.example") / "client.key").string() + " has no certificate"));
  EXPECT_THAT(refused("https://c.example/").message, HasSubstr("one.cert has no key"));
}

TEST_F(HostCertificates, TwoClientCertificatesAreNotChosenBetween) {
  put_pair(certs("a.example"), me_);
  put(certs("a.example") / "other.cert", me_.certificate_pem);
  put(certs("a.example") / "other.key", me_.key_pem);
  EXPECT_THAT(refused("https://a.example/").message, HasSubstr("is a second client certificate beside"));
}

TEST_F(HostCertificates, KeysAreForTheirOwner) {
  const Path key = certs("a.example") / "client.key";
  put(certs("a.example") / "client.cert", me_.certificate_pem, 0644);
  for (const unsigned open : {0644U, 0604U, 0620U, 0602U}) {
    put(key, me_.key_pem, open);
    const Error failure = refused("https://a.example/");
    EXPECT_EQ(failure.kind, ErrorKind::Invalid);
    EXPECT_EQ(failure.message, key.string() + " is a private key that others can read or change");
    EXPECT_EQ(failure.hint, "chmod 600 " + key.string());
  }
  for (const unsigned closed : {0600U, 0400U, 0440U, 0640U}) {
    put(key, me_.key_pem, closed);
    EXPECT_EQ(found("https://a.example/").client_key_pem.reveal(), me_.key_pem) << closed;
  }
}

TEST_F(HostCertificates, FilesOfOtherKindsAreRefusedWithoutTheirText) {
  const Path key = certs("a.example") / "client.key";
  put(certs("a.example") / "client.cert", me_.certificate_pem);
  put(key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nZ2VoZWlt\n-----END ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(refused("https://a.example/").message, HasSubstr("is an encrypted private key"));
  put(key, "geheim");
  EXPECT_THAT(refused("https://a.example/").message, HasSubstr("holds no private key"));
  EXPECT_THAT(refused("https://a.example/").to_line(), Not(HasSubstr("geheim")));
  put(certs("a.example") / "client.cert", me_.key_pem);
  EXPECT_THAT(refused("https://a.example/").message, HasSubstr("client.cert holds no certificate"));
  put(certs("b.example") / "ca.crt", "0\x82");
  EXPECT_THAT(refused("https://b.example/").message, HasSubstr("ca.crt holds no certificate"));
}

TEST_F(HostCertificates, OfChartRepositoriesAreThoseThatHelmKeeps) {
  const TestAuthority other("Other");
  put(home() / "ca.pem", authority_.certificate_pem());
  put(home() / "other.pem", other.certificate_pem());
  put(home() / "c.pem", me_.certificate_pem);
  put(home() / "k.pem", me_.key_pem);
  put(home() / ".config/helm/repositories.yaml", fmt::format(R"(repositories:
- {{name: root, url: "https://charts.example:8443", caFile: {0}/other.pem}}
- {{name: team, url: "https://charts.example:8443/team/", caFile: {0}/ca.pem, certFile: {0}/c.pem, keyFile: {0}/k.pem}}
- {{name: plain, url: "https://plain.example"}}
- {{name: half, url: "https://half.example", certFile: {0}/c.pem}}
- {{name: gone, url: "https://gone.example", caFile: {0}/gone.pem}}
)",
                                                             home().string()));
  const http::HostTls team = found("https://charts.example:8443/team/index.yaml");
  EXPECT_THAT(team.ca_pem, HasSubstr(authority_.certificate_pem()));
  EXPECT_EQ(team.client_certificate_pem, me_.certificate_pem);
  EXPECT_EQ(team.client_key_pem.reveal(), me_.key_pem);
  EXPECT_THAT(team.place, HasSubstr("the entry team of Helm's repositories.yaml"));
  const http::HostTls root = found("https://charts.example:8443/teams/index.yaml");
  EXPECT_THAT(root.ca_pem, HasSubstr(other.certificate_pem()));
  EXPECT_EQ(root.client_certificate_pem, "");
  EXPECT_EQ(found("https://charts.example/team/index.yaml").ca_pem, "") << "another port";
  EXPECT_EQ(found("https://plain.example/index.yaml").ca_pem, "");
  EXPECT_THAT(refused("https://half.example/index.yaml").message, HasSubstr("half"));
  EXPECT_THAT(refused("https://half.example/index.yaml").message, HasSubstr("no keyFile"));
  EXPECT_THAT(refused("https://gone.example/index.yaml").to_line(), HasSubstr("gone.pem"));
  // Both say whom the user trusts.
  put(certs("charts.example:8443") / "ca.crt", other.certificate_pem());
  EXPECT_THAT(found("https://charts.example:8443/team/index.yaml").ca_pem,
              HasSubstr(other.certificate_pem()));
  EXPECT_THAT(found("https://charts.example:8443/team/index.yaml").ca_pem,
              HasSubstr(authority_.certificate_pem()));
}

TEST_F(HostCertificates, DontNeedAReadableFileOfHelms) {
  put(home() / ".config/helm/repositories.yaml", "repositories: [{");
  put(certs("a.example") / "ca.crt", authority_.certificate_pem());
  EXPECT_NE(found("https://a.example/").ca_pem, "");
}

TEST_F(HostCertificates, ServersThatAPackageNamesDontLearnWhoTheUserIs) {
  put(certs("a.example") / "ca.crt", authority_.certificate_pem());
  put_pair(certs("a.example"), me_);
  const auto tls = finder(ClientCertificates::Withhold)(*http::Url::parse("https://a.example/"));
  ASSERT_TRUE(tls.ok());
  EXPECT_NE((*tls)->ca_pem, "");
  EXPECT_EQ((*tls)->client_certificate_pem, "");
  EXPECT_TRUE((*tls)->client_key_pem.empty());
  EXPECT_THAT((*tls)->certificate_hint, HasSubstr("get no client certificate"));
}

// A registry that demands a client certificate, and sends its blobs elsewhere.
TEST_F(HostCertificates, DontFollowRedirects) {
  const CertifiedKey server_pair = authority_.issue();
  const mist::testing::ServerTls tls{server_pair.certificate_pem, server_pair.key_pem,
                                     authority_.certificate_pem()};
  HttpServer storage([](const ServerRequest&, ServerReply& reply) { reply.respond(200, "[]"); }, tls);
  HttpServer server(
      [&](const ServerRequest& request, ServerReply& reply) {
        if (request.target.starts_with("/v2/moved/"))
          return reply.respond(307, "", {{"Location", storage.url("/tags")}});
        reply.respond(200, fmt::format(R"({{"name":"here","tags":["{}"]}})", request.client_subject));
      },
      tls);
  const std::string host = fmt::format("127.0.0.1:{}", server.port());
  put(certs(host) / "ca.crt", authority_.certificate_pem());
  put_pair(certs(host), me_);
  put(certs(fmt::format("127.0.0.1:{}", storage.port())) / "ca.crt", authority_.certificate_pem());

  http::ClientOptions options;
  options.find_host_tls = finder();
  http::Client client(std::move(options));
  OciClient oci(client,
                [](const std::string&, const std::string&, const Context&) -> Result<std::optional<Login>> {
                  return std::optional<Login>();
                },
                {});
  const auto here = oci.tags(*oci::Repository::parse(fmt::format("oci://{}/here", host)), Context());
  ASSERT_TRUE(here.ok()) << here.error().to_line();
  EXPECT_THAT(*here, ElementsAre("robot"));
  const auto moved = oci.tags(*oci::Repository::parse(fmt::format("oci://{}/moved", host)), Context());
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().to_line(), HasSubstr("demands a client certificate and got none"));
  EXPECT_TRUE(storage.requests().empty());
}

}  // namespace
}  // namespace mist::registry
