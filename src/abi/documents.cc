#include "abi/documents.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/schema.h"
#include "encoding/schema_place.h"
#include "encoding/yaml.h"

namespace mist::abi {
namespace {

using encoding::Value;

constexpr std::string_view kResultKind = "MistResult";
constexpr std::string_view kOrderKind = "MistOrder";  // stands among objects, for package/order_document.h
constexpr std::string_view kPackageKind = "MistPackage";
constexpr std::string_view kResultSource = "the result";
constexpr std::size_t kMaxQuoted = 100;

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}{}\"", escape_controls(text.substr(0, kMaxQuoted)),
                     text.size() > kMaxQuoted ? "…" : "");
}

encoding::YamlOptions strict_options(std::string_view file) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = file;
  return options;
}

// Where a value of a parsed document stands in it.
SourceLocation place(const Value& value, std::string_view file) {
  return {.file = std::string(file),
          .line = value.position().line,
          .column = value.position().column,
          .excerpt = ""};
}

// kind and apiVersion, the same for all of our documents.
Status check_envelope(const Value& document, std::string_view kind, std::string_view name,
                      std::string_view source) {
  const auto wrong = [&](std::string text) {
    return error(ErrorKind::Invalid, "{} of {} is no {} document", source, name, kind)
        .with_because(std::move(text))
        .at(place(document, source));
  };
  if (!document.is_object()) return wrong(fmt::format("it is {}, not an object", kind_name(document.kind())));
  if (document.string_at("kind") != kind)
    return wrong(fmt::format("its kind is {}", in_quotes(document.string_at("kind"))));
  const std::string_view version = document.string_at("apiVersion");
  if (version != kVersion1Alpha1 && version != kVersion1)
    return wrong(fmt::format("its apiVersion is {}, but it must be {} or {}", in_quotes(version),
                             kVersion1Alpha1, kVersion1));
  return {};
}

bool is_bad_part(std::string_view part) { return part.empty() || part == "." || part == ".."; }

// Paths end up in file systems (`generate -o dir=`) and on terminals.
bool is_safe_path(std::string_view path) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\';
  };
  return path.size() <= 1024 && !std::ranges::any_of(path, is_control) &&
         !std::ranges::any_of(split(path, '/'), is_bad_part);
}

Result<std::vector<OutputFile>> parse_files(const Value& data, std::string_view name,
                                            std::string_view source) {
  std::vector<OutputFile> files;
  const Value* const list = data.find("files");
  if (list == nullptr || list->is_null()) return files;
  const auto wrong = [&](const Value& at, std::string text) {
    return error(ErrorKind::Invalid, "the result of {} can't be used: {}", name, text).at(place(at, source));
  };
  if (!list->is_object())
    return wrong(*list, fmt::format("data.files is {}, not an object of paths and YAML texts",
                                    kind_name(list->kind())));
  for (const Value::Member& member : list->as_object()) {
    if (!is_safe_path(member.key))
      return wrong(member.value,
                   fmt::format("{} can't be the path of a file (relative, without \".\" and \"..\")",
                               in_quotes(member.key)));
    if (!member.value.is_string())
      return wrong(member.value, fmt::format("the file {} is {}, not a YAML text", in_quotes(member.key),
                                             kind_name(member.value.kind())));
    MIST_TRY_VOID(
        check_text(member.value.as_string(), fmt::format("the file {} of {}", in_quotes(member.key), name)));
    files.push_back({member.key, member.value.as_string()});
  }
  return files;
}

// A longer line has no excerpt that helps anybody.
constexpr std::size_t kLongestLine = 2000;

// Where in its files a package failed, if it says so; what isn't as it should be is left out.
std::optional<SourceLocation> parse_where(const Value& data) {
  const Value* const where = data.find("where");
  if (where == nullptr || !where->is_object() || !is_safe_path(where->string_at("file"))) return std::nullopt;
  const auto number = [&](std::string_view name) {
    const Value* const value = where->find(name);
    if (value == nullptr || !value->is_int() || value->as_int() < 0 || value->as_int() > 1'000'000'000)
      return std::uint32_t{0};
    return static_cast<std::uint32_t>(value->as_int());
  };
  const std::string_view text = where->string_at("text");
  const bool one_line = text.size() <= kLongestLine && text.find('\n') == std::string_view::npos;
  return SourceLocation{.file = std::string(where->string_at("file")),
                        .line = number("line"),
                        .column = number("column"),
                        .excerpt = std::string(one_line ? text : std::string_view())};
}

// Of charts with schemas that refuse values. Few have so many; the lines of those are enough to begin with.
constexpr std::size_t kMostRefused = 16;

// "sub.image.tag: must be string, is integer 1": what the schemas of a chart and its subcharts refuse, in our
// words. Empty: the guest doesn't say, its validator and ours differ, or it is too much work to find out.
struct RefusedValues {
  std::vector<std::string> lines;
  encoding::ValueFaults faults;  // of each line
};

RefusedValues refused_values(const Value& data) {
  constexpr std::size_t kMost = 100;
  RefusedValues result;
  const Value* const refused = data.find("refused");
  if (refused == nullptr || !refused->is_array()) return result;
  encoding::ValidationBudget budget;  // of all together: any guest may answer with costly schemas
  for (const Value& chart : std::span(refused->as_array()).first(std::min(refused->size(), kMostRefused))) {
    const Value* const schema = chart.find("schema");
    const Value* const values = chart.find("values");
    if (schema == nullptr || values == nullptr) continue;
    std::string above;
    std::vector<std::string> tokens;
    if (const Value* const names = chart.find("above"); names != nullptr && names->is_array())
      for (const Value& name : names->as_array()) {
        tokens.push_back(name.is_string() ? name.as_string() : "");
        above += fmt::format("{}{}", above.empty() ? "" : ".", tokens.back());
      }
    result.faults.of_chart = result.faults.of_chart || !chart.is_true_at("fixed");
    const auto issues = encoding::validate_within(budget, *schema, *values);
    if (!issues || issues->empty()) return {};
    for (const encoding::SchemaIssue& issue : *issues) {
      if (result.lines.size() == kMost) return result;
      const std::string_view joint = above.empty() ? "" : issue.instance_path.empty() ? ": " : ".";
      result.lines.push_back(fmt::format("{}{}{}", escape_controls(above), joint, issue.message));
      result.faults.pointers.push_back(encoding::to_pointer(tokens) + issue.fault());
      result.faults.text_wanted.push_back(issue.text_wanted ? 1 : 0);
    }
  }
  return result;
}

std::vector<std::uint32_t> parse_lines(const Value& origin) {
  std::vector<std::uint32_t> result;
  const Value* const lines = origin.find("lines");
  if (lines == nullptr || !lines->is_array()) return result;
  result.reserve(lines->size());
  for (const Value& line : lines->as_array()) {
    const bool good = line.is_int() && line.as_int() >= 0 && line.as_int() <= 1'000'000'000;
    result.push_back(good ? static_cast<std::uint32_t>(line.as_int()) : 0);
  }
  return result;
}

// Of a file that is from several.
constexpr std::size_t kMostOrigins = 100;

void parse_origin(const Value& origin, OutputFile& file) {
  const std::string source(origin.string_at("file"));
  if (!is_safe_path(source)) return;
  std::vector<std::uint32_t> lines = parse_lines(origin);
  if (file.source.empty()) {
    file.source = source;
    file.lines = std::move(lines);
  } else if (source != file.source && file.others.size() < kMostOrigins) {
    file.others.emplace(source, std::move(lines));
  }
}

// Where each file is from; what isn't as it should be is left out.
void parse_origins(const Value& data, std::vector<OutputFile>& files) {
  const Value* const origins = data.find("origins");
  if (origins == nullptr || !origins->is_object()) return;
  for (OutputFile& file : files) {
    const Value* const origin = origins->find(file.path);
    if (origin == nullptr) continue;
    if (!origin->is_array())
      parse_origin(*origin, file);
    else
      for (const Value& each : origin->as_array()) parse_origin(each, file);
  }
}

Result<Value> parse_exports(const Value& data, std::string_view name) {
  const Value* const exports = data.find("exports");
  if (exports == nullptr) return Value();
  if (!exports->is_string()) return *exports;
  return encoding::parse_yaml(exports->as_string(), strict_options("data.exports"))
      .in(fmt::format("while reading what {} exports", name));
}

// As many as in YAML: a value takes many times the room of its text.
constexpr std::size_t kMostValues = 10'000'000;

// YAML is what guests may write and JSON what most do, which is read many times faster. Nothing: it is no
// JSON, or has a fault, and only YAML's values know where in the text they stand.
std::optional<Value> faultless_json(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  auto document = encoding::parse_json(text, {.strict = true, .max_values = kMostValues});
  return document ? std::optional(*std::move(document)) : std::nullopt;
}

}  // namespace

std::string input_text(const Value& input, encoding::JsonStyle style) {
  const std::string json = encoding::to_json(input, style);
  std::string text;
  text.reserve(json.size() + 1);
  // YAML 1.1 wants DEL, the C1 controls and the noncharacters FFFE and FFFF escaped; JSON lets them stand. In
  // UTF-8 they are 7f, c2 80–c2 9f, ef bf be, ef bf bf; in JSON they can only be inside of a string.
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto at = [&](std::size_t offset) {
      return i + offset < json.size() ? static_cast<unsigned char>(json[i + offset]) : 0U;
    };
    if (at(0) == 0x7f) {
      text += "\\u007f";
    } else if (at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f) {
      text += fmt::format("\\u{:04x}", at(1));
      i += 1;
    } else if (at(0) == 0xef && at(1) == 0xbf && at(2) >= 0xbe) {
      text += at(2) == 0xbe ? "\\ufffe" : "\\uffff";
      i += 2;
    } else {
      text.push_back(json[i]);
    }
  }
  text.push_back('\n');
  return text;
}

Status check_text(std::string_view text, std::string_view what) {
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos)
    return error(ErrorKind::Invalid, "{} is not text: it has a NUL byte at offset {}", what, nul);
  if (!is_valid_utf8(text)) return error(ErrorKind::Invalid, "{} is not text: it is not valid UTF-8", what);
  return {};
}

namespace {

Status check_package(const Value& document, std::string_view name, std::string_view source) {
  MIST_TRY_VOID(check_envelope(document, kPackageKind, name, source));
  if (document.string_at({"metadata", "name"}).empty())
    return error(ErrorKind::Invalid, "{} of {} has no metadata.name", source, name);
  return {};
}

}  // namespace

Result<Value> parse_package(std::string_view text, std::string_view name, std::string_view source) {
  MIST_TRY_VOID(check_text(text, fmt::format("{} of {}", source, name)));
  if (std::optional<Value> quick = faultless_json(text); quick && check_package(*quick, name, source))
    return *std::move(quick);
  auto parsed = encoding::parse_yaml(text, strict_options(source));
  if (!parsed) return std::move(parsed).in(fmt::format("while reading the metadata of {}", name));
  MIST_TRY_VOID(check_package(*parsed, name, source));
  return parsed;
}

bool is_own_document(std::string_view text) {
  // Most outputs are Kubernetes YAML, and looking for a word is much cheaper than parsing them twice.
  const auto names_us = [](std::string_view part) {
    return part.find("kind") != std::string_view::npos && part.find("Mist") != std::string_view::npos &&
           part.find("mistletoe.dev/") != std::string_view::npos;
  };
  if (!names_us(text) || !check_text(text, "")) return false;
  const auto documents = encoding::parse_yaml_documents(text);
  // If it can't be parsed, a text that begins as a result does should be reported as one.
  const std::string_view begin = trim(text).substr(0, 200);
  if (!documents) return names_us(begin) && begin.find(kOrderKind) == std::string_view::npos;
  if (documents->size() != 1) return false;
  const std::string_view kind = documents->front().string_at("kind");
  return kind.starts_with("Mist") && kind != kOrderKind &&
         documents->front().string_at("apiVersion").starts_with("mistletoe.dev/");
}

namespace {

Result<Output> output_of(const Value& document, std::string_view name) {
  MIST_TRY_VOID(check_envelope(document, kResultKind, name, kResultSource));
  const Value* const data = document.find("data");
  if (data == nullptr || !data->is_object())
    return error(ErrorKind::Invalid, "the result of {} has no data", name).at(place(document, kResultSource));

  const std::string_view verdict = data->string_at("result");
  if (verdict == "Err") {
    Error failure = failed_output(data->string_at("message"), name);
    failure.where = parse_where(*data);
    if (RefusedValues refused = refused_values(*data); !refused.lines.empty()) {
      failure.message = fmt::format("the values don't fit the package {}", name);
      failure.because = join(refused.lines, "\n");
      failure.details.set(std::move(refused.faults));
    }
    return failure;
  }
  if (verdict != "Ok")
    return error(ErrorKind::Invalid,
                 "the result of {} can't be used: data.result must be Ok or Err, it is {}", name,
                 in_quotes(verdict))
        .at(place(*data, kResultSource));
  Output output;
  MIST_TRY(output.files, parse_files(*data, name, kResultSource));
  parse_origins(*data, output.files);
  MIST_TRY(output.exports, parse_exports(*data, name));
  output.message = trim(data->string_at("message"));
  if (const Value* const print = data->find("print"); print != nullptr && print->is_string())
    output.print = print->as_string();
  if (const Value* const missing = data->find("missing"); missing != nullptr && missing->is_array())
    output.missing = *missing;
  if (const Value* const package = data->find("package"); package != nullptr && package->is_object())
    output.package = *package;
  if (const Value* const unknown = data->find("unknown"); unknown != nullptr && unknown->is_array())
    output.unknown = *unknown;
  return output;
}

// Of a document that output_of reads: what it says is the guest's own failure, not a fault of the document.
bool says_err(const Value& document, std::string_view name) {
  return check_envelope(document, kResultKind, name, kResultSource).ok() &&
         document.string_at({"data", "result"}) == "Err";
}

}  // namespace

std::optional<Result<Output>> parse_json_result(std::string_view text, std::string_view name) {
  if (!check_text(text, kResultSource)) return std::nullopt;
  const std::optional<Value> document = faultless_json(text);
  if (!document) return std::nullopt;
  auto output = output_of(*document, name);
  return output || says_err(*document, name) ? std::optional(std::move(output)) : std::nullopt;
}

Result<Output> parse_result(std::string_view text, std::string_view name) {
  if (auto quick = parse_json_result(text, name)) return *std::move(quick);
  MIST_TRY_VOID(check_text(text, fmt::format("{} of {}", kResultSource, name)));
  auto parsed = encoding::parse_yaml(text, strict_options(kResultSource));
  if (!parsed)
    return std::move(parsed).error().with_frame(fmt::format("while reading the result of {}", name));
  return output_of(*parsed, name);
}

Error failed_output(std::string_view reason, std::string_view name) {
  const std::string_view message = trim(reason);
  return error(ErrorKind::Invalid, "{} could not be rendered", name)
      .with_because(message.empty() ? "the package gave no reason" : std::string(message));
}

}  // namespace mist::abi
