#include "cli/parse/complete.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/parse/flags.h"
#include "cli/parse/invocation.h"
#include "cli/parse/parse.h"

namespace mist::cli {
namespace {

// As a shell splits a line that isn't finished: the last word is the one at the cursor, maybe empty.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
      continue;
    }
    inside = true;
    if (c == '\\' && quote != '\'' && i + 1 < line.size())
      word += line[++i];
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      word += c;
  }
  words.push_back(std::move(word));
  return words;
}

class Completer {
 public:
  Completer(const CommandTable& table, const NameSource& names) : table_(table), names_(names) {}

  CompletionReply run(std::vector<std::string> words) {
    current_ = std::move(words.back());
    words.pop_back();
    for (std::size_t i = 1; i < words.size(); ++i) take(words[i]);
    settle_command();
    // Before the command was known, another command's flag of that name may have been found.
    if (pending_ != nullptr) pending_ = flag_named(pending_->name);
    if (pending_ != nullptr) {
      value(*pending_, "", current_);
    } else if (!ended_ && current_.starts_with("--") && current_.find('=') != std::string::npos) {
      const std::size_t equals = current_.find('=');
      if (const Flag* flag = flag_named(std::string_view(current_).substr(2, equals - 2)))
        value(*flag, current_.substr(0, equals + 1), current_.substr(equals + 1));
    } else if (!ended_ && current_.starts_with('-')) {
      flags();
    } else if (command_ == nullptr) {
      commands();
    } else {
      argument();
    }
    std::ranges::sort(reply_.words);
    const auto repeated = std::ranges::unique(reply_.words);
    reply_.words.erase(repeated.begin(), repeated.end());
    return std::move(reply_);
  }

 private:
  // A word before the cursor.
  void take(const std::string& word) {
    if (pending_ != nullptr) {
      remember(*pending_, word);
      pending_ = nullptr;
    } else if (ended_ || !word.starts_with('-') || word == "-") {
      words_.push_back(word);
    } else if (word == "--") {
      ended_ = true;
    } else if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const Flag* flag = flag_named(std::string_view(word).substr(2, equals - 2));
      if (flag != nullptr && equals != std::string::npos)
        remember(*flag, word.substr(equals + 1));
      else if (flag != nullptr)
        seen(*flag);
    } else {
      letters(std::string_view(word).substr(1));
    }
  }

  void letters(std::string_view text) {
    while (!text.empty()) {
      const Flag* flag = flag_lettered(text[0]);
      text.remove_prefix(1);
      if (flag == nullptr) return;
      if (!text.empty() && takes_value(*flag)) return remember(*flag, text);
      seen(*flag);
    }
  }

  void seen(const Flag& flag) {
    if (takes_value(flag))
      pending_ = &flag;
    else
      given_.push_back(flag.name);
  }

  void remember(const Flag& flag, std::string_view text) {
    if (flag.type != FlagType::Texts) given_.push_back(flag.name);
    if (text.starts_with('=')) text.remove_prefix(1);
    if (flag.name == "namespace") cluster_.ns = text;
    if (flag.name == "context") cluster_.context = text;
    if (flag.name == "kubeconfig") cluster_.kubeconfig = text;
    if (flag.name == "package") package_ = text;
    if (flag.name == "engine") engine_ = text;
  }

  // The words that name the command go; what is left are arguments.
  void settle_command() {
    const FoundCommand found = find_command_in(table_, words_);
    command_ = found.command;
    words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(found.words));
  }

  const Flag* flag_named(std::string_view name) const {
    return any([&](const Flag& flag) { return flag.name == name; });
  }
  const Flag* flag_lettered(char letter) const {
    return any([&](const Flag& flag) { return flag.letter == letter; });
  }
  template <typename Matches>
  const Flag* any(Matches matches) const {
    const Flag* found = nullptr;
    const auto look = [&](const FlagGroup& group) {
      for (const Flag& flag : group.flags)
        if (found == nullptr && matches(flag)) found = &flag;
    };
    if (command_ != nullptr)
      for (const FlagGroup& group : command_->flags) look(group);
    look(kGlobalFlags);
    for (const Command* command : table_.commands)
      for (const FlagGroup& group : command->flags) look(group);
    return found;
  }

  void offer(std::string_view word, std::string_view description = {}) {
    if (word.starts_with(current_)) add(std::string(word), description);
  }

  void add(std::string word, std::string_view description = {}) {
    if (!description.empty()) reply_.descriptions.emplace(word, description);
    reply_.words.push_back(std::move(word));
  }

  void flags() {
    const auto offer_group = [&](const FlagGroup& group) {
      for (const Flag& flag : group.flags)
        if (std::ranges::find(given_, flag.name) == given_.end())
          offer(fmt::format("--{}", flag.name), flag.help);
    };
    if (command_ != nullptr)
      for (const FlagGroup& group : command_->flags) offer_group(group);
    offer_group(kGlobalFlags);
  }

  void commands() {
    for (const Command* command : table_.commands) {
      if (command->hidden) continue;
      offer_command(command->path, command->summary);
      if (!command->alias.empty()) offer_command(command->alias, command->summary);
    }
  }

  // The word of `path` that comes after those already typed.
  void offer_command(std::string_view path, std::string_view summary) {
    const std::vector<std::string_view> parts = split(path, ' ');
    if (words_.size() >= parts.size()) return;
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (parts[i] != words_[i]) return;
    const std::string_view word = parts[words_.size()];
    if (words_.size() + 1 == parts.size()) return offer(word, summary);
    std::string_view name = path;
    name.remove_suffix(static_cast<std::size_t>(path.data() + path.size() - word.data()) - word.size());
    const auto group = std::ranges::find(table_.groups, name, &CommandGroup::name);
    offer(word, group == table_.groups.end() ? std::string_view() : group->summary);
  }

  void argument() {
    const auto arguments = command_->arguments;
    if (arguments.empty()) return;
    const Argument& last = arguments.back();
    const bool many = last.arity == Arity::OneOrMore || last.arity == Arity::Any;
    if (words_.size() >= arguments.size() && !many) return;
    if (many && words_.size() >= arguments.size()) left_out_ = words_;
    const Argument& argument = arguments[std::min(words_.size(), arguments.size() - 1)];
    names(argument.completion, "", current_);
  }

  // "3" and "v3" mean the same.
  void revisions(const std::string& prefix, const std::string& typed) {
    if (words_.empty()) return;
    const bool lettered = typed.starts_with('v');
    offer_all(names_({.kind = Completion::Release, .cluster = cluster_, .release = words_.front()}),
              prefix + (lettered ? "v" : ""), typed.substr(lettered ? 1 : 0));
  }

  void value(const Flag& flag, const std::string& prefix, const std::string& typed) {
    if (flag.type == FlagType::Bool) {
      if (!prefix.empty()) offer_all({{"true"}, {"false"}}, prefix, typed);
      return;
    }
    for (const std::string_view choice : flag.choices) {
      if (choice.ends_with('=') && typed.starts_with(choice)) {
        reply_.files = CompletionReply::Files::Directories;
        return;
      }
      if (!choice.starts_with(typed)) continue;
      reply_.words.push_back(prefix + std::string(choice));
      if (choice.ends_with('=')) reply_.no_space = true;
    }
    if (flag.completion == Completion::ValueKey) return value_keys(flag, prefix, typed);
    names(flag.completion, prefix, typed);
  }

  void offer_all(const std::vector<KnownName>& candidates, const std::string& prefix,
                 const std::string& typed) {
    for (const KnownName& candidate : candidates)
      if (candidate.name.starts_with(typed) &&
          std::ranges::find(left_out_, candidate.name) == left_out_.end())
        add(prefix + candidate.name, candidate.description);
  }

  // The key that is being typed: of --set the last behind a comma.
  void value_keys(const Flag& flag, const std::string& prefix, const std::string& typed) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < typed.size(); ++i) {
      if (typed[i] == '\\')
        ++i;
      else if (typed[i] == ',' && (flag.name == "set" || flag.name == "set-string"))
        begin = i + 1;
    }
    const std::string key = typed.substr(begin);
    if (key.find('=') != std::string::npos) {
      if (flag.name == "set-file") reply_.files = CompletionReply::Files::Files;
      return;
    }
    offer_all(names_({.kind = Completion::ValueKey,
                      .cluster = cluster_,
                      .release = words_.empty() ? std::string() : words_.front(),
                      .typed = key,
                      .package = package_,
                      .engine = engine_}),
              prefix + typed.substr(0, begin), key);
    reply_.no_space = !reply_.words.empty();
  }

  void names(Completion kind, const std::string& prefix, const std::string& typed) {
    switch (kind) {
      case Completion::None:
      case Completion::ValueKey:
        return;
      case Completion::File:
        reply_.files = CompletionReply::Files::Files;
        return;
      case Completion::Directory:
        reply_.files = CompletionReply::Files::Directories;
        return;
      case Completion::Command:
        return commands();
      case Completion::Package: {
        if (typed.starts_with('.') || typed.starts_with('/')) {
          reply_.files = CompletionReply::Files::Files;
          return;
        }
        return packages(prefix, typed);
      }
      case Completion::ReleaseAnywhere:
        return releases_anywhere(prefix, typed);
      case Completion::Revision:
        return revisions(prefix, typed);
      case Completion::CopiesPlace:
        return copies_place(prefix, typed);
      case Completion::Mirror:
        if (words_.empty()) return;
        return offer_all(names_({.kind = kind, .cluster = cluster_, .mirrored = words_.front()}), prefix,
                         typed);
      case Completion::Release:
      case Completion::Namespace:
      case Completion::Context:
      case Completion::Registry:
      case Completion::WorkingCopy:
      case Completion::Mirrored:
        return offer_all(names_({.kind = kind, .cluster = cluster_}), prefix, typed);
    }
  }

  // First how a place is written, then the path.
  void copies_place(const std::string& prefix, const std::string& typed) {
    if (typed.starts_with("oci-layout:")) {
      reply_.files = CompletionReply::Files::Directories;
    } else if (typed.starts_with("oci-archive:")) {
      reply_.files = CompletionReply::Files::Files;
    } else {
      offer_all({{"oci://"}, {"oci-layout:"}, {"oci-archive:"}}, prefix, typed);
      reply_.no_space = !reply_.words.empty();
    }
  }

  // First "shop/", then "shop/web".
  void releases_anywhere(const std::string& prefix, const std::string& typed) {
    ClusterChoice there = cluster_;
    const std::size_t slash = typed.find('/');
    if (slash == std::string::npos) {
      there.ns.clear();
      for (const KnownName& ns : names_({.kind = Completion::Namespace, .cluster = there}))
        if (const std::string word = ns.name + "/"; word.starts_with(typed)) add(prefix + word);
      reply_.no_space = !reply_.words.empty();
      return;
    }
    there.ns = typed.substr(0, slash);
    offer_all(names_({.kind = Completion::Release, .cluster = there}), prefix + typed.substr(0, slash + 1),
              typed.substr(slash + 1));
  }

  // Piece by piece: "team/", then "team/web:", then "team/web:0.1.0".
  void packages(const std::string& prefix, const std::string& typed) {
    if (typed.find('/') == std::string::npos) {
      for (const KnownName& registry : names_({.kind = Completion::Registry, .cluster = cluster_}))
        if (const std::string word = registry.name + "/"; word.starts_with(typed)) add(prefix + word);
    } else {
      offer_all(names_({.kind = Completion::Package, .cluster = cluster_, .typed = typed}), prefix, typed);
    }
    reply_.no_space = std::ranges::any_of(
        reply_.words, [](const std::string& word) { return word.ends_with('/') || word.ends_with(':'); });
  }

  const CommandTable& table_;
  const NameSource& names_;
  std::string current_;
  std::vector<std::string> words_;       // before the cursor, flags left out
  std::vector<std::string_view> given_;  // flags that can't be given again
  const Flag* pending_ = nullptr;        // the flag whose value comes next
  bool ended_ = false;                   // after "--"
  const Command* command_ = nullptr;
  ClusterChoice cluster_;
  std::string package_, engine_;       // of -p and --engine
  std::vector<std::string> left_out_;  // names that can't be given again
  CompletionReply reply_;
};

// Signs that stand in words of ours beside letters and digits, and need no quotes.
bool is_plain_sign(char c) { return std::string_view("-_./:@=+,%~").find(c) != std::string_view::npos; }

}  // namespace

CompletionReply complete(std::string_view line, const CommandTable& table, const NameSource& names) {
  CompletionReply reply = Completer(table, names).run(shell_words(line));
  // bash puts a word into the line as it is. A registry's owner chooses what its packages are called, and
  // "web$(rm -r ~)" would be run with the line.
  std::erase_if(reply.words, [](std::string_view word) {
    return word.starts_with('~') || std::ranges::any_of(word, [](unsigned char c) {
             const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
             return !letter && c < 0x80 && !is_plain_sign(static_cast<char>(c));
           });
  });
  return reply;
}

void strip_to_last_break(CompletionReply& reply, std::string_view line, std::string_view breaks) {
  const std::string current = shell_words(line).back();
  // bash breaks at them although they need no quotes. An '@' begins the word that is replaced; the others end
  // the one before (rl_special_prefixes of readline, which bash sets to "$@" for names of hosts).
  std::size_t keep = 0;
  for (std::size_t i = 0; i < current.size(); ++i)
    if (is_plain_sign(current[i]) && breaks.find(current[i]) != std::string_view::npos)
      keep = current[i] == '@' ? i : i + 1;
  std::map<std::string, std::string> descriptions;
  for (std::string& word : reply.words) {
    const auto described = reply.descriptions.find(word);
    word.erase(0, keep);
    if (described != reply.descriptions.end()) descriptions.emplace(word, described->second);
  }
  reply.descriptions = std::move(descriptions);
}

}  // namespace mist::cli
