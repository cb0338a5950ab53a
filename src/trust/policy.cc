#include "trust/policy.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <span>

#include "base/duration.h"
#include "base/text.h"
#include "base/url.h"
#include "encoding/yaml.h"
#include "oci/reference.h"
#include "trust/chart_address.h"
#include "trust/minisign.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr std::string_view kApiVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kPolicyKind = "TrustPolicy";
constexpr std::uint64_t kMostPolicyBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostRules = 1000;
constexpr std::size_t kMostKeys = 100;
constexpr std::size_t kFingerprintDigits[] = {40, 64};  // of OpenPGP keys of version 4, and of 5 and 6
constexpr std::array<std::string_view, 4> kModes{"remember", "require", "ignore", "known"};

// The text with something for each wildcard that can stand in hosts, ports and paths.
std::string with_something(std::string_view pattern) {
  std::string text;
  for (const char c : pattern) {
    if (c != '*')
      text += c;
    else if (!text.ends_with('1'))
      text += '1';
  }
  return text;
}

// Why no repository can have that host and path, which are patterns; empty: one can.
std::string objection_to_host_and_path(std::string_view host, std::string_view path) {
  if (host.find('@') != std::string_view::npos) return "a host has no user before it";
  if (std::string why = oci::host_objection(with_something(host)); !why.empty())
    return host.find('*') == std::string_view::npos ? why : "its host is a pattern of no host";
  if (path.empty()) return {};
  for (const std::string_view segment : split(path.substr(1), '/')) {
    if (segment.empty()) return "its path has an empty segment";
    if (!oci::is_path_segment(with_something(segment)))
      return fmt::format("'{}' can't stand in its path", escape_controls(segment));
  }
  return {};
}

// Why no package of a registry with a name can be called so; empty: one can.
std::string objection_to_named(std::string_view pattern) {
  constexpr std::string_view kMarks = ".-_+*";
  for (const std::string_view segment : split(pattern, '/')) {
    if (segment.empty()) return "it has an empty segment";
    if (segment == "." || segment == "..") return fmt::format("it has the segment '{}'", segment);
    for (const char c : segment) {
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!is_plain && !kMarks.contains(c))
        return fmt::format("'{}' can't stand in it", escape_controls(std::string_view(&c, 1)));
    }
  }
  return {};
}

// Reads the document; knows where everything stands in the text.
class PolicyReader {
 public:
  PolicyReader(std::string_view text, const std::string& file,
               const std::function<Result<std::string>(const Path&)>& read)
      : lines_(split(text, '\n')), file_(file), read_(read) {}

  Status open(const Value& document) const {
    if (!document.is_object()) return fail(document, "the trust policy is not an object", kBegin);
    MIST_TRY_VOID(only(document, "", {"apiVersion", "kind", "metadata", "spec"}));
    if (document.string_at("apiVersion") != kApiVersion || document.string_at("kind") != kPolicyKind)
      return fail(document, "this is not a trust policy", kBegin);
    const Value* const spec = document.find("spec");
    if (spec == nullptr || !spec->is_object())
      return fail(document, "the trust policy has no spec", "write 'spec:' with 'rules:' below");
    return only(*spec, "spec.", {"default", "rules", "trustRoot", "signingConfig"});
  }

  /// Before rules are read, which are held against it.
  Status read_root(const Value& spec) {
    const Value* const value = spec.find("trustRoot");
    if (value == nullptr) return {};
    constexpr const char* kRelative = "the path is relative to the policy's file";
    if (!value->is_string() || value->as_string().empty())
      return fail(*value, "spec.trustRoot is not a file", "write 'trustRoot: trusted_root.json'");
    const Result<std::string> text = read_(Path(value->as_string()));
    if (!text)
      return fail(*value, fmt::format("the trust root can't be read: {}", text.error().to_line()), kRelative);
    Result<TrustRoot> root = TrustRoot::parse(*text, value->as_string());
    if (!root) return fail(*value, root.error().to_line(), root.error().hint);
    root_ = std::make_shared<const TrustRoot>(*std::move(root));
    return {};
  }
  const std::shared_ptr<const TrustRoot>& root() const { return root_; }

  /// It is read when something is signed: verification doesn't depend on it.
  Result<Path> signing_config(const Value& spec) const {
    const Value* const value = spec.find("signingConfig");
    if (value == nullptr) return Path();
    if (!value->is_string() || value->as_string().empty())
      return fail(*value, "spec.signingConfig is not a file", "write 'signingConfig: signing_config.json'");
    return Path(value->as_string());
  }

  Result<Mode> mode(const Value& object, std::string_view key, Mode fallback) const {
    const Value* const value = object.find(key);
    if (value == nullptr) return fallback;
    if (value->is_string()) {
      const auto* const known = std::ranges::find(kModes, value->as_string());
      if (known != kModes.end()) return static_cast<Mode>(known - kModes.begin());
    }
    return fail(*value, fmt::format("{} must be known, remember, require or ignore", key),
                "remember: what was once signed stays signed by the same key; known: what was verified here");
  }

  Result<Rule> rule(const Value& value) const {
    if (!value.is_object())
      return fail(value, "a rule is not an object", "write '- match: oci://registry.example/**'");
    MIST_TRY_VOID(only(value, "",
                       {"match", "mode", "keys", "identities", "keyring", "fingerprints", "threshold",
                        "minimumAge", "maximumAge", "signedFor"}));
    Rule rule;
    rule.place = place_text(file_, value.position().line);
    rule.match = value.string_at("match");
    const bool is_oci = rule.match.starts_with(oci::kScheme);
    const bool is_web = is_url(rule.match) && is_http(rule.match);
    if (!is_oci && !is_web &&
        (rule.match.find('/') == std::string::npos || rule.match.find(':') != std::string::npos ||
         rule.match.ends_with('/')))
      return fail(value, "a rule needs a match: oci://HOST/PATH, https://HOST/PATH, or REGISTRY/PATH",
                  "write 'match: oci://registry.example/team/**', or 'match: team/**' for a registry in git");
    if (!is_oci && !is_web)
      if (const std::string why = objection_to_named(rule.match); !why.empty())
        return fail(value, fmt::format("no package fits {}: {}", escape_controls(rule.match), why),
                    "write it as packages are named: REGISTRY/PATH, '*' for a part of it, '**' for all");
    if (is_oci) {
      MIST_TRY(rule.match, repositories(value, rule.match));
    }
    if (is_web) {
      MIST_TRY(rule.match, charts(value, rule.match));
    }
    rule.root = root_;
    const Value* const keys = value.find("keys");
    const Value* const identities = value.find("identities");
    const Value* const keyring = value.find("keyring");
    const bool names_signers = keys != nullptr || identities != nullptr || keyring != nullptr;
    MIST_TRY(rule.mode, mode(value, "mode", names_signers ? Mode::Require : Mode::Remember));
    if ((rule.mode == Mode::Require) != names_signers)
      return fail(value,
                  names_signers
                      ? fmt::format("{} has {}", rule.match,
                                    keys != nullptr         ? "keys, but doesn't require them"
                                    : identities != nullptr ? "identities, but doesn't require them"
                                                            : "a keyring, but doesn't require its keys")
                      : fmt::format("{} requires signatures, but names no keys", rule.match),
                  "mode: require belongs together with keys, identities or a keyring");
    if (!is_oci && remembers(rule.mode))
      return fail(
          value, fmt::format("{} is no OCI registry, so no signer can be remembered", rule.match),
          "signatures of minisign's and Helm's don't hold their keys: name them in keys, or in a keyring");
    if (is_web && keys != nullptr)
      return fail(
          *keys,
          fmt::format("{} is of a chart repository, and nothing there is signed with keys", rule.match),
          "charts there are signed with OpenPGP: name a keyring");
    if (keys != nullptr) MIST_TRY_VOID(read_keys(*keys, rule));
    if (!is_oci) MIST_TRY_VOID(check_minisign_keys(value, rule));
    if (identities != nullptr && !is_oci)
      return fail(*identities,
                  fmt::format("{} is no OCI registry, so nothing of it is signed by an identity", rule.match),
                  "name a key of minisign's in keys");
    if (identities != nullptr) MIST_TRY_VOID(read_identities(*identities, rule));
    MIST_TRY_VOID(read_keyring(value, rule));
    MIST_TRY_VOID(read_limits(value, rule));
    return rule;
  }

  Error fail(const Value& place, std::string message, std::string hint) const {
    SourceLocation where{
        .file = file_, .line = place.position().line, .column = place.position().column, .excerpt = {}};
    if (where.line > 0 && where.line <= lines_.size()) where.excerpt = lines_[where.line - 1];
    return error(ErrorKind::Invalid, "{}", message).with_hint(std::move(hint)).at(std::move(where));
  }

 private:
  static constexpr const char* kBegin =
      "begin with 'apiVersion: mistletoe.dev/v1alpha1' and 'kind: TrustPolicy'";

  // As repositories are called (oci::Repository::identity). A pattern that fits none would be a rule that is
  // never held.
  Result<std::string> repositories(const Value& place, std::string_view pattern) const {
    const std::string_view rest = pattern.substr(oci::kScheme.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string host = oci::canonical_host(rest.substr(0, slash));
    std::string path(rest.substr(slash));
    const auto objected = [&](std::string_view why, std::string hint) {
      return fail(place, fmt::format("no repository fits {}: {}", escape_controls(pattern), why),
                  std::move(hint));
    };
    if ((path.empty() && !host.ends_with("**")) || path.ends_with('/'))
      return objected("a path is missing",
                      fmt::format("write {}{}{}/**", oci::kScheme, host, path.substr(0, path.rfind('/'))));
    if (path.find_first_of(":@") != std::string::npos)
      return objected("a version follows the path", "a rule counts for all versions: leave it out");
    const auto may_be_named = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
             std::string_view("/*._-").find(c) != std::string_view::npos;
    };
    if (!std::ranges::all_of(path, may_be_named))
      return objected("a path has lower-case letters, digits, '.', '_' and '-'",
                      "'*' stands for any of them, '**' for '/' too");
    if (!matches(host, "docker.io") &&
        std::ranges::any_of(oci::kDockerHubNames, [&](std::string_view name) { return matches(host, name); }))
      return objected("Docker Hub is called docker.io here, whatever name of it a reference has",
                      fmt::format("write {}docker.io{}", oci::kScheme, path));
    if (const std::string why = objection_to_host_and_path(host, path); !why.empty())
      return objected(why, "write it as the packages that it is for are named: oci://HOST/PATH");
    // Docker's own images have no name before theirs.
    if (host == "docker.io" && path.rfind('/') == 0 && path.find("**") == std::string::npos)
      path.insert(0, "/library");
    return fmt::format("{}{}{}", oci::kScheme, host, path);
  }

  // As charts of chart repositories are called by their address.
  Result<std::string> charts(const Value& place, std::string_view pattern) const {
    const std::size_t begin = pattern.find("://") + 3;
    const std::string_view rest = pattern.substr(begin);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const auto objected = [&](std::string_view why, std::string hint) {
      return fail(place, fmt::format("no chart fits {}: {}", escape_controls(pattern), why), std::move(hint));
    };
    if (slash + 1 >= rest.size() || rest.ends_with('/'))
      return objected("a path is missing", fmt::format("write {}{}/**", pattern.substr(0, begin),
                                                       rest.substr(0, rest.find_last_not_of('/') + 1)));
    if (rest.find_first_of("@?#") != std::string_view::npos)
      return objected("an address has no credentials, query or fragment here",
                      "write https://HOST/PATH/**, for all charts of a repository");
    if (rest.find(':', slash) != std::string_view::npos)
      return objected("a version follows the path", "a rule counts for all versions: leave it out");
    if (const std::string why = objection_to_chart_address(pattern); !why.empty())
      return objected(why, "write the path that it stands for");
    return chart_repository_name(pattern);
  }

  Status only(const Value& object, std::string_view prefix,
              std::initializer_list<std::string_view> known) const {
    for (const Value::Member& member : object.as_object()) {
      if (std::ranges::find(known, member.key) != known.end()) continue;
      const std::string_view near = nearest(member.key, std::span(known.begin(), known.size()));
      return fail(member.value, fmt::format("the key {}{} is not known", prefix, escape_controls(member.key)),
                  near.empty() ? fmt::format("known are {}",
                                             join(std::vector<std::string>(known.begin(), known.end()), ", "))
                               : fmt::format("did you mean {}?", near));
    }
    return {};
  }

  Status check_minisign_keys(const Value& value, const Rule& rule) const {
    for (const TrustedKey& each : rule.keys)
      if (each.key.kind() != crypto::KeyKind::Ed25519)
        return fail(*value.find("keys"),
                    fmt::format("{} is {}, and signatures in {} are minisign's, made with Ed25519", each.name,
                                crypto::to_string(each.key.kind()), rule.match),
                    "name the public key that `minisign -G` wrote");
    return {};
  }

  Status read_keys(const Value& list, Rule& rule) const {
    if (!list.is_array() || list.empty() || list.size() > kMostKeys)
      return fail(list, "keys is not a list of keys", "write '- {name: release, file: release.pub}'");
    std::set<std::string> names;
    for (const Value& each : list.as_array()) {
      MIST_TRY(TrustedKey key, read_key(each));
      for (const TrustedKey& other : rule.keys)
        if (other.key == key.key)
          return fail(each, fmt::format("{} and {} are the same key", other.name, key.name),
                      "a key counts once: remove one of them");
      if (!names.insert(key.name).second)
        return fail(each, fmt::format("two keys are called {}", key.name), "give one of them another name");
      rule.keys.push_back(std::move(key));
    }
    return {};
  }

  Result<TrustedKey> read_key(const Value& value) const {
    if (!value.is_object())
      return fail(value, "a key is not an object", "write '{name: release, file: release.pub}'");
    MIST_TRY_VOID(only(value, "keys[].", {"name", "file", "pem"}));
    const std::string file(value.string_at("file"));
    std::string text(value.string_at("pem"));
    const std::string name(value.string_at("name"));
    if (name.empty() || file.empty() == text.empty())
      return fail(value, "a key needs a name, and either a file or pem",
                  "write '{name: release, file: release.pub}'");
    if (!file.empty()) {
      Result<std::string> content = read_(Path(file));
      if (!content)
        return fail(value, fmt::format("the key {} can't be read: {}", name, content.error().to_line()),
                    "the path is relative to the policy's file");
      text = *std::move(content);
    }
    Result<crypto::PublicKey> key =
        is_minisign(text) ? read_minisign_public_key(text) : crypto::PublicKey::parse(text);
    if (!key)
      return fail(value, fmt::format("the key {} can't be used: {}", name, key.error().to_line()),
                  key.error().hint);
    return TrustedKey{name, *std::move(key)};
  }

  Status read_identities(const Value& list, Rule& rule) const {
    constexpr const char* kForm =
        "write '- {issuer: https://accounts.example, subject: release@team.example}'";
    if (root_ == nullptr)
      return fail(list, "identities are held against a trust root, and spec.trustRoot is missing",
                  "write 'trustRoot: trusted_root.json' below spec");
    if (!list.is_array() || list.empty() || list.size() > kMostKeys)
      return fail(list, "identities is not a list of identities", kForm);
    for (const Value& each : list.as_array()) {
      if (!each.is_object()) return fail(each, "an identity is not an object", kForm);
      MIST_TRY_VOID(only(each, "identities[].", {"issuer", "subject"}));
      TrustedIdentity identity{std::string(each.string_at("issuer")), std::string(each.string_at("subject"))};
      if (const std::string why = objection_to(identity); !why.empty())
        return fail(each, fmt::format("an identity {}", why), kForm);
      if (std::ranges::find(rule.identities, identity) != rule.identities.end())
        return fail(each, fmt::format("{} stands there twice", identity.text()),
                    "an identity counts once: remove one of them");
      rule.identities.push_back(std::move(identity));
    }
    return {};
  }

  Status read_keyring(const Value& rule_value, Rule& rule) const {
    const Value* const value = rule_value.find("keyring");
    const Value* const fingerprints = rule_value.find("fingerprints");
    if (value == nullptr) {
      if (fingerprints == nullptr) return {};
      return fail(*fingerprints, "fingerprints are those of a keyring, and the rule has none",
                  "write 'keyring: team.gpg' beside them");
    }
    if (!value->is_string() || value->as_string().empty())
      return fail(*value, "keyring is not a file", "write 'keyring: team.gpg', which `gpg --export` writes");
    Keyring keyring{.file = value->as_string(), .bytes = {}, .digest = crypto::sha256("")};
    Result<std::string> content = read_(Path(keyring.file));
    if (!content)
      return fail(*value,
                  fmt::format("the keyring {} can't be read: {}", keyring.file, content.error().to_line()),
                  "the path is relative to the policy's file");
    keyring.bytes = *std::move(content);
    keyring.digest = crypto::sha256(keyring.bytes);
    if (fingerprints != nullptr) {
      constexpr const char* kForm =
          "write them as `gpg --fingerprint` prints them, 40 hexadecimal digits each";
      if (!fingerprints->is_array() || fingerprints->empty() || fingerprints->size() > kMostKeys)
        return fail(*fingerprints, "fingerprints is not a list of fingerprints", kForm);
      for (const Value& each : fingerprints->as_array()) {
        std::optional<std::string> one =
            each.is_string() ? openpgp_fingerprint(each.as_string()) : std::nullopt;
        if (!one) return fail(each, "this is not the fingerprint of an OpenPGP key", kForm);
        keyring.fingerprints.push_back(*std::move(one));
      }
    }
    rule.keyring = std::make_shared<const Keyring>(std::move(keyring));
    return {};
  }

  Status read_limits(const Value& value, Rule& rule) const {
    if (const Value* const threshold = value.find("threshold")) {
      const bool is_oci = rule.match.starts_with(oci::kScheme);
      const std::size_t most =
          is_oci ? std::max<std::size_t>(
                       rule.keys.size() + rule.identities.size() + (rule.keyring != nullptr ? 1 : 0), 1)
                 : 1;
      if (!is_oci && threshold->is_int() && threshold->as_int() > 1)
        return fail(
            *threshold,
            fmt::format("{} is no OCI registry, and a package elsewhere has one signature", rule.match),
            "leave threshold out: one of the keys must have signed");
      if (!threshold->is_int() || threshold->as_int() < 1 ||
          static_cast<std::size_t>(threshold->as_int()) > most || rule.mode != Mode::Require)
        return fail(
            *threshold, fmt::format("threshold must be from 1 to {}", most),
            "it is the number of the rule's keys and identities that must have signed; a keyring is one");
      rule.threshold = static_cast<std::size_t>(threshold->as_int());
    }
    MIST_TRY(rule.minimum_age, age(value, "minimumAge", rule));
    MIST_TRY(rule.maximum_age, age(value, "maximumAge", rule));
    if (rule.minimum_age && rule.maximum_age && *rule.minimum_age > *rule.maximum_age)
      return fail(value, "minimumAge is longer than maximumAge", "nothing could ever be used");
    MIST_TRY_VOID(check_minimum_age(value, rule));
    const Value* const places = value.find("signedFor");
    if (places == nullptr) return {};
    if (!places->is_array())
      return fail(*places, "signedFor is not a list", "write 'signedFor: [oci://origin.example/team/*]'");
    for (const Value& each : places->as_array()) {
      if (!each.is_string() || !each.as_string().starts_with(oci::kScheme))
        return fail(each, "signedFor names repositories", "write 'signedFor: [oci://origin.example/team/*]'");
      MIST_TRY(std::string pattern, repositories(each, each.as_string()));
      rule.signed_for.push_back(std::move(pattern));
    }
    return {};
  }

  // It is against stolen keys, and a signature by one is as old as the thief says.
  Status check_minimum_age(const Value& value, const Rule& rule) const {
    if (!rule.minimum_age || (rule.keys.empty() && rule.keyring == nullptr)) return {};
    return fail(*value.find("minimumAge"),
                fmt::format("minimumAge protects nothing for the {} of {}: who signs with a key says how old "
                            "the signature is",
                            rule.keys.empty() ? "keyring" : "keys", rule.match),
                "leave it out, or require identities alone: a transparency log says when they signed");
  }

  Result<std::optional<Duration>> age(const Value& value, std::string_view key, const Rule& rule) const {
    const Value* const given = value.find(key);
    if (given == nullptr) return std::optional<Duration>();
    const Result<Duration> parsed =
        given->is_string() ? parse_duration(given->as_string()) : error(ErrorKind::Invalid, "no text");
    if (!parsed || *parsed <= Duration::zero() || rule.mode != Mode::Require)
      return fail(*given, fmt::format("{} is a duration, in a rule with keys or identities", key),
                  "write '72h', or '30m'");
    return std::optional(*parsed);
  }

  std::vector<std::string_view> lines_;
  const std::string& file_;
  const std::function<Result<std::string>(const Path&)>& read_;
  std::shared_ptr<const TrustRoot> root_;
};

}  // namespace

std::string TrustedIdentity::text() const { return fmt::format("{} ({})", subject, issuer); }

std::string objection_to(const TrustedIdentity& identity) {
  const std::optional<UrlParts> issuer = split_url(identity.issuer);
  if (!issuer || issuer->scheme != "https" || issuer->host.empty())
    return "needs an issuer, the https:// address where its owner logs in";
  // Anybody can be an issuer somewhere.
  if (issuer->server.contains('*')) return "needs the whole name of its issuer's host";
  if (identity.subject.find_first_not_of('*') == std::string::npos)
    return "needs a subject: whoever has an account at the issuer fits otherwise";
  return {};
}

std::optional<std::string> openpgp_fingerprint(std::string_view text) {
  text = trim(text);
  if (text.starts_with(kOpenPgpPrefix)) text.remove_prefix(kOpenPgpPrefix.size());
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::string digits;
  for (const char c : text) {
    if (c == ' ') continue;
    if (c >= 'a' && c <= 'f')
      digits += static_cast<char>(c - 'a' + 'A');
    else if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'))
      digits += c;
    else
      return std::nullopt;
  }
  if (std::ranges::find(kFingerprintDigits, digits.size()) == std::end(kFingerprintDigits))
    return std::nullopt;
  return fmt::format("{}{}", kOpenPgpPrefix, digits);
}

namespace {
bool fits(std::string_view pattern, std::string_view text) {
  // Up to where in `text` the pattern so far may lead.
  std::vector<bool> reached(text.size() + 1);
  reached[0] = true;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    std::vector<bool> next(text.size() + 1);
    if (pattern[at] != '*') {
      for (std::size_t i = 0; i < text.size(); ++i) next[i + 1] = reached[i] && text[i] == pattern[at];
    } else {
      const bool crosses = pattern.substr(at).starts_with("**");
      bool open = false;
      for (std::size_t i = 0; i <= text.size(); ++i) {
        next[i] = open = open || reached[i];
        if (i < text.size() && text[i] == '/' && !crosses) open = false;
      }
      at += crosses ? 1 : 0;
    }
    reached = std::move(next);
  }
  return reached[text.size()];
}

// "oci://host:*/path" as "oci://host/path": at its usual port, a host has none in its name. Empty: no such
// pattern.
std::string without_any_port(std::string_view pattern) {
  constexpr std::string_view kBeforeHost = "://", kAnyPort = ":*";
  const auto begin = pattern.find(kBeforeHost);
  if (begin == pattern.npos) return {};
  const auto end = std::min(pattern.find('/', begin + kBeforeHost.size()), pattern.size());
  const std::string_view host = pattern.substr(0, end);
  const auto port = host.rfind(kAnyPort);
  if (port == host.npos || host.find_first_not_of('*', port + 1) != host.npos) return {};
  return fmt::format("{}{}", host.substr(0, port), pattern.substr(end));
}

// Whether all that fits `pattern` fits `other`. A character that no pattern has stands for any text that a
// wildcard may stand for.
bool is_covered(std::string_view pattern, std::string_view other) {
  for (const std::string_view in_place_of_two : {"", "\x01", "\x01/\x01"}) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (pattern[at] != '*')
        text += pattern[at];
      else if (!pattern.substr(at).starts_with("**"))
        text += '\x01';
      else
        text += in_place_of_two, ++at;
    }
    if (!matches(other, text)) return false;
  }
  return true;
}
}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  if (fits(pattern, text)) return true;
  const std::string other = without_any_port(pattern);
  return !other.empty() && fits(other, text);
}

Result<Policy> Policy::parse(std::string_view text, const std::string& file,
                             const std::function<Result<std::string>(const Path&)>& read) {
  MIST_TRY(const Value document,
           encoding::parse_yaml(
               text, {.strict = true, .file = file, .max_bytes = kMostPolicyBytes, .max_depth = 16}));
  PolicyReader reader(text, file, read);
  MIST_TRY_VOID(reader.open(document));
  const Value& spec = *document.find("spec");
  MIST_TRY_VOID(reader.read_root(spec));
  Policy policy;
  policy.default_.root = reader.root();
  MIST_TRY(policy.signing_config_, reader.signing_config(spec));
  MIST_TRY(policy.default_.mode, reader.mode(spec, "default", Mode::Remember));
  if (policy.default_.mode == Mode::Require)
    return reader.fail(spec, "spec.default can't be require, because it has no keys",
                       "write a rule with 'match: oci://**', and keys or identities");
  policy.default_.place = place_text(file, spec.position().line);
  const Value* const rules = spec.find("rules");
  if (rules == nullptr || rules->is_null()) return policy;
  if (!rules->is_array() || rules->size() > kMostRules)
    return reader.fail(*rules, fmt::format("spec.rules is not a list of at most {} rules", kMostRules),
                       "write '- match: oci://registry.example/**'");
  for (const Value& each : rules->as_array()) {
    MIST_TRY(Rule rule, reader.rule(each));
    for (const Rule& before : policy.rules_)
      if (is_covered(rule.match, before.match))
        return reader.fail(each, fmt::format("the rule {} is never held", rule.match),
                           fmt::format("the first rule that fits counts, and {} ({}) fits all that this one "
                                       "does: write it behind this one",
                                       before.match, before.place));
    policy.rules_.push_back(std::move(rule));
  }
  return policy;
}

Result<Policy> Policy::load(const FileSystem& files, const Path& file, Presence presence,
                            const std::function<Status(const Path&)>& may_read) {
  const auto read = [&](const Path& path, std::uint64_t limit) -> Result<std::string> {
    if (may_read) MIST_TRY_VOID(may_read(path));
    return files.read(path, limit);
  };
  const Result<std::string> text = read(file, kMostPolicyBytes);
  if (!text) {
    if (text.error().kind != ErrorKind::NotFound) return text.error();
    // A policy whose disk is away is no policy that was never written.
    const Result<std::vector<DirectoryEntry>> beside = files.list(file.parent_path());
    const bool is_there = beside && std::ranges::find(*beside, file.filename().string(),
                                                      &DirectoryEntry::name) != beside->end();
    if (!is_there && presence == Presence::Optional) return Policy();
    if (!is_there)
      return error(ErrorKind::Invalid, "the trust policy {} is not there", file.string())
          .with_hint("MIST_TRUST_LOCATION names it: restore the file, or name another one");
    return error(ErrorKind::Invalid, "the trust policy {} is a link that leads nowhere", file.string())
        .with_hint("restore the file that it names; remove the link only if nothing needs to be signed");
  }
  // An absolute path stays as it is.
  MIST_TRY(Policy policy, parse(*text, file.string(), [&](const Path& named) {
             return read(file.parent_path() / named, kMaxKeyringBytes);
           }));
  if (!policy.signing_config_.empty()) policy.signing_config_ = file.parent_path() / policy.signing_config_;
  return policy;
}

const Rule& Policy::rule_for(std::string_view package) const {
  const auto found =
      std::ranges::find_if(rules_, [&](const Rule& rule) { return matches(rule.match, package); });
  return found == rules_.end() ? default_ : *found;
}

}  // namespace mist::trust
