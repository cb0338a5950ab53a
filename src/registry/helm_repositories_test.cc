#include "registry/helm_repositories.h"

#include <gtest/gtest.h>

#include <map>

#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

std::string place(std::map<std::string, std::string, std::less<>> variables) {
  return helm_repositories_file([variables](std::string_view name) -> std::optional<std::string> {
           const auto found = variables.find(name);
           return found == variables.end() ? std::nullopt : std::optional(found->second);
         })
      .string();
}

TEST(HelmRepositories, AreWhereHelmHasThem) {
  EXPECT_EQ(place({{"HOME", "/h"}}), "/h/.config/helm/repositories.yaml");
  EXPECT_EQ(place({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}}), "/x/helm/repositories.yaml");
  EXPECT_EQ(place({{"XDG_CONFIG_HOME", "/x"}, {"HELM_CONFIG_HOME", "/c"}}), "/c/repositories.yaml");
  EXPECT_EQ(place({{"HELM_CONFIG_HOME", "/c"}, {"HELM_REPOSITORY_CONFIG", "/f.yaml"}}), "/f.yaml");
  EXPECT_EQ(place({}), "");
}

TEST(HelmRepositories, AreReadWithTheirCredentials) {
  const mist::testing::TempDir dir;
  HostFileSystem files;
  const Path file = dir.path() / "repositories.yaml";
  EXPECT_TRUE(read_helm_repositories(files, file)->empty());
  ASSERT_TRUE(files
                  .write(file, R"(
apiVersion: ""
repositories:
- {name: stable, url: https://charts.example/, username: u, password: p, pass_credentials_all: true}
- {name: own, url: https://own.example, caFile: /ca.pem, certFile: /c.pem, keyFile: /k.pem}
- {name: "", url: https://nameless.example}
)")
                  .ok());
  const auto all = read_helm_repositories(files, file);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->front().username + all->front().password, "up");
  EXPECT_TRUE(all->front().everywhere);
  EXPECT_FALSE(all->front().has_own_tls());
  EXPECT_TRUE(all->back().has_own_tls());
  EXPECT_EQ(all->back().ca_file, "/ca.pem");
  EXPECT_EQ(all->back().certificate_file, "/c.pem");
  EXPECT_EQ(all->back().key_file, "/k.pem");
  EXPECT_TRUE(server_of("https://own.example/", *all, PlainHttp::ThisMachine).ok());
  EXPECT_TRUE(is_same_repository(all->front().url, "https://charts.example"));
}

TEST(HelmRepositories, ThatAreNotVerifiedAreRefused) {
  const std::vector<HelmRepository> known{{.name = "lab", .url = "https://lab.example", .unverified = true}};
  const auto refused = server_of("https://lab.example", known, PlainHttp::ThisMachine);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_NE(refused.error().because.find("insecure_skip_tls_verify"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("--ca-file"), std::string::npos);
  EXPECT_TRUE(server_of("https://other.example", known, PlainHttp::ThisMachine).ok());
}

}  // namespace
}  // namespace mist::registry
