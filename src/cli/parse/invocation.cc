#include "cli/parse/invocation.h"

#include <algorithm>
#include <charconv>

#include "base/duration.h"
#include "cli/parse/flags.h"

namespace mist::cli {
namespace {

template <typename Matches>
const Flag* find_flag_if(const Command& command, Matches matches) {
  for (const FlagGroup& group : command.flags)
    for (const Flag& flag : group.flags)
      if (matches(flag)) return &flag;
  for (const Flag& flag : kGlobalFlags.flags)
    if (matches(flag)) return &flag;
  return nullptr;
}

}  // namespace

std::string typed(std::string_view called_as, std::string_view command) {
  const bool is_of_it =
      !called_as.empty() && (command == called_as || command.starts_with(fmt::format("{} ", called_as)));
  return is_of_it ? std::string(command) : fmt::format("mistctl {}", command);
}

const Flag* find_flag(const Command& command, std::string_view name) {
  return find_flag_if(command, [&](const Flag& flag) { return flag.name == name; });
}

const Flag* find_flag(const Command& command, char letter) {
  return find_flag_if(command, [&](const Flag& flag) { return flag.letter == letter; });
}

const Flag& Invocation::declared(std::string_view name, std::initializer_list<FlagType> types) const {
  const Flag* flag = find_flag(*command_, name);
  MIST_CHECK(flag != nullptr, "a handler asks for a flag that its command does not declare");
  MIST_CHECK(types.size() == 0 || std::ranges::find(types, flag->type) != types.end(),
             "a handler reads a flag as another type than its command declares");
  return *flag;
}

bool Invocation::has(std::string_view name) const {
  const Flag& flag = declared(name, {});
  return std::ranges::any_of(given_, [&](const Given& given) { return given.flag == &flag; });
}

bool Invocation::enabled(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Bool});
  for (const Given& given : given_)
    if (given.flag == &flag) return given.value == "true";
  return flag.fallback == "true";
}

std::string Invocation::text(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Text, FlagType::Choice});
  for (const Given& given : given_)
    if (given.flag == &flag) return given.value;
  return std::string(flag.fallback);
}

std::vector<std::string> Invocation::texts(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Texts});
  std::vector<std::string> values;
  for (const Given& given : given_)
    if (given.flag == &flag) values.push_back(given.value);
  return values;
}

std::int64_t Invocation::number(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Number});
  std::string_view text = flag.fallback;
  for (const Given& given : given_)
    if (given.flag == &flag) text = given.value;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Duration Invocation::duration(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Duration});
  std::string_view text = flag.fallback;
  for (const Given& given : given_)
    if (given.flag == &flag) text = given.value;
  return text.empty() ? Duration::zero() : parse_duration(text).value_or(Duration::zero());
}

int Invocation::count(std::string_view name) const {
  const Flag& flag = declared(name, {FlagType::Count});
  return static_cast<int>(
      std::ranges::count_if(given_, [&](const Given& given) { return given.flag == &flag; }));
}

std::string Invocation::argument(std::string_view name) const {
  const auto values = arguments(name);
  return values.empty() ? std::string() : values.front();
}

std::vector<std::string> Invocation::arguments(std::string_view name) const {
  MIST_CHECK(std::ranges::any_of(command_->arguments, [&](const Argument& a) { return a.name == name; }),
             "a handler asks for an argument that its command does not declare");
  std::vector<std::string> values;
  for (const GivenArgument& given : arguments_)
    if (given.argument->name == name) values.push_back(given.value);
  return values;
}

}  // namespace mist::cli
