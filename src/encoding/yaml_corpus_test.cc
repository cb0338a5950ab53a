// Compares the YAML reader and writer with sigs.k8s.io/yaml on the whole corpus that tests/conformance/yaml
// made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "testing/source_dir.h"

namespace mist::encoding {
namespace {

const Path kCorpus = testing::source_dir() / "tests/conformance/yaml/corpus.jsonl";

/// Inputs that libyaml and go-yaml's parser read differently on purpose; each must still differ.
struct Exception {
  std::string_view input;
  std::string_view reason;
};
constexpr Exception kExceptions[] = {
    {"a: 1\n\ufeffb: 2", "go-yaml takes a byte order mark there as text, which nobody means"},
    {"---\n\ufeffa: 1",
     "a byte order mark may begin a document: kubectl splits a stream before go-yaml sees it"},
    {"---\n\ufeffa: 1\nb: 2", "as above"},
    {"--- # c\r\n\ufeffa:\r\n- b\r\n", "as above"},
    {"[a:]", "libyaml refuses \":]\", where YAML 1.1 and 1.2 disagree; our error says to quote it"},
    {"{a: a:}", "as above"},
    {"[http://a/b:80?c#d]", "libyaml takes \"?\" within plain text in [ ] and { }, as YAML 1.2 says"},
    {"{a: http://a/b:80?c#d}", "as above"},
    {"{http://a/b:80?c#d: a}", "as above"},
    {"[a?, ?b, a?b]\n", "as above"},
};
/// libyaml takes it as YAML 1.2 and JSON do; go-yaml v2 refuses it.
constexpr std::string_view kEscapedSlash = "\\/";

bool is_exception(std::string_view input) {
  return input.find(kEscapedSlash) != std::string_view::npos ||
         std::ranges::find(kExceptions, input, &Exception::input) != std::ranges::end(kExceptions);
}

struct Case {
  std::string input;
  Value record;

  bool flag(std::string_view name) const {
    const Value* value = record.find(name);
    return value != nullptr && value->as_bool();
  }
};

std::vector<Case> load() {
  std::ifstream file(kCorpus);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    Case one{.input = {}, .record = *parse_json(line)};
    if (const Value* bytes = one.record.find("in64"))
      EXPECT_TRUE(base64_decode(bytes->as_string(), one.input));
    else
      one.input = one.record.string_at("in");
    cases.push_back(std::move(one));
  }
  return cases;
}

std::string canonical(Value value) {
  value.sort_keys();
  return to_json(value);
}

std::string canonical(const std::vector<Value>& documents) {
  std::string out;
  for (const Value& document : documents)
    if (!document.is_null()) out += canonical(document) + "\n";
  return out;
}

constexpr const char* kError = "error";

/// Go's answer for one document.
std::string wanted(const Case& one, bool strict) {
  const Value* documents = one.record.find("documents");
  if (one.flag("broken") || (documents != nullptr && documents->size() > 1)) return kError;
  const Value* json = one.record.find("json");
  // Documents without content don't count for us, and Go reads only the first.
  if (documents != nullptr && documents->size() == 1 && json != nullptr && json->is_null())
    return canonical(documents->as_array()[0]);
  return json == nullptr || (strict && one.record.find("strict") != nullptr) ? kError : canonical(*json);
}

TEST(YamlCorpus, ReadsWhatGoReads) {
  const std::vector<Case> cases = load();
  ASSERT_GT(cases.size(), 7000U);
  for (const Case& one : cases) {
    for (const bool strict : {false, true}) {
      // Keys that only become equal as text: any order is right, and to us they are duplicates.
      if (one.flag("undefined") && one.record.find("documents") == nullptr) {
        EXPECT_EQ(parse_yaml(one.input, {.strict = strict}).ok(), !strict)
            << escape_controls(one.input, true);
        continue;
      }
      const Result<Value> got = parse_yaml(one.input, {.strict = strict});
      const std::string ours = got.ok() ? canonical(*got) : kError;
      const std::string go = wanted(one, strict);
      const std::string shown =
          fmt::format("{}\n  Go:   {} {}\n  ours: {}", escape_controls(one.input, true), go,
                      one.record.string_at("error"), got.ok() ? ours : got.error().to_line());
      if (is_exception(one.input))
        EXPECT_NE(ours, go) << "no exception any more: " << shown;
      else
        EXPECT_EQ(ours, go) << shown;
    }
  }
}

TEST(YamlCorpus, ReadsAllDocumentsThatGoReads) {
  for (const Case& one : load()) {
    const Value* documents = one.record.find("documents");
    if (one.flag("undefined") || is_exception(one.input) || (documents == nullptr && !one.flag("broken")))
      continue;
    const auto got = parse_yaml_documents(one.input);
    EXPECT_EQ(got.ok() ? canonical(*got) : kError,
              documents == nullptr ? kError : canonical(documents->as_array()))
        << escape_controls(one.input, true);
  }
}

/// A complaint without a place helps nobody.
TEST(YamlCorpus, ErrorsSayWhere) {
  for (const Case& one : load()) {
    const auto got = parse_yaml_documents(one.input, {.strict = true, .file = "values.yaml"});
    if (got.ok()) continue;
    const Error& e = got.error();
    EXPECT_EQ(e.kind, ErrorKind::Invalid);
    ASSERT_TRUE(e.where.has_value()) << e.to_line();
    EXPECT_EQ(e.where->file, "values.yaml");
    EXPECT_GT(e.where->line, 0U) << e.to_line();
    EXPECT_GT(e.where->column, 0U) << e.to_line();
    EXPECT_FALSE(e.message.empty());
  }
}

/// Where the environment names a file, our printed form of every result is added to it, for `go run . check`.
TEST(YamlCorpus, PrintedFormReadsBack) {
  const char* path = std::getenv("MIST_YAML_PRINTED");
  std::ofstream file;
  if (path != nullptr) file.open(path, std::ios::app);
  for (const Case& one : load()) {
    const Result<Value> value = parse_yaml(one.input);
    if (!value.ok()) continue;
    const std::string printed = to_yaml(*value);
    const Result<Value> again = parse_yaml(printed, {.strict = true});
    ASSERT_TRUE(again.ok()) << printed << again.error().to_line();
    EXPECT_EQ(*again, *value) << printed;
    if (file) file << to_json(Value::object({{"yaml", printed}, {"json", *value}})) << "\n";
  }
}

/// Strings that go-yaml leaves bare because its own reader takes them for strings; others don't.
constexpr std::string_view kOnlyWeQuote[] = {"=", "<<", "1e400", ":a", ":e", "::1"};

/// Go's text with quotes around those: they stand alone after "- ", "? " or "key: ", or are keys.
std::string with_our_quotes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    const std::string_view bare = word.ends_with(':') ? word.substr(0, word.size() - 1) : word;
    const bool ours = std::ranges::find(kOnlyWeQuote, bare) != std::ranges::end(kOnlyWeQuote);
    out += ours ? fmt::format("\"{}\"{}", bare, word.substr(bare.size())) : std::string(word);
    text.remove_prefix(word.size());
    const std::size_t blanks = std::min(text.size(), text.find_first_not_of(" \n"));
    out += text.substr(0, blanks);
    text.remove_prefix(blanks);
  }
  return out;
}

/// Whether go-yaml writes a line break that YAML 1.2 doesn't have; we escape it.
bool has_break_of_yaml_11(std::string_view text) {
  return text.find("\u2028") != std::string_view::npos || text.find("\u2029") != std::string_view::npos;
}

TEST(YamlCorpus, PrintsWhatGoPrints) {
  for (const Case& one : load()) {
    const Value* printed = one.record.find("yaml");
    if (printed == nullptr) continue;
    const std::string& want = printed->as_string() == "=" ? one.input : printed->as_string();
    // Go sorts keys; reading its text back gives us that order.
    const Result<Value> value = parse_yaml(want);
    if (!value.ok()) {
      ADD_FAILURE() << "cannot read " << escape_controls(want, true) << ": " << value.error().to_line();
      continue;
    }
    if (has_break_of_yaml_11(want)) {
      EXPECT_FALSE(has_break_of_yaml_11(to_yaml(*value)));
      EXPECT_EQ(*parse_yaml(to_yaml(*value)), *value);
    } else {
      EXPECT_EQ(to_yaml(*value), with_our_quotes(want));
    }
  }
}

}  // namespace
}  // namespace mist::encoding
