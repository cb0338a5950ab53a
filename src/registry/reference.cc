#include "registry/reference.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/url.h"
#include "base/url_credentials.h"
#include "config/config.h"
#include "config/redact.h"
#include "encoding/semver.h"
#include "registry/git_url.h"

namespace mist::registry {
namespace {

constexpr std::size_t kMaxReference = 2048;
constexpr std::size_t kMaxVersion = 128;
constexpr std::string_view kDigestMark = "@sha256:";
constexpr std::string_view kGitPrefix = "git+";
constexpr std::string_view kForms =
    "use <registry>/<path>:<version>, oci://<host>/<path>:<version>, "
    "git+https://<host>/<repository>//<path>?ref=<ref>, or a local path that begins with ./, ../ or /";

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_path_character(char c) {
  return is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '+' || c == '/';
}

bool is_local(std::string_view text) {
  return text == "." || text == ".." || text.starts_with("./") || text.starts_with("../") ||
         text.starts_with('/');
}

bool looks_like_file(std::string_view text) {
  constexpr std::array<std::string_view, 5> kEndings{".wasm", ".yaml", ".yml", ".json", ".tgz"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return text.ends_with(ending); });
}

/// The beginning of every error of this file.
Error bad(std::string_view text, std::string_view why, std::string hint) {
  return error(ErrorKind::Invalid, "'{}' is not a package reference: {}", shown_url(text), why)
      .with_hint(std::move(hint));
}

struct WithDigest {
  std::string_view rest;
  std::optional<crypto::Digest> digest;
};

Result<WithDigest> split_digest(std::string_view text) {
  const auto mark = text.rfind(kDigestMark);
  if (mark == std::string_view::npos) return WithDigest{text, std::nullopt};
  auto digest = crypto::Digest::parse(text.substr(mark + 1));
  if (!digest)
    return bad(text, "the text after '@' is not a digest",
               "write @sha256: and 64 lower-case hexadecimal digits");
  return WithDigest{text.substr(0, mark), *digest};
}

Result<PackageRef> parse_git(std::string_view text) {
  MIST_TRY(WithDigest parts, split_digest(text));
  std::string_view rest = parts.rest.substr(kGitPrefix.size());
  GitRef form;
  form.digest = parts.digest;
  if (const auto question = rest.find('?'); question != std::string_view::npos) {
    const std::string_view query = rest.substr(question + 1);
    if (!query.starts_with("ref=") || !is_git_ref(query.substr(4)))
      return bad(text, "the text after '?' is not ref=<branch, tag or commit>",
                 "write ?ref=main, ?ref=v1.2.3 or ?ref=<full commit>, without percent signs or '&'");
    form.ref = query.substr(4);
    rest = rest.substr(0, question);
  }
  const auto scheme_end = rest.find("://");
  if (scheme_end == std::string_view::npos)
    return bad(text, "it has no '://'", "write git+https://<host>/<repository>//<path>?ref=<ref>");
  // Of a password with a "//", the beginning would be an address of its own, and shown.
  const std::optional<UrlParts> url_parts = split_url(rest);
  if (is_http(rest) && (!url_parts || url_parts->server.ends_with(':')))
    return bad(text, "its user, host or port isn't written as in a URL",
               "write a port as a number; in a password write / as %2F, # as %23 and @ as %40");
  // The path begins at the second "//"; the first belongs to the scheme.
  const auto path_mark = rest.find("//", scheme_end + 3);
  if (path_mark != std::string_view::npos) {
    form.path = rest.substr(path_mark + 2);
    const std::string objection = form.path.empty() ? "it is empty" : path_objection(form.path);
    if (!objection.empty() || form.path.find('?') != std::string::npos)
      return bad(text, fmt::format("the path after '//' can't be used: {}", objection),
                 "name a file or directory inside of the repository, or leave out '//'");
  }
  form.url = rest.substr(0, path_mark);
  const Result<GitUrl> url = GitUrl::parse(form.url, {});
  if (!url) return bad(text, url.error().message, url.error().hint);
  return PackageRef(std::move(form));
}

Result<PackageRef> refuse_other_scheme(std::string_view text) {
  const std::string shown = shown_url(text);
  // An archive, which Helm would download.
  const std::string_view path = std::string_view(shown).substr(0, shown.find_first_of("?#"));
  constexpr std::string_view kThen = "then -p NAME/CHART:VERSION";
  if (path.ends_with(".tgz") || path.ends_with(".tar.gz")) {
    const auto slash = path.rfind('/');
    return bad(
        text, "charts are not downloaded from plain URLs",
        fmt::format("if it is of a chart repository, mistctl registry add NAME --helm {}, {}; otherwise "
                    "download it, and give the file: -p ./{}",
                    path.substr(0, slash), kThen, path.substr(slash + 1)));
  }
  if (text.starts_with("https://"))
    return bad(
        text, "a plain URL doesn't say what it leads to",
        fmt::format("for a git repository write {}{}; for a chart repository, mistctl registry add NAME "
                    "--helm {}, {}",
                    kGitPrefix, shown, path, kThen));
  if (text.starts_with("ssh://"))
    return bad(text, "a plain URL doesn't say what it leads to",
               fmt::format("for a git repository write {}{}", kGitPrefix, shown));
  return bad(text, "its scheme isn't known", std::string(kForms));
}

/// "host:5000/path:1.0.0", or "oci:" without its slashes.
bool lacks_oci_scheme(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view rest = text.substr(std::min(colon, text.size() - 1) + 1);
  const std::string_view port = rest.substr(0, rest.find('/'));
  return text.substr(0, colon) == "oci" ||
         (!port.empty() && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }));
}

std::string with_oci_scheme(std::string_view text) {
  if (text.starts_with("oci:")) text.remove_prefix(4);
  return fmt::format("{}{}", oci::kScheme, text.substr(std::min(text.find_first_not_of('/'), text.size())));
}

/// Every way in which a version is left out or misunderstood.
Error bad_version(std::string_view text, std::string_view before, std::string_view version) {
  std::string hint = fmt::format("name an exact version, such as {}:1.2.3", escape_controls(before));
  if (version.empty()) return bad(text, "no version follows the ':'", std::move(hint));
  return bad(text, "its version holds a character that no version has, or is too long", std::move(hint));
}

Status check_range(std::string_view text, const RegistryRef& form) {
  const auto range = encoding::SemVerRange::parse(form.version);
  if (!range)
    return bad(text, "the range after the ':' can't be understood", range.error().hint)
        .with_because(range.error().message);
  if (form.digest) return bad(text, "it has a range and a digest", "leave one of them out");
  return {};
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= kMaxVersion && is_alphanumeric(text.front()) &&
         std::ranges::all_of(text, [](char c) { return c != '/' && is_path_character(c); });
}

Error missing_version(std::string_view text) {
  if (looks_like_file(text))
    return bad(text, "a local path begins with ./, ../ or /", fmt::format("did you mean ./{}?", text));
  if (text.find('/') == std::string_view::npos)
    return bad(text, "it names no registry and no version", std::string(kForms));
  return bad(
      text, "it names no version",
      fmt::format("add an exact version, such as {}:1.2.3; for a local directory write ./{}", text, text));
}

Result<PackageRef> parse_registry(std::string_view text) {
  MIST_TRY(const WithDigest parts, split_digest(text));
  const std::string_view rest = parts.rest;
  const auto colon = rest.find(':');
  // The path is checked first: it goes into every hint.
  const std::string_view location = rest.substr(0, colon);
  if (!std::ranges::all_of(location, is_path_character)) {
    if (location.find('@') != std::string_view::npos)
      return bad(text, "it looks like an ssh address",
                 "for a git repository write git+ssh://<user>@<host>/<repository>//<path>?ref=<ref>");
    return bad(text, "it holds a character that no reference has", std::string(kForms));
  }
  if (colon == std::string_view::npos) return missing_version(rest);
  const auto slash = location.find('/');
  if (rest.find('/', colon) != std::string_view::npos && lacks_oci_scheme(rest))
    return bad(text, "an OCI registry's address begins with oci://",
               fmt::format("did you mean {}?", escape_controls(with_oci_scheme(text))));
  if (rest.find('/', colon) != std::string_view::npos)
    return bad(text, "a '/' follows the ':'", "the version comes last: <registry>/<path>:<version>");
  if (slash == std::string_view::npos || slash == 0)
    return bad(text, "it names no registry",
               fmt::format("begin with a registry's name, such as {}/{}; mistctl registry list shows them",
                           config::kDefaultRegistry, rest.substr(slash == 0 ? 1 : 0)));
  RegistryRef form;
  form.registry = location.substr(0, slash);
  form.path = location.substr(slash + 1);
  form.version = rest.substr(colon + 1);
  form.digest = parts.digest;
  if (!config::is_registry_name(form.registry))
    return bad(text, fmt::format("'{}' can't name a registry", form.registry),
               "see mistctl registry list; a local path begins with ./, ../ or /");
  if (const std::string objection = path_objection(form.path); !objection.empty())
    return bad(text, fmt::format("its path can't be used: {}", objection),
               "name a package inside of the registry; a local path begins with ./, ../ or /");
  if (encoding::has_range_sign(form.version))
    MIST_TRY_VOID(check_range(text, form));
  else if (!is_version(form.version))
    return bad_version(text, location, form.version);
  return PackageRef(std::move(form));
}

std::string with_digest(std::string text, const std::optional<crypto::Digest>& digest) {
  return digest ? fmt::format("{}@{}", text, digest->str()) : text;
}

struct Printer {
  std::string operator()(const RegistryRef& form) const {
    return with_digest(fmt::format("{}/{}:{}", form.registry, form.path, form.version), form.digest);
  }
  std::string operator()(const GitRef& form) const {
    return with_digest(fmt::format("{}{}{}{}{}{}", kGitPrefix, form.url, form.path.empty() ? "" : "//",
                                   form.path, form.ref.empty() ? "" : "?ref=", form.ref),
                       form.digest);
  }
  std::string operator()(const oci::Reference& form) const { return form.str(); }
  std::string operator()(const LocalRef& form) const { return form.path.string(); }
};

}  // namespace

bool GitRef::names_commit() const { return is_commit(ref); }

std::string path_objection(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.size() > 1024) return "it is longer than 1024 bytes";
  if (path.front() == '/') return "it begins with '/'";
  if (path.find('\\') != std::string_view::npos) return "it holds a backslash";
  if (std::ranges::any_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "it holds a control character";
  if (!is_valid_utf8(path)) return "it is not a valid UTF-8";
  for (const std::string_view segment : split(path, '/')) {
    if (segment.empty()) return "it has an empty segment";
    if (segment == "." || segment == "..") return fmt::format("it has a segment '{}'", segment);
    const std::string lower = lower_case(segment);
    // "git~1" is what DOS names of ".git" look like.
    if (lower == ".git" || lower == "git~1") return fmt::format("it has a segment '{}'", segment);
  }
  return {};
}

Result<PackageRef> PackageRef::parse(std::string_view text) {
  if (text.empty())
    return error(ErrorKind::Invalid, "the package reference is empty").with_hint(std::string(kForms));
  if (text.size() > kMaxReference)
    return bad(text, fmt::format("it is longer than {} bytes", kMaxReference), std::string(kForms));
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }) ||
      !is_valid_utf8(text))
    return bad(text, "it holds a control character or invalid UTF-8", "type it again");
  if (is_local(text)) return PackageRef(LocalRef{Path(text)});
  if (text.starts_with("~/") || text == "~")
    return bad(text, "the shell didn't replace '~'", "leave the '~' outside of quotes, or write $HOME");
  if (text.starts_with("oci-layout:") || text.starts_with("oci-archive:"))
    return bad(text, "a layout is read as a mirror of the registry that its packages come from",
               fmt::format("mistctl registry mirror add HOST {}; then name the package as before",
                           shell_word(escape_controls(text.substr(0, 200)))));
  if (text.starts_with(kGitPrefix)) return parse_git(text);
  if (text.starts_with(oci::kScheme)) {
    MIST_TRY(oci::Reference form, oci::Reference::parse(text));
    return PackageRef(std::move(form));
  }
  if (text.find("://") != std::string_view::npos) return refuse_other_scheme(text);
  return parse_registry(text);
}

std::string PackageRef::to_string() const { return std::visit(Printer{}, form_); }

std::string PackageRef::display() const { return config::redact_urls(to_string()); }

std::string PackageRef::recorded() const { return config::without_credentials(to_string()); }

PackageRef PackageRef::anchored(const Path& directory) const {
  const auto* local = std::get_if<LocalRef>(&form_);
  if (local == nullptr) return *this;
  Path path = (directory / local->path).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();  // "dir/"
  return PackageRef(LocalRef{std::move(path)});
}

Result<oci::Repository> repository_below(const std::string& url, std::string_view path) {
  MIST_TRY(const std::string prefix, oci::parse_prefix(url));
  return oci::Repository::parse(fmt::format("{}/{}", prefix, path));
}

}  // namespace mist::registry
