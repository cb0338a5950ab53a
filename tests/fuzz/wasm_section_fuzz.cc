// The outer structure of WebAssembly modules: sections are found, and replaced, or the module is refused; and
// what is read off them of a prepared module.
#include "targets.h"
#include "wasm/binary.h"
#include "wasm/compile_limits.h"
#include "wasm/snapshot.h"

namespace mist::fuzz {

void wasm_section(std::string_view bytes) {
  using namespace wasm;
  const auto module = std::as_bytes(std::span(bytes));
  if (const Status shape = check_shape(module, "fuzz"); !shape.ok()) check_error(shape.error());
  const auto section = custom_section(module, "fuzz", kPackageSection);
  const auto rewritten = with_custom_section(module, "fuzz", kPackageSection, "x");
  if (section.ok() && !rewritten.ok())
    fail("what can be read can't be replaced", rewritten.error().to_line());
  if (!rewritten.ok()) return check_error(rewritten.error());
  const auto again = custom_section(std::as_bytes(std::span(*rewritten)), "fuzz", kPackageSection);
  if (!again.ok() || !*again || **again != "x") fail("the section isn't what was put there", "");
  // Its own state is where it begins already.
  const auto image = StartImage::of_module(module, module);
  if (image && (!image->pages().empty() || !image->globals().empty()))
    fail("a module differs from itself", "");
  if (const auto read = StartImage::from_bytes(bytes); read && read->to_bytes() != bytes)
    fail("an image that was read is written otherwise", "");
}

}  // namespace mist::fuzz
