#include "action/authoring/package_documents.h"

#include <algorithm>
#include <map>
#include <set>

#include "action/authoring/push_package.h"
#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "encoding/json.h"
#include "oci/annotation.h"
#include "oci/document.h"
#include "registry/chart_archive.h"
#include "registry/chart_lock.h"
#include "render/packages.h"

namespace mist::action {
namespace {

using encoding::Value;

constexpr std::string_view kBuildType = "https://mistletoe.dev/provenance/push/v1";
constexpr std::string_view kBuilder = "https://mistletoe.dev/mistctl";
constexpr std::string_view kDependency = "dependency";
constexpr std::string_view kRemote = "remote";
constexpr std::string_view kEngine = "engine";
constexpr std::string_view kShaPrefix = "sha256:";

std::string hex_of(std::string_view digest) {
  return std::string(digest.starts_with(kShaPrefix) ? digest.substr(kShaPrefix.size()) : std::string_view());
}

// https://github.com/package-url/purl-spec. Qualifiers in the order of their keys; empty ones are left out.
std::string purl_of(std::string_view type, std::string_view name, std::string_view version,
                    const std::map<std::string_view, std::string>& qualifiers) {
  std::string purl = fmt::format("pkg:{}/{}", type, percent_encoded(name, "/"));
  if (!version.empty()) purl += fmt::format("@{}", percent_encoded(version, ""));
  char separator = '?';
  for (const auto& [key, value] : qualifiers) {
    if (value.empty()) continue;
    purl += fmt::format("{}{}={}", separator, key, percent_encoded(value, "/:"));
    separator = '&';
  }
  return purl;
}

std::string oci_purl(const oci::Reference& reference) {
  return purl_of(
      "oci", lower_case(reference.repository.name()),
      reference.digest ? reference.digest->str() : std::string(),
      {{"repository_url", fmt::format("{}/{}", reference.repository.host, reference.repository.path)},
       {"tag", reference.tag}});
}

void add_locked(const resolve::LockFile& lock, const std::set<std::string>& declared,
                std::vector<PackagePart>& parts) {
  std::set<std::string> needed;
  for (const resolve::LockedPackage& each : lock.packages())
    for (const auto& [name, dependency] : each.dependencies) needed.insert(name);
  for (const resolve::LockedPackage& each : lock.packages()) {
    PackagePart part{.role = std::string(kDependency), .name = each.name};
    part.version = each.version.to_string();
    part.source = config::without_credentials(each.origin.source);
    part.package_digest = each.origin.digest;
    const Result<oci::Reference> reference = oci::Reference::parse(each.origin.source);
    if (reference && reference->digest) {
      part.purl = oci_purl(*reference);
      part.sha256 = reference->digest->hex();
    } else {
      part.purl = purl_of("generic", each.name, part.version, {});
    }
    for (const auto& [name, dependency] : each.dependencies) part.needs.push_back(name);
    part.is_direct = declared.contains(each.name) || !needed.contains(each.name);
    parts.push_back(std::move(part));
  }
  for (const resolve::LockedRemote& each : lock.remotes()) {
    PackagePart part{.role = std::string(kRemote), .name = config::without_credentials(each.name)};
    part.version = part.commit = each.commit;
    part.source = part.name;
    if (each.commit.empty()) part.sha256 = hex_of(each.digest);
    parts.push_back(std::move(part));
  }
}

void add_subcharts(const registry::ChartLock& lock, const registry::PackageTree& chart,
                   std::vector<PackagePart>& parts) {
  for (const registry::ChartDependency& each : lock.dependencies) {
    PackagePart part{.role = std::string(kDependency), .name = each.name, .version = each.version};
    part.source = config::without_credentials(each.repository);
    part.purl = purl_of("helm", each.name, each.version, {{"repository_url", part.source}});
    const std::string archive = fmt::format("charts/{}-{}.tgz", each.name, each.version);
    const auto file = std::ranges::find(chart.files, archive, &registry::PackageFile::path);
    if (file != chart.files.end()) part.sha256 = crypto::sha256(file->bytes).hex();
    // Under two aliases it is one.
    const auto same = [&](const PackagePart& other) {
      return other.name == part.name && other.version == part.version && other.source == part.source;
    };
    if (std::ranges::none_of(parts, same)) parts.push_back(std::move(part));
  }
}

Status add_chart_lock(const registry::Fetched& package, const package::Source& source,
                      std::vector<PackagePart>& parts) {
  const auto* const tree = std::get_if<registry::PackageTree>(&package.content);
  if (tree == nullptr) return {};
  MIST_TRY(const registry::ChartFiles chart, registry::chart_of(*tree, source.reference));
  const std::string_view name = chart.manifest.lock_file();
  const auto file = std::ranges::find(chart.tree.files, name, &registry::PackageFile::path);
  if (file == chart.tree.files.end()) return {};
  MIST_TRY(const registry::ChartLock lock,
           registry::ChartLock::parse(file->bytes, fmt::format("{} of {}", name, source.reference)));
  add_subcharts(lock, chart.tree, parts);
  return {};
}

PackagePart engine_part(const std::string& name, const std::string& digest) {
  PackagePart part{.role = std::string(kEngine), .name = name};
  part.sha256 = hex_of(digest);
  part.purl = purl_of("generic", fmt::format("mistletoe-engine-{}", name), {}, {{"checksum", digest}});
  return part;
}

// SBOM

std::string reference_of(const PackagePart& part) {
  return fmt::format("{}:{}{}{}", part.role, part.name, part.version.empty() ? "" : "@", part.version);
}

Value hashes_of(std::string_view sha256) {
  return Value::array({Value::object({{"alg", "SHA-256"}, {"content", sha256}})});
}

Value property(std::string_view name, std::string_view value) {
  return Value::object({{"name", name}, {"value", value}});
}

Value component_of(const PackagePart& part) {
  Value component = Value::object({{"type", part.role == kRemote ? "file" : "application"},
                                   {"bom-ref", reference_of(part)},
                                   {"name", part.name}});
  if (!part.version.empty()) component.set("version", part.version);
  if (!part.sha256.empty()) component.set("hashes", hashes_of(part.sha256));
  if (!part.purl.empty()) component.set("purl", part.purl);
  Value properties = Value::array({property("mistletoe:role", part.role)});
  if (!part.source.empty()) properties.push_back(property("mistletoe:source", part.source));
  if (!part.package_digest.empty())
    properties.push_back(property("mistletoe:packageDigest", part.package_digest));
  component.set("properties", std::move(properties));
  return component;
}

Value dependency_of(const std::string& from, const std::set<std::string>& to) {
  Value names{Value::Array{}};
  for (const std::string& each : to) names.push_back(each);
  return Value::object({{"ref", from}, {"dependsOn", std::move(names)}});
}

// Version 8 of RFC 9562: the first bits of a digest.
std::string uuid_of(const crypto::Digest& digest) {
  std::string digits = digest.hex().substr(0, 32);
  digits[12] = '8';
  constexpr std::string_view kVariant = "89ab";
  digits[16] = kVariant[static_cast<std::size_t>(std::to_integer<unsigned>(digest.bytes()[8]) >> 4U & 3U)];
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

// Provenance

Value digest_set(std::string_view algorithm, std::string_view value) {
  return Value::object({{algorithm, value}});
}

// SPDX's "git+" in front of what git takes; "git@host:path" is ssh.
std::string git_uri(const std::string& url) {
  if (is_url(url)) return fmt::format("git+{}", url);
  const auto colon = url.find(':');
  if (colon == std::string::npos) return fmt::format("git+{}", url);
  return fmt::format("git+ssh://{}/{}", url.substr(0, colon), url.substr(colon + 1));
}

Value source_value(const registry::SourceCommit& commit) {
  Value value = Value::object();
  if (!commit.url.empty()) value.set("uri", git_uri(commit.url));
  if (commit.clean) value.set("digest", digest_set("gitCommit", commit.commit));
  if (!commit.path.empty()) value.set("path", commit.path);
  value.set("dirty", !commit.clean);
  return value;
}

Value resolved_value(const PackagePart& part) {
  Value value = Value::object({{"name", reference_of(part)}});
  if (!part.source.empty()) value.set("uri", part.source);
  Value digests = Value::object();
  if (!part.sha256.empty()) digests.set("sha256", part.sha256);
  if (!part.commit.empty()) digests.set("gitCommit", part.commit);
  if (!part.package_digest.empty()) digests.set("mistletoePackage", hex_of(part.package_digest));
  if (!digests.as_object().empty()) value.set("digest", std::move(digests));
  return value;
}

}  // namespace

Result<std::vector<PackagePart>> package_parts(package::Renderer& renderer,
                                               const package::EngineStore& engines,
                                               const registry::Fetched& package,
                                               const oci::Reference& destination, const Context& context) {
  const package::Source source = pushed_source(package, destination);
  std::vector<PackagePart> parts;
  MIST_TRY(const std::optional<std::string> lock, package::lock_text(source));
  if (lock) {
    MIST_TRY(const resolve::LockFile read,
             resolve::LockFile::parse(*lock, fmt::format("{} of {}", package::kLockFile, source.reference)));
    MIST_TRY(const std::vector<package::Dependency> dependencies, package::declared_dependencies(source));
    std::set<std::string> declared;
    for (const package::Dependency& each : dependencies) declared.insert(each.package);
    add_locked(read, declared, parts);
  }
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(source));
  const bool is_module = std::holds_alternative<wasm::ModuleBytes>(source.content);
  if (!is_module && package::has_chart_values(engine)) MIST_TRY_VOID(add_chart_lock(package, source, parts));
  if (is_module) {
    MIST_TRY(const package::Inspection inspection, renderer.inspect(source, context));
    if (!inspection.engine.empty()) parts.push_back(engine_part(inspection.engine, inspection.engine_digest));
  } else if (engine != nullptr) {
    MIST_TRY(const crypto::Digest digest, engines.digest(engine->name));
    parts.push_back(engine_part(std::string(engine->name), digest.str()));
  }
  return parts;
}

std::string sbom_text(const PublishedPackage& package) {
  constexpr std::string_view kRoot = "package";
  const oci::Reference& reference = package.reference;
  const std::string title(oci::annotation(package.about, oci::kTitleAnnotation));
  const std::string version(oci::annotation(package.about, oci::kVersionAnnotation));
  const Value root = Value::object({{"type", "application"},
                                    {"bom-ref", kRoot},
                                    {"name", title.empty() ? reference.repository.name() : title},
                                    {"version", version.empty() ? reference.tag : version},
                                    {"hashes", hashes_of(reference.digest->hex())},
                                    {"purl", oci_purl(reference)}});
  Value components{Value::Array{}};
  Value dependencies{Value::Array{}};
  std::map<std::string, std::string> by_name;
  for (const PackagePart& part : package.parts)
    if (part.role == kDependency) by_name.emplace(part.name, reference_of(part));
  std::set<std::string> direct;
  for (const PackagePart& part : package.parts)
    if (part.is_direct) direct.insert(reference_of(part));
  dependencies.push_back(dependency_of(std::string(kRoot), direct));
  for (const PackagePart& part : package.parts) {
    components.push_back(component_of(part));
    std::set<std::string> needs;
    for (const std::string& name : part.needs)
      if (const auto found = by_name.find(name); found != by_name.end()) needs.insert(found->second);
    dependencies.push_back(dependency_of(reference_of(part), needs));
  }
  const Value tool =
      Value::object({{"type", "application"}, {"name", "mistctl"}, {"version", package.tool_version}});
  const Value metadata =
      Value::object({{"tools", Value::object({{"components", Value::array({tool})}})}, {"component", root}});
  const auto text = [&](const std::string& serial) {
    Value document = Value::object({{"bomFormat", "CycloneDX"}, {"specVersion", "1.6"}});
    if (!serial.empty()) document.set("serialNumber", serial);
    document.set("version", 1);
    document.set("metadata", metadata);
    document.set("components", components);
    document.set("dependencies", dependencies);
    return encoding::to_json(document, encoding::JsonStyle::Pretty) + "\n";
  };
  return text(fmt::format("urn:uuid:{}", uuid_of(crypto::sha256(text({})))));
}

std::string provenance_text(const PublishedPackage& package,
                            const std::optional<registry::SourceCommit>& commit, const crypto::Digest* sbom) {
  const oci::Reference& reference = package.reference;
  const std::string name = fmt::format("{}/{}", reference.repository.host, reference.repository.path);
  Value parameters =
      Value::object({{"reference", fmt::format("{}{}:{}", oci::kScheme, name, reference.tag)}});
  if (commit) parameters.set("source", source_value(*commit));
  Value resolved{Value::Array{}};
  if (commit && commit->clean) {
    Value source = Value::object({{"name", "source"}});
    if (!commit->url.empty()) source.set("uri", git_uri(commit->url));
    source.set("digest", digest_set("gitCommit", commit->commit));
    resolved.push_back(std::move(source));
  }
  for (const PackagePart& part : package.parts) resolved.push_back(resolved_value(part));
  Value details = Value::object(
      {{"builder",
        Value::object({{"id", kBuilder}, {"version", Value::object({{"mistctl", package.tool_version}})}})}});
  if (sbom != nullptr)
    details.set("byproducts", Value::array({Value::object({{"name", "sbom"},
                                                           {"digest", digest_set("sha256", sbom->hex())},
                                                           {"mediaType", oci::kCycloneDxType}})}));
  return encoding::to_json(Value::object(
      {{"_type", "https://in-toto.io/Statement/v1"},
       {"subject", Value::array({Value::object(
                       {{"name", name}, {"digest", digest_set("sha256", reference.digest->hex())}})})},
       {"predicateType", oci::kSlsaPredicate},
       {"predicate",
        Value::object({{"buildDefinition", Value::object({{"buildType", kBuildType},
                                                          {"externalParameters", std::move(parameters)},
                                                          {"resolvedDependencies", std::move(resolved)}})},
                       {"runDetails", std::move(details)}})}}));
}

}  // namespace mist::action
