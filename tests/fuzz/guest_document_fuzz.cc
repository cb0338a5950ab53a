// What guests give back: the document about the package, and the result of a render.
#include "abi/documents.h"

#include "package/metadata.h"
#include "registry/reference.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

void check_output(const abi::Output& output) {
  for (const abi::OutputFile& file : output.files) {
    if (const std::string objection = registry::path_objection(file.path); !objection.empty())
      fail("a file that lies elsewhere: " + objection, file.path);
  }
}

}  // namespace

void guest_document(std::string_view bytes) {
  (void)abi::is_own_document(bytes);
  if (const auto document = abi::parse_package(bytes, "fuzz", "the module"); document.ok()) {
    for (const auto& metadata : {package::Metadata::parse(*document, "fuzz"),
                                 package::Metadata::parse_strictly(*document, "fuzz")}) {
      if (metadata.ok())
        (void)metadata->to_value();
      else
        check_error(metadata.error());
    }
  } else {
    check_error(document.error());
  }
  const auto result = abi::parse_result(bytes, "fuzz");
  if (result.ok())
    check_output(*result);
  else
    check_error(result.error());
  const auto quick = abi::parse_json_result(bytes, "fuzz");
  if (!quick) return;
  if (!quick->ok()) {
    check_error(quick->error());
    if (result.ok()) fail("read quickly it is a failure", quick->error().to_line());
    return;
  }
  check_output(**quick);
  if (!result.ok()) return fail("read quickly it is one", result.error().to_line());
  if ((*quick)->files.size() != result->files.size() || (*quick)->message != result->message)
    fail("read quickly it is another", bytes);
}

}  // namespace mist::fuzz
