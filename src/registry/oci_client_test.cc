#include "registry/oci_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "http/retry.h"
#include "registry/oci_fixture.h"
#include "registry/oci_packages.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"

namespace mist::registry {
namespace {

using testing::authorization_of;
using ::testing::HasSubstr;
using testing::MemoryRegistry;

const std::string kModuleBytes("\0asm\1\0\0\0", 8);
const oci::Repository kShop = testing::repository_of("oci://reg.example/team/shop");

http::Response redirect(std::string to) {
  return {.status = 307, .headers = {{"Location", std::move(to)}}, .body = {}};
}

http::Response challenge(std::string value) {
  return {.status = 401, .headers = {{"WWW-Authenticate", std::move(value)}}, .body = {}};
}

class OciClientTest : public ::testing::Test {
 protected:
  OciClientTest() { digest = registry.publish("1.4.0", artifact); }

  const oci::Descriptor& layer() const { return artifact.blobs[1].descriptor; }
  std::string blob_error(OciClient& client) {
    const auto blob = client.blob(kShop, layer(), 1000, Context());
    return blob.ok() ? "no error" : blob.error().to_line();
  }
  /// The registry wants a token of https://auth.example; `seen` gets the token server's requests.
  void want_token(std::vector<http::Request>& seen, int status = 200) {
    registry.before = [this, &seen, status](const http::Request& request) -> std::optional<http::Response> {
      if (request.url.starts_with("https://auth.example/")) {
        seen.push_back(request);
        return http::Response{
            .status = status, .headers = {}, .body = fmt::format(R"({{"token":"t{}"}})", seen.size())};
      }
      // Several may be given out, as several blobs are sent at once.
      for (std::size_t i = tokens_ended + 1; i <= seen.size(); ++i)
        if (authorization_of(request) == fmt::format("Bearer t{}", i)) return std::nullopt;
      return challenge(
          R"(Bearer realm="https://auth.example/token?a=b",service="reg",scope="repository:other:pull")");
    };
  }

  std::size_t tokens_ended = 0;  // the first so many of those that want_token() gave out
  oci::Artifact artifact = oci::module_artifact(kModuleBytes, {});
  crypto::Digest digest = crypto::sha256("");
  MemoryRegistry registry;
};

TEST_F(OciClientTest, ReadsAManifestAndItsBlob) {
  OciClient client = registry.client();
  const auto manifest = client.manifest(kShop, "1.4.0", Context());
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_line();
  EXPECT_EQ(manifest->digest, digest);
  EXPECT_EQ(*client.blob(kShop, layer(), 1000, Context()), kModuleBytes);
  EXPECT_EQ(registry.asked().at(0), "GET https://reg.example/v2/team/shop/manifests/1.4.0");
  EXPECT_EQ(registry.web.count(), 2u);
}

TEST_F(OciClientTest, OtherBytesThanTheDigestAreRefused) {
  OciClient client = registry.client();
  registry.blobs[layer().digest.str()] = std::string("\0asm\1\0\0\1", 8);
  EXPECT_NE(blob_error(client).find("is not what its digest says"), std::string::npos);
  EXPECT_NE(blob_error(client).find(crypto::sha256(std::string("\0asm\1\0\0\1", 8)).str()),
            std::string::npos);
  registry.blobs[layer().digest.str()] = kModuleBytes + "more";
  EXPECT_NE(blob_error(client).find("more than the 8 bytes came"), std::string::npos);
  registry.blobs[layer().digest.str()] = "less";
  EXPECT_NE(blob_error(client).find("4 bytes came, and its manifest says 8"), std::string::npos);
  registry.manifests[digest.str()] += " ";
  const auto manifest = client.manifest(kShop, digest.str(), Context());
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().kind, ErrorKind::Conflict);
}

TEST_F(OciClientTest, ABlobThatIsTooLargeIsNotAskedFor) {
  OciClient client = registry.client();
  const auto blob = client.blob(kShop, layer(), 7, Context());
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(registry.web.count(), 0u);
}

TEST_F(OciClientTest, ATokenIsAskedForOnceAndForWhatIsNeeded) {
  std::vector<http::Request> tokens;
  want_token(tokens);
  OciClient client = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
  ASSERT_TRUE(client.manifest(kShop, "1.4.0", Context()).ok());
  ASSERT_TRUE(client.blob(kShop, layer(), 1000, Context()).ok());
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].url,
            "https://auth.example/token?a=b&service=reg&scope=repository%3Ateam%2Fshop%3Apull");
  EXPECT_EQ(authorization_of(tokens[0]), "Basic YWxpY2U6Z2VoZWlt");
  // 401, token, manifest, blob
  EXPECT_EQ(registry.web.count(), 4u);
  ASSERT_TRUE(client.push_manifest(kShop, "x", artifact.manifest, Context()).ok());
  EXPECT_NE(tokens.back().url.find("pull%2Cpush"), std::string::npos);
}

TEST_F(OciClientTest, AnExpiredTokenIsRenewed) {
  std::vector<http::Request> tokens;
  want_token(tokens);
  OciClient client = registry.client();
  ASSERT_TRUE(client.manifest(kShop, "1.4.0", Context()).ok());
  tokens_ended = tokens.size();
  ASSERT_TRUE(client.blob(kShop, layer(), 1000, Context()).ok());
  EXPECT_EQ(tokens.size(), 2u);
  EXPECT_EQ(authorization_of(tokens[0]), "none");
}

TEST_F(OciClientTest, AnIdentityTokenIsExchanged) {
  std::vector<http::Request> tokens;
  want_token(tokens);
  OciClient client =
      registry.client(Login{.user = "<token>", .password = {}, .identity_token = SecretString("id")});
  ASSERT_TRUE(client.manifest(kShop, "1.4.0", Context()).ok());
  EXPECT_EQ(tokens[0].method, "POST");
  EXPECT_NE(tokens[0].body.find("grant_type=refresh_token&client_id=mistctl&refresh_token=id"),
            std::string::npos);
}

TEST_F(OciClientTest, ARefusedLoginSaysHowToLogIn) {
  std::vector<http::Request> tokens;
  want_token(tokens, 401);
  OciClient client = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
  const auto refused = client.manifest(kShop, "1.4.0", Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(refused.error().hint.find("mistctl login reg.example"), std::string::npos);
  EXPECT_EQ(refused.error().to_line().find("geheim"), std::string::npos);
}

TEST_F(OciClientTest, BasicIsSentOnlyWhereItIsAskedFor) {
  registry.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (authorization_of(request) == "Basic YWxpY2U6Z2VoZWlt") return std::nullopt;
    return challenge("Basic realm=\"r\"");
  };
  OciClient with_login = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
  ASSERT_TRUE(with_login.manifest(kShop, "1.4.0", Context()).ok());
  EXPECT_EQ(authorization_of(registry.web.requests()[0]), "none");
  EXPECT_TRUE(*with_login.check_access("reg.example", Context()));
  OciClient without = registry.client();
  const auto refused = without.manifest(kShop, "1.4.0", Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(refused.error().message.find("needs credentials, and there are none"), std::string::npos);
}

TEST_F(OciClientTest, CredentialsDoNotFollowARedirectToAnotherHost) {
  std::vector<std::string> elsewhere;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.starts_with("https://store.example/")) {
      elsewhere.push_back(authorization_of(request));
      return http::Response{.status = 200, .headers = {}, .body = kModuleBytes};
    }
    if (authorization_of(request) == "none") return challenge("Basic realm=\"r\"");
    return redirect("https://store.example/x?sig=1");
  };
  OciClient client = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
  EXPECT_EQ(*client.blob(kShop, layer(), 1000, Context()), kModuleBytes);
  EXPECT_EQ(elsewhere, std::vector<std::string>{"none"});
}

// It chooses where the password would go.
TEST_F(OciClientTest, AnotherHostsChallengeIsNotAnswered) {
  bool is_known = false;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (!request.url.starts_with("https://reg.example/"))
      return challenge(R"(Bearer realm="https://evil.example/t")");
    if (is_known && authorization_of(request) == "none") return challenge("Basic realm=\"r\"");
    if (request.method == "GET") return redirect("https://store.example/x");
    return http::Response{.status = request.method == "HEAD" ? 404 : 202,
                          .headers = {{"Location", "https://store.example/upload"}},
                          .body = {}};
  };
  const oci::Blob& blob = artifact.blobs[1];
  for (const bool known : {false, true}) {
    is_known = known;
    for (const std::size_t large_from : {std::size_t{1} << 20, std::size_t{1}}) {
      OciClient client(
          registry.web,
          [](const std::string&, const std::string&, const Context&) -> Result<std::optional<Login>> {
            return std::optional(Login{.user = "alice", .password = SecretString("geheim")});
          },
          {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
             return std::vector<std::string>{"1.1.1.1"};
           },
           .large_from = large_from});
      const auto read = client.blob(kShop, layer(), 1000, Context());
      const Status pushed = client.push_blob(kShop, blob, Context());
      ASSERT_FALSE(read.ok());
      ASSERT_FALSE(pushed.ok());
      for (const Error& refused : {read.error(), pushed.error()}) {
        EXPECT_EQ(refused.kind, ErrorKind::Forbidden);
        EXPECT_EQ(refused.message, "store.example, where reg.example sends us, answered 401");
      }
    }
  }
  std::set<std::string> asked_elsewhere;
  for (const http::Request& request : registry.web.requests()) {
    EXPECT_EQ(request.url.find("evil.example"), std::string::npos) << request.url;
    if (request.url.starts_with("https://reg.example/")) continue;
    EXPECT_EQ(authorization_of(request), "none") << request.url;
    asked_elsewhere.insert(request.method);
  }
  EXPECT_EQ(asked_elsewhere, (std::set<std::string>{"GET", "PATCH", "PUT"}));
}

TEST_F(OciClientTest, RedirectsToPlainHttpOrThisMachineAreRefused) {
  for (const char* to :
       {"http://store.example/x", "https://127.0.0.1:1/x", "https://localhost/x", "ftp://a/x"}) {
    registry.before = [&](const http::Request&) { return std::optional(redirect(to)); };
    OciClient client = registry.client();
    EXPECT_NE(blob_error(client).find("sends us to an address that can't be trusted"), std::string::npos)
        << to;
  }
  registry.before = [](const http::Request&) { return std::optional(redirect("https://reg.example/x")); };
  OciClient client = registry.client();
  EXPECT_NE(blob_error(client).find("without end"), std::string::npos);
}

TEST_F(OciClientTest, CredentialsGoToNoTokenServerThatCannotBeTrusted) {
  for (const char* realm :
       {"http://auth.example/token", "https://127.0.0.1/token", "http://localhost:1/token", "x"}) {
    registry.before = [&](const http::Request&) {
      return std::optional(challenge(fmt::format("Bearer realm=\"{}\"", realm)));
    };
    OciClient client = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
    EXPECT_NE(blob_error(client).find("token server that can't be trusted"), std::string::npos) << realm;
    for (const http::Request& request : registry.web.requests()) EXPECT_EQ(authorization_of(request), "none");
  }
}

TEST_F(OciClientTest, WhereTheRegistrySendsUsIsPublic) {
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.starts_with("https://auth.example/"))
      return http::Response{.status = 200, .headers = {}, .body = R"({"token":"t"})"};
    if (request.url.starts_with("https://cdn.example/"))
      return http::Response{.status = 200, .headers = {}, .body = kModuleBytes};
    if (authorization_of(request) == "none") return challenge(R"(Bearer realm="https://auth.example/token")");
    return redirect("https://cdn.example/blob");
  };
  OciClient client = registry.client();
  EXPECT_EQ(*client.blob(kShop, layer(), 1000, Context()), kModuleBytes);
  ASSERT_EQ(registry.web.count(), 4u);  // 401, token, redirect, blob
  for (const http::Request& request : registry.web.requests())
    EXPECT_EQ(request.public_only, !request.url.starts_with("https://reg.example/")) << request.url;
}

TEST_F(OciClientTest, ARegistryThatAPackageNamesIsPublicItselfAndLeadsToPublicServers) {
  registry.addresses = {"10.1.2.3"};
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.starts_with("https://auth.reg.example/"))
      return http::Response{.status = 200, .headers = {}, .body = R"({"token":"t"})"};
    if (request.url.starts_with("https://reg.example:9000/"))
      return http::Response{.status = 200, .headers = {}, .body = kModuleBytes};
    if (authorization_of(request) == "none")
      return challenge(R"(Bearer realm="https://auth.reg.example/token")");
    return redirect("https://reg.example:9000/blob");
  };
  OciClient client = registry.client();
  oci::Repository named = kShop;
  named.public_only = true;
  EXPECT_EQ(*client.blob(named, layer(), 1000, Context()), kModuleBytes);
  ASSERT_EQ(registry.web.count(), 4u);  // 401, token, redirect, blob
  for (const http::Request& request : registry.web.requests())
    EXPECT_TRUE(request.public_only) << request.url;
}

TEST_F(OciClientTest, ARefusedServerOfAPackageIsToldHowToBeTrusted) {
  registry.web.fail(error(ErrorKind::Forbidden, "reg.example is not a server of the Internet"));
  OciClient client = registry.client();
  oci::Repository named = kShop;
  named.public_only = true;
  const auto failed = client.tags(named, Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Forbidden);
  EXPECT_NE(failed.error().hint.find("mistctl registry add NAME --oci oci://reg.example"), std::string::npos)
      << failed.error().hint;
}

TEST_F(OciClientTest, APrivateRegistrySendsUsToItsOwnHostToo) {
  registry.addresses = {"10.1.2.3"};
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (!request.url.starts_with("https://reg.example/"))
      return http::Response{.status = 200, .headers = {}, .body = kModuleBytes};
    return redirect("https://reg.example:9000/blob");
  };
  OciClient client = registry.client();
  EXPECT_EQ(*client.blob(kShop, layer(), 1000, Context()), kModuleBytes);
  EXPECT_FALSE(registry.web.requests().back().public_only);
}

TEST_F(OciClientTest, UploadsGoWhereRedirectsMayLead) {
  for (const char* location :
       {"http://127.0.0.1:9002/put-anything", "https://localhost/x", "http://files.example/x"}) {
    MemoryRegistry empty;
    empty.before = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.method != "POST") return std::nullopt;
      return http::Response{.status = 202, .headers = {{"Location", location}}, .body = {}};
    };
    OciClient client = empty.client();
    const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
    ASSERT_FALSE(pushed.ok()) << location;
    EXPECT_EQ(pushed.error().kind, ErrorKind::Invalid);
    for (const http::Request& request : empty.web.requests()) EXPECT_NE(request.method, "PUT") << request.url;
  }
  MemoryRegistry empty;
  empty.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method == "PUT") return http::Response{.status = 201, .headers = {}, .body = {}};
    if (request.method != "POST") return std::nullopt;
    return http::Response{
        .status = 202, .headers = {{"Location", "https://[::ffff:10.0.0.1]/x"}}, .body = {}};
  };
  OciClient client = empty.client();
  ASSERT_TRUE(client.push_blob(kShop, artifact.blobs[1], Context()).ok());
  EXPECT_EQ(empty.web.requests().back().method, "PUT");
  EXPECT_TRUE(empty.web.requests().back().public_only);
}

TEST_F(OciClientTest, ThisMachineIsAskedByHttpAndThenByHttps) {
  registry.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.starts_with("https://localhost:5000/")) return std::nullopt;
    return http::Response{
        .status = 400, .headers = {}, .body = "Client sent an HTTP request to an HTTPS server."};
  };
  OciClient client = registry.client();
  const oci::Repository here = testing::repository_of("oci://localhost:5000/team/shop");
  ASSERT_TRUE(client.manifest(here, "1.4.0", Context()).ok());
  ASSERT_TRUE(client.blob(here, layer(), 1000, Context()).ok());
  EXPECT_EQ(registry.web.count(), 3u);
  EXPECT_TRUE(registry.asked()[0].starts_with("GET http://localhost:5000/"));
}

// Both begin with plain http, and the second ends before the first has its answer.
TEST_F(OciClientTest, TwoThatFindTlsOnThisMachineAtOnceBothUseIt) {
  const oci::Repository here = testing::repository_of("oci://localhost:5000/team/shop");
  mist::testing::FakeTransport web;
  OciClient client(web,
                   [](const std::string&, const std::string&,
                      const Context&) -> Result<std::optional<Login>> { return std::optional<Login>(); },
                   {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                     return std::vector<std::string>{"127.0.0.1"};
                   }});
  const auto read = [&] { return client.manifest(here, "1.4.0", Context()); };
  bool is_first = true;
  web.otherwise([&](const http::Request& request, const Context&) -> Result<http::Response> {
    if (request.url.starts_with("https://")) return registry.web.send(request, Context());
    if (std::exchange(is_first, false)) {
      const auto second = read();
      EXPECT_TRUE(second.ok()) << second.error().to_line();
    }
    return http::Response{
        .status = 400, .headers = {}, .body = "Client sent an HTTP request to an HTTPS server."};
  });
  const auto first = read();
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(web.count(), 5u);
  EXPECT_EQ(web.requests().back().url, "https://localhost:5000/v2/team/shop/manifests/1.4.0");
}

TEST_F(OciClientTest, TagsComeInPagesOfTheSameRegistryOnly) {
  std::vector<std::string> links{"</v2/team/shop/tags/list?last=b>; rel=\"next\"", "<?last=c>; rel=\"next\"",
                                 ""};
  std::size_t page = 0;
  registry.before = [&](const http::Request&) -> std::optional<http::Response> {
    const std::string& link = links.at(page++);
    return http::Response{
        .status = 200, .headers = {{"Link", link}}, .body = fmt::format(R"({{"tags":["p{}"]}})", page)};
  };
  OciClient client = registry.client();
  EXPECT_EQ(*client.tags(kShop, Context()), (std::vector<std::string>{"p1", "p2", "p3"}));
  EXPECT_EQ(registry.asked()[1], "GET https://reg.example/v2/team/shop/tags/list?last=b");
  EXPECT_EQ(registry.asked()[2], "GET https://reg.example/v2/team/shop/tags/list?last=c");
  page = 0;
  links = {"<https://evil.example/v2/x/tags/list>; rel=\"next\""};
  EXPECT_EQ(client.tags(kShop, Context()).error().kind, ErrorKind::Invalid);
}

TEST_F(OciClientTest, APageThatLeadsBackToAnEarlierOneIsRefused) {
  const auto lists_after = [&](const std::vector<std::string>& links) {
    const std::size_t before = registry.web.count();
    registry.before = [links,
                       page = std::size_t{0}](const http::Request&) mutable -> std::optional<http::Response> {
      return http::Response{.status = 200,
                            .headers = {{"Link", fmt::format("<{}>; rel=\"next\"", links.at(page++))}},
                            .body = R"({"tags":[]})"};
    };
    OciClient client = registry.client();
    const auto listed = client.tags(kShop, Context());
    EXPECT_FALSE(listed.ok());
    EXPECT_EQ(listed.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(listed.error().to_line(), HasSubstr("in pages that never end"));
    return registry.web.count() - before;
  };
  EXPECT_EQ(lists_after({"/v2/team/shop/tags/list?n=1000"}), 1u) << "itself";
  EXPECT_EQ(lists_after({"?last=a", "https://reg.example/v2/team/shop/tags/list?last=b", "?last=a"}), 3u);
}

TEST_F(OciClientTest, AllPagesTogetherHaveATime) {
  mist::testing::FakeClock clock;
  registry.before = [&, page = 0](const http::Request&) mutable -> std::optional<http::Response> {
    clock.advance(std::chrono::seconds(20));
    return http::Response{.status = 200,
                          .headers = {{"Link", fmt::format("<?last={}>; rel=\"next\"", ++page)}},
                          .body = R"({"tags":[]})"};
  };
  OciClient client = registry.client();
  const auto listed = client.tags(kShop, Context().with_clock(clock));
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(listed.error().to_line(), HasSubstr("the tags of"));
  EXPECT_EQ(registry.web.count(), 30u) << "ten minutes";
}

TEST_F(OciClientTest, ReferrersComeInPagesWithABound) {
  std::size_t each = 2, pages = 3, page = 0;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("/referrers/") == std::string::npos) return std::nullopt;
    std::string entries;
    for (std::size_t i = 0; i < each; ++i)
      entries += fmt::format(R"({}{{"mediaType":"{}","digest":"{}","size":2}})", i > 0 ? "," : "",
                             oci::kManifestType, crypto::sha256(fmt::format("{} {}", page, i)).str());
    http::Response response{
        .status = 200, .headers = {{"Content-Type", std::string(oci::kIndexType)}}, .body = {}};
    response.body =
        fmt::format(R"({{"schemaVersion":2,"mediaType":"{}","manifests":[{}]}})", oci::kIndexType, entries);
    if (++page < pages)
      response.headers.push_back(
          {"Link", fmt::format("</v2/team/shop/referrers/{}?n={}>; rel=\"next\"", digest.str(), page)});
    return response;
  };
  OciClient client = registry.client();
  const auto listed = client.referrers(kShop, digest, {}, Context());
  ASSERT_TRUE(listed.ok()) << listed.error().to_line();
  EXPECT_EQ(listed->size(), 6u);
  EXPECT_EQ(listed->back().digest, crypto::sha256("2 1"));
  page = 0, each = 300, pages = 1'000'000;
  const auto endless = client.referrers(kShop, digest, {}, Context());
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(page, 4u) << "the fourth page is beyond the bound";
}

// A registry may be a proxy for several, and may refuse what a login doesn't reach.
TEST_F(OciClientTest, ARepositoryWithoutReferrersSaysNothingOfOthers) {
  oci::Index list;
  list.manifests.push_back(oci::descriptor_of(oci::kManifestType, "a signature"));
  for (const int refusal : {403, 404}) {
    registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.url.find("/referrers/") == std::string::npos) return std::nullopt;
      if (request.url.find("/team/shop/") != std::string::npos)
        return http::Response{.status = refusal, .headers = {}, .body = {}};
      return http::Response{
          .status = 200, .headers = {{"Content-Type", std::string(oci::kIndexType)}}, .body = list.to_json()};
    };
    OciClient client = registry.client();
    const oci::Repository other = testing::repository_of("oci://reg.example/team/other");
    const std::size_t before = registry.web.count();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(client.referrers(kShop, digest, {}, Context())->empty());
    EXPECT_EQ(registry.web.count(), before + 3) << "the API once, the tag twice";
    EXPECT_EQ(client.referrers(other, digest, {}, Context())->size(), 1u) << refusal;
  }
}

TEST_F(OciClientTest, AMissingVersionNamesThoseThatThereAre) {
  registry.tags = {"1.4.0", "latest", "1.3.0"};
  OciClient client = registry.client();
  const auto missing = client.manifest(kShop, "1.5.0", Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_NE(missing.error().hint.find("1.4.0, 1.3.0"), std::string::npos) << missing.error().hint;
}

TEST_F(OciClientTest, AServerThatFailsMayWorkLater) {
  for (const int status : {429, 500, 503}) {
    registry.before = [&](const http::Request&) {
      return std::optional(http::Response{.status = status, .headers = {}, .body = "<html>no</html>"});
    };
    OciClient client = registry.client();
    EXPECT_EQ(client.manifest(kShop, "1.4.0", Context()).error().kind, ErrorKind::Retryable);
  }
}

TEST_F(OciClientTest, PushesWhatIsNotThereYet) {
  MemoryRegistry empty;
  OciClient client = empty.client();
  const auto reference = *oci::Reference::parse("oci://reg.example/team/shop:1.4.0");
  const auto first = push_artifact(client, reference, artifact, Overwrite::No, Context());
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  EXPECT_FALSE(first->was_there);
  EXPECT_EQ(*first->pushed.digest, digest);
  EXPECT_EQ(empty.blobs.at(layer().digest.str()), kModuleBytes);
  EXPECT_EQ(empty.manifests.at("1.4.0"), artifact.manifest);
  const std::size_t requests = empty.web.count();
  EXPECT_EQ(requests, 8u) << "the question for the tag, two for each blob, the tag again, the manifest, and "
                             "whether it stayed";
  EXPECT_TRUE(push_artifact(client, reference, artifact, Overwrite::No, Context())->was_there);
  EXPECT_EQ(empty.web.count(), requests + 1);
}

TEST_F(OciClientTest, OfALargeBlobItIsAskedWhetherItIsThere) {
  MemoryRegistry empty;
  OciClient client = empty.client();
  const oci::Artifact large =
      oci::module_artifact(kModuleBytes + std::string(std::size_t{40} << 10, 'x'), {});
  ASSERT_TRUE(client.push_blob(kShop, large.blobs[1], Context()).ok());
  EXPECT_EQ(empty.web.count(), 3u);
  ASSERT_TRUE(client.push_blob(kShop, large.blobs[1], Context()).ok());
  EXPECT_EQ(empty.web.count(), 4u) << "and nothing is sent";
}

TEST_F(OciClientTest, APublishedVersionIsOnlyReplacedWhenAskedFor) {
  OciClient client = registry.client();
  const oci::Artifact other = oci::module_artifact(kModuleBytes + "x", {});
  auto reference = *oci::Reference::parse("oci://reg.example/team/shop:1.4.0");
  const auto refused = push_artifact(client, reference, other, Overwrite::No, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(registry.manifests.at("1.4.0"), artifact.manifest);
  EXPECT_TRUE(push_artifact(client, reference, other, Overwrite::Yes, Context()).ok());
  EXPECT_EQ(registry.manifests.at("1.4.0"), other.manifest);
  // A tag that is not a version may move.
  registry.publish("prod", artifact);
  reference.tag = "prod";
  EXPECT_TRUE(push_artifact(client, reference, other, Overwrite::No, Context()).ok());
}

TEST_F(OciClientTest, ARegistryThatSaysNoDigestsKeepsItsVersionsToo) {
  registry.says_digests = false;
  OciClient client = registry.client();
  const auto reference = *oci::Reference::parse("oci://reg.example/team/shop:1.4.0");
  const oci::Artifact other = oci::module_artifact(kModuleBytes + "x", {});
  const auto refused = push_artifact(client, reference, other, Overwrite::No, Context());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(registry.manifests.at("1.4.0"), artifact.manifest);
  EXPECT_TRUE(push_artifact(client, reference, artifact, Overwrite::No, Context())->was_there);
}

// The first PUT of a blob gets `instead`, after `seen`.
void fail_first_put(MemoryRegistry& registry, std::function<http::Response(const http::Request&)> instead) {
  registry.before = [instead = std::move(instead),
                     failed = false](const http::Request& request) mutable -> std::optional<http::Response> {
    if (failed || request.method != "PUT" || request.url.find("/blobs/uploads/") == std::string::npos)
      return std::nullopt;
    failed = true;
    return instead(request);
  };
}

std::size_t count_of(const MemoryRegistry& registry, std::string_view method) {
  return static_cast<std::size_t>(
      std::ranges::count(registry.web.requests(), method, &http::Request::method));
}

TEST_F(OciClientTest, AnUploadThatTheRegistryForgotIsBegunAgain) {
  for (const int status : {404, 500, 503}) {
    MemoryRegistry empty;
    fail_first_put(empty, [&](const http::Request&) {
      return http::Response{.status = status, .headers = {}, .body = {}};
    });
    OciClient client = empty.client();
    const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
    ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
    EXPECT_EQ(empty.blobs.at(layer().digest.str()), kModuleBytes);
    EXPECT_EQ(count_of(empty, "POST"), 2u);
  }
  MemoryRegistry empty;
  empty.before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "PUT") return std::nullopt;
    return http::Response{.status = 503, .headers = {}, .body = {}};
  };
  OciClient client = empty.client();
  const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().kind, ErrorKind::Retryable);
  EXPECT_EQ(count_of(empty, "PUT"), 3u) << "not for ever";
}

TEST_F(OciClientTest, AnUploadWhoseAnswerWasLostIsNotSentAgain) {
  MemoryRegistry empty;
  fail_first_put(empty, [&](const http::Request& request) {
    empty.blobs[layer().digest.str()] = request.body;
    return http::Response{.status = 502, .headers = {}, .body = {}};
  });
  OciClient client = empty.client();
  const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  EXPECT_EQ(count_of(empty, "PUT"), 1u);
}

TEST_F(OciClientTest, ATokenThatEndsInTheMiddleOfAPushIsRenewed) {
  registry.blobs.clear();
  registry.manifests.clear();
  std::vector<http::Request> tokens;
  want_token(tokens);
  const MemoryRegistry::Override guarded = registry.before;
  std::set<std::string> ended;  // addresses at which a token ended; only there, since blobs are sent at once
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "PUT" || !ended.insert(request.url).second) return guarded(request);
    http::Request late = request;
    late.authorization.reset();
    return guarded(late);
  };
  OciClient client = registry.client(Login{.user = "alice", .password = SecretString("geheim")});
  const auto reference = *oci::Reference::parse("oci://reg.example/team/shop:1.4.0");
  const auto pushed = push_artifact(client, reference, artifact, Overwrite::No, Context());
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  EXPECT_EQ(ended.size(), 3u) << "two blobs and a manifest";
  EXPECT_EQ(registry.blobs.at(layer().digest.str()), kModuleBytes);
  EXPECT_EQ(registry.manifests.at("1.4.0"), artifact.manifest);
  EXPECT_EQ(count_of(registry, "POST"), 2u) << "the uploads go on";
}

TEST_F(OciClientTest, ABusyRegistryIsAskedAgainWhenItSaysSo) {
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  NullEventSink events;
  http::RetryingTransport patient(registry.web, clock, random, events);
  std::set<std::string> refused;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (!refused.insert(request.method + request.url).second) return std::nullopt;
    return http::Response{.status = 429, .headers = {{"Retry-After", "3"}}, .body = {}};
  };
  OciClient client(patient, {}, {});
  const Status pushed = client.push_manifest(kShop, "busy", artifact.manifest, Context());
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  registry.blobs.clear();
  const Status blob = client.push_blob(kShop, artifact.blobs[1], Context());
  ASSERT_TRUE(blob.ok()) << blob.error().to_line();
  EXPECT_EQ(refused.size(), 3u) << "PUT of the manifest; POST and PUT of the blob";
  EXPECT_GE(clock.slept(), std::chrono::seconds(9));
}

TEST_F(OciClientTest, ADeletionWhoseAnswerWasLostIsOne) {
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  NullEventSink events;
  http::RetryingTransport patient(registry.web, clock, random, events);
  OciClient client(patient, {}, {});
  bool deletes = true;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "DELETE") return std::nullopt;
    if (deletes && registry.manifests.erase("1.4.0") == 0) return std::nullopt;
    return http::Response{.status = 502, .headers = {}, .body = {}};
  };
  const Status deleted = client.delete_manifest(kShop, "1.4.0", Context());
  EXPECT_TRUE(deleted.ok()) << deleted.error().to_line();
  EXPECT_EQ(count_of(registry, "DELETE"), 1u);
  registry.publish("1.4.0", artifact);
  deletes = false;
  const Status failed = client.delete_manifest(kShop, "1.4.0", Context());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Retryable) << "it is still there";
  deletes = true;
  registry.manifests.erase("1.4.0");
  const Status missing = client.delete_manifest(kShop, "1.4.0", Context());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
}

// A digest never means another manifest.
TEST_F(OciClientTest, ADeletionByDigestIsTriedAgain) {
  const std::string published = registry.publish("1.4.0", artifact).str();
  int failures = 1;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "DELETE" || failures-- <= 0) return std::nullopt;
    return http::Response{.status = 502, .headers = {}, .body = {}};
  };
  OciClient client = registry.client();
  const Status deleted = client.delete_manifest(kShop, published, Context());
  EXPECT_TRUE(deleted.ok()) << deleted.error().to_line();
  EXPECT_EQ(count_of(registry, "DELETE"), 2u);
  EXPECT_FALSE(registry.manifests.contains(published));
}

TEST_F(OciClientTest, ABlobIsMountedFromAnotherRepositoryOfTheRegistry) {
  const oci::Repository copy = testing::repository_of("oci://reg.example/prod/shop");
  std::vector<http::Request> tokens;
  want_token(tokens);
  const MemoryRegistry::Override guarded = registry.before;
  bool mounts = true;
  registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    const bool has_token = authorization_of(request).starts_with("Bearer t");  // any of them
    if (std::optional<http::Response> refused = has_token ? std::nullopt : guarded(request)) return refused;
    if (request.method == "HEAD") return http::Response{.status = 404, .headers = {}, .body = {}};
    if (mounts && request.url.find("mount=") != std::string::npos)
      return http::Response{.status = 201, .headers = {}, .body = {}};
    return std::nullopt;
  };
  OciClient client = registry.client();
  auto moved = client.take_blob(client, kShop, copy, layer(), 1000, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(*moved, Moved::Mounted);
  EXPECT_EQ(registry.web.requests().back().url,
            fmt::format("https://reg.example/v2/prod/shop/blobs/uploads/?mount=sha256%3A{}&from=team%2Fshop",
                        layer().digest.hex()));
  EXPECT_NE(tokens.back().url.find(
                "scope=repository%3Aprod%2Fshop%3Apull%2Cpush&scope=repository%3Ateam%2Fshop%3Apull"),
            std::string::npos)
      << tokens.back().url;
  EXPECT_EQ(count_of(registry, "PUT"), 0u);
  // A registry may open an upload instead: the same one is used.
  mounts = false;
  moved = client.take_blob(client, kShop, copy, layer(), 1000, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(*moved, Moved::Sent);
  EXPECT_EQ(count_of(registry, "PUT"), 1u);
  EXPECT_EQ(registry.web.requests().back().body, kModuleBytes);
}

TEST_F(OciClientTest, DeletesATagOrAManifestWithAllOfItsTags) {
  registry.publish("prod", artifact);
  std::vector<http::Request> tokens;
  want_token(tokens);
  OciClient client = registry.client();
  ASSERT_TRUE(client.delete_manifest(kShop, "prod", Context()).ok());
  EXPECT_EQ(registry.tags, std::vector<std::string>{"1.4.0"});
  EXPECT_NE(tokens.back().url.find("pull%2Cdelete"), std::string::npos) << tokens.back().url;
  ASSERT_TRUE(client.delete_manifest(kShop, digest.str(), Context()).ok());
  EXPECT_TRUE(registry.tags.empty());
  EXPECT_EQ(client.delete_manifest(kShop, "prod", Context()).error().kind, ErrorKind::NotFound);
  for (const int status : {400, 405}) {
    registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.method != "DELETE") return std::nullopt;
      return http::Response{.status = status, .headers = {}, .body = {}};
    };
    EXPECT_EQ(client.delete_manifest(kShop, "prod", Context()).error().kind, ErrorKind::Invalid);
  }
}

TEST(OciClientTime, NoAnswerMayTakeForEver) {
  mist::testing::FakeTransport transport;
  std::vector<std::optional<Duration>> left;
  transport.otherwise([&](const http::Request&, const Context& context) -> Result<http::Response> {
    left.push_back(context.remaining());
    return http::Response{.status = 500, .headers = {}, .body = {}};
  });
  OciClient client(transport, {}, {});
  EXPECT_FALSE(client.manifest(kShop, "1.4.0", Context()).ok());
  const oci::Descriptor large{
      .media_type = {}, .digest = crypto::sha256(""), .size = std::uint64_t{60} << 20};
  EXPECT_FALSE(client.blob(kShop, large, std::uint64_t{64} << 20, Context()).ok());
  ASSERT_GE(left.size(), 2U);
  ASSERT_TRUE(left.front() && left.back());
  EXPECT_LT(*left.front(), *left.back()) << "more time for more bytes";
}

}  // namespace
}  // namespace mist::registry
