#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/connect.h"
#include "testing/certificates.h"
#include "testing/fake_clock.h"
#include "testing/http_server.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kComplete = R"(apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: dev-cluster
  cluster:
    server: https://dev.example.com:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
    disable-compression: true
- name: prod-cluster
  cluster: {server: "https://prod.example.com", insecure-skip-tls-verify: true}
users:
- name: alice
  user:
    client-certificate: pki/alice.crt
    client-key: pki/alice.key
    as: bob
    as-uid: "7"
    as-groups: [admins, devs]
    as-user-extra: {scopes: [read, write]}
- name: robot
  user: {token: very-secret-token}
contexts:
- name: dev
  context: {cluster: dev-cluster, user: alice, namespace: shop}
- name: prod
  context: {cluster: prod-cluster, user: robot}
)";

class KubeconfigTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) {
    const Path path = directory.path() / name;
    EXPECT_TRUE(fs.write(path, text).ok());
    return path.string();
  }
  Result<Kubeconfig> load(const std::vector<std::string>& files) {
    return Kubeconfig::load(KubeconfigFiles::choose("", getenv_of({{"KUBECONFIG", join(files, ":")}})), fs);
  }
  Result<ResolvedContext> resolve(std::string_view text, const std::string& context = {}) {
    MIST_TRY(const Kubeconfig config, load({write("config", text)}));
    return config.resolve(context);
  }
  static Getenv getenv_of(std::map<std::string, std::string, std::less<>> variables) {
    return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
  }

  HostFileSystem fs;
  testing::TempDir directory;
};

TEST_F(KubeconfigTest, ReadsEveryField) {
  const auto dev = resolve(kComplete);
  ASSERT_TRUE(dev.ok()) << dev.error().to_line();
  EXPECT_EQ(dev->name, "dev");
  EXPECT_EQ(dev->ns, "shop");
  EXPECT_EQ(dev->cluster.server, "https://dev.example.com:6443");
  EXPECT_EQ(dev->cluster.certificate_authority, directory.path() / "pki/ca.crt");
  EXPECT_EQ(dev->cluster.tls_server_name, "kubernetes");
  EXPECT_EQ(dev->cluster.proxy_url, "http://proxy:3128");
  EXPECT_TRUE(dev->cluster.disable_compression);
  EXPECT_EQ(dev->user.client_key, directory.path() / "pki/alice.key");
  EXPECT_EQ(dev->user.impersonation.user, "bob");
  EXPECT_EQ(dev->user.impersonation.uid, "7");
  EXPECT_THAT(dev->user.impersonation.groups, ElementsAre("admins", "devs"));
  EXPECT_EQ(dev->user.impersonation.extra.size(), 2u);

  const auto prod = resolve(kComplete, "prod");
  EXPECT_EQ(prod->ns, "default");
  EXPECT_TRUE(prod->cluster.insecure_skip_tls_verify);
  EXPECT_EQ(prod->user.token.reveal(), "very-secret-token");
}

TEST_F(KubeconfigTest, FirstFileWinsForEachEntryAndMissingFilesAreSkipped) {
  const std::string first = write("a/one", R"(
contexts: [{name: dev, context: {cluster: dev-cluster, user: robot}}]
users: [{name: robot, user: {tokenFile: token}}]
)");
  const auto config = load({"/nowhere/config", first, write("two", kComplete)});
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  EXPECT_EQ(config->current_context(), "dev") << "the first that sets it";
  const auto dev = config->resolve("");
  ASSERT_TRUE(dev.ok()) << dev.error().to_line();
  EXPECT_EQ(dev->ns, "default") << "the context is the first file's, whole";
  EXPECT_EQ(dev->user.token_file, directory.path() / "a/token");
  EXPECT_TRUE(dev->user.token.empty()) << "and so is the user";
  EXPECT_EQ(dev->cluster.certificate_authority, directory.path() / "pki/ca.crt");
  EXPECT_THAT(config->context_names(), ElementsAre("dev", "prod"));
}

TEST_F(KubeconfigTest, ChoosesFilesAsKubectlDoes) {
  const Getenv home = getenv_of({{"HOME", "/home/x"}});
  EXPECT_THAT(KubeconfigFiles::choose("", home).paths, ElementsAre("/home/x/.kube/config"));
  EXPECT_THAT(KubeconfigFiles::choose("f", home).paths, ElementsAre("f"));
  EXPECT_TRUE(KubeconfigFiles::choose("f", home).must_exist);
  const Getenv list = getenv_of({{"HOME", "/home/x"}, {"KUBECONFIG", "a::b:a"}});
  EXPECT_THAT(KubeconfigFiles::choose("", list).paths, ElementsAre("a", "b"));
  EXPECT_TRUE(KubeconfigFiles::choose("", getenv_of({})).paths.empty());
}

TEST_F(KubeconfigTest, NamedFileMustExist) {
  const auto config = Kubeconfig::load(KubeconfigFiles::choose("/nowhere/config", getenv_of({})), fs);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().to_line(), HasSubstr("/nowhere/config"));
  EXPECT_THAT(config.error().hint, HasSubstr("--kubeconfig"));
}

TEST_F(KubeconfigTest, UnknownContextIsNamedWithTheNearest) {
  const auto missing = resolve(kComplete, "prd");
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(missing.error().message, fmt::format("the context \"prd\" is not in {}; known: dev, prod",
                                                 (directory.path() / "config").string()));
  EXPECT_EQ(missing.error().hint, "did you mean \"prod\"?");
  EXPECT_EQ(resolve(kComplete, "something-else").error().hint, "use --context dev");
}

TEST_F(KubeconfigTest, DanglingNamesAreReportedWithTheirLine) {
  const auto user = resolve(
      "clusters: [{name: k, cluster: {server: 'https://h'}}]\nusers: [{name: alice, user: {}}]\n"
      "current-context: prod\ncontexts:\n- name: prod\n  context: {cluster: k, user: alise}\n");
  EXPECT_EQ(user.error().message,
            fmt::format("the context \"prod\" names the user \"alise\", which is not in {}; known: alice",
                        (directory.path() / "config").string()));
  EXPECT_EQ(user.error().hint, "did you mean \"alice\"?");
  EXPECT_EQ(user.error().where->line, 5u);
  const auto cluster = resolve("current-context: c\ncontexts: [{name: c, context: {user: x}}]\n");
  EXPECT_EQ(cluster.error().message, "the context \"c\" names no cluster");
}

TEST_F(KubeconfigTest, WrongTypesAndBadDataAreReportedWithoutTheData) {
  const struct {
    std::string_view text, message;
  } kCases[] = {
      {"clusters: {}", "clusters must be a list"},
      {"clusters: [3]", "an item of clusters must be a mapping with a name"},
      {"clusters: [{name: a}, {name: a}]", "two items of clusters have the name \"a\""},
      {"kind: Pod", "this is not a kubeconfig: its kind is Pod, not Config"},
      {"- s3cret!", "a kubeconfig must be a mapping, not array"},
  };
  for (const auto& test : kCases) {
    const auto failed = load({write("config", test.text)});
    ASSERT_FALSE(failed.ok()) << test.text;
    EXPECT_EQ(failed.error().message, test.message);
    EXPECT_EQ(failed.error().where->line, 1u);
    EXPECT_THAT(failed.error().to_line(), HasSubstr("config:1"));
    EXPECT_THAT(failed.error().where->excerpt, "");
    EXPECT_THAT(failed.error().to_line(), Not(HasSubstr("s3cret")));
  }
}

TEST_F(KubeconfigTest, BrokenYamlNamesItsLineButShowsNothing) {
  const auto failed = load({write("config", "users:\n- name: x\n  user: {token: \"s3cret\n")});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().where->line, 0u);
  EXPECT_THAT(failed.error().to_line(), Not(HasSubstr("s3cret")));
  EXPECT_EQ(failed.error().where->excerpt, "");
}

TEST_F(KubeconfigTest, UnusableClusterIsAnErrorOnlyWhereItIsUsed) {
  const struct {
    std::string_view cluster, message;
  } kCases[] = {
      {"{server: 7}", "server must be a string, not integer: put it in quotes"},
      {"{certificate-authority-data: s3cret!}", "certificate-authority-data is not base64"},
      {"{insecure-skip-tls-verify: true, certificate-authority: x}",
       "certificate-authority and insecure-skip-tls-verify exclude each other: remove one"},
  };
  for (const auto& test : kCases) {
    const std::string text = fmt::format(
        "clusters: [{{name: k, cluster: {{server: 'https://h'}}}}, {{name: a, cluster: {}}}]\n"
        "contexts: [{{name: good, context: {{cluster: k}}}}, {{name: bad, context: {{cluster: a}}}}]\n",
        test.cluster);
    EXPECT_TRUE(resolve(text, "good").ok()) << text;
    const Error refused = resolve(text, "bad").error();
    EXPECT_EQ(refused.message, test.message);
    EXPECT_EQ(refused.where->line, 1u);
    EXPECT_THAT(refused.to_line(), HasSubstr("in the cluster \"a\""));
    EXPECT_THAT(refused.to_line(), Not(HasSubstr("s3cret")));
  }
}

TEST_F(KubeconfigTest, UnusableUserIsAnErrorOnlyWhereItIsUsed) {
  constexpr std::string_view kText = R"(
clusters: [{name: k, cluster: {server: "https://h"}}]
users:
- name: old
  user: {auth-provider: {name: gcp}}
- name: both
  user: {token: t, username: u, password: s3cret}
- name: half
  user: {client-certificate: c}
- name: headless
  user: {as-groups: [g]}
- name: good
  user: {token: t}
contexts:
- {name: old, context: {cluster: k, user: old}}
- {name: both, context: {cluster: k, user: both}}
- {name: half, context: {cluster: k, user: half}}
- {name: headless, context: {cluster: k, user: headless}}
- {name: good, context: {cluster: k, user: good}}
)";
  EXPECT_TRUE(resolve(kText, "good").ok());
  EXPECT_THAT(resolve(kText, "old").error().message, HasSubstr("auth-provider \"gcp\""));
  EXPECT_THAT(resolve(kText, "old").error().hint, HasSubstr("exec plugin"));
  EXPECT_THAT(resolve(kText, "both").error().message, HasSubstr("both a token and a username"));
  EXPECT_THAT(resolve(kText, "both").error().to_line(), Not(HasSubstr("s3cret")));
  EXPECT_THAT(resolve(kText, "half").error().message, HasSubstr("without client-key"));
  EXPECT_THAT(resolve(kText, "headless").error().message, HasSubstr("need \"as\""));
}

TEST_F(KubeconfigTest, ReadsExecPlugins) {
  const auto make = [](std::string_view exec) {
    return fmt::format(
        "current-context: c\nclusters: [{{name: k, cluster: {{server: 'https://h'}}}}]\n"
        "contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\nusers:\n- name: u\n  user:\n    exec: "
        "{}\n",
        exec);
  };
  const auto good =
      resolve(make("{apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [a, b], "
                   "env: [{name: X, value: v}], installHint: get it, provideClusterInfo: true, "
                   "interactiveMode: Never}"));
  ASSERT_TRUE(good.ok()) << good.error().to_line();
  const ExecEntry& exec = *good->user.exec;
  EXPECT_EQ(exec.command, (directory.path() / "bin/login").string());
  EXPECT_THAT(exec.arguments, ElementsAre("a", "b"));
  EXPECT_EQ(exec.env.size(), 1u);
  EXPECT_TRUE(exec.provide_cluster_info);
  EXPECT_EQ(exec.interactive, Interactive::Never);
  EXPECT_THAT(resolve(make("{apiVersion: client.authentication.k8s.io/v1alpha1, command: x}")).error().hint,
              HasSubstr("client.authentication.k8s.io/v1"));
  EXPECT_THAT(resolve(make("{apiVersion: client.authentication.k8s.io/v1, command: x}")).error().message,
              HasSubstr("interactiveMode"));
  EXPECT_TRUE(resolve(make("{apiVersion: client.authentication.k8s.io/v1beta1, command: x}")).ok());
  EXPECT_THAT(
      resolve(make("{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}")).error().message,
      HasSubstr("no command"));
}

class ConnectTest : public KubeconfigTest {
 protected:
  ConnectDependencies dependencies(Getenv getenv) {
    return {fs, processes, clock, random, recorded, std::move(getenv), false};
  }
  HostProcessRunner processes;
  testing::FakeClock clock;
  testing::FakeRandom random;
  testing::RecordedEvents recorded;
};

TEST_F(ConnectTest, NothingConfiguredSaysWhereItLooked) {
  const auto none = connect({}, dependencies(getenv_of({{"HOME", "/nowhere"}})));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "no cluster is configured: there is no configuration in /nowhere/.kube/config");
}

TEST_F(ConnectTest, OverridesContextAndNamespace) {
  ConnectOptions options;
  options.kubeconfig = write("config", kComplete);
  options.context = "prod";
  options.ns = "other";
  const auto client = connect(options, dependencies(getenv_of({})));
  ASSERT_TRUE(client.ok()) << client.error().to_line();
  EXPECT_EQ((*client)->default_namespace(), "other");
  EXPECT_EQ((*client)->describe(), "https://prod.example.com (context prod)");
}

TEST_F(ConnectTest, MissingCredentialFileNamesEntryAndFile) {
  ConnectOptions options;
  options.kubeconfig = write("config", kComplete);
  const auto failed = connect(options, dependencies(getenv_of({})));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("certificate-authority of the cluster \"dev-cluster\""));
  EXPECT_THAT(failed.error().to_line(), HasSubstr("pki/ca.crt"));
  write("pki/ca.crt", "s3cret");
  const auto wrong = connect(options, dependencies(getenv_of({})));
  EXPECT_THAT(wrong.error().message, HasSubstr("holds no certificate in PEM form"));
  EXPECT_THAT(wrong.error().to_line(), Not(HasSubstr("s3cret")));
}

TEST_F(ConnectTest, FollowsTheFileOfTheClustersAuthority) {
  const mist::testing::TestAuthority old_authority("old"), authority("new");
  const mist::testing::CertifiedKey pair = authority.issue();
  mist::testing::HttpServer server(
      [](const mist::testing::ServerRequest&, mist::testing::ServerReply& reply) {
        reply.respond(200, R"({"gitVersion":"v1.36.0"})");
      },
      mist::testing::ServerTls{
          .certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = {}});
  write("ca.crt", old_authority.certificate_pem());
  ConnectOptions options;
  options.kubeconfig =
      write("config", fmt::format("current-context: c\ncontexts: [{{name: c, context: {{cluster: k}}}}]\n"
                                  "clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:{}', "
                                  "certificate-authority: ca.crt}}}}]\n",
                                  server.port()));
  const auto client = connect(options, dependencies(getenv_of({})));
  ASSERT_TRUE(client.ok()) << client.error().to_line();
  const auto distrusted = (*client)->server_version(Context());
  ASSERT_FALSE(distrusted.ok());
  EXPECT_THAT(distrusted.error().to_line(), HasSubstr("no trusted authority signed"));
  write("ca.crt", authority.certificate_pem());
  const auto trusted = (*client)->server_version(Context());
  EXPECT_TRUE(trusted.ok()) << trusted.error().to_line();
}

TEST_F(ConnectTest, TellsOfEachExchange) {
  int answers = 0;
  mist::testing::HttpServer server(
      [&](const mist::testing::ServerRequest&, mist::testing::ServerReply& reply) {
        reply.respond(++answers == 1 ? 200 : 404, R"({"gitVersion":"v1.36.0"})");
      });
  ConnectOptions options;
  options.kubeconfig = write("config", fmt::format("current-context: c\ncontexts: [{{name: c, context: "
                                                   "{{cluster: k}}}}]\nclusters: [{{name: k, cluster: "
                                                   "{{server: 'http://127.0.0.1:{}'}}}}]\n",
                                                   server.port()));
  std::vector<std::string> told;
  ConnectDependencies outside = dependencies(getenv_of({}));
  outside.exchanged = [&](std::string_view method, int status) {
    told.push_back(fmt::format("{} {}", method, status));
  };
  const auto client = connect(options, outside);
  ASSERT_TRUE(client.ok()) << client.error().to_line();
  EXPECT_EQ((*client)->server(), fmt::format("http://127.0.0.1:{}", server.port()));
  EXPECT_TRUE((*client)->server_version(Context()).ok());
  EXPECT_FALSE((*client)->server_version(Context()).ok());
  EXPECT_THAT(told, ::testing::ElementsAre("GET 200", "GET 404"));
}

TEST_F(ConnectTest, WarnsOfCredentialsOverPlainHttp) {
  const auto warnings = [&](std::string_view server, std::string_view user) {
    recorded.messages.clear();
    ConnectOptions options;
    options.kubeconfig =
        write("config",
              fmt::format("current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                          "clusters: [{{name: k, cluster: {{server: '{}'}}}}]\n"
                          "users: [{{name: u, user: {}}}]\n",
                          server, user));
    EXPECT_TRUE(connect(options, dependencies(getenv_of({}))).ok());
    return join(recorded.messages, "\n");
  };
  constexpr std::string_view kToken = "{token: s3cret}";
  EXPECT_THAT(warnings("http://api.example:8080", kToken),
              HasSubstr("the credentials of the user \"u\" go to http://api.example:8080 over plain http"));
  EXPECT_THAT(warnings("http://api.example:8080", kToken), Not(HasSubstr("s3cret")));
  EXPECT_THAT(warnings("api.example", "{username: a, password: b}"), HasSubstr("plain http"))
      << "as client-go, http without anything about TLS";
  EXPECT_EQ(warnings("http://api.example:8080", "{}"), "");
  EXPECT_EQ(warnings("http://127.0.0.1:8001", kToken), "");
  EXPECT_EQ(warnings("https://api.example", kToken), "");
}

TEST_F(ConnectTest, BadServerAddressNamesTheCluster) {
  ConnectOptions options;
  options.kubeconfig = write("config",
                             "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                             "clusters: [{name: k, cluster: {server: 'ftp://h'}}]\n");
  const auto failed = connect(options, dependencies(getenv_of({})));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().to_line(), HasSubstr("in server of the cluster \"k\""));
}

}  // namespace
}  // namespace mist::kube
