#include "resolve/range.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace mist::resolve {
namespace {

Version version(std::string_view text) {
  const auto parsed = Version::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Version{};
}

VersionRange range(std::string_view text, Prereleases prereleases = Prereleases::SameNumbers) {
  const auto parsed = VersionRange::parse(text, prereleases);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : VersionRange::none();
}

TEST(VersionRange, EqualityIsWhatRangesMeanNotHowTheyAreWritten) {
  const std::pair<std::string_view, std::string_view> same[] = {
      {"^1.2.3", ">=1.2.3 <2"},
      {"1.2.x", "~1.2"},
      {">1.2.3", ">=1.2.4"},
      {"<=1.2.3", "<1.2.4"},
      {"1.9 < x <= 1.10", ">=1.9.1 <=1.10.0"},
      {"1 || 2 || 3", ">=1 <4"},
      {">=2 || >=1", ">=1.0.0"},
      {"<1 || >=1", "*"},
      {"!=1.2.3", "<1.2.3 || >1.2.3"},
      {"<1 >2", ">3 <2"},
      {"1.2 - 2.3", ">=1.2.0 <2.4.0"},
      {">=1.0.0-rc.1 <1.0.1", "1.0.0 || >=1.0.0-rc.1 <1.0.0"},
      {"<=0.18446744073709551615.18446744073709551615", "<1.0.0"},
  };
  for (const auto& [a, b] : same) EXPECT_EQ(range(a), range(b)) << a << " and " << b;
  EXPECT_NE(range("^1.2.3"), range("^1.2.4"));
  EXPECT_NE(range(">=1.0.0-rc.1"), range(">=1.0.0"));
}

TEST(VersionRange, APrereleaseIsInARangeThatNamesOneOfItsNumbers) {
  EXPECT_TRUE(range("^1.2.3-beta.2").contains(version("1.2.3-beta.3")));
  EXPECT_FALSE(range("^1.2.3-beta.2").contains(version("1.2.4-beta.3")));
  EXPECT_FALSE(range("^1.2.3").contains(version("1.3.0-rc.1")));
  EXPECT_TRUE(range("^1.2.3-beta.2", Prereleases::AsHelm).contains(version("1.2.4-beta.3")));
  EXPECT_FALSE(range("^1.2.3-beta.2", Prereleases::AsHelm).contains(version("2.0.0-rc.1")));
  EXPECT_FALSE(range("*").contains(version("1.0.0-rc.1")));
  EXPECT_TRUE(VersionRange::any().contains(version("1.0.0-rc.1")));
}

TEST(VersionRange, BetweenHasThePrereleasesOfItsVersions) {
  const VersionRange some = VersionRange::between(version("1.0.0"), version("2.0.0"));
  EXPECT_TRUE(some.contains(version("1.0.0")));
  EXPECT_TRUE(some.contains(version("2.0.0-rc.1")));
  EXPECT_FALSE(some.contains(version("1.0.0-rc.1")));
  EXPECT_FALSE(some.contains(version("2.0.0")));
  EXPECT_EQ(some | VersionRange::between(version("2.0.0"), {}) | VersionRange::between({}, version("1.0.0")),
            VersionRange::any());
  EXPECT_EQ(VersionRange::exactly(version("1.0.0-rc.1+x")), range("1.0.0-rc.1"));
}

TEST(VersionRange, PrintsAsItsAuthorWroteIt) {
  for (const std::string_view text : {"^1.2", "1.9 < x <= 1.10", ">= 1.2.0, < 2.0.0", "1.2.x || 3"})
    EXPECT_EQ(range(text).to_string(), text);
  EXPECT_EQ(range("").to_string(), "*");
}

TEST(VersionRange, PrintsWhatItComputedAsPeopleWouldWriteIt) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {">=1.2.3 <2", "^1.2.3"},
      {"^0.2.3", "^0.2.3"},
      {"~1.2.3", "~1.2.3"},
      {"1.2.3", "1.2.3"},
      {">1", ">=2.0.0"},
      {"<2", "<2.0.0"},
      {">=1.1 <3", ">=1.1.0 <3.0.0"},
      {"1.2.3 || ^2", "1.2.3 || ^2.0.0"},
      {"^1.2.3-rc.1", "^1.2.3-rc.1"},
      {">=1.2.3-rc.1", ">=1.2.3-rc.1"},
      {"<2.0.0-rc.1", "<2.0.0-rc.1"},
      {">=1 <2.0.0-rc.1", ">=1.0.0 <2.0.0-rc.1"},
      {"1.2.3-rc.1", "1.2.3-rc.1"},
      {">=1.2.3-a <1.2.3-c", ">=1.2.3-a <1.2.3-c"},
      {">=1.2.3-a <1.2.3-c || >=1.2.3", ">=1.2.3 || >=1.2.3-a <1.2.3-c"},
      {">=1.2.3-a <1.2.3", ">=1.2.3-a <1.2.3"},
      {"<0", "no version"},
  };
  for (const auto& [text, printed] : cases) {
    const VersionRange computed = range(text) & VersionRange::any();
    EXPECT_EQ(computed.to_string(), printed) << text;
  }
  EXPECT_EQ(VersionRange::any().to_string(), "any version");
}

TEST(VersionRange, SaysWhereABadRangeIsWrong) {
  const auto bad = VersionRange::parse("^1.2 || >=x.y");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::Invalid);
  EXPECT_NE(bad.error().message.find("\"x.y\" is not a version, at character 11"), std::string::npos)
      << bad.error().message;
  EXPECT_FALSE(bad.error().hint.empty());
}

// Random ranges and versions close together, so that their ends meet.

rc::Gen<std::string> any_version_text() {
  const auto number = rc::gen::element<std::string>("0", "1", "2", "3", "18446744073709551615");
  const auto tail = rc::gen::weightedElement<std::string>(
      {{6, ""}, {1, "-0"}, {1, "-a"}, {1, "-a.0"}, {1, "-rc.1"}, {1, "-rc.1.0"}});
  return rc::gen::apply([](const std::string& a, const std::string& b, const std::string& c,
                           const std::string& end) { return a + "." + b + "." + c + end; },
                        number, number, number, tail);
}

rc::Gen<std::string> any_comparison() {
  const auto op = rc::gen::element<std::string>("", "=", "!=", "<", "<=", ">", ">=", "^", "~");
  const auto partial =
      rc::gen::element<std::string>("0", "1", "1.2", "1.x", "0.0", "2.*", "*", "1-0", "2.1-a");
  const auto either = rc::gen::oneOf(any_version_text(), any_version_text(), partial);
  const auto simple =
      rc::gen::apply([](const std::string& o, const std::string& v) { return o + v; }, op, either);
  const auto hyphen = rc::gen::apply([](const std::string& a, const std::string& b) { return a + " - " + b; },
                                     either, either);
  const auto kpm =
      rc::gen::apply([](const std::string& a, const std::string& b) { return a + " < x <= " + b; },
                     any_version_text(), partial);
  return rc::gen::weightedOneOf<std::string>({{6, simple}, {1, hyphen}, {1, kpm}});
}

rc::Gen<std::string> any_range() {
  const auto joined = [](std::string glue) {
    return [glue](const std::vector<std::string>& parts) {
      std::string out;
      for (const std::string& part : parts) out += (out.empty() ? "" : glue) + part;
      return out;
    };
  };
  const auto alternative = rc::gen::mapcat(rc::gen::inRange(1, 4), [=](int n) {
    return rc::gen::map(
        rc::gen::container<std::vector<std::string>>(static_cast<std::size_t>(n), any_comparison()),
        joined(" "));
  });
  return rc::gen::mapcat(rc::gen::inRange(1, 4), [=](int n) {
    return rc::gen::map(
        rc::gen::container<std::vector<std::string>>(static_cast<std::size_t>(n), alternative),
        joined(" || "));
  });
}

RC_GTEST_PROP(VersionRange, HasWhatTheWrittenRangeHas, ()) {
  const std::string text = *any_range();
  const encoding::SemVerRange written = *encoding::SemVerRange::parse(text);
  const VersionRange strict = range(text), helm = range(text, Prereleases::AsHelm);
  for (int i = 0; i < 20; ++i) {
    const Version one = version(*any_version_text());
    RC_LOG() << text << " and " << one.to_string();
    RC_ASSERT(strict.contains(one) == written.contains(one));
    RC_ASSERT(helm.contains(one) == written.contains_as_helm(one));
  }
}

RC_GTEST_PROP(VersionRange, SetsAreSets, ()) {
  const auto set = [] {
    return *rc::gen::arbitrary<bool>() ? range(*any_range()).complement() : range(*any_range());
  };
  const VersionRange a = set(), b = set(), c = set();
  RC_ASSERT(a.complement().complement() == a);
  RC_ASSERT((a | b).complement() == (a.complement() & b.complement()));
  RC_ASSERT((a & (b | c)) == ((a & b) | (a & c)));
  RC_ASSERT((a & a.complement()).is_empty());
  RC_ASSERT((a | a.complement()) == VersionRange::any());
  RC_ASSERT(a.is_subset_of(b) == ((a & b) == a));
  RC_ASSERT(a.is_disjoint_from(b) == (a & b).is_empty());
  for (int i = 0; i < 20; ++i) {
    const Version one = version(*any_version_text());
    RC_ASSERT((a & b).contains(one) == (a.contains(one) && b.contains(one)));
    RC_ASSERT((a | b).contains(one) == (a.contains(one) || b.contains(one)));
    RC_ASSERT(a.complement().contains(one) != a.contains(one));
    RC_ASSERT(VersionRange::exactly(one).contains(one));
    RC_ASSERT(VersionRange::between(one, {}).contains(one));
    RC_ASSERT(!VersionRange::between({}, one).contains(one));
  }
}

RC_GTEST_PROP(VersionRange, CountsAndFindsTheLastOfManyVersions, ()) {
  const VersionRange set = range(*any_range(), Prereleases::AsHelm);
  std::vector<Version> all, releases, prereleases;
  for (int i = 0; i < 30; ++i) all.push_back(version(*any_version_text()));
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  std::size_t count = 0;
  const Version* last = nullptr;
  for (const Version& each : all) {
    (each.prerelease.empty() ? releases : prereleases).push_back(each);
    if (!set.contains(each)) continue;
    ++count;
    last = &each;
  }
  RC_ASSERT(set.count(releases, prereleases) == count);
  const Version* found = set.last(releases, prereleases);
  RC_ASSERT((found == nullptr) == (last == nullptr));
  if (last != nullptr) RC_ASSERT(*found == *last);
}

RC_GTEST_PROP(VersionRange, AComputedRangeOfReleasesReadsBack, ()) {
  const VersionRange computed = range(*any_range()) & range("*");
  RC_PRE(!computed.is_empty());
  RC_LOG() << computed.to_string();
  RC_ASSERT(range(computed.to_string()) == computed);
}

}  // namespace
}  // namespace mist::resolve
