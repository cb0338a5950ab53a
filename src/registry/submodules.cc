#include "registry/submodules.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace mist::registry {
namespace {

constexpr std::string_view kList = ".gitmodules";

// The entry of one submodule in .gitmodules.
struct Declared {
  std::string path;
  std::string url;
  std::string update;
};

// git reads its own format.
Result<std::vector<Declared>> parse_list(const Git& git, std::string text, const Context& context) {
  MIST_TRY(const std::string listed, git.run({.arguments = {"config", "--file=-", "--null", "--list"},
                                              .repository = {},
                                              .remote = nullptr,
                                              .input = std::move(text)},
                                             context));
  std::map<std::string, Declared> found;
  for (const std::string_view entry : split(listed, '\0')) {
    const auto end = entry.find('\n');
    const std::string_view key = entry.substr(0, end);
    const auto name_end = key.rfind('.');
    constexpr std::string_view kSection = "submodule.";
    if (end == std::string_view::npos || !key.starts_with(kSection) || name_end < kSection.size()) continue;
    Declared& one = found[std::string(key.substr(kSection.size(), name_end - kSection.size()))];
    const std::string_view member = key.substr(name_end + 1);
    const std::string value(entry.substr(end + 1));
    if (member == "path") one.path = value;
    if (member == "url") one.url = value;
    if (member == "update") one.update = value;
  }
  std::vector<Declared> all;
  for (auto& [name, one] : found) all.push_back(std::move(one));
  return all;
}

// As git resolves it, not as RFC 3986: each "../" takes a part of the parent's path away, which may be in scp
// form.
std::string resolved(std::string base, std::string_view relative) {
  while (base.ends_with('/')) base.pop_back();
  while (true) {
    if (relative.starts_with("../")) {
      relative.remove_prefix(3);
      const auto end = base.find_last_of("/:");
      if (end != std::string::npos) base.resize(base[end] == ':' ? end + 1 : end);
    } else if (relative.starts_with("./")) {
      relative.remove_prefix(2);
    } else {
      break;
    }
  }
  std::string url = base.ends_with(':') ? base + std::string(relative) : fmt::format("{}/{}", base, relative);
  while (url.ends_with('/')) url.pop_back();
  return url;
}

bool is_relative(std::string_view url) { return url.starts_with("./") || url.starts_with("../"); }

}  // namespace

Result<std::string> submodule_url(const GitUrl& parent, std::string_view url) {
  const std::string whole = is_relative(url) ? resolved(parent.text(), url) : std::string(url);
  MIST_TRY(const GitUrl parsed, GitUrl::parse(whole, "/"));
  const bool remote =
      parsed.transport() == GitUrl::Transport::Https || parsed.transport() == GitUrl::Transport::Ssh;
  if (!remote && parsed.transport() != parent.transport())
    return error(ErrorKind::Forbidden, "{} has a submodule on this machine, {}", parent.display(),
                 parsed.display())
        .with_hint("only a repository on this machine may");
  return parsed.text();
}

Result<RepositoryFiles> RepositoryFiles::open(const Git& git, const RepositoryAtRef& top, bool submodules,
                                              const OpenRepository& open, const Context& context) {
  RepositoryFiles files;
  files.parts_.push_back({"", nullptr, SnapshotFiles(top.store, top.snapshot, top.index, context)});
  if (submodules) MIST_TRY_VOID(files.add_submodules(git, "", top, 0, open, context));
  return files;
}

Status RepositoryFiles::add_submodules(const Git& git, const std::string& at, const RepositoryAtRef& parent,
                                       std::size_t depth, const OpenRepository& open,
                                       const Context& context) {
  const std::vector<const TreeEntry*> wanted = parent.index.submodules();
  if (wanted.empty()) return {};
  if (depth >= kDeepest || parts_.size() + wanted.size() > kMostSubmodules)
    return error(ErrorKind::Invalid, "{} has more than {} submodules, or they are {} levels deep",
                 parent.shown, kMostSubmodules, kDeepest)
        .with_hint("?submodules=false leaves them out");
  const SnapshotFiles files(parent.store, parent.snapshot, parent.index, context);
  std::vector<Declared> declared;
  if (files.is_file(std::string(kList))) {
    MIST_TRY(std::vector<std::string> text, files.read({{std::string(kList), ""}}));
    MIST_TRY(declared, parse_list(git, std::move(text.front()), context));
  }
  for (const TreeEntry* const entry : wanted) {
    const auto one = std::ranges::find(declared, entry->path, &Declared::path);
    const std::string shown = escape_controls(at + entry->path);
    if (one == declared.end() || one->url.empty())
      return error(ErrorKind::Invalid, "{} doesn't say where its submodule {} is", parent.shown, shown)
          .with_hint("its .gitmodules needs a url for it; ?submodules=false leaves submodules out");
    if (one->update == "none") continue;
    MIST_TRY(const std::string url, submodule_url(parent.store.url(), one->url));
    auto opened = open(parent.store.url(), url, entry->object);
    if (!opened)
      return std::move(opened).error().with_frame(
          fmt::format("while fetching the submodule {} of {}", shown, parent.shown));
    auto own = std::make_unique<RepositoryAtRef>(*std::move(opened));
    const RepositoryAtRef& module = *own;
    const std::string below = at + entry->path + '/';
    parts_.push_back(
        {below, std::move(own), SnapshotFiles(module.store, module.snapshot, module.index, context)});
    MIST_TRY_VOID(add_submodules(git, below, module, depth + 1, open, context));
  }
  return {};
}

const RepositoryFiles::Part& RepositoryFiles::part_of(const std::string& path) const {
  const std::string inside = path + '/';
  const Part* innermost = &parts_.front();
  for (const Part& part : parts_)
    if (part.at.size() > innermost->at.size() && inside.starts_with(part.at)) innermost = &part;
  return *innermost;
}

bool RepositoryFiles::is_file(const std::string& path) const {
  const Part& part = part_of(path);
  return part.files.is_file(part.below(path));
}

bool RepositoryFiles::is_directory(const std::string& path) const {
  const Part& part = part_of(path);
  return part.files.is_directory(part.below(path));
}

bool RepositoryFiles::is_on_this_machine(const std::string& path) const {
  return part_of(path).files.url().transport() == GitUrl::Transport::File;
}

Result<std::vector<std::string>> RepositoryFiles::read(const std::vector<NamedFile>& files) const {
  std::map<const Part*, std::vector<NamedFile>> wanted;
  for (const NamedFile& file : files) {
    const Part& part = part_of(file.path);
    wanted[&part].push_back({part.below(file.path), part.below(file.directory)});
  }
  // Each repository has bounds of its own, and there may be a hundred.
  PackageRoom room(top());
  std::map<const Part*, std::vector<std::string>> texts;
  for (const auto& [part, some] : wanted) {
    MIST_TRY(texts[part], part->files.read(some));
    for (const std::string& text : texts[part]) MIST_TRY_VOID(room.take(text.size()));
    std::ranges::reverse(texts[part]);
  }
  std::vector<std::string> all;
  for (const NamedFile& file : files) {
    std::vector<std::string>& rest = texts[&part_of(file.path)];
    all.push_back(std::move(rest.back()));
    rest.pop_back();
  }
  return all;
}

Result<std::vector<PackageFile>> RepositoryFiles::read_all(const std::string& directory) const {
  const Part& part = part_of(directory);
  MIST_TRY(std::vector<PackageFile> files, part.files.read_all(part.below(directory)));
  for (PackageFile& file : files) file.path = part.at + file.path;
  return files;
}

}  // namespace mist::registry
