#include "cli/named_file.h"

#include <utility>

#include "base/url.h"

namespace mist::cli {

Result<std::string> read_named_file(Machine& machine, const std::string& name, std::uint64_t limit) {
  if (name != kStandardInput) {
    auto content = machine.files.read(name, limit);
    // Helm fetches them.
    if (!content.ok() && content.error().kind == ErrorKind::NotFound && is_url(name))
      content.error().hint = "addresses are not fetched: download it, and give the file";
    return content;
  }
  if (std::exchange(machine.input_taken, true))
    return error(ErrorKind::Usage, "standard input can be read only once, and \"-\" is there twice")
        .with_hint("leave one \"-\" out, or name a file in its place");
  return machine.in.read_all(limit, machine.context);
}

}  // namespace mist::cli
