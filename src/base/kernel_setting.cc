#include "base/kernel_setting.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/handle.h"
#include "base/text.h"

namespace mist {

Status write_kernel_setting(const Path& file, std::string_view value) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno_error("open", file, errno);
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return errno_error("write", file, errno);
  return {};
}

Result<std::string> read_kernel_setting(const Path& file) { return HostFileSystem().read(file); }

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(trim(list), ' ');
  return std::ranges::find(words, word) != words.end();
}

}  // namespace mist
