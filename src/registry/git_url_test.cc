#include "registry/git_url.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::registry {
namespace {

using Transport = GitUrl::Transport;

TEST(GitUrl, KnowsWhatGitMayTalkTo) {
  const std::tuple<std::string, Transport, std::string> cases[] = {
      {"https://h/o/r.git", Transport::Https, "https://h/o/r.git"},
      {"ssh://git@h:22/r", Transport::Ssh, "ssh://git@h:22/r"},
      {"HTTPS://H/o/R.git", Transport::Https, "https://H/o/R.git"},
      {"https://u:p%40w@h:8443/my repo", Transport::Https, "https://u:p%40w@h:8443/my repo"},
      {"git@h:o/r.git", Transport::Ssh, "git@h:o/r.git"},
      {"h:r", Transport::Ssh, "h:r"},
      {"file:///srv/r", Transport::File, "file:///srv/r"},
      {"/srv/r", Transport::File, "file:///srv/r"},
      {"../r", Transport::File, "file:///w/r"},
      {"./a:b", Transport::File, "file:///w/d/a:b"},
      {"http://127.0.0.1:80/r", Transport::LoopbackHttp, "http://127.0.0.1:80/r"},
      {"http://[::1]:80/r", Transport::LoopbackHttp, "http://[::1]:80/r"},
      {"http://localhost/r", Transport::LoopbackHttp, "http://localhost/r"},
  };
  for (const auto& [text, transport, url] : cases) {
    const auto parsed = GitUrl::parse(text, "/w/d");
    ASSERT_TRUE(parsed.ok()) << text << parsed.error().to_line();
    EXPECT_EQ(parsed->transport(), transport) << text;
    EXPECT_EQ(parsed->text(), url) << text;
  }
}

TEST(GitUrl, RefusesTheRest) {
  for (const std::string& text : {std::string(),
                                  std::string("--upload-pack=touch /tmp/x"),
                                  std::string("-x"),
                                  std::string("ext::sh -c id"),
                                  std::string("fd::17"),
                                  std::string("http://h/r"),
                                  std::string("http://127.0.0.1.evil/r"),
                                  std::string("http://localhost@evil/r"),
                                  std::string("http://evil?@localhost/r"),
                                  std::string("http://evil#@localhost/r"),
                                  std::string("git://h/r"),
                                  std::string("ftp://h/r"),
                                  std::string("ssh://-oProxyCommand=id/x"),
                                  std::string("ssh://a@-oProxyCommand=id/x"),
                                  std::string("-oProxyCommand=id:x"),
                                  std::string("a@-oProxyCommand=id:x"),
                                  std::string("https:///x"),
                                  std::string("https://h:65536/x"),
                                  std::string("https://h:/x"),
                                  std::string("https://h%2e/x"),
                                  std::string("https://[::1%25eth0]/x"),
                                  std::string("https://evil\\@h/x"),
                                  std::string("ssh://git@h:team/x"),
                                  std::string("1x://h/x"),
                                  std::string("FILE://h/x"),
                                  std::string("https://h/\nx"),
                                  std::string("https://h/\0x", 11),
                                  std::string("file://host/x"),
                                  std::string("git@h:"),
                                  "https://h/" + std::string(2000, 'a')}) {
    const auto parsed = GitUrl::parse(text, "/w");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

TEST(GitUrl, RefusesPasswordsThatEndTheHostAndShowsNoPartOfThem) {
  for (const char* text :
       {"https://ci:hun/ter@h/r.git", "https://ci:hun#ter@h/r.git", "https://ci:hun?ter@h/r.git",
        "https://ci:hun ter@h/r.git", "https://ci:hun@ter@h/r.git", "https://ci:/hunter@h/r.git",
        "http://localhost:hun/ter@h/r.git"}) {
    const auto parsed = GitUrl::parse(text, "/");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().to_line(), ::testing::HasSubstr("//***@h/r.git")) << text;
    EXPECT_THAT(parsed.error().to_line(), ::testing::Not(::testing::HasSubstr("hun"))) << text;
    EXPECT_THAT(parsed.error().to_line(), ::testing::Not(::testing::HasSubstr("ter@"))) << text;
    EXPECT_THAT(parsed.error().hint, ::testing::HasSubstr("%2F"));
  }
}

TEST(GitUrl, NamesNoHelperWhateverElseIsInIt) {
  for (const char* text : {"ext::sh -c x", "ext::sh%20[", "[::1]ext::x", "ext::https://[::1]/",
                           "https://h/[ext::sh]", "https://h/a[::1"})
    EXPECT_FALSE(GitUrl::parse(text, "/").ok()) << text;
  EXPECT_TRUE(GitUrl::parse("https://[2606:4700::1111]/r", "/").ok());
}

TEST(GitUrl, ShowsNoCredentials) {
  EXPECT_EQ(GitUrl::parse("https://u:hunter2@h/r", "/")->display(), "https://***@h/r");
  EXPECT_EQ(GitUrl::parse("ftp://u:hunter2@h/r", "/").error().to_line().find("hunter2"), std::string::npos);
  // Longer than what an error shows.
  const std::string token(300, 'k');
  EXPECT_EQ(GitUrl::parse(fmt::format("ftp://{}@h/r", token), "/").error().to_line().find("kk"),
            std::string::npos);
}

TEST(GitUrl, LimitedToPublicIsPinnedToTheAddressesThatWereJudged) {
  const auto at = [](std::vector<std::string> addresses) {
    return [addresses = std::move(addresses)](const std::string&) -> Result<std::vector<std::string>> {
      return addresses;
    };
  };
  const GitUrl url = *GitUrl::parse("https://me@git.example:8443/r", "/");
  EXPECT_THAT(url.limited_to_public(at({"1.1.1.1", "2606:4700::1111"}))->settings(),
              ::testing::ElementsAre("http.followRedirects=false",
                                     "http.curloptResolve=git.example:8443:1.1.1.1,[2606:4700::1111]"));
  EXPECT_THAT(GitUrl::parse("https://1.1.1.1/r", "/")->limited_to_public(at({"1.1.1.1"}))->settings(),
              ::testing::ElementsAre("http.followRedirects=false"));
  // One private address among them is enough: nobody knows which of them git would take.
  EXPECT_EQ(url.limited_to_public(at({"1.1.1.1", "10.0.0.1"})).error().kind, ErrorKind::Forbidden);
  for (const char* text : {"https://localhost/r", "https://[::1]/r", "https://127.1/r",
                           "ssh://git@git.example/r", "git@git.example:r", "http://127.0.0.1/r", "/r"})
    EXPECT_EQ(GitUrl::parse(text, "/")->limited_to_public(at({"1.1.1.1"})).error().kind, ErrorKind::Forbidden)
        << text;
}

TEST(IsThisMachine, IsAboutTheHostOfTheUrl) {
  for (const char* url : {"http://localhost/x", "http://u:p@127.0.0.1:8080", "http://[::1]:1/x"})
    EXPECT_TRUE(is_this_machine(url)) << url;
  for (const char* url :
       {"", "localhost", "http://localhost.evil/x", "http://localhost@evil/x",
        "http://evil/http://localhost/x", "http://evil?@localhost/", "http://evil#@localhost/",
        "http://localhost:x@evil/", "http://localhost\\@evil/", "http:///localhost"})
    EXPECT_FALSE(is_this_machine(url)) << url;
}

TEST(GitUrl, NamesItsHost) {
  const auto host = [](const char* text) { return std::string(GitUrl::parse(text, "/")->host()); };
  EXPECT_EQ(host("https://user:word@git.example:8443/r"), "git.example");
  EXPECT_EQ(host("https://[2606:4700::1111]:443/r"), "[2606:4700::1111]");
  EXPECT_EQ(host("ssh://git@git.example:22/r"), "git.example");
  EXPECT_EQ(host("git@git.example:team/r"), "git.example");
  EXPECT_EQ(host("[git@localhost:22]:r"), "localhost");
  EXPECT_EQ(host("/srv/git/r"), "");
  EXPECT_EQ(host("file:///srv/git/r"), "");
}

TEST(IsGitRef, TakesNamesAndCommitsOnly) {
  for (const char* ref : {"main", "v1.2.3", "release/1.x", "0123456789abcdef0123456789abcdef01234567"})
    EXPECT_TRUE(is_git_ref(ref)) << ref;
  for (const char* ref :
       {"", "-x", "a/-x", "a..b", "a b", "a:b", "a^", "a~1", "@{u}", "/a", "a/", "a.lock", ".a", "a*"})
    EXPECT_FALSE(is_git_ref(ref)) << ref;
}

}  // namespace
}  // namespace mist::registry
