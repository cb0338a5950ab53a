#include "operator/unwatched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::operator_ {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Error refused(std::string_view ns) {
  return error(ErrorKind::Forbidden, "cannot list things on https://h")
      .with_because(fmt::format("worker cannot list things in the namespace {}", ns))
      .with_hint("ask an administrator");
}

Error unconverted(std::string_view name) {
  return error(ErrorKind::Retryable, "cannot list things on https://h")
      .with_because(fmt::format("conversion webhook failed: Thing shop/{} can't be converted", name));
}

TEST(Unwatched, NamesEachNamespaceWithTheServersWordsAndTellsTheRemedyOnce) {
  const std::string words = unwatched_words({{"blog", refused("blog")}, {"shop", refused("shop")}});
  EXPECT_THAT(
      split(words, '\n'),
      ElementsAre("its instances in namespace blog can't be listed, so that changes of them are not seen: "
                  "worker cannot list things in the namespace blog",
                  HasSubstr("in the namespace shop"),
                  HasSubstr("hint: give the account that right, or start")));
}

TEST(Unwatched, SpeaksOfNoNamespaceWhereThereIsNone) {
  const std::string words = unwatched_words({{"", unconverted("web")}});
  EXPECT_THAT(words, HasSubstr("its instances can't be listed"));
  EXPECT_THAT(words, HasSubstr("Thing shop/web can't be converted"));
  EXPECT_THAT(words, HasSubstr("hint: repair or delete the object that the server names"));
}

TEST(Unwatched, ManyNamespacesAreCounted) {
  Unwatched failures;
  for (int i = 0; i < 50; ++i) failures.emplace(fmt::format("ns{}", i), refused("x"));
  const std::string words = unwatched_words(failures);
  EXPECT_THAT(words, HasSubstr("nor can those in 30 other namespaces"));
  EXPECT_LT(words.size(), 16384U);
}

TEST(Unwatched, AKindThatIsNotServedIsSaidOfItsCrd) {
  EXPECT_THAT(unwatched_instances({{"shop", error(ErrorKind::NotFound, "no such kind")}}), IsEmpty());
  EXPECT_THAT(unwatched_instances({{"shop", refused("shop")}}), Not(IsEmpty()));
}

TEST(Unwatched, TheLogHasWhatIsNew) {
  const Unwatched before{{"blog", refused("blog")}, {"shop", unconverted("a")}},
      now{{"blog", refused("blog")}, {"shop", unconverted("b")}};
  EXPECT_THAT(unwatched_news({}, before), ::testing::SizeIs(2));
  EXPECT_THAT(unwatched_news(before, now), ElementsAre(HasSubstr("Thing shop/b can't be converted")));
  EXPECT_THAT(unwatched_news(now, {}), ElementsAre("its instances in namespace blog can be listed again",
                                                   "its instances in namespace shop can be listed again"));
}

}  // namespace
}  // namespace mist::operator_
