#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "encoding/yaml.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kOriginal = R"(apiVersion: mistletoe.dev/v1alpha1
kind: MistletoeConfig
spec:
  registries:
  - name: mistletoe
    defaultRemote: github-https
    remotes:
    - name: github-https
      git:
        url: https://example.org/registry.git
    - name: github-ssh
      git:
        url: git@example.org:registry.git
)";

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() {
    paths_.home = temp_.path();
    paths_.config_file = temp_.path() / "sub" / "config.yaml";
  }
  void write(std::string_view text) { ASSERT_TRUE(files_.write(paths_.config_file, text).ok()); }
  std::string read() { return *files_.read(paths_.config_file); }
  Status add(const std::string& name) {
    return edit(files_, paths_, events_, Context(), [&](Config& config) {
      return config.add_registry({name, "default", {{"default", GitSource{"https://h/" + name}}}});
    });
  }

  mist::testing::TempDir temp_;
  HostFileSystem files_;
  testing::RecordedEvents events_;
  Paths paths_;
};

std::string error_of(std::string_view text) {
  const auto config = Config::parse(text, "config.yaml");
  return config.ok() ? "no error" : config.error().to_line();
}

TEST(Config, ReadsTheOriginalsFile) {
  std::vector<std::string> warnings;
  const auto config = Config::parse(kOriginal, "config.yaml", &warnings);
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  EXPECT_THAT(warnings, ElementsAre());
  const Registry* registry = config->find_registry("mistletoe");
  ASSERT_NE(registry, nullptr);
  EXPECT_EQ(registry->remotes.size(), 2u);
  EXPECT_EQ(std::get<GitSource>(registry->remote().source).url, "https://example.org/registry.git");
}

TEST(Config, KeepsWhatItDoesNotKnowAndWarns) {
  const std::string text = std::string(kOriginal) + "  theme: dark\n  registris: []\nfuture:\n  a: [1, 2]\n";
  std::vector<std::string> warnings;
  auto config = Config::parse(text, "config.yaml", &warnings);
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("spec.theme is not known")));
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("did you mean registries?")));
  ASSERT_TRUE(config->add_registry({"x", "d", {{"d", DirectorySource{"/srv/x"}}}}).ok());
  ASSERT_TRUE(config->remove_registry("mistletoe").ok());
  const auto document = encoding::parse_yaml(config->serialize());
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->string_at({"spec", "theme"}), "dark");
  EXPECT_EQ(document->at_path({"future", "a"})->size(), 2u);
  const auto again = Config::parse(config->serialize(), "config.yaml");
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->registries().size(), 1u);
  EXPECT_EQ(again->registries()[0], config->registries()[0]);
}

TEST(Config, ReadsAndWritesOciRegistries) {
  constexpr std::string_view kText =
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  registries:\n  - name: shop\n"
      "    remotes:\n    - name: default\n      oci: {url: \"oci://registry.example/team\"}\n";
  const auto config = Config::parse(kText, "config.yaml");
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  const Remote& remote = config->find_registry("shop")->remote();
  EXPECT_EQ(std::get<OciSource>(remote.source).url, "oci://registry.example/team");
  auto copy = Config::parse("", "config.yaml");
  ASSERT_TRUE(copy->add_registry({"shop", "default", {remote}}).ok());
  EXPECT_EQ(*Config::parse(copy->serialize(), "again")->find_registry("shop"), *copy->find_registry("shop"));
  std::string http(kText);
  http.replace(http.find("oci://"), 6, "http://");
  EXPECT_THAT(error_of(http), HasSubstr("doesn't begin with oci://"));
}

TEST(Config, DefaultsSurviveARoundTrip) {
  const Config config = Config::defaults();
  const auto again = Config::parse(config.serialize(), "x");
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->registries(), config.registries());
  EXPECT_NE(config.find_registry(kDefaultRegistry), nullptr);
}

TEST(Config, ReadsHowLargeCachesMayBecome) {
  const auto with = [](std::string_view caches) {
    return Config::parse(
        fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  caches: {}\n",
                    caches),
        "x");
  };
  EXPECT_EQ(with("{packages: 512Mi, registries: 1000}")->cache_limits(),
            (CacheLimits{.packages = 512ull << 20, .registries = 1000}));
  EXPECT_EQ(with("{registries: 2Ti}")->cache_limits(),
            (CacheLimits{.packages = CacheLimits{}.packages, .registries = 2ull << 40}));
  EXPECT_EQ(with("null")->cache_limits(), CacheLimits{});
  EXPECT_EQ(Config::defaults().cache_limits(), CacheLimits{});
  for (const std::string_view bad : {"-1", "1.5Gi", "512MB", "Mi", "99999999999Ti", "[]", "true"}) {
    const auto refused = with(fmt::format("{{packages: {}}}", bad));
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_THAT(refused.error().to_line(), HasSubstr("x:4:")) << bad;
    EXPECT_THAT(refused.error().to_line(), HasSubstr("spec.caches.packages must be a size")) << bad;
    EXPECT_THAT(refused.error().hint, HasSubstr("512Mi"));
  }
}

TEST(Config, ReadsMirrors) {
  const auto with = [](std::string_view mirrors) {
    return Config::parse(
        fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  mirrors: {}\n",
                    mirrors),
        "config.yaml");
  };
  const auto config = with(
      "[{prefix: 'oci://registry.example/', places: ['oci-layout:a', 'oci://m.example/b'], only: true}, "
      "{prefix: ghcr.io/team, places: ['oci-archive:a.tar']}]");
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  EXPECT_THAT(config->mirrors(),
              ElementsAre(Mirror{"registry.example", {"oci-layout:a", "oci://m.example/b"}, true},
                          Mirror{"ghcr.io/team", {"oci-archive:a.tar"}, false}));
  EXPECT_TRUE(with("null")->mirrors().empty());
  for (const std::string_view bad :
       {"{}", "[{prefix: 'https://a', places: ['oci-layout:a']}]", "[a]", "[{prefix: a}]",
        "[{prefix: a, places: []}]", "[{prefix: a, places: [/tmp/x]}]", "[{places: ['oci-layout:a']}]",
        "[{prefix: a, places: ['oci-layout:a'], only: 1}]",
        "[{prefix: a, places: ['oci-layout:a']}, {prefix: a, places: ['oci-layout:b']}]"}) {
    const auto refused = with(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(refused.error().where->line, 4u) << bad;
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

TEST(Config, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(error_of("[]"), HasSubstr("not an object"));
  EXPECT_THAT(error_of("kind: MistletoeConfig\n"), HasSubstr("no apiVersion"));
  EXPECT_THAT(error_of("apiVersion: v2\nkind: MistletoeConfig\n"),
              HasSubstr("config.yaml:1:13: apiVersion must be 'mistletoe.dev/v1alpha1'"));
  const std::string head =
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  registries:\n";
  EXPECT_THAT(error_of(head + "    mistletoe: {git: x}\n"), HasSubstr("must be a list"));
  EXPECT_THAT(error_of(head + "  - defaultRemote: a\n"), HasSubstr("a registry has no name"));
  EXPECT_THAT(error_of(head + "  - name: a/b\n"), HasSubstr("config.yaml:5:11: 'a/b' can't name a registry"));
  EXPECT_THAT(error_of(head + "  - name: a\n"), HasSubstr("no list of remotes"));
  EXPECT_THAT(error_of(head + "  - name: a\n    remotes: [{name: r}]\n"),
              HasSubstr("exactly one of git, directory, oci, helm and catalog"));
  EXPECT_THAT(error_of(head + "  - name: a\n    remotes: [{name: r, git: {}}]\n"), HasSubstr("has no url"));
  EXPECT_THAT(error_of(head + "  - name: a\n    remotes: [{name: r, git: {url: 7}}]\n"),
              HasSubstr("must be a text"));
  EXPECT_THAT(error_of(head + "  - name: a\n    remotes: [{name: r, git: {url: --upload-pack=x}}]\n"),
              HasSubstr("begins with '-'"));
  EXPECT_THAT(error_of(head + "  - name: a\n    defaultRemote: q\n    remotes: [{name: r, git: {url: x}}]\n"),
              HasSubstr("has no remote named q"));
  EXPECT_THAT(
      error_of(head +
               "  - name: a\n    remotes: &r [{name: r, git: {url: x}}]\n  - name: a\n    remotes: *r\n"),
      HasSubstr("two registries are named a"));
  EXPECT_THAT(error_of("a: b\n  c: d\n"), HasSubstr("config.yaml:2"));
  EXPECT_THAT(error_of(head + head), HasSubstr("config.yaml"));  // duplicate keys
}

TEST(Config, ErrorsAndViewsShowNoCredentials) {
  const std::string text =
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  registries:\n"
      "  - {name: a, defaultRemote: q, remotes: [{name: r, git: {url: 'https://me:hunter2@h/x'}}]}\n";
  const auto failed = Config::parse(text, "c");
  ASSERT_FALSE(failed.ok());
  ASSERT_TRUE(failed.error().where.has_value());
  EXPECT_THAT(failed.error().where->excerpt, HasSubstr("https://***@h/x"));
  Config config = Config::defaults();
  ASSERT_TRUE(config.add_registry({"a", "d", {{"d", GitSource{"https://me:hunter2@h/x"}}}}).ok());
  EXPECT_EQ(encoding::to_yaml(config.view()).find("hunter2"), std::string::npos);
  EXPECT_NE(config.serialize().find("hunter2"), std::string::npos);
}

TEST(Config, RefusesNamesThatAreTakenOrNone) {
  Config config = Config::defaults();
  EXPECT_EQ(config.add_registry({"mistletoe", "d", {{"d", GitSource{"x"}}}}).error().kind,
            ErrorKind::Conflict);
  for (const char* name : {"", ".x", "a/b", "a:b", "-a", "a b", "_git"})
    EXPECT_EQ(config.add_registry({name, "d", {{"d", GitSource{"x"}}}}).error().kind, ErrorKind::Invalid)
        << name;
  const auto missing = config.remove_registry("mistletow");
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.error().hint, HasSubstr("did you mean mistletoe?"));
}

TEST_F(ConfigFile, AMirrorIsChangedWhereItStands) {
  write(
      "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  mirrors:\n"
      "  - {prefix: 'oci://a.example/', places: ['oci-layout:/a'], note: mine}\n"
      "  - {prefix: b.example, places: ['oci-layout:/b'], only: true}\n");
  const auto change = [&](const std::function<Status(Config&)>& what) {
    ASSERT_TRUE(edit(files_, paths_, events_, Context(), what).ok());
  };
  change([](Config& config) -> Status {
    config.set_mirror({"a.example", {"oci-layout:/a", "oci://c.example"}, false});
    config.set_mirror({"b.example", {"oci-layout:/b"}, false});
    config.set_mirror({"d.example", {"oci-archive:/d.tar"}, true});
    return {};
  });
  const auto config = Config::load(files_, paths_, events_);
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  EXPECT_THAT(config->mirrors(), ElementsAre(Mirror{"a.example", {"oci-layout:/a", "oci://c.example"}, false},
                                             Mirror{"b.example", {"oci-layout:/b"}, false},
                                             Mirror{"d.example", {"oci-archive:/d.tar"}, true}));
  EXPECT_THAT(read(), HasSubstr("note: mine"));
  EXPECT_THAT(read(), HasSubstr("prefix: oci://a.example/"));
  change([](Config& each) { return each.remove_mirror("a.example"); });
  EXPECT_THAT(read(), ::testing::Not(HasSubstr("a.example")));
  change([](Config& each) { return each.remove_mirror("b.example"); });
  change([](Config& each) { return each.remove_mirror("d.example"); });
  EXPECT_THAT(read(), ::testing::Not(HasSubstr("mirrors")));
  EXPECT_EQ(Config::defaults().remove_mirror("a.example").error().kind, ErrorKind::NotFound);
}

TEST_F(ConfigFile, IsTheDefaultsWhileThereIsNone) {
  const auto config = Config::load(files_, paths_, events_);
  ASSERT_TRUE(config.ok());
  EXPECT_NE(config->find_registry("mistletoe"), nullptr);
  EXPECT_FALSE(files_.exists(paths_.config_file));
}

TEST_F(ConfigFile, FirstEditWritesTheDefaultsToo) {
  ASSERT_TRUE(add("mine").ok());
  const auto config = Config::load(files_, paths_, events_);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->registries().size(), 2u);
  struct stat info{};
  ASSERT_EQ(::stat(paths_.config_file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ConfigFile, AFailedEditWritesNothing) {
  write(kOriginal);
  EXPECT_FALSE(add("mistletoe").ok());
  EXPECT_EQ(read(), kOriginal);
}

TEST_F(ConfigFile, ADamagedFileIsNeverOverwritten) {
  write("kind: [");
  EXPECT_FALSE(add("mine").ok());
  EXPECT_EQ(read(), "kind: [");
}

TEST_F(ConfigFile, ALinkStaysALink) {
  const Path target = temp_.path() / "dotfiles.yaml";
  ASSERT_TRUE(files_.write(target, kOriginal).ok());
  ASSERT_TRUE(files_.make_directories(paths_.config_file.parent_path()).ok());
  std::filesystem::create_symlink(target, paths_.config_file);
  ASSERT_TRUE(add("mine").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(paths_.config_file));
  EXPECT_THAT(*files_.read(target), HasSubstr("mine"));
  std::filesystem::remove(target);
  ASSERT_TRUE(add("mine").ok()) << "before there is a file";
  EXPECT_TRUE(std::filesystem::is_symlink(paths_.config_file));
  EXPECT_THAT(*files_.read(target), HasSubstr("mine"));
}

TEST_F(ConfigFile, ConcurrentWritersLoseNothing) {
  std::vector<std::jthread> writers;
  for (int i = 0; i < 12; ++i)
    writers.emplace_back([this, i] {
      HostFileSystem files;
      NullEventSink events;
      EXPECT_TRUE(edit(files, paths_, events, Context(), [&](Config& config) {
                    const std::string name = fmt::format("r{}", i);
                    return config.add_registry({name, "d", {{"d", GitSource{"https://h/" + name}}}});
                  }).ok());
    });
  writers.clear();
  const auto config = Config::load(files_, paths_, events_);
  ASSERT_TRUE(config.ok()) << config.error().to_line();
  EXPECT_EQ(config->registries().size(), 13u);
}

TEST(ConfigDisplay, NoKindOfRemoteShowsCredentials) {
  const Remote remotes[] = {{"d", GitSource{"https://me:hidden@h/r.git"}},
                            {"d", OciSource{"oci://me:hidden@h/team"}},
                            {"d", HelmSource{"https://me:hidden@h/charts?token=hidden"}},
                            {"e", CatalogSource{"https://me:hidden@h/"}}};
  for (const Remote& remote : remotes) {
    EXPECT_THAT(display(remote), Not(HasSubstr("hidden")));
    EXPECT_THAT(display(remote), HasSubstr("@h/"));
  }
  EXPECT_EQ(display({"d", DirectorySource{"./packages"}}), "./packages");
}

TEST(Config, InstallsAreCountedOnlyWhereTheUserSaysSo) {
  const auto counts = [](std::string_view spec) {
    return Config::parse(
        fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec: {}\n", spec), "c.yaml");
  };
  EXPECT_FALSE(Config::defaults().counts_installs());
  EXPECT_FALSE(counts("{}")->counts_installs());
  EXPECT_FALSE(counts("{countInstalls: false}")->counts_installs());
  EXPECT_TRUE(counts("{countInstalls: true}")->counts_installs());
  EXPECT_THAT(counts("{countInstalls: 'yes'}").error().to_line(),
              HasSubstr("spec.countInstalls is neither true nor false"));
}

TEST(ConfigDisplay, CredentialsAreFoundInEveryKindOfPlace) {
  const auto has = [](std::string_view spec) {
    const auto config = Config::parse(
        fmt::format("apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec: {}\n", spec), "c.yaml");
    EXPECT_TRUE(config.ok()) << config.error().to_line();
    return config.ok() && config->has_credentials();
  };
  const auto one = [](std::string_view source) {
    return fmt::format("{{registries: [{{name: a, defaultRemote: d, remotes: [{{name: d, {}}}]}}]}}", source);
  };
  EXPECT_TRUE(has(one("git: {url: 'https://me:pw@h/r.git'}")));
  EXPECT_TRUE(has(one("oci: {url: 'oci://me:pw@h/team'}")));
  EXPECT_TRUE(has(one("helm: {url: 'https://me:pw@h/charts'}")));
  EXPECT_TRUE(has(one("helm: {url: 'https://h/charts?sv=2024&sig=abc'}")));
  EXPECT_FALSE(has(one("helm: {url: 'https://h/charts'}")));
  EXPECT_TRUE(has(one("catalog: {url: 'https://me:pw@h'}")));
  EXPECT_FALSE(has(one("catalog: {url: 'https://h'}")));
}

}  // namespace
}  // namespace mist::config
