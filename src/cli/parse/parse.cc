// The parser over the tables. DESIGN names CLI11 for this; it is not used, because its App tree would be
// built with std::function and exceptions for every command on every start, and because what we ask for works
// against it: flags before the command, "given twice" as an error that shows both values, "--set belongs to
// install, not to status", a nearest name for flags and commands, the usage line in each error. Over tables
// all of that is this file.
//
// First the words are told from the flags; that needs no command, because a flag's name takes a value in all
// commands or in none. Then the words name the command, and everything is checked against its record.

#include "cli/parse/parse.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>

#include "base/duration.h"
#include "base/text.h"
#include "cli/parse/flags.h"
#include "cli/parse/line.h"
#include "cli/parse/peers.h"

namespace mist::cli {
namespace {

constexpr std::size_t kMostPathWords = 3;  // "registry mirror add"

template <typename Visit>
const Flag* any_flag(const CommandTable& table, Visit matches) {
  for (const Flag& flag : kGlobalFlags.flags)
    if (matches(flag)) return &flag;
  for (const Command* command : table.commands)
    for (const FlagGroup& group : command->flags)
      for (const Flag& flag : group.flags)
        if (matches(flag)) return &flag;
  return nullptr;
}

const Flag* any_flag_named(const CommandTable& table, std::string_view name) {
  return any_flag(table, [&](const Flag& flag) { return flag.name == name; });
}

const Flag* any_flag_lettered(const CommandTable& table, char letter) {
  return any_flag(table, [&](const Flag& flag) { return flag.letter == letter; });
}

// A flag without value can't be told from one whose value was forgotten, unless what follows is a known flag.
bool is_known_flag(const CommandTable& table, std::string_view argument) {
  if (argument.starts_with("--"))
    return any_flag_named(table, argument.substr(2, argument.find('=') - 2)) != nullptr;
  return argument.size() >= 2 && argument[0] == '-' && any_flag_lettered(table, argument[1]) != nullptr;
}

class Scanner {
 public:
  Scanner(std::span<const std::string> args, const CommandTable& table) : args_(args), table_(table) {}

  Result<Line> scan() {
    for (; next_ < args_.size(); ++next_) {
      const std::string_view argument = args_[next_];
      if (argument == "--") {
        line_.words.insert(line_.words.end(), args_.begin() + static_cast<std::ptrdiff_t>(next_) + 1,
                           args_.end());
        break;
      }
      if (argument.starts_with("--")) {
        MIST_TRY_VOID(long_flag(argument.substr(2)));
      } else if (argument.size() > 1 && argument[0] == '-') {
        MIST_TRY_VOID(letters(argument.substr(1)));
      } else {
        line_.words.emplace_back(argument);
      }
    }
    return std::move(line_);
  }

 private:
  Status long_flag(std::string_view text) {
    const std::size_t equals = text.find('=');
    Token token{.name = std::string(text.substr(0, equals)), .value = std::nullopt};
    if (equals != std::string_view::npos) {
      token.value = text.substr(equals + 1);
    } else if (const Flag* flag = any_flag_named(table_, text); flag != nullptr && takes_value(*flag)) {
      MIST_TRY(token.value, following(token, *flag));
    } else if (flag == nullptr && peer_takes_value(text) && next_ + 1 < args_.size() &&
               !args_[next_ + 1].starts_with('-')) {
      token.value = args_[++next_];
    }
    line_.flags.push_back(std::move(token));
    return {};
  }

  Status letters(std::string_view text) {
    while (!text.empty()) {
      Token token{.name = std::string(text.substr(0, 1)), .is_letter = true, .value = std::nullopt};
      const Flag* flag = any_flag_lettered(table_, text[0]);
      text.remove_prefix(1);
      if (text.starts_with('=')) {
        token.value = text.substr(1);
        text = {};
      } else if (flag != nullptr && takes_value(*flag)) {
        if (text.empty()) {
          MIST_TRY(token.value, following(token, *flag));
        } else {
          token.value = text;
        }
        text = {};
      }
      line_.flags.push_back(std::move(token));
    }
    return {};
  }

  Result<std::string> following(const Token& token, const Flag& flag) {
    if (next_ + 1 >= args_.size())
      return error(ErrorKind::Usage, "{} needs a value", token.spelled())
          .with_hint(flag.no_value.empty() ? fmt::format("{} {}", token.spelled(), flag.value)
                                           : std::string(flag.no_value));
    const std::string& value = args_[next_ + 1];
    if (is_known_flag(table_, value))
      return error(ErrorKind::Usage, "{} needs a value, but the flag {} follows", token.spelled(), value)
          .with_hint(flag.no_value.empty() ? fmt::format("--{}={} if that is the value", flag.name, value)
                                           : std::string(flag.no_value));
    ++next_;
    return value;
  }

  std::span<const std::string> args_;
  const CommandTable& table_;
  std::size_t next_ = 0;
  Line line_;
};

// Alike but for the first part, that part has to be a misspelling too: --keep-pvcs is no --delete-pvcs, and
// --hooks no --no-hooks.
bool may_mean(std::string_view word, std::string_view candidate) {
  if (word.starts_with("no-") != candidate.starts_with("no-")) return false;
  const auto dash = word.find('-');
  const auto other = candidate.find('-');
  if (dash == std::string_view::npos || other == std::string_view::npos) return true;
  if (word.substr(dash) != candidate.substr(other)) return true;
  const std::string_view first[] = {candidate.substr(0, other)};
  return !nearest(word.substr(0, dash), first).empty();
}

std::string_view suggest(std::string_view word, std::vector<std::string_view> candidates) {
  if (word.size() >= 2)
    for (const std::string_view candidate : candidates)
      if (candidate.starts_with(word)) return candidate;
  std::erase_if(candidates, [&](std::string_view candidate) { return !may_mean(word, candidate); });
  return nearest(word, candidates);
}

std::string help_line(const CommandTable& table, const Command* command) {
  return command == nullptr ? "mistctl help"
                            : fmt::format("{} --help", typed(table.called_as, command->path));
}

Error unknown_command(const CommandTable& table, std::string_view group, std::string_view word) {
  const std::string prefix = group.empty() ? "" : fmt::format("{} ", group);
  std::vector<std::string_view> candidates;
  for (const Command* command : table.commands) {
    if (command->hidden || !command->path.starts_with(prefix)) continue;
    const std::string_view rest = command->path.substr(prefix.size());
    candidates.push_back(rest.substr(0, rest.find(' ')));
  }
  // "mistctl init" is "mistctl package init".
  std::vector<std::string> below;
  for (const Command* command : table.commands)
    if (group.empty() && !command->hidden && command->path.ends_with(fmt::format(" {}", word)))
      below.push_back(fmt::format("mistctl {}", command->path));
  if (!below.empty())
    return error(ErrorKind::Usage, "mistctl has no command \"{}\"", word)
        .with_hint(fmt::format("did you mean {}?", join(below, " or ")));
  const std::string_view best = suggest(word, candidates);
  const std::string program = group.empty() ? "mistctl" : typed(table.called_as, group);
  return error(ErrorKind::Usage, "{} has no command \"{}\"", program, word)
      .with_hint(best.empty() ? fmt::format("{} --help lists them", program)
                              : fmt::format("did you mean {} {}?", program, best));
}

Error missing_subcommand(const CommandTable& table, const CommandGroup& group) {
  std::vector<std::string> names;
  for (const Command* command : table.commands) {
    if (command->hidden || !command->path.starts_with(fmt::format("{} ", group.name))) continue;
    const std::string_view rest = command->path.substr(group.name.size() + 1);
    std::string name(rest.substr(0, rest.find(' ')));
    // A group within the group has several.
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  const std::string program = typed(table.called_as, group.name);
  return error(ErrorKind::Usage, "{} needs a command", program)
      .with_hint(fmt::format("{} {}", program, join(names, "|")));
}

// The path that the first of the words are.
std::string path_of(std::span<const std::string> words, std::size_t count) {
  return join(words.first(std::min(count, words.size())), " ");
}

struct FoundGroup {
  const CommandGroup* group = nullptr;
  std::size_t words = 0;
};

// The longest group that the words begin with.
FoundGroup group_in(const CommandTable& table, std::span<const std::string> words) {
  for (std::size_t count = std::min(words.size(), kMostPathWords); count > 0; --count) {
    const auto group = std::ranges::find(table.groups, path_of(words, count), &CommandGroup::name);
    if (group != table.groups.end()) return {&*group, count};
  }
  return {};
}

Error unknown_flag(const CommandTable& table, const Command& command, const Token& token) {
  Error failure =
      error(ErrorKind::Usage, "{} has no flag {}", typed(table.called_as, command.path), token.spelled());
  std::string owners;
  for (const Command* other : table.commands) {
    const Flag* flag =
        token.is_letter ? find_flag(*other, token.name[0]) : find_flag(*other, std::string_view(token.name));
    if (flag != nullptr && !other->hidden)
      owners += fmt::format(
          "{}{}", owners.empty() ? "" : ", ",
          table.called_as.empty() ? std::string(other->path) : typed(table.called_as, other->path));
  }
  if (!owners.empty())
    return std::move(failure).with_hint(
        fmt::format("{} is a flag of {}; see {}", token.spelled(), owners, help_line(table, &command)));
  std::vector<std::string_view> candidates;
  for (const Flag& flag : kGlobalFlags.flags) candidates.push_back(flag.name);
  for (const FlagGroup& group : command.flags)
    for (const Flag& flag : group.flags) candidates.push_back(flag.name);
  const std::string_view best = token.is_letter ? "" : suggest(token.name, candidates);
  return std::move(failure).with_hint(best.empty() ? fmt::format("{} lists them", help_line(table, &command))
                                                   : fmt::format("did you mean --{}?", best));
}

Error bad_value(const Flag& flag, std::string_view value, std::string expected) {
  return error(ErrorKind::Usage, "--{} can't be \"{}\"", flag.name, value).with_hint(std::move(expected));
}

bool is_choice(const Flag& flag, std::string_view value) {
  return std::ranges::any_of(flag.choices, [&](std::string_view choice) {
    if (!choice.ends_with('=')) return choice == value;
    return value.size() > choice.size() && value.starts_with(choice);
  });
}

// The value that is kept, or why there can't be one.
Result<std::string> checked_value(const Flag& flag, const Token& token) {
  if (!token.value) {
    if (flag.type == FlagType::Bool || flag.type == FlagType::Count) return std::string("true");
    return std::string(flag.implied);
  }
  const std::string& value = *token.value;
  switch (flag.type) {
    case FlagType::Bool:
      if (value != "true" && value != "false") return bad_value(flag, value, "true or false");
      break;
    case FlagType::Count:
      return error(ErrorKind::Usage, "--{} takes no value, but got \"{}\"", flag.name, value)
          .with_hint(fmt::format("--{0} --{0} for more", flag.name));
    case FlagType::Number: {
      std::int64_t number = 0;
      const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (code != std::errc{} || end != value.data() + value.size() || number < 0)
        return bad_value(flag, value, "a whole number, not negative");
      break;
    }
    case FlagType::Duration:
      if (auto parsed = parse_duration(value); !parsed.ok())
        return bad_value(flag, value, parsed.error().hint);
      else if (*parsed < Duration::zero())
        return bad_value(flag, value, "a duration that is not negative");
      break;
    case FlagType::Choice:
      if (!is_choice(flag, value)) {
        const std::vector<std::string_view> choices(flag.choices.begin(), flag.choices.end());
        std::string names;
        for (const std::string_view choice : choices)
          names += fmt::format("{}{}", names.empty() ? "" : ", ", choice);
        return bad_value(flag, value, fmt::format("one of {}", names));
      }
      break;
    case FlagType::Text:
    case FlagType::Texts:
      break;
  }
  return value;
}

Status add_flags(Invocation& into, const CommandTable& table, const std::vector<Token>& tokens) {
  const Command& command = into.command();
  for (const Token& token : tokens) {
    const Flag* flag = token.is_letter ? find_flag(command, token.name[0])
                                       : find_flag(command, std::string_view(token.name));
    if (flag == nullptr) return unknown_flag(table, command, token);
    MIST_TRY(std::string value, checked_value(*flag, token));
    const bool repeatable = flag->type == FlagType::Texts || flag->type == FlagType::Count;
    for (const Invocation::Given& given : into.given())
      if (given.flag == flag && !repeatable)
        return error(ErrorKind::Usage, "--{} is given twice", flag->name)
            .with_because(fmt::format("first \"{}\", then \"{}\"", given.value, value))
            .with_hint(fmt::format("keep one of them; {}", help_line(table, &command)));
    into.add_flag(*flag, std::move(value));
  }
  return {};
}

std::string usage_of(const Invocation& invocation) {
  return usage_line(invocation.command(), invocation.called_as());
}

// Left out, such an argument means something else: an empty variable of a script must not.
Error empty_argument(const Invocation& invocation, const Argument& argument) {
  return error(ErrorKind::Usage, "{} can't use an empty {}", invocation.typed_command(), argument.name)
      .with_because("a variable that is not set gives an empty argument too")
      .with_hint(fmt::format("give {0} a value, or leave it out: {1}", argument.name, usage_of(invocation)));
}

Status add_arguments(Invocation& into, std::span<const std::string> words) {
  const Command& command = into.command();
  std::size_t next = 0;
  for (const Argument& argument : command.arguments) {
    const bool many = argument.arity == Arity::OneOrMore || argument.arity == Arity::Any;
    const bool needed = argument.arity == Arity::Required || argument.arity == Arity::OneOrMore;
    if (next == words.size() && needed)
      return error(ErrorKind::Usage, "{} needs {}", into.typed_command(), argument.name)
          .with_hint(usage_of(into));
    while (next < words.size()) {
      if (argument.refuses_empty && words[next].empty()) return empty_argument(into, argument);
      into.add_argument(argument, words[next++]);
      if (!many) break;
    }
  }
  if (next < words.size())
    return error(ErrorKind::Usage, "{} can't use the argument \"{}\"", into.typed_command(), words[next])
        .with_hint(usage_of(into));
  return {};
}

Status check_required_flags(const Invocation& invocation) {
  const Command& command = invocation.command();
  for (const FlagGroup& group : command.flags)
    for (const Flag& flag : group.flags)
      if (flag.required && !invocation.has(flag.name))
        return error(ErrorKind::Usage, "{} needs --{} {}", invocation.typed_command(), flag.name, flag.value)
            .with_hint(usage_of(invocation));
  return {};
}

bool asks_for_all_flags(const std::vector<Token>& flags) {
  return std::ranges::any_of(flags,
                             [](const Token& token) { return !token.is_letter && token.name == "help-all"; });
}

bool asks_for_help(const std::vector<Token>& flags) {
  return asks_for_all_flags(flags) || std::ranges::any_of(flags, [](const Token& token) {
           return token.is_letter ? token.name == "h" : token.name == "help";
         });
}

Result<Parsed> parse_line(const Line& line, const CommandTable& table) {
  const bool help = asks_for_help(line.flags);
  if (line.words.empty()) {
    for (const Token& token : line.flags)
      if (!help && !is_known_flag(table, token.spelled()))
        return error(ErrorKind::Usage, "mistctl has no flag {}", token.spelled())
            .with_hint(help_line(table, nullptr));
    return Parsed(HelpTopic{});
  }
  const auto [command, used] = find_command_in(table, line.words);
  if (command == nullptr) {
    const auto [group, behind] = group_in(table, line.words);
    if (group == nullptr) return unknown_command(table, "", line.words[0]);
    if (line.words.size() > behind) return unknown_command(table, group->name, line.words[behind]);
    if (help) return Parsed(HelpTopic{.command = nullptr, .group = group->name});
    return missing_subcommand(table, *group);
  }
  if (help)
    return Parsed(HelpTopic{.command = command, .group = {}, .all_flags = asks_for_all_flags(line.flags)});
  Invocation invocation(*command, table.called_as);
  // Flags first: after a misspelled one its value looks like an argument too many.
  MIST_TRY_VOID(add_flags(invocation, table, line.flags));
  MIST_TRY_VOID(add_arguments(invocation, std::span(line.words).subspan(used)));
  MIST_TRY_VOID(check_required_flags(invocation));
  return Parsed(std::move(invocation));
}

}  // namespace

Result<Parsed> parse(std::span<const std::string> args, const CommandTable& table) {
  MIST_TRY(const Line line, Scanner(args, table).scan());
  auto parsed = parse_line(line, table);
  if (parsed.ok()) return parsed;
  Error failure = std::move(parsed).error();
  if (auto answer = peer_answer(line, table)) {
    failure.because = std::move(answer->because);
    failure.hint = std::move(answer->hint);
  }
  return failure;
}

// The flag comes first: behind "--" it would be a word.
Result<HelpTopic> topic_of(std::vector<std::string> words, const CommandTable& table) {
  words.insert(words.begin(), "--help");
  MIST_TRY(const Parsed parsed, parse(words, table));
  return std::get<HelpTopic>(parsed);
}

const Command* find_command(const CommandTable& table, std::string_view path) {
  const auto found = std::ranges::find_if(table.commands, [&](const Command* command) {
    return command->path == path || (!command->alias.empty() && command->alias == path);
  });
  return found == table.commands.end() ? nullptr : *found;
}

FoundCommand find_command_in(const CommandTable& table, std::span<const std::string> words) {
  for (std::size_t count = std::min(words.size(), kMostPathWords); count > 0; --count)
    if (const Command* const command = find_command(table, path_of(words, count)); command != nullptr)
      return {command, count};
  return {};
}

std::string usage_line(const Command& command, std::string_view called_as) {
  std::string line = typed(called_as, command.path);
  for (const Argument& argument : command.arguments) {
    switch (argument.arity) {
      case Arity::Required:
        line += fmt::format(" {}", argument.name);
        break;
      case Arity::Optional:
        line += fmt::format(" [{}]", argument.name);
        break;
      case Arity::OneOrMore:
        line += fmt::format(" {}...", argument.name);
        break;
      case Arity::Any:
        line += fmt::format(" [{}]...", argument.name);
        break;
    }
  }
  for (const FlagGroup& group : command.flags)
    for (const Flag& flag : group.flags) {
      if (!flag.required) continue;
      line += flag.letter == 0 ? fmt::format(" --{} {}", flag.name, flag.value)
                               : fmt::format(" -{} {}", flag.letter, flag.value);
    }
  return line + " [flags]";
}

namespace {

// Whether one of `whole` stands among the flags, or one of `names` followed by `value`.
bool asks_for(std::span<const std::string> args, std::initializer_list<std::string_view> whole,
              std::initializer_list<std::string_view> names, std::string_view value) {
  for (std::size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    if (std::ranges::find(whole, args[i]) != whole.end()) return true;
    if (std::ranges::find(names, args[i]) != names.end() && i + 1 < args.size() && args[i + 1] == value)
      return true;
  }
  return false;
}

}  // namespace

bool asks_for_json(std::span<const std::string> args, const CommandTable& table) {
  // -qojson is -q -ojson.
  std::vector<std::string> apart(args.begin(), args.end());
  for (std::string& word : apart) {
    if (word.starts_with("--")) continue;
    const auto is_bare = [&] {
      const Flag* const flag = any_flag_lettered(table, word[1]);
      return flag != nullptr && !takes_value(*flag);
    };
    while (word.size() > 2 && word[0] == '-' && is_bare()) word.erase(1, 1);
  }
  return asks_for(apart, {"-ojson", "-o=json", "--output=json"}, {"-o", "--output"}, "json");
}

bool asks_for_events(std::span<const std::string> args) {
  return asks_for(args, {"--events=jsonl"}, {"--events"}, "jsonl");
}

}  // namespace mist::cli
