// Compares the YAML reader and writer with sigs.k8s.io/yaml on the whole corpus that tests/conformance/yaml
// made.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::encoding {
namespace {

constexpr const char* kCorpus = MIST_SOURCE_DIR "/tests/conformance/yaml/corpus.jsonl";

struct Exception {
  std::string_view contains;
  std::string_view reason;
};

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

std::string describe(const Result<Value>& result) {
  return result.ok() ? canonical(*result) : "error: " + result.error().to_line();
}

TEST(YamlCorpus, ReadsWhatGoReads) {
  const std::vector<Case> cases = load();
  ASSERT_GT(cases.size(), 5000U);
  int mismatches = 0;
  for (const Case& one : cases) {
    for (const bool strict : {false, true}) {
      YamlOptions options;
      options.strict = strict;
      const Result<Value> got = parse_yaml(one.input, options);
      const Value* want = one.record.find("json");
      if (one.flag("undefined") && (strict || got.ok())) continue;
      if (one.flag("more")) {
        if (!got.ok()) continue;
      }
      const bool want_error = want == nullptr || (strict && one.record.find("strict") != nullptr);
      const bool same = want_error ? !got.ok() : got.ok() && canonical(*got) == canonical(*want);
      if (same) continue;
      ++mismatches;
      ADD_FAILURE() << (strict ? "strict " : "") << escape_controls(one.input, true) << "\n  Go:   "
                    << (want_error
                            ? "error: " + std::string(one.record.string_at(strict ? "strict" : "error"))
                            : canonical(*want))
                    << "\n  ours: " << describe(got);
    }
  }
  RecordProperty("cases", static_cast<int>(cases.size()));
  RecordProperty("mismatches", mismatches);
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
    EXPECT_EQ(to_yaml(*value), want);
  }
}

}  // namespace
}  // namespace mist::encoding
