#include "package/objects.h"

#include <utility>

#include "base/text.h"
#include "encoding/yaml.h"
#include "package/order_document.h"

namespace mist::package {

using apimachinery::Object;
using apimachinery::RenderedObject;
using encoding::Value;

namespace {

// About the text of YAML: a file may repeat one key a million times.
constexpr std::size_t kMostWarnings = 20;

std::string line_of(std::string_view text, std::uint32_t line) {
  for (std::uint32_t i = 1; i < line; ++i) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 500)));
}

// Between YAML documents; "-----BEGIN" of a key isn't one.
bool is_separator(std::string_view line) {
  return line.starts_with("---") && line.substr(3).find_first_not_of(" \t\r") != 0;
}

// Whether the YAML document around a line says `kind: Secret` anywhere. It couldn't be parsed, so that its
// words are all there is to go by.
bool in_secret(std::string_view text, std::uint32_t line) {
  bool secret = false;
  std::uint32_t number = 0;
  for (const std::string_view each : split(text, '\n')) {
    if (is_separator(each)) {
      if (++number > line) return secret;
      secret = false;
      continue;
    }
    ++number;
    // As YAML or JSON writes it, in an item of a list too.
    const auto kind = each.find("kind");
    if (kind == std::string_view::npos) continue;
    std::string_view rest = each.substr(kind + 4);
    while (!rest.empty() && (rest.front() == '"' || rest.front() == '\'' || rest.front() == ' ' ||
                             rest.front() == '\t' || rest.front() == ':'))
      rest.remove_prefix(1);
    secret = secret || rest.starts_with("Secret");
  }
  return number >= line && secret;
}

// "  password: ***"; of what doesn't begin with a key, nothing.
std::string masked_line(std::string_view line) {
  constexpr std::string_view kMask = "***";
  const auto begin = line.find_first_not_of(" \t-");
  if (begin == std::string_view::npos) return std::string(line);
  const auto colon = line.find(':', begin);
  const std::string_view key = line.substr(begin, colon == std::string_view::npos ? 0 : colon - begin);
  const bool plain =
      !key.empty() && key.size() <= 253 && key.find_first_of(" \t{[,") == std::string_view::npos;
  const bool ends = colon + 1 >= line.size() || line[colon + 1] == ' ';
  if (!plain || !ends) return std::string(line.substr(0, begin)) + std::string(kMask);
  return fmt::format("{} {}", line.substr(0, colon + 1), kMask);
}

// The place of a mistake in what was rendered, without what a Secret there may hold.
void hide_secret(Error& failure, std::string_view text) {
  if (failure.where && !failure.where->excerpt.empty() && in_secret(text, failure.where->line))
    failure.where->excerpt = masked_line(failure.where->excerpt);
}

// Where the lines of one file are from.
class LineOrigins {
 public:
  LineOrigins(const std::string& file, Lines lines, const FileOrigins& origins) : file_(file) {
    if (lines == Lines::Written) return;
    const auto known = origins.find(file);
    if (known == origins.end()) {
      source_ = file + std::string(kRenderedMark);
      return;
    }
    source_ = known->second.source;
    package_ = known->second.package;
    if (!known->second.lines.empty()) lines_ = &known->second.lines;
    others_ = &known->second.others;
  }

  // Of the object, or the error, in that line of the rendered file.
  LineOrigins at(std::uint32_t rendered) const {
    LineOrigins result = *this;
    if (others_ == nullptr || line(rendered) != 0) return result;
    for (const auto& [file, lines] : *others_) {
      if (line_in(lines, rendered) == 0) continue;
      result.source_ = file;
      result.lines_ = &lines;
      break;
    }
    return result;
  }

  const std::string& source() const { return source_; }  // empty: the file itself
  const std::string& package() const { return package_; }
  std::uint32_t line(std::uint32_t rendered) const {
    return lines_ == nullptr ? rendered : line_in(*lines_, rendered);
  }

  void move(Value& value) const {
    if (lines_ == nullptr) return;
    value.set_position({.line = line(value.position().line), .column = 0});
    if (value.is_array())
      for (Value& item : value.as_array()) move(item);
    if (value.is_object())
      for (Value::Member& member : value.as_object()) move(member.value);
  }

  // An author knows the template's line, and not what came of it.
  void move(Error& failure) const {
    if (!failure.where) return;
    SourceLocation& where = *failure.where;
    if (const LineOrigins own = at(where.line); own.source_ != source_) return own.move(failure);
    if (!source_.empty()) where.file = source_;
    where.package = package_;
    if (lines_ == nullptr || where.line == 0) return;
    if (failure.because.empty() && !where.excerpt.empty())
      failure.because =
          fmt::format("line {} of what {} rendered is: {}", where.line, file_, trim(where.excerpt));
    where = {.file = source_, .line = line(where.line), .column = 0, .excerpt = {}, .package = package_};
  }

 private:
  const std::string& file_;
  std::string source_;
  std::string package_;
  const std::vector<std::uint32_t>* lines_ = nullptr;
  const std::map<std::string, std::vector<std::uint32_t>>* others_ = nullptr;

  static std::uint32_t line_in(const std::vector<std::uint32_t>& lines, std::uint32_t rendered) {
    return rendered == 0 || rendered > lines.size() ? 0 : lines[rendered - 1];
  }
};

// One file on its way to objects.
struct RenderedFile {
  const std::string& path;
  const std::string& text;
  LineOrigins origins;

  Error failed(Error failure) const {
    hide_secret(failure, text);
    origins.move(failure);
    return std::move(failure).with_frame("while reading what the package rendered");
  }

  // `line`: where the error knows no better.
  Error failed_at(Error failure, std::uint32_t line) const {
    SourceLocation where =
        failure.where.value_or(SourceLocation{.file = {}, .line = line, .column = 0, .excerpt = {}});
    where.file = path;
    where.excerpt = line_of(text, where.line);
    failure.where = std::move(where);
    return failed(std::move(failure));
  }
};

}  // namespace

Result<std::vector<RenderedObject>> parse_objects(const std::map<std::string, std::string>& files,
                                                  EventSink& events, Lines lines,
                                                  const FileOrigins& origins) {
  std::vector<RenderedObject> objects;
  std::vector<std::pair<const std::string*, Value>> orders;  // with the path of its file
  std::size_t warnings = 0;
  for (const auto& [path, text] : files) {
    const RenderedFile file{path, text, {path, lines, origins}};
    encoding::YamlOptions options;
    options.file = path;
    options.on_warning = [&](const SourceLocation& where, const std::string& what) {
      if (++warnings > kMostWarnings) return;
      const LineOrigins here = file.origins.at(where.line);
      const std::string& source = here.source();
      events.warn(fmt::format("{}: {}",
                              escape_controls(place_text(source.empty() ? where.file : source,
                                                         here.line(where.line), 0, here.package())),
                              escape_controls(what)));
    };
    auto parsed = encoding::parse_yaml_documents(text, options);
    if (!parsed.ok()) return file.failed(std::move(parsed).error());
    std::vector<Value> documents = *std::move(parsed);
    std::erase_if(documents, [](const Value& document) { return document.is_null(); });
    MIST_TRY(std::vector<Value> flat, apimachinery::flatten_lists(std::move(documents)));
    for (Value& value : flat) {
      if (is_order_document(value)) {
        orders.emplace_back(&path, std::move(value));
        continue;
      }
      const std::uint32_t line = value.position().line;
      auto object = Object::from_value(std::move(value));
      if (!object.ok()) return file.failed_at(std::move(object).error(), line);
      const LineOrigins own = file.origins.at(line);
      own.move(object->mutable_value());
      objects.push_back({*std::move(object), path, own.line(line), own.source(), own.package()});
    }
  }
  if (warnings > kMostWarnings)
    events.warn(fmt::format("{} more warnings about what the package rendered are not shown",
                            warnings - kMostWarnings));
  // They may name objects of later files.
  if (orders.empty()) return objects;
  OrderDeclarations declarations(objects);
  for (const auto& [path, order] : orders) {
    if (Status declared = declarations.add(order); !declared.ok()) {
      const RenderedFile file{*path, files.at(*path), {*path, lines, origins}};
      return file.failed_at(std::move(declared).error(), 0);
    }
  }
  declarations.write();
  return objects;
}

}  // namespace mist::package
