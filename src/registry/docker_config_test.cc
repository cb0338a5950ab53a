#include "registry/docker_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <latch>
#include <map>
#include <thread>

#include "base/text.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

// A helper that keeps one login, or prints what a test wants.
class FakeHelper final : public ProcessRunner {
 public:
  Result<ProcessResult> run(const Command& command, const Context&) override {
    programs.push_back(command.program);
    inputs.push_back(command.input);
    return ProcessResult{exit_code, out, ""};
  }
  int exit_code = 0;
  std::string out;
  std::vector<std::string> programs, inputs;
};

class DockerConfigTest : public ::testing::Test {
 protected:
  DockerConfigTest() { environment["HOME"] = temp.path().string(); }

  DockerConfig config() {
    return DockerConfig({files, helper, [this](std::string_view name) -> std::optional<std::string> {
                           const auto found = environment.find(name);
                           return found == environment.end() ? std::nullopt : std::optional(found->second);
                         }});
  }
  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files.write(temp.path() / path, text, {.mode = 0600}).ok());
  }
  std::string find(const std::string& host, const std::string& path = "team/shop") {
    const auto login = config().find(host, path, Context());
    if (!login) return "error: " + login.error().to_line();
    if (!*login) return "none";
    return fmt::format("{}:{}{}", (*login)->user, (*login)->password.reveal(),
                       (*login)->identity_token.reveal());
  }
  static std::string auth(std::string_view login) {
    return fmt::format(R"({{"auth":"{}"}})", base64_encode(login));
  }

  mist::testing::TempDir temp;
  HostFileSystem files;
  FakeHelper helper;
  std::map<std::string, std::string, std::less<>> environment;
};

TEST_F(DockerConfigTest, FindsWhatDockerAndHelmKeep) {
  EXPECT_EQ(find("reg.example"), "none");
  put(".docker/config.json",
      fmt::format(
          R"({{"auths":{{"reg.example":{},"https://old.example/v1/":{},"https://index.docker.io/v1/":{},)"
          R"("plain.example":{{"username":"u","password":"p"}},"id.example":{{"identitytoken":"t"}},"empty.example":{{}}}}}})",
          auth("alice:a:b"), auth("bob:b"), auth("hub:h")));
  put(".config/helm/registry/config.json",
      fmt::format(R"({{"auths":{{"helm.example":{}}}}})", auth("helm:h")));
  EXPECT_EQ(find("reg.example"), "alice:a:b");
  EXPECT_EQ(find("old.example"), "bob:b");
  EXPECT_EQ(find("docker.io"), "hub:h");
  EXPECT_EQ(find("plain.example"), "u:p");
  EXPECT_EQ(find("id.example"), ":t");
  EXPECT_EQ(find("empty.example"), "none");
  EXPECT_EQ(find("helm.example"), "helm:h");
  EXPECT_EQ(find("reg.example:5000"), "none");
}

TEST_F(DockerConfigTest, TheEnvironmentNamesTheFile) {
  put("a/config.json", fmt::format(R"({{"auths":{{"reg.example":{}}}}})", auth("a:1")));
  put("b.json", fmt::format(R"({{"auths":{{"reg.example":{}}}}})", auth("b:2")));
  environment["DOCKER_CONFIG"] = (temp.path() / "a").string();
  EXPECT_EQ(find("reg.example"), "a:1");
  environment["REGISTRY_AUTH_FILE"] = (temp.path() / "b.json").string();
  EXPECT_EQ(find("reg.example"), "b:2");
}

TEST_F(DockerConfigTest, PodmanMayHaveALoginForAPart) {
  put(".docker/config.json", fmt::format(R"({{"auths":{{"reg.example":{},"reg.example/team":{}}}}})",
                                         auth("all:1"), auth("team:2")));
  EXPECT_EQ(find("reg.example", "team/shop"), "team:2");
  EXPECT_EQ(find("reg.example", "other/shop"), "all:1");
}

TEST_F(DockerConfigTest, HelpersAreAsked) {
  put(".docker/config.json", R"({"credsStore":"desktop","credHelpers":{"reg.example":"cloud"}})");
  helper.out = R"({"ServerURL":"reg.example","Username":"alice","Secret":"geheim"})";
  EXPECT_EQ(find("reg.example"), "alice:geheim");
  EXPECT_EQ(find("other.example"), "alice:geheim");
  EXPECT_EQ(helper.programs,
            (std::vector<std::string>{"docker-credential-cloud", "docker-credential-desktop"}));
  EXPECT_EQ(helper.inputs, (std::vector<std::string>{"reg.example", "other.example"}));
  helper.out = R"({"Username":"<token>","Secret":"id"})";
  EXPECT_EQ(find("reg.example"), "<token>:id");
}

TEST_F(DockerConfigTest, AHelperWithoutCredentialsIsNoError) {
  put(".docker/config.json",
      fmt::format(R"({{"credsStore":"desktop","auths":{{"reg.example":{}}}}})", auth("alice:a")));
  helper.exit_code = 1;
  helper.out = "credentials not found in native keychain\n";
  EXPECT_EQ(find("reg.example"), "alice:a");
  helper.out = "the keychain is locked\n";
  EXPECT_NE(find("reg.example").find("the keychain is locked"), std::string::npos);
}

TEST_F(DockerConfigTest, TheCredentialsThatAFailedHelperPrintsAreNotShown) {
  put(".docker/config.json", R"({"credsStore":"pass"})");
  helper.exit_code = 1;
  for (const std::string_view printed :
       {R"({"ServerURL":"reg.example","Username":"a","Secret":"hunter2"})", "{\n\"Secret\": \"hunter2\"\n}",
        "warning: cannot lock the keychain\nSecret: hunter2", "warning {\"Secret\":\"hunter2\"}"}) {
    helper.out = printed;
    const std::string failure = find("reg.example");
    EXPECT_EQ(failure.find("hunter2"), std::string::npos) << failure;
    EXPECT_NE(failure.find("docker-credential-pass get failed with exit code 1"), std::string::npos)
        << failure;
    EXPECT_NE(failure.find("is not shown"), std::string::npos) << failure;
  }
  helper.out = "The name org.freedesktop.secrets was not provided by any .service files\n";
  EXPECT_NE(find("reg.example").find("org.freedesktop.secrets was not provided"), std::string::npos);
}

TEST_F(DockerConfigTest, AHelpersNameIsNoPath) {
  put(".docker/config.json", R"({"credsStore":"../../bin/sh"})");
  EXPECT_NE(find("reg.example").find("is not a helper's name"), std::string::npos);
  EXPECT_TRUE(helper.programs.empty());
}

TEST_F(DockerConfigTest, ADamagedFileIsAnErrorThatShowsNoSecret) {
  for (const char* text : {"{\"auths\": geheim", "[]", R"({"auths":{"reg.example":{"auth":"geheim!"}}})"}) {
    put(".docker/config.json", text);
    EXPECT_TRUE(find("reg.example").starts_with("error: ")) << text;
    EXPECT_NE(find("reg.example").find("config.json"), std::string::npos);
    EXPECT_EQ(find("reg.example").find("geheim"), std::string::npos) << find("reg.example");
  }
}

TEST_F(DockerConfigTest, ALoginIsStoredBesideTheOthers) {
  const std::string before = R"({"proxies":{"x":1},"auths":{"other.example":{"auth":"YTpi"}}})";
  put("real.json", before);
  std::filesystem::create_directories(temp.path() / ".docker");
  std::filesystem::create_symlink(temp.path() / "real.json", temp.path() / ".docker/config.json");
  const auto place =
      config().store("reg.example", {.user = "alice", .password = SecretString("geheim")}, Context());
  ASSERT_TRUE(place.ok()) << place.error().to_line();
  EXPECT_EQ(find("reg.example"), "alice:geheim");
  EXPECT_EQ(find("other.example"), "a:b");
  EXPECT_TRUE(std::filesystem::is_symlink(temp.path() / ".docker/config.json"));
  EXPECT_NE(files.read(temp.path() / "real.json")->find("proxies"), std::string::npos);
  struct stat info{};
  ASSERT_EQ(::stat((temp.path() / "real.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(**config().erase("reg.example", Context()), (temp.path() / ".docker/config.json").string());
  EXPECT_EQ(find("reg.example"), "none");
  EXPECT_EQ(find("other.example"), "a:b");
  EXPECT_FALSE(*config().erase("reg.example", Context()));
}

// As several processes would.
TEST_F(DockerConfigTest, LoginsAtOnceLoseNone) {
  constexpr int kProcesses = 8, kLogins = 5;
  const auto host = [](int process, int n) { return fmt::format("reg{}-{}.example", process, n); };
  std::latch together(kProcesses);
  {
    std::vector<std::jthread> threads;
    for (int process = 0; process < kProcesses; ++process)
      threads.emplace_back([&, process] {
        together.arrive_and_wait();
        for (int n = 0; n < kLogins; ++n)
          EXPECT_TRUE(config().store(host(process, n), {"u", SecretString("p"), {}}, Context()).ok());
        EXPECT_TRUE(config().erase(host(process, 0), Context()).ok());
      });
  }
  for (int process = 0; process < kProcesses; ++process)
    for (int n = 0; n < kLogins; ++n)
      EXPECT_EQ(find(host(process, n)), n == 0 ? "none" : "u:p") << host(process, n);
  EXPECT_EQ(files.list(temp.path() / ".docker")->size(), 1u) << "no lock is left behind";
}

TEST_F(DockerConfigTest, ALoginIsErasedUnderEveryKey) {
  put(".docker/config.json",
      fmt::format(R"({{"auths":{{"reg.example":{0},"https://reg.example/v1/":{0},"http://reg.example":{0},)"
                  R"("other.example":{0}}}}})",
                  auth("a:b")));
  EXPECT_TRUE(*config().erase("reg.example", Context()));
  EXPECT_EQ(find("reg.example"), "none");
  EXPECT_FALSE(*config().kept("reg.example", Context()));
  EXPECT_EQ(find("other.example"), "a:b");
}

TEST_F(DockerConfigTest, WhatOtherToolsKeepIsNamed) {
  environment["XDG_RUNTIME_DIR"] = (temp.path() / "run").string();
  const auto kept = [&]() -> std::string {
    const auto erased = config().erase("reg.example", Context());
    const auto still = config().kept("reg.example", Context());
    if (!erased || !still) return "error";
    if (!*still) return "none";
    const std::string place = Path((*still)->place).lexically_relative(temp.path()).string();
    return fmt::format("{}, {}, {}", (*still)->name, place, (*still)->logout);
  };
  EXPECT_EQ(kept(), "none");
  const std::string file = fmt::format(R"({{"auths":{{"reg.example":{}}}}})", auth("a:b"));
  for (const char* path : {".docker/config.json", ".config/helm/registry/config.json"}) put(path, file);
  EXPECT_EQ(kept(), "reg.example, .config/helm/registry/config.json, helm registry logout reg.example");
  put(".config/helm/registry/config.json", "{}");
  put("run/containers/auth.json", file);
  EXPECT_EQ(kept(), "reg.example, run/containers/auth.json, podman logout reg.example");
  put("run/containers/auth.json",
      fmt::format(R"({{"auths":{{"reg.example/team":{0},"reg.example.org/team":{0}}}}})", auth("a:b")));
  EXPECT_EQ(kept(), "reg.example/team, run/containers/auth.json, ");
  environment["REGISTRY_AUTH_FILE"] = (temp.path() / "run/containers/auth.json").string();
  put("run/containers/auth.json", R"({"credsStore":"desktop"})");
  helper.out = R"({"Username":"alice","Secret":"geheim"})";
  EXPECT_EQ((*config().kept("reg.example", Context()))->place, "docker-credential-desktop");
  EXPECT_EQ((*config().kept("reg.example", Context()))->logout, "podman logout reg.example");
}

TEST_F(DockerConfigTest, AHelperGetsTheLoginInsteadOfTheFile) {
  put(".docker/config.json", R"({"credsStore":"desktop"})");
  const auto place =
      config().store("docker.io", {.user = "alice", .password = SecretString("geheim")}, Context());
  EXPECT_EQ(*place, "docker-credential-desktop");
  EXPECT_EQ(helper.inputs.at(0),
            R"({"ServerURL":"https://index.docker.io/v1/","Username":"alice","Secret":"geheim"})");
  EXPECT_EQ(files.read(temp.path() / ".docker/config.json")->find("geheim"), std::string::npos);
}

}  // namespace
}  // namespace mist::registry
