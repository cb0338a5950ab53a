#include "encoding/key_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/json.h"
#include "encoding/member_finder.h"
#include "encoding/yaml.h"

namespace mist::encoding {
namespace {

// Texts of which std::hash is the same. Its state after 8 bytes is (state ^ mix(bytes)) * kMultiplier, which
// can be solved for the bytes: any 8 bytes have a second 8 that lead to the state that is wanted.
class Collisions {
 public:
  static constexpr std::size_t kSteps = 4, kChoices = 18;  // of 16 bytes each; 18^4 = 104,976 texts

  Collisions() {
    std::uint64_t state = 0xc70f6907 ^ (kSteps * 16 * kMultiplier);
    for (auto& choices : steps_) {
      const std::uint64_t next = random_();
      for (std::string& choice : choices) choice = between(state, next);
      state = next;
    }
  }

  std::string text(std::size_t number) const {
    std::string out;
    for (const auto& choices : steps_) {
      out += choices[number % kChoices];
      number /= kChoices;
    }
    return out;
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995;

  static constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t result = odd;
    for (int i = 0; i < 6; ++i) result *= 2 - odd * result;
    return result;
  }
  static std::uint64_t shifted(std::uint64_t word) { return word ^ (word >> 47); }
  static std::uint64_t mix(std::uint64_t word) { return shifted(word * kMultiplier) * kMultiplier; }
  static std::uint64_t unmix(std::uint64_t word) {
    return shifted(word * inverse(kMultiplier)) * inverse(kMultiplier);
  }
  static bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= 'z' && c != '\\'; });
  }
  static std::string bytes_of(std::uint64_t word) {
    std::string out(sizeof word, '\0');
    std::memcpy(out.data(), &word, sizeof word);
    return out;
  }

  // 16 letters and the like, which JSON needs no escapes for.
  std::string between(std::uint64_t state, std::uint64_t next) {
    while (true) {
      std::string first(8, '\0');
      for (char& c : first) c = static_cast<char>('a' + random_() % 26);
      std::uint64_t word = 0;
      std::memcpy(&word, first.data(), sizeof word);
      const std::uint64_t middle = (state ^ mix(word)) * kMultiplier;
      const std::string second = bytes_of(unmix(next * inverse(kMultiplier) ^ middle));
      if (is_plain(second)) return first + second;
    }
  }

  std::mt19937_64 random_{1};
  std::array<std::array<std::string, kChoices>, kSteps> steps_;
};

constexpr std::size_t kCollisions = 100'000;

const std::vector<std::string>& colliding() {
  static const std::vector<std::string> texts = [] {
    const Collisions collisions;
    std::vector<std::string> made;
    for (std::size_t i = 0; i < kCollisions; ++i) made.push_back(collisions.text(i));
    return made;
  }();
  return texts;
}

TEST(KeyTable, TheTextsOfThisTestCollide) {
  const std::size_t hash = std::hash<std::string_view>()(colliding().front());
  for (const std::string& text : colliding()) ASSERT_EQ(std::hash<std::string_view>()(text), hash);
  EXPECT_NE(colliding().front(), colliding().back());
}

TEST(KeyTable, LooksAtFewPlacesHoweverTextsAreChosen) {
  const auto text_at = [](std::size_t place) -> std::string_view { return colliding()[place]; };
  KeyTable table;
  for (std::size_t i = 0; i < kCollisions; ++i) ASSERT_EQ(table.find_or_add(colliding()[i], i, text_at), i);
  EXPECT_EQ(table.size(), kCollisions);
  // 1.5 for each is to be expected of a table that is at most half full; colliding ones need 5 * 10^9.
  EXPECT_LT(table.probes(), 4 * kCollisions);
  for (std::size_t i = 0; i < kCollisions; ++i) {
    ASSERT_EQ(table.find(colliding()[i], text_at), i);
    ASSERT_EQ(table.find_or_add(colliding()[i], kCollisions, text_at), i);
  }
  EXPECT_EQ(table.find("another", text_at), std::nullopt);
  EXPECT_EQ(table.size(), kCollisions);
}

// In a table that somebody can make collide, this takes 10^10 comparisons: minutes.
TEST(KeyTable, ReadersAndFindersUseIt) {
  std::string text = "{";
  for (const std::string& key : colliding())
    text += fmt::format("{}\"{}\": 1", text.size() == 1 ? "" : ",\n", key);
  text += "}";
  const Result<Value> json = parse_json(text), yaml = parse_yaml(text);
  ASSERT_TRUE(json.ok() && yaml.ok());
  EXPECT_EQ(json->size(), kCollisions);
  EXPECT_EQ(*json, *yaml);
  const MemberFinder finder(&*json);
  for (std::size_t i = 0; i < kCollisions; ++i) ASSERT_EQ(finder.place(colliding()[i]), i);
}

}  // namespace
}  // namespace mist::encoding
