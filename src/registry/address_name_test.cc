#include "registry/address_name.h"

#include <gtest/gtest.h>

namespace mist::registry {
namespace {

std::string named(std::string_view address, std::string_view path = {}) {
  const auto name = AddressName::of(address, path);
  return name ? name->repository.str() : "none";
}

TEST(AddressName, IsTheAddressWithoutSchemeUserAndUsualPort) {
  for (const std::string_view address :
       {"https://git.example/team/packages.git", "https://ada:secret@git.example:443/team/packages.git",
        "HTTPS://GIT.example//team/packages.git/", "http://git.example:80/team/packages.git#x",
        "ssh://git@git.example:22/team/packages.git", "git@git.example:team/packages.git",
        "https://git.example/team/packages.git?token=secret"})
    EXPECT_EQ(named(address, "web"), "oci://git.example/team/packages.git/web") << address;
  EXPECT_EQ(named("ssh://git@git.example:2222/web.git", "deploy/prod"),
            "oci://git.example:2222/web.git/deploy/prod");
  EXPECT_EQ(named("http://127.0.0.1:8080/web.git"), "oci://127.0.0.1:8080/web.git");
  EXPECT_EQ(named("https://charts.example.com", "postgresql"), "oci://charts.example.com/postgresql");
}

TEST(AddressName, PlacesOfThisMachineHaveNone) {
  for (const std::string_view address :
       {"file:///srv/packages.git", "FILE:///srv/packages.git", "https://u:pa/ss@git.example/packages.git",
        "/srv/packages.git", "../packages.git", "", "packages"})
    EXPECT_EQ(named(address, "web"), "none") << address;
}

TEST(AddressName, WhatNoOciRepositoryMayHaveIsNamedByItsDigestToo) {
  const std::string capital = named("https://git.example/Team/web.git");
  EXPECT_TRUE(capital.starts_with("oci://git.example/team-")) << capital;
  EXPECT_TRUE(capital.ends_with("/web.git")) << capital;
  EXPECT_NE(capital, named("https://git.example/team/web.git"));
  EXPECT_NE(capital, named("https://git.example/TEAM/web.git"));
  EXPECT_NE(named("https://git.example/a", "."), named("https://git.example/a", ".."));
  EXPECT_EQ(named("https://git.example/" + std::string(300, 'a')), "none");
}

TEST(AddressName, TwoOriginalsOfOneRepositoryDiffer) {
  const auto inner = AddressName::of("https://git.example/a.git", "b");
  const auto outer = AddressName::of("https://git.example/a.git/b");
  EXPECT_EQ(inner->repository, outer->repository);
  EXPECT_EQ(inner->original, "git.example/a.git//b");
  EXPECT_EQ(outer->original, "git.example/a.git/b");
}

TEST(AddressName, TagsSayHowARefIsRead) {
  EXPECT_EQ(tag_of_ref(CopyOf::Package, "v1.2"), "ref-v1.2");
  EXPECT_EQ(tag_of_ref(CopyOf::Package, ""), "ref-HEAD");
  EXPECT_EQ(tag_of_ref(CopyOf::Base, "v1"), "base-v1");
  EXPECT_EQ(tag_of_ref(CopyOf::BareBase, "v1"), "bare-v1");
  const std::string slash = tag_of_ref(CopyOf::Package, "release/1.2");
  EXPECT_TRUE(slash.starts_with("ref-sha256-")) << slash;
  EXPECT_NE(slash, tag_of_ref(CopyOf::Package, "release/1.3"));
  EXPECT_EQ(tag_of_file("https://files.example/a.yaml"), "file");
  EXPECT_NE(tag_of_file("https://files.example/a.yaml?ref=a"),
            tag_of_file("https://files.example/a.yaml?ref=b"));
}

}  // namespace
}  // namespace mist::registry
