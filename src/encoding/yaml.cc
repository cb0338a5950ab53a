#include "encoding/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "encoding/source_text.h"
#include "encoding/yaml_error.h"
#include "encoding/yaml_reader.h"

namespace mist::encoding {
namespace {

class EventParser {
 public:
  Status open(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0)
      return error(ErrorKind::Internal, "not enough memory to read a YAML document");
    ready_ = true;
    // libyaml wants a pointer even for nothing.
    const char* data = text.empty() ? "" : text.data();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(data), text.size());
    return {};
  }

  EventParser() = default;
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;
  ~EventParser() {
    next_.reset();
    if (ready_) yaml_parser_delete(&parser_);
  }

  /// The next event, valid until the next call; null after an error.
  const yaml_event_t* next() {
    next_.reset();
    next_.held = yaml_parser_parse(&parser_, &next_.event) != 0;
    return next_.held ? &next_.event : nullptr;
  }
  const yaml_parser_t& raw() const { return parser_; }

 private:
  struct Event {
    yaml_event_t event{};
    bool held = false;
    void reset() {
      if (std::exchange(held, false)) yaml_event_delete(&event);
    }
  };
  yaml_parser_t parser_{};
  Event next_;
  bool ready_ = false;
};

/// go-yaml knows YAML 1.1 only, libyaml takes 1.2 as well.
Status check_version(const SourceText& source, const yaml_event_t& event) {
  const yaml_version_directive_t* version = event.data.document_start.version_directive;
  if (version == nullptr || (version->major == 1 && version->minor == 1)) return {};
  return yaml_error_at(source, event.start_mark, "this version of YAML isn't supported",
                       "remove the %YAML line");
}

enum class Want : std::uint8_t { One, First, All };

/// go-yaml takes \' within "…", libyaml doesn't. If that is what `parser` stopped at, this is the offset of
/// the backslash.
std::optional<std::size_t> escaped_apostrophe(const SourceText& source, const yaml_parser_t& parser) {
  if (parser.error != YAML_SCANNER_ERROR ||
      std::string_view(parser.problem) != "found unknown escape character")
    return std::nullopt;
  const std::size_t at = source.offset(parser.problem_mark.line + 1, parser.problem_mark.column + 1);
  if (!source.text().substr(std::min(at, source.text().size())).starts_with("\\'")) return std::nullopt;
  return at;
}

/// `text` without the backslashes of \' from `at` to the end of that "…".
std::string without_escapes(std::string_view text, std::size_t at) {
  std::string out(text.substr(0, at));
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      if (text[at + 1] != '\'') out += text[at];
      ++at;
    }
    out += text[at];
  }
  return out.append(text.substr(at));
}

/// A "---" or "..." alone on its line, but for a comment.
bool is_bare_marker(std::string_view line) {
  if (!line.starts_with("---") && !line.starts_with("...")) return false;
  line.remove_prefix(3);
  const std::size_t blanks = line.find_first_not_of(" \t");
  return blanks == std::string_view::npos || (blanks != 0 && line[blanks] == '#');
}

/// `text` without byte order marks that begin a later document, as YAML allows; empty: it has none. libyaml
/// counts such a mark as a column, so that the second line of the document doesn't fit the first. kubectl and
/// Helm split a stream at these lines and read each document for itself, without its mark. A mark at the
/// beginning of any other line is part of the text there.
std::string without_document_marks(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  constexpr std::string_view kBreaks = "\r\n";
  std::string out;
  std::size_t copied = 0;
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return out;  // UTF-16
  for (std::size_t at = text.find(kMark, 1); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    std::string_view before = text.substr(0, at);
    if (kBreaks.find(before.back()) == std::string_view::npos) continue;
    before.remove_suffix(before.ends_with("\r\n") ? 2 : 1);
    std::string_view line = before.substr(before.find_last_of(kBreaks) + 1);
    if (line.size() == before.size() && line.starts_with(kMark)) line.remove_prefix(kMark.size());
    if (!is_bare_marker(line)) continue;
    out += text.substr(copied, at - copied);
    copied = at + kMark.size();
  }
  return copied == 0 ? out : out.append(text.substr(copied));
}

/// Why reading ended: with the documents, with an error, or at an \' that has to be taken out first.
struct Outcome {
  Result<std::vector<Value>> documents;
  std::optional<std::size_t> escape;
};

Outcome read_stream(const SourceText& source, const YamlOptions& options, Want want) {
  EventParser parser;
  if (Status made = parser.open(source.text()); !made.ok()) return {std::move(made).error(), std::nullopt};
  YamlReader reader(source, options);
  std::vector<Value> documents;
  yaml_mark_t start{};
  while (true) {
    const yaml_event_t* event = parser.next();
    if (event == nullptr)
      return {yaml_parser_error(source, parser.raw()), escaped_apostrophe(source, parser.raw())};
    switch (event->type) {
      case YAML_STREAM_END_EVENT:
        return {std::move(documents), std::nullopt};
      case YAML_DOCUMENT_START_EVENT:
        if (Status known = check_version(source, *event); !known.ok())
          return {std::move(known).error(), std::nullopt};
        start = event->start_mark;
        reader.begin_document();
        break;
      case YAML_DOCUMENT_END_EVENT: {
        Result<Value> document = reader.end_document();
        if (!document.ok()) return {std::move(document).error(), std::nullopt};
        if (want == Want::First) {
          documents.push_back(*std::move(document));
          return {std::move(documents), std::nullopt};
        }
        if (!reader.has_content()) break;
        if (want == Want::One && !documents.empty())
          return {yaml_error_at(source, start, "a second document begins here; exactly one is expected",
                                "keep one of them"),
                  std::nullopt};
        documents.push_back(*std::move(document));
        break;
      }
      case YAML_SCALAR_EVENT:
      case YAML_ALIAS_EVENT:
      case YAML_SEQUENCE_START_EVENT:
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_START_EVENT:
      case YAML_MAPPING_END_EVENT:
        if (Status taken = reader.event(*event); !taken.ok()) return {std::move(taken).error(), std::nullopt};
        break;
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
        break;
    }
  }
}

Result<std::vector<Value>> parse_stream(std::string_view text, const YamlOptions& options, Want want) {
  if (text.size() > options.max_bytes)
    return error(ErrorKind::Invalid, "the YAML text has {} bytes, more than the limit of {}", text.size(),
                 options.max_bytes)
        .at({.file = options.file, .line = 0, .column = 0, .excerpt = {}})
        .with_hint("split it");
  const std::string unmarked = without_document_marks(text);
  if (!unmarked.empty()) text = unmarked;
  // Each quoted text with a \' costs another pass. Warnings of one pass aren't repeated by the next.
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  std::size_t seen = 0, told = 0;
  YamlOptions once = options;
  if (options.on_warning)
    once.on_warning = [&](SourceLocation where, std::string message) {
      if (seen++ < told) return;
      ++told;
      options.on_warning(std::move(where), std::move(message));
    };
  Outcome outcome = read_stream(SourceText(text, options.file), once, want);
  std::string repaired;
  for (std::size_t bytes = 0; outcome.escape && bytes < kMostBytes; bytes += text.size()) {
    repaired = without_escapes(repaired.empty() ? text : repaired, *outcome.escape);
    seen = 0;
    outcome = read_stream(SourceText(repaired, options.file), once, want);
  }
  return std::move(outcome.documents);
}

}  // namespace

Result<Value> parse_yaml(std::string_view text, const YamlOptions& options) {
  MIST_TRY(auto documents, parse_stream(text, options, Want::One));
  return documents.empty() ? Value() : std::move(documents.front());
}

Result<Value> parse_first_yaml(std::string_view text, const YamlOptions& options) {
  MIST_TRY(auto documents, parse_stream(text, options, Want::First));
  return documents.empty() ? Value() : std::move(documents.front());
}

Result<std::vector<Value>> parse_yaml_documents(std::string_view text, const YamlOptions& options) {
  return parse_stream(text, options, Want::All);
}

}  // namespace mist::encoding
