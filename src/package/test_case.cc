#include "package/test_case.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

constexpr std::string_view kCaseEnding = ".yaml";
// Secrets drawn in tests protect nothing. Another text here would change every golden file.
constexpr std::string_view kSeedText = "mistletoe/package-test/v1";
constexpr std::string_view kClock = "2026-01-01T00:00:00Z";

/// Reads members of one mapping after the other; every error has the line.
class CaseReader {
 public:
  CaseReader(std::string_view file, const std::string& text) : file_(file), text_(text) {}

  Error wrong(const Value& at, std::string message) const {
    SourceLocation where{std::string(file_), at.position().line, at.position().column, {}};
    const auto lines = split(text_, '\n');
    if (where.line > 0 && where.line <= lines.size()) where.excerpt = lines[where.line - 1];
    return error(ErrorKind::Invalid, "{}", message).at(std::move(where));
  }

  Status only(const Value& object, std::string_view path,
              std::initializer_list<std::string_view> known) const {
    if (!object.is_object())
      return wrong(object, path.empty() ? std::string("a test case is a mapping")
                                        : fmt::format("{} must be a mapping", path));
    for (const Value::Member& member : object.as_object()) {
      if (std::ranges::find(known, member.key) != known.end()) continue;
      const std::string full = path.empty() ? escape_controls(member.key)
                                            : fmt::format("{}.{}", path, escape_controls(member.key));
      Error failure = wrong(member.value, fmt::format("{} is unknown", full));
      const auto near = nearest(member.key, std::span(known.begin(), known.size()));
      failure.hint =
          near.empty()
              ? fmt::format("known are {}", join(std::vector<std::string>(known.begin(), known.end()), ", "))
              : fmt::format("did you mean {}?", near);
      return failure;
    }
    return {};
  }

  Status text(const Value& in, std::string_view key, std::string& out) const {
    const Value* const value = in.find(key);
    if (value == nullptr) return {};
    if (!value->is_string() || value->as_string().empty())
      return wrong(*value, fmt::format("{} must be a text", key));
    out = value->as_string();
    return {};
  }

  Result<std::optional<std::size_t>> count(const Value& in, std::string_view key) const {
    const Value* const value = in.find(key);
    if (value == nullptr) return std::optional<std::size_t>();
    if (!value->is_int() || value->as_int() < 0)
      return wrong(*value, fmt::format("{} must be a whole number", key));
    return std::optional(static_cast<std::size_t>(value->as_int()));
  }

 private:
  std::string_view file_;
  const std::string& text_;
};

Status read_release(const CaseReader& reader, const Value& release, TestCase& test) {
  MIST_TRY_VOID(reader.only(release, "release", {"name", "namespace", "revision", "isUpgrade"}));
  MIST_TRY_VOID(reader.text(release, "name", test.release_name));
  MIST_TRY_VOID(reader.text(release, "namespace", test.release_namespace));
  for (const auto& [key, name] :
       {std::pair("name", &test.release_name), std::pair("namespace", &test.release_namespace)}) {
    if (!is_dns1123_label(*name))
      return reader.wrong(*release.find(key),
                          fmt::format("release.{} must be letters, digits and dashes", key));
  }
  MIST_TRY(const auto revision, reader.count(release, "revision"));
  if (revision) test.revision = static_cast<int>(std::min<std::size_t>(*revision, 1'000'000));
  if (const Value* const upgrade = release.find("isUpgrade"); upgrade != nullptr) {
    if (!upgrade->is_bool()) return reader.wrong(*upgrade, "release.isUpgrade must be true or false");
    test.is_upgrade = upgrade->as_bool();
  }
  return {};
}

Status read_capabilities(const CaseReader& reader, const Value& capabilities, TestCase& test) {
  MIST_TRY_VOID(reader.only(capabilities, "capabilities", {"kubeVersion", "apiVersions"}));
  MIST_TRY_VOID(reader.text(capabilities, "kubeVersion", test.kube_version));
  const Value* const versions = capabilities.find("apiVersions");
  if (versions == nullptr) return {};
  if (!versions->is_array())
    return reader.wrong(*versions, "capabilities.apiVersions must be a list of texts");
  for (const Value& version : versions->as_array()) {
    if (!version.is_string())
      return reader.wrong(version, "capabilities.apiVersions must be a list of texts");
    test.api_versions.push_back(version.as_string());
  }
  return {};
}

Status read_expected(const CaseReader& reader, const Value& expect, TestCase& test) {
  MIST_TRY_VOID(reader.only(expect, "expect", {"error", "objects", "contains"}));
  std::string message;
  MIST_TRY_VOID(reader.text(expect, "error", message));
  if (!message.empty()) test.error = std::move(message);
  MIST_TRY(test.objects, reader.count(expect, "objects"));
  if (const Value* const contains = expect.find("contains"); contains != nullptr) {
    if (!contains->is_array()) return reader.wrong(*contains, "expect.contains must be a list of objects");
    for (const Value& each : contains->as_array()) {
      MIST_TRY_VOID(reader.only(each, "expect.contains[]", {"apiVersion", "kind", "name", "namespace"}));
      ExpectedObject object;
      MIST_TRY_VOID(reader.text(each, "apiVersion", object.api_version));
      MIST_TRY_VOID(reader.text(each, "kind", object.kind));
      MIST_TRY_VOID(reader.text(each, "name", object.name));
      MIST_TRY_VOID(reader.text(each, "namespace", object.ns));
      test.contains.push_back(std::move(object));
    }
  }
  if (test.error && (test.objects || !test.contains.empty()))
    return reader.wrong(expect, "expect.error means that nothing is rendered: objects and contains can't be");
  return {};
}

Status read_golden(const CaseReader& reader, const Value& document, TestCase& test) {
  const Value* const golden = document.find("golden");
  if (golden == nullptr) {
    if (!test.error) test.golden = fmt::format("{}{}", test.name, kGoldenEnding);
    return {};
  }
  if (golden->is_bool() && !golden->as_bool()) return {};
  if (!golden->is_string()) return reader.wrong(*golden, "golden must be the name of a file, or false");
  if (test.error) return reader.wrong(*golden, "a case that expects an error has no golden file");
  const std::string& name = golden->as_string();
  if (name.find('/') != name.npos || !name.ends_with(kGoldenEnding) || name.size() == kGoldenEnding.size())
    return reader.wrong(
        *golden, fmt::format("golden must be a file beside the case whose name ends in {}", kGoldenEnding));
  test.golden = name;
  return {};
}

std::string display(const ExpectedObject& object) {
  std::vector<std::string> parts;
  for (const std::string* part : {&object.api_version, &object.kind, &object.name}) {
    if (!part->empty()) parts.push_back(escape_controls(*part));
  }
  if (!object.ns.empty()) parts.push_back(fmt::format("in namespace {}", escape_controls(object.ns)));
  return join(parts, " ");
}

bool is_like(const apimachinery::Object& object, const ExpectedObject& wanted) {
  const auto fits = [](std::string_view want, std::string_view have) { return want.empty() || want == have; };
  return fits(wanted.api_version, object.value().string_at("apiVersion")) &&
         fits(wanted.kind, object.value().string_at("kind")) && fits(wanted.name, object.name()) &&
         fits(wanted.ns, object.ns());
}

// Each line behind "# ", so that it is a comment.
std::string commented(std::string_view text) {
  std::string result;
  for (const std::string_view line : split(trim(text), '\n'))
    result += line.empty() ? std::string("#\n") : fmt::format("# {}\n", escape_controls(line));
  return result;
}

std::string all_words(const Error& failure) {
  std::string words = failure.message + "\n" + failure.because;
  for (const std::string& frame : failure.frames) words += "\n" + frame;
  if (failure.cause) words += "\n" + all_words(*failure.cause);
  return words;
}

}  // namespace

Result<TestCase> TestCase::parse(std::string_view name, const std::string& text, std::string_view file) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = file;
  MIST_TRY(Value document, encoding::parse_yaml(text, options));
  TestCase test;
  test.name = name;
  if (document.is_null()) document = Value::object();  // the defaults are a case too
  const CaseReader reader(file, text);
  MIST_TRY_VOID(reader.only(document, "", {"values", "release", "capabilities", "golden", "expect"}));
  if (const Value* const values = document.find("values"); values != nullptr && !values->is_null()) {
    if (!values->is_object()) return reader.wrong(*values, "values must be a mapping");
    test.values = *values;
  }
  if (const Value* const release = document.find("release"))
    MIST_TRY_VOID(read_release(reader, *release, test));
  if (const Value* const capabilities = document.find("capabilities"))
    MIST_TRY_VOID(read_capabilities(reader, *capabilities, test));
  if (const Value* const expect = document.find("expect"))
    MIST_TRY_VOID(read_expected(reader, *expect, test));
  MIST_TRY_VOID(read_golden(reader, document, test));
  if (!test.golden && !test.error && !test.objects && test.contains.empty())
    return reader.wrong(document, "this case expects nothing")
        .with_hint("remove golden: false, or say what is expected with expect");
  return test;
}

RenderRequest TestCase::request() const {
  RenderRequest request;
  request.release_name = release_name;
  request.release_namespace = release_namespace;
  request.user_values = Value::object();
  const crypto::Digest seed = crypto::sha256(crypto::as_bytes(kSeedText));
  static_assert(std::tuple_size_v<crypto::Seed> == crypto::Digest::kSize);
  std::ranges::copy(seed.bytes(), request.seed.begin());
  request.clock = *parse_time(kClock);
  request.revision = revision;
  request.is_upgrade = is_upgrade;
  request.quiet = true;
  return request;
}

std::vector<std::string> case_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) {
    if (!file.ends_with(kCaseEnding) || file.ends_with(kGoldenEnding) || file.starts_with('.')) continue;
    names.push_back(file.substr(0, file.size() - kCaseEnding.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::string golden_text(const Rendered& rendered) {
  std::string text;
  for (const apimachinery::RenderedObject& each : rendered.objects)
    text += fmt::format("---\n# {}\n{}", escape_controls(each.file), encoding::to_yaml(each.object.value()));
  if (!trim(rendered.message).empty())
    text += fmt::format("---\n# Message:\n{}", commented(rendered.message));
  return text;
}

std::vector<std::string> broken_expectations(const TestCase& test, const Rendered& rendered) {
  std::vector<std::string> broken;
  if (test.objects && *test.objects != rendered.objects.size())
    broken.push_back(
        fmt::format("expected {}, got {}", plural(*test.objects, "object"), rendered.objects.size()));
  for (const ExpectedObject& wanted : test.contains) {
    const bool found = std::ranges::any_of(rendered.objects, [&](const apimachinery::RenderedObject& each) {
      return is_like(each.object, wanted);
    });
    if (!found) broken.push_back(fmt::format("expected {}, and there is none", display(wanted)));
  }
  return broken;
}

std::string wrong_error(const TestCase& test, const Error& failure) {
  MIST_CHECK(test.error);
  if (all_words(failure).find(*test.error) != std::string::npos) return {};
  return fmt::format("expected an error with \"{}\", got: {}", escape_controls(*test.error),
                     escape_controls(failure.to_line()));
}

}  // namespace mist::package
