#include "cli/output/style.h"

#include <gtest/gtest.h>

#include <map>

namespace mist::cli {
namespace {

bool with(const std::map<std::string, std::string, std::less<>>& set) {
  return takes_utf8([&](std::string_view name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Locale, TheFirstVariableThatIsSetCounts) {
  EXPECT_TRUE(with({})) << "a container without locales";
  EXPECT_TRUE(with({{"LANG", "de_DE.UTF-8"}}));
  EXPECT_TRUE(with({{"LANG", "C.utf8"}}));
  EXPECT_FALSE(with({{"LANG", "de_DE.ISO-8859-1"}}));
  EXPECT_FALSE(with({{"LANG", "C"}}));
  EXPECT_FALSE(with({{"LANG", "de_DE.UTF-8"}, {"LC_ALL", "POSIX"}}));
  EXPECT_TRUE(with({{"LANG", "C"}, {"LC_CTYPE", "en_US.UTF-8"}}));
  EXPECT_TRUE(with({{"LC_ALL", ""}, {"LANG", "en_US.UTF-8"}}));
}

}  // namespace
}  // namespace mist::cli
