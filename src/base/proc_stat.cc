#include "base/proc_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/handle.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr std::size_t kFirstField = 3;

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A file of /proc that fits: it has no size, and is read in one piece. Empty: the process has ended.
std::string read_small(const std::string& path) {
  std::array<char, 1024> buffer;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

// The name in field 2 may hold anything, so fields are counted from the bracket that ends it.
std::optional<ProcStat> ProcStat::read(std::string_view pid) {
  const std::string text = read_small(fmt::format("/proc/{}/stat", pid));
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  ProcStat stat;
  const auto fields = split(trim(std::string_view(text).substr(bracket + 1)), ' ');
  stat.fields_.assign(fields.begin(), fields.end());
  return stat;
}

std::string_view ProcStat::field(std::size_t number) const {
  return number >= kFirstField && number - kFirstField < fields_.size() ? fields_[number - kFirstField]
                                                                        : std::string_view();
}

std::uint64_t ProcStat::number(std::size_t field_number) const { return number_in(field(field_number)); }

ProcMemory memory_of_process(std::string_view pid) {
  const std::string text = read_small(fmt::format("/proc/{}/statm", pid));
  const auto fields = split(trim(text), ' ');
  if (fields.size() < 3) return {};
  static const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.resident = number_in(fields[1]) * page_size, .shared = number_in(fields[2]) * page_size};
}

}  // namespace mist
