#pragma once
// JSON is YAML but for one thing: characters beyond U+FFFF, which JSON may write as two escapes
// ("\ud83d\ude00", RFC 8259 section 7) and YAML 1.1 and 1.2 may not. Pure; any thread.

#include <string>
#include <string_view>

namespace mist::encoding {

/// `text` for a reader of YAML: of a JSON object or array with such pairs, each as one YAML escape; any other
/// text as it is.
std::string with_yaml_escapes(std::string_view text);

}  // namespace mist::encoding
