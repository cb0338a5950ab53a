#include "package/render_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/cache_bound.h"
#include "testing/temp_dir.h"

namespace mist::package {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::Pair;

class RenderCacheTest : public ::testing::Test {
 protected:
  RenderCacheTest() { parts.seed.fill(std::byte{7}); }

  static crypto::Digest digest(std::string_view text) { return crypto::sha256(text); }

  void store(const std::string& text, const std::vector<std::string>& questions = {},
             const std::string& answer = "same") {
    CachedRender render;
    render.output.files = {{"a.yaml", text, "a.j2", {1, 0}, {{"b.j2", {0, 2}}}}};
    render.output.message = "notes";
    render.output.exports = Value::object({{"d", 1.0}});
    render.output.print = "printed";
    render.output.missing = Value(Value::Array{Value::object({{"url", "https://example.com/x"}})});
    render.output.package = Value::object({{"name", "shop"}});
    render.output.drawn = 12;
    render.lines = {{EventLevel::Warning, "package: careful"}};
    std::vector<Value> requests;
    std::vector<crypto::Digest> answers;
    for (const std::string& question : questions) {
      requests.push_back(Value::object({{"op", question}}));
      answers.push_back(digest(question + answer));
    }
    cache.store(parts, requests, answers, render);
  }

  std::optional<CachedRender> find(const std::string& answer = "same") {
    asked.clear();
    return cache.find(
        parts,
        [&](const Value& request) -> Result<Value> {
          if (answer == "fails") return error(ErrorKind::NotFound, "no");
          asked.push_back(std::string(request.string_at("op")));
          return Value::object();
        },
        [&] {
          std::vector<crypto::Digest> answers;
          for (const std::string& question : asked) answers.push_back(digest(question + answer));
          return answers;
        });
  }
  std::string found(const std::string& answer = "same") {
    const auto render = find(answer);
    return render ? render->output.files.at(0).text : "nothing";
  }

  testing::TempDir temp;
  SystemRandom random;
  Path directory = temp.path() / "renders";
  RenderCache cache{directory, 1 << 20, random};
  RenderParts parts{{}, "code", "files", "input", "settings"};
  std::vector<std::string> asked;
};

TEST_F(RenderCacheTest, GivesBackAllOfARender) {
  EXPECT_EQ(found(), "nothing");
  store("text");
  const auto render = find();
  ASSERT_TRUE(render);
  EXPECT_EQ(render->output.files.at(0).path, "a.yaml");
  EXPECT_EQ(render->output.files.at(0).text, "text");
  EXPECT_EQ(render->output.files.at(0).source, "a.j2");
  EXPECT_THAT(render->output.files.at(0).lines, ElementsAre(1, 0));
  EXPECT_THAT(render->output.files.at(0).others, ElementsAre(Pair("b.j2", ElementsAre(0, 2))));
  EXPECT_EQ(render->output.message, "notes");
  EXPECT_EQ(render->output.exports, Value::object({{"d", 1.0}}));
  EXPECT_EQ(render->output.print, "printed");
  ASSERT_TRUE(render->output.missing.is_array());
  EXPECT_EQ(render->output.missing.as_array().at(0).string_at("url"), "https://example.com/x");
  EXPECT_EQ(render->output.package.string_at("name"), "shop");
  EXPECT_EQ(render->output.drawn, 12U);
  EXPECT_EQ(render->lines, (std::vector<LoggedLine>{{EventLevel::Warning, "package: careful"}}));
}

TEST_F(RenderCacheTest, EveryPartMakesADifference) {
  store("text");
  for (auto part : {&RenderParts::code, &RenderParts::files, &RenderParts::input, &RenderParts::settings}) {
    const RenderParts before = parts;
    parts.*part = "other";
    EXPECT_EQ(found(), "nothing");
    parts = before;
  }
  parts.seed.fill(std::byte{8});
  EXPECT_EQ(found(), "nothing");
}

TEST_F(RenderCacheTest, AsksAgainAndOnlyTheSameAnswersCount) {
  store("text", {"one", "two"});
  EXPECT_EQ(found(), "text");
  EXPECT_THAT(asked, ::testing::ElementsAre("one", "two"));
  EXPECT_EQ(found("others"), "nothing");
  EXPECT_EQ(found("fails"), "nothing");
  store("text of others", {"one", "two"}, "others");
  EXPECT_EQ(found("others"), "text of others");
  EXPECT_EQ(found(), "text") << "both are kept";
}

TEST_F(RenderCacheTest, ForgottenQuestionsAreNotAskedUntilTheRenderIsStoredAgain) {
  store("text", {"one"});
  cache.forget(parts);
  EXPECT_EQ(found(), "nothing");
  EXPECT_TRUE(asked.empty());
  store("text", {"one"});
  EXPECT_EQ(found(), "text");
}

TEST_F(RenderCacheTest, SaysNothingWithoutTheSeedAndNoticesChanges) {
  store("a secret text");
  struct stat info{};
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  HostFileSystem files;
  for (const DirectoryEntry& entry : *files.list(directory)) {
    const std::string bytes = *files.read(directory / entry.name);
    EXPECT_EQ(bytes.find("secret"), std::string::npos);
    for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      ASSERT_TRUE(files.write(directory / entry.name, bad).ok());
      EXPECT_EQ(found(), "nothing");
    }
    ASSERT_TRUE(files.write(directory / entry.name, "").ok());
    EXPECT_EQ(found(), "nothing");
    store("a secret text");
    EXPECT_EQ(found(), "a secret text");
  }
  // One entry under another's name is no entry.
  const auto entries = *files.list(directory);
  ASSERT_EQ(entries.size(), 2U);
  std::filesystem::copy_file(directory / entries[0].name, directory / entries[1].name,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(found(), "nothing");
}

TEST_F(RenderCacheTest, StaysWithinItsSize) {
  std::string input;  // what parts.input shows
  for (int i = 0; i < 40; ++i) {
    input = std::to_string(i);
    parts.input = input;
    store(std::string(100'000, 'x'));
  }
  std::uint64_t bytes = bytes_below(directory);
  EXPECT_LE(bytes, std::uint64_t{1} << 20);
  EXPECT_GT(bytes, std::uint64_t{1} << 19);
  EXPECT_NE(found(), "nothing") << "the last one stays";
}

TEST_F(RenderCacheTest, ADirectoryThatCannotBeIsNoFailure) {
  ASSERT_TRUE(HostFileSystem().write(temp.path() / "file", "").ok());
  RenderCache broken(temp.path() / "file" / "renders", 1 << 20, random);
  broken.store(parts, {}, {}, {});
  EXPECT_FALSE(broken.find(parts, {}, [] { return std::vector<crypto::Digest>(); }));
}

}  // namespace
}  // namespace mist::package
