#include "encoding/yaml_error.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text.h"

namespace mist::encoding {
namespace {

struct Explanation {
  std::string_view problem;  ///< libyaml's words
  std::string_view context;  ///< its "while …"; empty: any
  std::string_view message;
  std::string_view hint;
  bool at_context = false;  ///< the cause stands where the construct began, not where reading stopped
};

constexpr Explanation kExplanations[] = {
    {"could not find expected ':'", "", "this line is neither \"key: value\" nor part of the text before it",
     "is a \":\", or the space after it, missing? A list item needs a space after its \"-\""},
    {"did not find expected key", "while parsing a block mapping",
     "this line doesn't fit the mapping that it stands in",
     "align it with the keys above; text after a closing quote, or a quote inside of quotes, ends here too"},
    {"did not find expected '-' indicator", "", "this line doesn't fit the list that it stands in",
     "begin it with \"- \" like the items above, or indent it differently"},
    {"block sequence entries are not allowed in this context", "", "a list item can't begin here",
     "begin the list on a line of its own, below its key"},
    {"mapping keys are not allowed in this context", "", "a \"? \" can't begin a key here",
     "put quotes around text that begins with \"? \""},
    {"did not find expected ',' or ']'", "",
     "the list that \"[\" opens here isn't closed, or a comma is missing",
     "close it with \"]\", and separate its items with \", \"", true},
    {"did not find expected ',' or '}'", "",
     "the mapping that \"{\" opens here isn't closed, or a comma is missing",
     "close it with \"}\"; a value that begins with \"{{\" (a template) needs quotes", true},
    {"did not find expected node content", "", "a value is missing here",
     "text that begins with a special character (* & ! % @ ` , ] }) needs quotes"},
    {"did not find expected <document start>", "", "text after the end of the document",
     "separate documents with a line \"---\"; is this line indented less than the first one?"},
    {"found unexpected end of stream", "while scanning a quoted scalar",
     "the quote that opens here is never closed",
     "close it; a quote within '…' is written twice, within \"…\" as \\\"", true},
    {"found unexpected document indicator", "while scanning a quoted scalar",
     "the quote that opens here isn't closed before the document ends", "close it", true},
    {"found unknown escape character", "", "this escape doesn't exist in \"…\"",
     "write a backslash as \\\\, or use '…', where it has no meaning"},
    {"did not find expected hexdecimal number", "", "\\x, \\u and \\U need 2, 4 and 8 hexadecimal digits",
     ""},
    {"found invalid Unicode character escape code", "", "this escape is no Unicode character",
     "write characters beyond \\uFFFF as \\UXXXXXXXX, not as two surrogates"},
    {"found a tab character where an indentation space is expected", "", "a tab is used for indentation",
     "YAML allows only spaces there"},
    {"found a tab character that violates indentation", "", "a tab is used for indentation",
     "YAML allows only spaces there"},
    {"did not find expected comment or line break", "while scanning a block scalar",
     "text on the line of \"|\" or \">\"", "begin the text on the next line, indented"},
    {"did not find expected comment or line break", "", "text after a directive", ""},
    {"found an indentation indicator equal to 0", "", "the indentation after \"|\" or \">\" must be 1 to 9",
     ""},
    {"did not find expected alphabetic or numeric character", "while scanning an anchor",
     "\"&\" must be followed by the name of an anchor", "put quotes around text that begins with \"&\""},
    {"did not find expected alphabetic or numeric character", "while scanning an alias",
     "\"*\" must be followed by the name of an anchor", "put quotes around text that begins with \"*\""},
    {"found undefined tag handle", "", "this tag's prefix isn't declared",
     "put quotes around text that begins with \"!\""},
    {"did not find expected whitespace or line break", "", "a tag must be followed by a space",
     "put quotes around text that begins with \"!\""},
    {"did not find expected tag URI", "", "a tag is incomplete",
     "put quotes around text that begins with \"!\""},
    {"did not find the expected '>'", "", "the tag that \"!<\" opens isn't closed", ""},
    {"found unknown directive name", "", "an unknown directive",
     "put quotes around text that begins with \"%\""},
    {"found incompatible YAML document", "", "this version of YAML isn't supported", "remove the %YAML line"},
    {"found duplicate %YAML directive", "", "a second %YAML line", "remove it"},
    {"found duplicate %TAG directive", "", "a second %TAG line for one prefix", "remove it"},
    {"found unexpected ':'", "", "a \":\" isn't allowed here within [ ] or { }",
     "put quotes around the text"},
    {"control characters are not allowed", "", "a control character",
     "remove it, or write it as an escape within \"…\""},
    {"invalid leading UTF-8 octet", "", "the text isn't valid UTF-8", "save the file as UTF-8"},
    {"invalid trailing UTF-8 octet", "", "the text isn't valid UTF-8", "save the file as UTF-8"},
    {"incomplete UTF-8 octet sequence", "", "the text ends within a UTF-8 character", "is the file cut off?"},
    {"invalid length of a UTF-8 sequence", "", "the text isn't valid UTF-8", "save the file as UTF-8"},
    {"invalid Unicode character", "", "the text isn't valid UTF-8", "save the file as UTF-8"},
};

const Explanation* explain(std::string_view problem, std::string_view context) {
  const auto* found = std::ranges::find_if(kExplanations, [&](const Explanation& e) {
    return e.problem == problem && (e.context.empty() || e.context == context);
  });
  return found == std::ranges::end(kExplanations) ? nullptr : found;
}

/// The tokens that can't begin anything have reasons of their own.
Error cannot_start_token(const SourceText& source, yaml_mark_t mark) {
  const std::size_t at = source.offset(mark.line + 1, mark.column + 1);
  const std::string_view rest = source.text().substr(std::min(at, source.text().size()));
  if (rest.starts_with('\t'))
    return yaml_error_at(source, mark, "a tab is used for indentation", "YAML allows only spaces there");
  const std::string_view shown = rest.substr(0, 1);
  if (shown == "%")
    return yaml_error_at(source, mark, "a value can't begin with \"%\"",
                         "put quotes around it; a template ({% … %}) has to be rendered first");
  return yaml_error_at(source, mark, fmt::format("a value can't begin with \"{}\"", escape_controls(shown)),
                       "put quotes around it");
}

/// libyaml has one complaint for three mistakes.
Error unexpected_mapping_value(const SourceText& source, yaml_mark_t mark) {
  const std::string line = source.at(mark.line + 1, 1).excerpt;
  if (std::string_view(line).substr(0, mark.column).find(": ") != std::string_view::npos)
    return yaml_error_at(source, mark, "a second \": \" on one line",
                         "put quotes around a value that contains \": \"");
  return yaml_error_at(
      source, mark, "a key can't follow the text before it",
      "is the space after the \":\" on a line before missing, or is this line indented too far?");
}

Error unexpected_key(const SourceText& source, yaml_mark_t mark) {
  const std::size_t at = source.offset(mark.line + 1, mark.column + 1);
  const std::string_view rest = source.text().substr(std::min(at, source.text().size()));
  if (rest.starts_with("- ") || rest.starts_with("-\n") || rest.starts_with("-\r"))
    return yaml_error_at(source, mark, "a list item stands here among the keys of a mapping",
                         "indent it like the items of its list");
  const Explanation& other = *explain("did not find expected key", "while parsing a block mapping");
  return yaml_error_at(source, mark, std::string(other.message), std::string(other.hint));
}

/// Nobody sees it, and it makes a line that looks right a wrong one. At the beginning of the text it is taken
/// off.
bool begins_with_mark(const SourceText& source, yaml_mark_t mark) {
  return source.at(mark.line + 1, 1).excerpt.starts_with("\xef\xbb\xbf");
}

}  // namespace

Error yaml_error_at(const SourceText& source, yaml_mark_t mark, std::string message, std::string hint) {
  Error result;
  result.kind = ErrorKind::Invalid;
  result.message = std::move(message);
  result.hint = std::move(hint);
  result.where = source.at(mark.line + 1, mark.column + 1);
  return result;
}

Error yaml_parser_error(const SourceText& source, const yaml_parser_t& parser) {
  const std::string_view problem = parser.problem == nullptr ? "" : parser.problem;
  const std::string_view context = parser.context == nullptr ? "" : parser.context;
  if (parser.error == YAML_MEMORY_ERROR)
    return error(ErrorKind::Internal, "not enough memory to read the YAML document");

  const Explanation* explanation = explain(problem, context);
  if (parser.error == YAML_READER_ERROR) {
    Error result;
    result.kind = ErrorKind::Invalid;
    result.where = source.at_offset(parser.problem_offset);
    result.message = explanation != nullptr ? std::string(explanation->message) : std::string(problem);
    if (problem == "control characters are not allowed")
      result.message = fmt::format("the control character U+{:04X} isn't allowed", parser.problem_value);
    if (explanation != nullptr) result.hint = explanation->hint;
    return result;
  }
  if (begins_with_mark(source, parser.problem_mark))
    return yaml_error_at(source, parser.problem_mark,
                         "this line begins with an invisible byte order mark (U+FEFF)",
                         "remove it; only the first line of a document may begin with one");
  if (problem == "found character that cannot start any token")
    return cannot_start_token(source, parser.problem_mark);
  if (problem == "mapping values are not allowed in this context")
    return unexpected_mapping_value(source, parser.problem_mark);
  if (problem == "did not find expected key" && context == "while parsing a block mapping")
    return unexpected_key(source, parser.problem_mark);
  if (explanation == nullptr)
    return yaml_error_at(source, parser.problem_mark,
                         context.empty() ? std::string(problem) : fmt::format("{} {}", problem, context));
  const yaml_mark_t mark = explanation->at_context ? parser.context_mark : parser.problem_mark;
  return yaml_error_at(source, mark, std::string(explanation->message), std::string(explanation->hint));
}

}  // namespace mist::encoding
