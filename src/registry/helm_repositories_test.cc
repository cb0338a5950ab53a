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
- {name: own, url: https://own.example, caFile: /ca.pem}
- {name: "", url: https://nameless.example}
)")
                  .ok());
  const auto all = read_helm_repositories(files, file);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->front().username + all->front().password, "up");
  EXPECT_TRUE(all->front().everywhere);
  EXPECT_FALSE(all->front().own_tls);
  EXPECT_TRUE(all->back().own_tls);
  EXPECT_TRUE(is_same_repository(all->front().url, "https://charts.example"));
}

}  // namespace
}  // namespace mist::registry
