#include "registry/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TreeEntry file(std::string path, std::string object = "1") {
  return {EntryType::File, std::move(object), std::move(path)};
}

RegistryRef ref(std::string path, std::string version) {
  return {.registry = "r", .path = std::move(path), .version = std::move(version), .digest = {}};
}

TEST(ParseTreeListing, ReadsWhatGitPrints) {
  using namespace std::string_literals;
  const auto entries = parse_tree_listing(
      "100644 blob aa\ta\tb\nc\0"
      "120000 blob bb\tlink\0"
      "160000 commit cc\tsub\0"
      "100755 blob dd\trun\0"s);
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 4u);
  EXPECT_EQ((*entries)[0].path, "a\tb\nc");
  EXPECT_EQ((*entries)[1].type, EntryType::Symlink);
  EXPECT_EQ((*entries)[2].type, EntryType::Submodule);
  EXPECT_EQ((*entries)[3].object, "dd");
  for (const std::string& text : {"junk"s, "100644 blob aa\tx"s, "100644 aa\tx\0"s, "\0"s})
    EXPECT_FALSE(parse_tree_listing(text).ok()) << text;
}

TEST(PackageIndex, KnowsBothLayouts) {
  const PackageIndex index(
      {file("examples/ns/ns-0.2.0.mist-pack.wasm"), file("examples/ns/ns-0.10.0.mist-pack.wasm"),
       file("examples/ns/README.md"), file("packages/web/1.0.0/Chart.yaml"),
       file("packages/web/1.0.0/templates/x.yaml"), file("packages/web/0.9.0/Chart.yaml"),
       file("packages/web/README.md"), file("top-1.0.0.mist-pack.wasm")});
  EXPECT_THAT(index.packages(), ElementsAre(Pair("examples/ns", ElementsAre("0.2.0", "0.10.0")),
                                            Pair("web", ElementsAre("0.9.0", "1.0.0"))));
  EXPECT_EQ(index.version_count(), 4u);
  EXPECT_EQ(index.find(ref("examples/ns", "0.2.0"))->path, "examples/ns/ns-0.2.0.mist-pack.wasm");
  const auto web = index.find(ref("web", "1.0.0"));
  ASSERT_TRUE(web.ok());
  EXPECT_TRUE(web->is_tree);
  EXPECT_EQ(web->entries.size(), 2u);
}

TEST(PackageIndex, ListsOnlyWhatCanBeAskedFor) {
  const PackageIndex index({file("a b/a b-1.mist-pack.wasm"),
                            file("ok/ok-1.mist-pack.wasm"),
                            file("../x/x-1.mist-pack.wasm"),
                            file("x/../x/x-1.mist-pack.wasm"),
                            file("ok/ok-^1.mist-pack.wasm"),
                            file("ok/ok-.mist-pack.wasm"),
                            file("ok/other-1.mist-pack.wasm"),
                            file("packages/.git/1/x"),
                            {EntryType::Symlink, "1", "ok/ok-2.mist-pack.wasm"}});
  EXPECT_THAT(index.packages(), ElementsAre(Pair("ok", ElementsAre("1"))));
}

TEST(PackageIndex, NamesWhatThereIs) {
  const PackageIndex index(
      {file("examples/ns/ns-0.1.2.mist-pack.wasm"), file("examples/ns/ns-0.1.3.mist-pack.wasm")});
  const Error version = index.find(ref("examples/ns", "0.1.4")).error();
  EXPECT_EQ(version.kind, ErrorKind::NotFound);
  EXPECT_THAT(version.hint, HasSubstr("0.1.3, 0.1.2"));
  EXPECT_THAT(index.find(ref("examples/nss", "1")).error().hint, HasSubstr("did you mean r/examples/ns?"));
  EXPECT_THAT(index.find(ref("ns", "1")).error().hint, HasSubstr("did you mean r/examples/ns?"));
  EXPECT_EQ(PackageIndex({}).find(ref("ns", "1")).error().kind, ErrorKind::NotFound);
}

TEST(PackageIndex, FollowsNoLinksAndNoSubmodules) {
  const PackageIndex index({{EntryType::Symlink, "1", "a"},
                            {EntryType::Submodule, "2", "sub"},
                            {EntryType::Symlink, "3", "b/b-1.mist-pack.wasm"}});
  EXPECT_EQ(index.find(ref("a/x", "1")).error().kind, ErrorKind::Invalid);
  EXPECT_THAT(index.find(ref("sub/x", "1")).error().message, HasSubstr("sub is a submodule"));
  EXPECT_THAT(index.find(ref("b", "1")).error().message, HasSubstr("symbolic link"));
}

TEST(PackageIndex, ObjectChangesExactlyWhenTheContentDoes) {
  const auto object_of = [](std::vector<TreeEntry> entries) {
    return PackageIndex(std::move(entries)).find(ref("w", "1"))->object;
  };
  const std::string before = object_of({file("packages/w/1/a", "1"), file("packages/w/1/b", "2")});
  EXPECT_EQ(before, object_of({file("packages/w/1/b", "2"), file("packages/w/1/a", "1"),
                               file("packages/w/2/a", "3")}));
  EXPECT_NE(before, object_of({file("packages/w/1/a", "1"), file("packages/w/1/b", "3")}));
  EXPECT_NE(before, object_of({file("packages/w/1/a", "1"), file("packages/w/1/c", "2")}));
  EXPECT_NE(before, object_of({file("packages/w/1/a", "1")}));
}

TEST(PackageIndex, FindsAnyPath) {
  const PackageIndex index({file("d/x.yaml"), file("d/y.yaml"), file("dd/z")});
  EXPECT_FALSE(index.find_path("d/x.yaml")->is_tree);
  EXPECT_EQ(index.find_path("d")->entries.size(), 2u);
  EXPECT_EQ(index.find_path("")->entries.size(), 3u);
  EXPECT_EQ(index.find_path("nope").error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::registry
