#include "registry/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');
// Longer than what an error shows of a reference.
const std::string kLongToken = std::string(300, 'k') + "pw";

TEST(PackageRef, ReadsARegistryReference) {
  const auto reference = PackageRef::parse("mistletoe/examples/namespace-example:0.1.2");
  ASSERT_TRUE(reference.ok()) << reference.error().to_line();
  const auto& form = std::get<RegistryRef>(reference->form());
  EXPECT_EQ(form.registry, "mistletoe");
  EXPECT_EQ(form.path, "examples/namespace-example");
  EXPECT_EQ(form.name(), "namespace-example");
  EXPECT_EQ(form.version, "0.1.2");
  EXPECT_FALSE(form.digest.has_value());
}

TEST(PackageRef, ReadsADigest) {
  const auto reference = PackageRef::parse("r/x:1.0.0@" + kDigest);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(std::get<RegistryRef>(reference->form()).digest->str(), kDigest);
}

TEST(PackageRef, ReadsAGitReference) {
  const auto reference = PackageRef::parse("git+https://u:p@h:8443/o/r.git//a/b?ref=release/1.x");
  ASSERT_TRUE(reference.ok()) << reference.error().to_line();
  const auto& form = std::get<GitRef>(reference->form());
  EXPECT_EQ(form.url, "https://u:p@h:8443/o/r.git");
  EXPECT_EQ(form.path, "a/b");
  EXPECT_EQ(form.ref, "release/1.x");
  EXPECT_FALSE(form.names_commit());
  EXPECT_EQ(reference->display(), "git+https://***@h:8443/o/r.git//a/b?ref=release/1.x");
}

TEST(PackageRef, ReadsLocalPaths) {
  for (const char* text : {".", "..", "./x.wasm", "../dir", "/abs/dir/", "./a:b@c"}) {
    const auto reference = PackageRef::parse(text);
    ASSERT_TRUE(reference.ok()) << text;
    EXPECT_EQ(std::get<LocalRef>(reference->form()).path, text);
  }
}

TEST(PackageRef, AnchorsLocalPathsOnly) {
  const auto anchored = [](const char* text) {
    return PackageRef::parse(text)->anchored("/w/d").to_string();
  };
  EXPECT_EQ(anchored("./x.wasm"), "/w/d/x.wasm");
  EXPECT_EQ(anchored("../x/"), "/w/x");
  EXPECT_EQ(anchored("."), "/w/d");
  EXPECT_EQ(anchored("/abs"), "/abs");
  EXPECT_EQ(anchored("r/x:1"), "r/x:1");
}

TEST(PackageRef, PrintsWhatItRead) {
  for (const char* text :
       {"r/x:1", "r/x:^1.2", "r/x:>=1 <2", "r/x:*", "r/a/b/c:1.0.0-rc.1+b", "git+https://h/r",
        "git+ssh://git@h/r//p", "git+file:///srv/r//p/q.wasm?ref=v1", "./x"}) {
    ASSERT_TRUE(PackageRef::parse(text).ok()) << text;
    EXPECT_EQ(PackageRef::parse(text)->to_string(), text);
  }
}

struct Bad {
  std::string text, message, hint;
};

TEST(PackageRef, SaysWhatIsWrongAndWhatToDo) {
  const Bad cases[] = {
      {"", "empty", "<registry>/<path>:<version>"},
      {"foo.wasm", "local path begins with", "did you mean ./foo.wasm?"},
      {"dir/foo.yaml", "local path begins with", "did you mean ./dir/foo.yaml?"},
      {"mistletoe/x", "names no version", "mistletoe/x:1.2.3"},
      {"mistletoe", "no registry and no version", "<registry>/<path>"},
      {"x:1.0", "names no registry", "mistletoe/x:1.0"},
      {"r/x:", "no version follows", "r/x:1.2.3"},
      {"r/x:^1.y", "range after the ':' can't be understood", ""},
      {"r/x:>=1 <", "range after the ':' can't be understood", ""},
      {"r/x:^1@sha256:0000000000000000000000000000000000000000000000000000000000000000",
       "it has a range and a digest", "leave one"},
      {"r/x:1:2", "version holds a character", "exact"},
      {"localhost:5000/x:1", "begins with oci://", "did you mean oci://localhost:5000/x:1?"},
      {"r/../x:1", "segment '..'", "inside"},
      {"r/a/./x:1", "segment '.'", "inside"},
      {"r//x:1", "begins with '/'", "inside"},
      {"r/a//x:1", "empty segment", "inside"},
      {"r/a/:1", "empty segment", "inside"},
      {"r/.git/x:1", "segment '.git'", "inside"},
      {"r/.GiT/x:1", "segment '.GiT'", "inside"},
      {"r/git~1/x:1", "character", ""},
      {"r/a\\b:1", "character", ""},
      {std::string("r/a\0b:1", 7), "control character", ""},
      {"r/a\nb:1", "control character", ""},
      {"r/a\x1b[31m:1", "control character", ""},
      {"r/\xff:1", "invalid UTF-8", ""},
      {"r/x:1@sha256:abc", "not a digest", "64"},
      {"r/x@" + kDigest, "names no version", "r/x:1.2.3"},
      {".hidden/x:1", "can't name a registry", "registry list"},
      {"oci://h/x", "it names no version", "oci://h/x:1.4.0"},
      {"https://h/r.git", "plain URL", "git+https://h/r.git"},
      {"https://h/charts/shop-1.4.0.tgz", "not downloaded", "give the file: -p ./shop-1.4.0.tgz"},
      {"https://h/charts/shop-1.4.0.tgz", "not downloaded",
       "mistctl registry add NAME --helm https://h/charts, then"},
      {"https://h/charts", "plain URL",
       "mistctl registry add NAME --helm https://h/charts, then -p NAME/CHART:VERSION"},
      {"https://u:pw@h/r.git", "plain URL", "git+https://***@h/r.git"},
      {"https://" + kLongToken + "@h/r.git", "plain URL", "git+https://***@h/r.git"},
      {"git+https://u:pa/ss@h/r.git", "'git+https://***@h/r.git' is not a package reference: its user",
       "%2F"},
      {"git+https://u:pa@ss@h/r.git", "'git+https://***@h/r.git' is not a package reference: its user",
       "%40"},
      {"git+HTTPS://u:/pa//ss@h/r.git", "'git+HTTPS://***@h/r.git' is not a package reference: its user",
       "%2F"},
      {"git+https://h:65536/r.git", "its user, host or port", "number"},
      {"git+https://u:pa//ss@h/r.git", "'git+https://***@h/r.git' is not a package reference: its user",
       "%2F"},
      {"ftp://h/x", "scheme isn't known", ""},
      {"git@h:o/r", "ssh address", "git+ssh"},
      {"~/x.wasm", "shell", "quotes"},
      {"git+https://h/r//../x", "segment '..'", "inside"},
      {"git+https://h/r//.git/config", ".git", "inside"},
      {"git+https://h/r//", "empty", ""},
      {"git+https://h/r?ref=--upload-pack=x", "not ref=", ""},
      {"git+https://h/r?ref=a..b", "not ref=", ""},
      {"git+https://h/r?ref=", "not ref=", ""},
      {"git+https://h/r?x=1", "not ref=", ""},
      {"git+https://-oProxyCommand=x/r", "no host", ""},
      {"git+ext::sh -c x", "no '://'", ""},
      {"git+http://h/r", "anybody on the way", "https://"},
      {"git+git://h/r", "not an allowed protocol", ""},
      {"r/" + std::string(3000, 'a') + ":1", "longer than", ""},
  };
  for (const Bad& bad : cases) {
    const auto reference = PackageRef::parse(bad.text);
    ASSERT_FALSE(reference.ok()) << bad.text;
    EXPECT_EQ(reference.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(reference.error().message, HasSubstr(bad.message)) << bad.text;
    EXPECT_THAT(reference.error().hint, HasSubstr(bad.hint)) << bad.text;
    EXPECT_EQ(reference.error().to_line().find("pw"), std::string::npos);
    EXPECT_EQ(reference.error().to_line().find("kk"), std::string::npos);
    EXPECT_EQ(reference.error().to_line().find('\x1b'), std::string::npos);
  }
}

TEST(PathObjection, AllowsWhatStaysInside) {
  for (const char* path : {"a", "a/b.c", "..a/b", "a b/ü", ".hidden"})
    EXPECT_EQ(path_objection(path), "") << path;
}

rc::Gen<std::string> word(std::string alphabet) {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::move(alphabet))));
}

RC_GTEST_PROP(PackageRefProperty, PrintingAndParsingAreInverse, ()) {
  const std::string letters = "abzAZ059._-+/";
  const auto text = fmt::format("{}/{}:{}", *word("abz09._-"), *word(letters), *word("0123.-rc+v"));
  const auto reference = PackageRef::parse(text);
  if (!reference) RC_DISCARD("no reference");
  RC_ASSERT(reference->to_string() == text);
  const auto again = PackageRef::parse(reference->to_string());
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == *reference);
}

RC_GTEST_PROP(PackageRefProperty, NoTextWhateverBreaksIt, (const std::string& noise)) {
  for (const char* prefix : {"", "r/", "r/x:", "git+https://h/", "git+file:///r//", "./"}) {
    const auto reference = PackageRef::parse(prefix + noise);
    if (!reference) {
      RC_ASSERT(!reference.error().message.empty());
      continue;
    }
    const auto again = PackageRef::parse(reference->to_string());
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == *reference);
    if (const auto* form = std::get_if<RegistryRef>(&reference->form()))
      RC_ASSERT(path_objection(form->path).empty());
  }
}

}  // namespace
}  // namespace mist::registry
