// Every module of tests/conformance/hostile, each a way to misbehave, against what expected.tsv says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "abi/abi.h"
#include "base/fs.h"
#include "base/text.h"
#include "encoding/yaml.h"
#include "testing/source_dir.h"
#include "wasm/test_support.h"

namespace mist::abi {
namespace {

using encoding::Value;

const Path kFolder = testing::source_dir() / "tests/conformance/hostile";

struct Case {
  std::string file;
  std::string call;
  std::string outcome;
  std::string phrase;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.file; }

std::vector<Case> cases() {
  const auto table = HostFileSystem().read(kFolder / "expected.tsv");
  MIST_CHECK(table.ok());
  std::vector<Case> all;
  for (const std::string_view line : split(*table, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string_view> columns = split(line, '\t');
    columns.resize(4);
    all.push_back(
        {std::string(columns[0]), std::string(columns[1]), std::string(columns[2]), std::string(columns[3])});
  }
  return all;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool contains_any(const std::string& text, std::string_view alternatives) {
  return std::ranges::any_of(split(alternatives, '|'), [&](std::string_view each) {
    return lower(text).find(lower(std::string(each))) != std::string::npos;
  });
}

// Reads an output as the next layer does: its documents must be Kubernetes objects.
Result<std::string> read_objects(const Output& output) {
  std::string all;
  for (const OutputFile& file : output.files) {
    encoding::YamlOptions options;
    options.file = file.path;
    MIST_TRY(const auto documents, encoding::parse_yaml_documents(file.text, options));
    for (const Value& document : documents)
      if (document.string_at("kind").empty()) return error(ErrorKind::Invalid, "{} has no kind", file.path);
    all += file.text;
  }
  return all;
}

// Answers everything alike; hostile guests are about the border.
class Services final : public HostServices {
 public:
  Result<Value> answer(std::string_view, const Value&) override {
    return Value::object({{"value", "refused"}});
  }
};

Result<std::string> run(const Case& each) {
  MIST_TRY(const std::string wat, HostFileSystem().read(kFolder / each.file));
  auto binary = wasm::wat_to_wasm(wat);
  if (!binary) return std::move(binary).error();
  MIST_TRY(wasm::Module module, wasm::shared_runtime().load(wasm::bytes_of(*binary), each.file));
  MIST_TRY(const std::unique_ptr<Guest> guest, open(std::move(module)));
  RunOptions options;
  options.limits.memory_bytes = 160 << 20;
  options.limits.guest_time = std::chrono::milliseconds(200);
  options.limits.output_bytes = 4 << 20;
  Services services;
  options.host = &services;
  if (each.call == "info") {
    MIST_TRY([[maybe_unused]] const auto info, guest->info(options));
    return std::string();
  }
  const Value input = Value::object({{"apiVersion", guest->input_version()},
                                     {"kind", "MistInput"},
                                     {"data", Value::object({{"name", "x"}})}});
  MIST_TRY(const Output output, guest->generate(input_text(input), options));
  return read_objects(output);
}

class Hostile : public ::testing::TestWithParam<Case> {};

TEST_P(Hostile, EndsAsExpected) {
  const Case& each = GetParam();
  const Result<std::string> result = run(each);
  const std::string outcome = result.ok() ? "ok" : std::string(to_string(result.error().kind));
  std::string text = result.ok() ? *result : result.error().to_line();
  if (!result.ok() && result.error().where) text += fmt::format(" line {}", result.error().where->line);
  EXPECT_TRUE(std::ranges::count(split(each.outcome, '|'), outcome) == 1) << outcome << ": " << text;
  const bool phrase_is_for_ok = std::ranges::count(split(each.outcome, '|'), std::string_view("ok")) == 1;
  if (!each.phrase.empty() && phrase_is_for_ok == result.ok()) {
    EXPECT_TRUE(contains_any(text, each.phrase)) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, Hostile, ::testing::ValuesIn(cases()), [](const auto& param) {
  std::string name = param.param.file.substr(0, param.param.file.find('.')) + "_" + param.param.call;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace mist::abi
