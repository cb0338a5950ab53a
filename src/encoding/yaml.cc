#include "encoding/yaml.h"

#include <yaml.h>

#include <utility>

#include "encoding/source_text.h"
#include "encoding/yaml_error.h"
#include "encoding/yaml_reader.h"

namespace mist::encoding {
namespace {

class Parser {
 public:
  static Result<Parser*> make(Parser& parser, std::string_view text) {
    if (yaml_parser_initialize(&parser.parser_) == 0)
      return error(ErrorKind::Internal, "not enough memory to read a YAML document");
    parser.ready_ = true;
    // libyaml wants a pointer even for nothing.
    const char* data = text.empty() ? "" : text.data();
    yaml_parser_set_input_string(&parser.parser_, reinterpret_cast<const unsigned char*>(data), text.size());
    return &parser;
  }

  Parser() = default;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() {
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

enum class Want : std::uint8_t { One, All };

Result<std::vector<Value>> parse_stream(std::string_view text, const YamlOptions& options, Want want) {
  const SourceText source(text, options.file);
  if (text.size() > options.max_bytes)
    return error(ErrorKind::Invalid, "the YAML text has {} bytes, more than the limit of {}", text.size(),
                 options.max_bytes)
        .at({.file = options.file, .line = 0, .column = 0, .excerpt = {}})
        .with_hint("split it");

  Parser parser;
  MIST_TRY([[maybe_unused]] auto* made, Parser::make(parser, text));
  YamlReader reader(source, options);
  std::vector<Value> documents;
  yaml_mark_t start{};
  while (true) {
    const yaml_event_t* event = parser.next();
    if (event == nullptr) return yaml_parser_error(source, parser.raw());
    switch (event->type) {
      case YAML_STREAM_END_EVENT:
        return documents;
      case YAML_DOCUMENT_START_EVENT:
        MIST_TRY_VOID(check_version(source, *event));
        start = event->start_mark;
        reader.begin_document();
        break;
      case YAML_DOCUMENT_END_EVENT: {
        MIST_TRY(Value document, reader.end_document());
        if (!reader.has_content()) break;
        if (want == Want::One && !documents.empty())
          return yaml_error_at(source, start, "a second document begins here; exactly one is expected",
                               "keep one of them");
        documents.push_back(std::move(document));
        break;
      }
      case YAML_SCALAR_EVENT:
      case YAML_ALIAS_EVENT:
      case YAML_SEQUENCE_START_EVENT:
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_START_EVENT:
      case YAML_MAPPING_END_EVENT:
        MIST_TRY_VOID(reader.event(*event));
        break;
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
        break;
    }
  }
}

}  // namespace

Result<Value> parse_yaml(std::string_view text, const YamlOptions& options) {
  MIST_TRY(auto documents, parse_stream(text, options, Want::One));
  return documents.empty() ? Value() : std::move(documents.front());
}

Result<std::vector<Value>> parse_yaml_documents(std::string_view text, const YamlOptions& options) {
  return parse_stream(text, options, Want::All);
}

}  // namespace mist::encoding
