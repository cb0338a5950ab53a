#include "abi/v1/output.h"

#include "abi/documents.h"
#include "base/text.h"

namespace mist::abi::v1 {

Result<Output> read_output(std::string text, const std::string& name) {
  if (auto output = parse_json_result(text, name)) return *std::move(output);
  if (is_own_document(text)) return parse_result(text, name);
  MIST_TRY_VOID(check_text(text, fmt::format("the output of {}", name)));
  Output output;
  if (!trim(text).empty()) output.files.push_back({std::string(kPlainOutputFile), std::move(text)});
  return output;
}

}  // namespace mist::abi::v1
