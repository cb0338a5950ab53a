#include "registry/source_commit.h"

#include <map>
#include <memory>
#include <vector>

#include "base/text.h"
#include "config/redact.h"
#include "crypto/git_blob.h"
#include "registry/git.h"
#include "registry/git_url.h"

namespace mist::registry {
namespace {

constexpr std::string_view kGitDirectory = ".git";

// The directory with .git that `source` is in; nothing: there is none.
std::optional<Path> checkout_of(const FileSystem& files, const Path& source) {
  for (Path at = files.is_directory(source) ? source : source.parent_path();; at = at.parent_path()) {
    if (files.exists(at / kGitDirectory)) return at;
    if (!at.has_relative_path()) return std::nullopt;
  }
}

// A file of a package as git knows it.
struct KnownFile {
  std::string path;        // in the repository
  std::string_view bytes;  // that were read
};
struct KnownFiles {
  std::vector<KnownFile> files;
  bool has_lock = false;
  std::shared_ptr<const std::string> module;  // of which `files` has the bytes
};

// `content` outlives them.
Result<KnownFiles> files_of(const std::string& below, bool is_directory, const PackageContent& content) {
  KnownFiles known;
  if (const auto* const module = std::get_if<PackageModule>(&content)) {
    MIST_TRY(known.module, module->bytes());
    known.files.push_back({below, *known.module});
    return known;
  }
  const auto& tree = std::get<PackageTree>(content);
  if (!is_directory && tree.files.size() == 1) {
    known.files.push_back({below, tree.files.front().bytes});
    return known;
  }
  for (const PackageFile& file : tree.files) {
    known.files.push_back({below.empty() ? file.path : fmt::format("{}/{}", below, file.path), file.bytes});
    known.has_lock = known.has_lock || file.path == "Chart.lock" || file.path == "requirements.lock";
  }
  return known;
}

class Checkout {
 public:
  Checkout(const FileSystem& files, ProcessRunner& processes, Path top, const Context& context)
      : files_(files), git_(processes), top_(std::move(top)), context_(context) {}

  Result<std::string> commit() const {
    MIST_TRY(const std::string id, run({"rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"}));
    return std::string(trim(id));
  }

  // Empty: there is none, or one that only this machine has.
  Result<std::string> origin() const {
    // Unlike --get, this succeeds without one.
    MIST_TRY(const std::string listed, run({"config", "--local", "--includes", "--null", "--list"}));
    std::string url;
    for (const std::string_view entry : split(listed, '\0')) {
      constexpr std::string_view kKey = "remote.origin.url\n";
      if (entry.starts_with(kKey)) url = entry.substr(kKey.size());
    }
    const Result<GitUrl> parsed = GitUrl::parse(url, top_);
    if (url.empty() || !parsed || parsed->host().empty()) return std::string();
    return config::without_credentials(parsed->text());
  }

  // Whether the bytes that were read are the commit's, whatever the files hold by now, and none of the
  // commit's files is missing on disk.
  Result<bool> is_clean(const std::string& commit, const std::string& below, const KnownFiles& known) const {
    constexpr std::size_t kSha1Digits = 40;
    const crypto::GitHash hash =
        commit.size() == kSha1Digits ? crypto::GitHash::Sha1 : crypto::GitHash::Sha256;
    MIST_TRY(const Objects committed, objects_of(commit, below));
    bool is_committed = false;
    for (const KnownFile& file : known.files) {
      const auto found = committed.find(file.path);
      if (found == committed.end()) {
        if (known.has_lock && is_subchart(file.path, below)) continue;
        return false;
      }
      if (found->second != crypto::git_blob(file.bytes, hash)) return false;
      is_committed = true;
    }
    for (const auto& [path, object] : committed)
      if (!files_.exists(top_ / path)) return false;
    return is_committed;
  }

 private:
  using Objects = std::map<std::string, std::string>;  // by path

  Result<std::string> run(std::vector<std::string> arguments) const {
    return git_.run({.arguments = std::move(arguments),
                     .repository = top_ / kGitDirectory,
                     .remote = nullptr,
                     .input = {}},
                    context_);
  }

  // The files of the commit at or below a path.
  Result<Objects> objects_of(const std::string& commit, const std::string& below) const {
    std::vector<std::string> arguments{"--literal-pathspecs", "ls-tree", "-r", "-z",
                                       "--full-tree",         commit,    "--"};
    if (!below.empty()) arguments.push_back(below);
    MIST_TRY(const std::string listed, run(std::move(arguments)));
    Objects objects;
    for (const std::string_view line : split(listed, '\0')) {
      // "100644 blob ID\tPATH"; links and submodules are no files of a package.
      const auto tab = line.find('\t');
      if (tab == std::string_view::npos || !line.starts_with("100")) continue;
      const std::string_view about = line.substr(0, tab);
      objects.emplace(line.substr(tab + 1), about.substr(about.rfind(' ') + 1));
    }
    return objects;
  }

  static bool is_subchart(std::string_view path, std::string_view below) {
    if (!below.empty()) path.remove_prefix(below.size() + 1);
    return path.starts_with("charts/");
  }

  const FileSystem& files_;
  Git git_;
  Path top_;
  const Context& context_;
};

}  // namespace

Result<std::optional<SourceCommit>> source_commit(const FileSystem& files, ProcessRunner& processes,
                                                  const Path& source, const PackageContent& content,
                                                  const Context& context) {
  const std::optional<Path> top = checkout_of(files, source);
  if (!top) return std::optional<SourceCommit>();
  const Checkout checkout(files, processes, *top, context);
  SourceCommit found;
  const Path below = source.lexically_relative(*top);
  if (below != ".") found.path = below.generic_string();
  while (found.path.ends_with('/')) found.path.pop_back();
  const auto read = [&]() -> Status {
    MIST_TRY(found.commit, checkout.commit());
    MIST_TRY(found.url, checkout.origin());
    MIST_TRY(const KnownFiles known, files_of(found.path, files.is_directory(source), content));
    MIST_TRY(found.clean, checkout.is_clean(found.commit, found.path, known));
    return {};
  };
  MIST_TRY_VOID(read().in(fmt::format("while finding the commit of {}", source.string())));
  return std::optional(std::move(found));
}

}  // namespace mist::registry
