#include "action/authoring/build_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "package/installation_fault.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::action {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BuildIndex : public ::testing::Test {
 protected:
  BuildIndex() {
    paths_.home = dir_.path() / "home";
    paths_.config_file = paths_.home / "config.yaml";
    paths_.state = paths_.home / "state";
    paths_.cache = paths_.home / "cache";
    write("web/1.0.0/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
  }
  void write(std::string_view below, std::string_view text) {
    ASSERT_TRUE(files_.write(dir_.path() / "registry/packages" / below, text).ok());
  }
  // By a program without any engine.
  Result<BuiltIndex> build(const std::vector<search::Entry>& before = {}) {
    const registry::OciAccess away{.transport =
                                       [] {
                                         auto web = std::make_unique<mist::testing::FakeTransport>();
                                         web->otherwise([](const http::Request&, const Context&) {
                                           return error(ErrorKind::Retryable, "it does not answer");
                                         });
                                         return web;
                                       },
                                   .environment = [](std::string_view) { return std::nullopt; }};
    render::Packages packages(
        {.registries = {files_, processes_, events_, paths_, clock_, away}, .transport = {}, .engines = {}});
    package::Renderer renderer({}, events_);
    return index_directory({files_, events_, packages, renderer}, dir_.path() / "registry", before,
                           Context());
  }

  mist::testing::TempDir dir_;
  HostFileSystem files_;
  HostProcessRunner processes_;
  mist::testing::RecordedEvents events_;
  config::Paths paths_;
  SystemClock clock_;
};

TEST_F(BuildIndex, LeavesOutWhatIsWrongItself) {
  write("job/1.0.0/job.yaml", "a: b\n");
  write("job/1.0.0/mistletoe.yaml", "kind: [\n");
  const auto built = build();
  ASSERT_TRUE(built.ok()) << built.error().to_line();
  ASSERT_EQ(built->entries.size(), 1U);
  EXPECT_EQ(built->entries[0].path, "web");
  EXPECT_THAT(built->left_out, ElementsAre(HasSubstr("job: ")));
}

// Else each chart of a registry would be missing in its index, which looks like any other.
TEST_F(BuildIndex, AFaultOfThisMachineIsNoIndex) {
  write("chart/1.0.0/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n");
  const auto built = build();
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().detail<package::InstallationFault>(), nullptr) << built.error().to_line();
}

// Else one package, whose author may well want that, would keep a whole registry without a new index.
TEST_F(BuildIndex, AServerThatAPackageNamesMayBeAway) {
  const auto add = [&](const std::string& version, std::string_view dependencies) {
    write("web/" + version + "/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n");
    write("web/" + version + "/mistletoe.yaml",
          fmt::format("apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {{name: web}}\n"
                      "spec: {{version: {}, dependencies: {}}}\n",
                      version, dependencies));
  };
  add("1.1.0", "[]");
  const auto first = build();
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  ASSERT_EQ(first->entries.size(), 1U);
  add("2.0.0", "[{name: db, package: 'oci://elsewhere.example/db', version: ^1}]");
  const auto kept = build(first->entries);
  ASSERT_TRUE(kept.ok()) << kept.error().to_line();
  ASSERT_EQ(kept->entries.size(), 1U);
  EXPECT_EQ(kept->entries[0].version, "1.1.0");
  EXPECT_THAT(kept->entries[0].versions, ElementsAre("2.0.0", "1.1.0", "1.0.0"));
  EXPECT_TRUE(events_.has("as in the earlier index: web: "));
  EXPECT_THAT(kept->left_out, ElementsAre());
  const auto without = build();
  ASSERT_TRUE(without.ok()) << without.error().to_line();
  EXPECT_THAT(without->left_out, ElementsAre(HasSubstr("web: ")));
}

}  // namespace
}  // namespace mist::action
