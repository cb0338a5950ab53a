#include "oci/reference.h"

#include <gtest/gtest.h>

namespace mist::oci {
namespace {

const std::string kPinned = "sha256:" + std::string(64, 'a');

TEST(OciReference, ReadsEveryPart) {
  const auto tagged = Reference::parse("oci://Registry.example:5000/team/shop:1.4.0");
  ASSERT_TRUE(tagged.ok()) << tagged.error().to_line();
  EXPECT_EQ(tagged->repository.host, "registry.example:5000");
  EXPECT_EQ(tagged->repository.path, "team/shop");
  EXPECT_EQ(tagged->repository.name(), "shop");
  EXPECT_EQ(tagged->tag, "1.4.0");
  EXPECT_TRUE(tagged->range.empty());
  EXPECT_FALSE(tagged->digest);

  const auto pinned = Reference::parse("oci://h/a:prod@" + kPinned);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(pinned->tag, "prod");
  EXPECT_EQ(pinned->digest->str(), kPinned);
  EXPECT_EQ(Reference::parse("oci://[::1]:5000/a:1")->repository.host, "[::1]:5000");
}

TEST(OciReference, PrintsWhatParsesBack) {
  for (const std::string& text :
       {std::string("oci://h:5000/a/b:1.4.0"), "oci://h/a@" + kPinned, "oci://h/a:1.4.0@" + kPinned,
        std::string("oci://h/a:^1.4"), std::string("oci://h/a:>=1.2 <2"),
        std::string("oci://[::1]:80/a__b/c-d:x")}) {
    const auto reference = Reference::parse(text);
    ASSERT_TRUE(reference.ok()) << reference.error().to_line();
    EXPECT_EQ(reference->str(), text);
  }
}

TEST(OciReference, TellsRangesFromTags) {
  for (const char* range : {"^1.4", "~1.4.2", "1.4.x", "*", ">=1.2 <2", "1.2 || 2.x"}) {
    const auto reference = Reference::parse(std::string("oci://h/a:") + range);
    ASSERT_TRUE(reference.ok()) << reference.error().to_line();
    EXPECT_EQ(reference->range, range);
    EXPECT_TRUE(reference->tag.empty());
  }
  EXPECT_EQ(Reference::parse("oci://h/a:1.4")->tag, "1.4");
  EXPECT_EQ(Reference::parse("oci://h/a:1.0.0+build.5")->tag, "1.0.0_build.5");
}

TEST(OciReference, DockerHubHasItsOwnHostAndLibrary) {
  EXPECT_EQ(Reference::parse("oci://docker.io/nginx:1")->repository.path, "library/nginx");
  EXPECT_EQ(Reference::parse("oci://docker.io/team/nginx:1")->repository.path, "team/nginx");
  EXPECT_EQ(api_host("docker.io"), "registry-1.docker.io");
  EXPECT_EQ(api_host("ghcr.io"), "ghcr.io");
}

TEST(OciReference, SaysWhatIsWrong) {
  struct Case {
    std::string text, because;
  };
  const Case cases[] = {
      {"oci://h/a", "it names no version"},
      {"oci://h", "no repository"},
      {"oci://h/:1", "no repository"},
      {"oci://h/a//b:1", "empty segment"},
      {"oci://h/../b:1", "'..' can't stand in its path"},
      {"oci://h/Team/b:1", "capital letters"},
      {"oci://h/a:", "no version follows"},
      {"oci://h/a:-x", "no tag looks like"},
      {"oci://h/a@sha256:12", "no digest follows"},
      {"oci://h/a@sha512:" + std::string(128, 'a'), "no digest follows"},
      {"oci://h/a:^1@" + kPinned, "a range and a digest"},
      {"oci://h/a:^nonsense", "can't be understood"},
      {"oci://h:99999/a:1", "is not a port"},
      {"oci://-h/a:1", "is not a host name"},
      {"oci:///a:1", "it names no host"},
      {"oci://h/a b:1", "can't stand in its path"},
      {"https://h/a:1", "doesn't begin with oci://"},
      {"oci://h/" + std::string(300, 'a') + ":1", "longer than 255 bytes"},
  };
  for (const Case& each : cases) {
    const auto reference = Reference::parse(each.text);
    ASSERT_FALSE(reference.ok()) << each.text;
    EXPECT_NE(reference.error().message.find(each.because), std::string::npos) << reference.error().to_line();
    EXPECT_FALSE(reference.error().hint.empty()) << each.text;
  }
}

TEST(OciReference, NeverShowsAPassword) {
  const auto reference = Reference::parse("oci://alice:geheim@h/a:1");
  ASSERT_FALSE(reference.ok());
  EXPECT_EQ(reference.error().to_line().find("geheim"), std::string::npos) << reference.error().to_line();
  EXPECT_EQ(parse_host("alice:geheim@h").error().to_line().find("geheim"), std::string::npos);
}

TEST(OciReference, ADestinationNeedsNoVersion) {
  const auto destination = Reference::parse_destination("oci://h/a");
  ASSERT_TRUE(destination.ok());
  EXPECT_TRUE(destination->tag.empty());
  EXPECT_TRUE(Repository::parse("oci://h/a/b").ok());
  EXPECT_FALSE(Repository::parse("oci://h/a:1").ok());
}

TEST(OciReference, APrefixIsAHostOrAHostAndAPath) {
  for (const auto& [text, prefix] : {std::pair("oci://h", "oci://h"),
                                     {"oci://h:5000/", "oci://h:5000"},
                                     {"oci://h/team//", "oci://h/team"},
                                     {"oci://docker.io/team", "oci://docker.io/team"},
                                     {"oci://[::1]:5000/a/b", "oci://[::1]:5000/a/b"}}) {
    const auto parsed = parse_prefix(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().to_line();
    EXPECT_EQ(*parsed, prefix);
  }
  struct Case {
    std::string text, because;
  };
  const Case cases[] = {
      {"oci://h/a:1.4.0", "names one package, not a place for many (':1.4.0' follows its path)"},
      {"oci://h/a:^1.4", "':^1.4' follows its path"},
      {"oci://h/a@" + kPinned, "'@sha256:aaa"},
      {"oci://h/a:1@" + kPinned, "':1@sha256:aaa"},
      {"oci://h:1.0.0", "':1.0.0' is not a port"},
      {"oci://", "it names no host"},
      {"oci:///a", "it names no host"},
      {"https://h", "doesn't begin with oci://"},
      {"oci://h/Team", "capital letters"},
      {"oci://me:secret@h", "it holds credentials"},
      {"oci://me:secret@h/a", "it holds credentials"},
      {"oci://me:secret/x@h/a", "it holds credentials"},
      {"oci://me:x/secret@h/a", "it holds credentials"},
  };
  for (const Case& each : cases) {
    const auto parsed = parse_prefix(each.text);
    ASSERT_FALSE(parsed.ok()) << each.text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    EXPECT_NE(parsed.error().to_line().find(each.because), std::string::npos) << parsed.error().to_line();
    EXPECT_EQ(parsed.error().to_line().find("secret"), std::string::npos);
  }
}

TEST(OciReference, HostsAreWrittenInManyWays) {
  for (const char* text :
       {"registry.example:5000", "https://registry.example:5000/", "oci://Registry.example:5000"}) {
    EXPECT_EQ(*parse_host(text), "registry.example:5000");
  }
  EXPECT_FALSE(parse_host("registry.example/team").ok());
  EXPECT_FALSE(parse_host("").ok());
}

TEST(OciReference, OnlyThisMachineIsLoopback) {
  for (const char* host : {"localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host :
       {"127.0.0.1.example.org", "localhost.example.org", "[::2]:5000", "registry.example"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

TEST(OciRepository, HasOneIdentityHoweverItsHostIsWritten) {
  const auto identity = [](std::string_view text) { return Repository::parse(text)->identity(); };
  for (const std::string_view text :
       {"oci://reg.example/team/shop", "oci://REG.example/team/shop", "oci://reg.example:443/team/shop",
        "oci://reg.example:0443/team/shop", "oci://reg.example:80/team/shop"})
    EXPECT_EQ(identity(text), "oci://reg.example/team/shop") << text;
  EXPECT_EQ(identity("oci://reg.example:05000/shop"), "oci://reg.example:5000/shop");
  EXPECT_EQ(identity("oci://[::1]:443/shop"), "oci://[::1]/shop");
  EXPECT_EQ(identity("oci://[::1]/shop"), "oci://[::1]/shop");
  for (const std::string_view text :
       {"oci://docker.io/shop", "oci://index.docker.io/shop", "oci://registry-1.docker.io/library/shop"})
    EXPECT_EQ(identity(text), "oci://docker.io/library/shop") << text;
}

TEST(OciReference, ShowsNoPasswordHoweverLong) {
  const std::string secret = "secret" + std::string(230, 's');
  for (const std::string& place :
       {"user:" + secret + "@reg.example", "user:x/" + secret + "@reg.example", secret + "@reg.example"}) {
    for (const Error& failure : {Reference::parse("oci://" + place + "/a:1").error(),
                                 Repository::parse("oci://" + place + "/a").error(),
                                 parse_prefix("oci://" + place).error(), parse_host(place).error()}) {
      EXPECT_EQ(failure.to_line().find("sss"), std::string::npos) << failure.to_line();
      EXPECT_NE(failure.to_line().find("@reg.example"), std::string::npos) << failure.to_line();
    }
  }
}

}  // namespace
}  // namespace mist::oci
