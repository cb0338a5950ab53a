#include "releases/resource.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "encoding/set_path.h"
#include "package/lookup_pattern.h"
#include "reconcile/queries.h"

namespace mist::releases {
namespace {

constexpr std::string_view kDefaultTimeout = "5m";
constexpr int kDefaultRetries = 1, kDefaultHistory = 10;
// Of all target paths: each may be short to write and make a long list.
constexpr std::size_t kMostListItems = 65'536;

Error wrong(std::string_view field, std::string_view what) {
  return error(ErrorKind::Invalid, "spec.{} {}", field, what);
}

struct Limits {
  Duration least, most;
  std::string_view words;
};
// A look that waits keeps a worker of the operator, which others need too.
constexpr Limits kTimeouts{std::chrono::seconds(1), std::chrono::hours(24), "1s to 24h"};
constexpr Limits kIntervals{std::chrono::seconds(10), std::chrono::hours(8784), "10s to 8784h"};

// The CRD gives all members their types; an object of an older CRD may have others.
class Reader {
 public:
  explicit Reader(const Value& spec) : spec_(spec) {}

  std::string text(std::string_view key, std::string_view otherwise = {}) {
    const Value* const value = spec_.find(key);
    if (value == nullptr) return std::string(otherwise);
    if (!value->is_string()) note(key, "is not a text");
    return value->is_string() ? value->as_string() : std::string();
  }
  bool flag(std::string_view key, bool otherwise) {
    const Value* const value = spec_.find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_bool()) note(key, "is neither true nor false");
    return value->is_bool() ? value->as_bool() : otherwise;
  }
  int number(std::string_view key, int otherwise) {
    constexpr std::int64_t kMost = 1000;
    const Value* const value = spec_.find(key);
    if (value == nullptr) return otherwise;
    const bool fits = value->is_int() && value->as_int() >= 0 && value->as_int() <= kMost;
    if (!fits) note(key, "is not a number from 0 to 1000");
    return fits ? static_cast<int>(value->as_int()) : otherwise;
  }
  Duration duration(std::string_view key, std::string_view otherwise, const Limits& limits) {
    const std::string written = text(key, otherwise);
    const auto read = parse_duration(written);
    if (read.ok() && *read >= limits.least && *read <= limits.most) return *read;
    note(key, fmt::format("\"{}\" is not a duration from {}", escape_controls(written), limits.words));
    return limits.least;
  }
  /// The index of the word.
  std::size_t word(std::string_view key, std::initializer_list<std::string_view> words) {
    const std::string written = text(key, *words.begin());
    const auto* const found = std::ranges::find(words, written);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    const std::vector<std::string> all(words.begin(), words.end());
    note(key, fmt::format("\"{}\" is none of {}", escape_controls(written), join(all, ", ")));
    return 0;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> all;
    for (const Value& each : list(key)) {
      if (each.is_string())
        all.push_back(each.as_string());
      else
        note(key, "has an item that is not a text");
    }
    return all;
  }
  const Value::Array& list(std::string_view key) {
    static const Value::Array kNone;
    const Value* const value = spec_.find(key);
    if (value == nullptr || value->is_null()) return kNone;
    if (!value->is_array()) note(key, "is not a list");
    return value->is_array() ? value->as_array() : kNone;
  }
  Value object(std::string_view key) {
    const Value* const value = spec_.find(key);
    if (value == nullptr || value->is_null()) return Value::object();
    if (!value->is_object()) note(key, "is not an object");
    return value->is_object() ? *value : Value::object();
  }

  // The first fault is told.
  void note(std::string_view key, std::string_view what) {
    if (!fault_) fault_ = wrong(key, what);
  }
  void note(Error fault) {
    if (!fault_) fault_ = std::move(fault);
  }
  Status done() const { return fault_ ? Status(*fault_) : Status(); }

 private:
  const Value& spec_;
  std::optional<Error> fault_;
};

// How many list items there may have to be for a target path.
Result<std::size_t> items_of_path(const std::string& path) {
  if (path.empty()) return std::size_t{0};
  MIST_TRY(const auto steps, encoding::parse_set_path(path));
  return encoding::items_of(steps);
}

std::vector<ValuesFrom> values_from(Reader& spec) {
  std::vector<ValuesFrom> all;
  std::size_t items = 0;
  for (const Value& item : spec.list("valuesFrom")) {
    Reader from(item);
    ValuesFrom each{.secret = from.word("kind", {"ConfigMap", "Secret"}) == 1,
                    .name = from.text("name"),
                    .key = from.text("key", reconcile::kDefaultValuesKey),
                    .target_path = from.text("targetPath"),
                    .optional = from.flag("optional", false)};
    if (!is_dns1123_subdomain(each.name)) from.note("name", "is not the name of an object");
    if (const auto of_path = items_of_path(each.target_path); !of_path)
      from.note("targetPath", "is not the path of a value: " + of_path.error().message);
    else
      items += std::min(*of_path, kMostListItems + 1);
    if (Status read = from.done(); !read)
      spec.note("valuesFrom", fmt::format("has an item whose {}", read.error().message.substr(5)));
    all.push_back(std::move(each));
  }
  if (items > kMostListItems)
    spec.note("valuesFrom",
              fmt::format("has target paths that need more than {} list items together", kMostListItems));
  return all;
}

std::vector<Key> depends_on(Reader& spec, std::string_view ns) {
  std::vector<Key> all;
  for (const Value& item : spec.list("dependsOn")) {
    Reader on(item);
    Key each{on.text("namespace", ns), on.text("name")};
    if (each.second.empty()) on.note("name", "is missing");
    if (Status read = on.done(); !read)
      spec.note("dependsOn", fmt::format("has an item whose {}", read.error().message.substr(5)));
    all.push_back(std::move(each));
  }
  return all;
}

render::LookupGrants lookups(Reader& spec) {
  render::LookupGrants grants;
  const render::LookupGrants given{spec.texts("allowLookup"), spec.texts("allowLookupSecrets")};
  const auto check = [&](std::string_view key, const std::vector<std::string>& texts, auto parse) {
    for (const std::string& each : texts)
      if (const auto pattern = parse(each); !pattern.ok())
        spec.note(key, fmt::format("can't be \"{}\": {}", escape_controls(each), pattern.error().message));
      else if (key == "allowLookup" && pattern->kind == "Secret")
        spec.note(key, "grants no Secrets; spec.allowLookupSecrets does");
  };
  check("allowLookup", given.objects, package::LookupPattern::parse);
  check("allowLookupSecrets", given.secrets, package::LookupPattern::parse_secrets);
  if (spec.done()) grants.add(given);
  return grants;
}

apply::PruneRules prune_rules(Reader& spec) {
  const Value written = spec.object("prune");
  Reader deletes(written);
  const apply::PruneRules rules{.delete_crds = deletes.flag("customResourceDefinitions", false),
                                .delete_pvcs = deletes.flag("persistentVolumeClaims", false),
                                .delete_namespaces = deletes.flag("namespaces", false)};
  if (Status read = deletes.done(); !read)
    spec.note(wrong("prune", fmt::format("has a member whose {}", read.error().message.substr(5))));
  return rules;
}

void check_names(Reader& spec, const Spec& read) {
  // Another type would pass for a name that isn't there.
  spec.text("releaseName");
  spec.text("targetNamespace");
  if (!release::ReleaseName::parse(read.release.name).ok())
    spec.note("releaseName",
              fmt::format("\"{}\" is not the name of a release", escape_controls(read.release.name)));
  if (!is_dns1123_label(read.release.ns))
    spec.note("targetNamespace",
              fmt::format("\"{}\" is not the name of a namespace", escape_controls(read.release.ns)));
  if (!read.account.empty() && !is_dns1123_subdomain(read.account))
    spec.note("serviceAccountName",
              fmt::format("\"{}\" is not the name of a ServiceAccount", escape_controls(read.account)));
}

// Mistakes in it concern nobody any more: it is the default then.
Duration timeout_of_deletion(const Value& written) {
  Reader spec(written);
  const Duration timeout = spec.duration("timeout", kDefaultTimeout, kTimeouts);
  return spec.done() ? timeout : *parse_duration(kDefaultTimeout);
}

}  // namespace

std::string ValuesFrom::display() const {
  return fmt::format("{} {}, key {}", secret ? "Secret" : "ConfigMap", name, key);
}

Key release_of(const Value& object) { return reconcile::release_named_by(object); }

Result<Spec> spec_of(const Value& object) {
  const Value* const written = object.find("spec");
  if (written == nullptr || !written->is_object()) return error(ErrorKind::Invalid, "it has no spec");
  for (const Value::Member& member : written->as_object())
    if (encoding::nests_deeper(member.value, reconcile::kMostSpecLevels))
      return wrong(member.key, fmt::format("nests more than {} levels deep", reconcile::kMostSpecLevels));
  Reader spec(*written);
  const Key release = release_of(object);
  Spec result{.package = spec.text("package"),
              .engine = spec.text("engine"),
              .release = release::ReleaseId(release.first, release.second),
              .account = spec.text("serviceAccountName"),
              .values = spec.object("values"),
              .values_from = values_from(spec),
              .depends_on = depends_on(spec, object.string_at({"metadata", "namespace"})),
              .interval = spec.duration("interval", reconcile::kReleaseInterval, kIntervals),
              .timeout = spec.duration("timeout", kDefaultTimeout, kTimeouts),
              .wait = spec.flag("wait", true),
              .create_namespace = spec.flag("createNamespace", false),
              .on_drift = static_cast<OnDrift>(spec.word("drift", {"Warn", "Fix", "Ignore"})),
              .on_delete = static_cast<OnDelete>(spec.word("onDelete", {"Uninstall", "Keep"}))};
  result.prune = prune_rules(spec);
  result.adopt = spec.flag("adopt", false);
  result.replace = spec.flag("replace", false);
  result.force_conflicts = spec.flag("forceConflicts", false);
  result.retries = spec.number("retries", kDefaultRetries);
  result.rollback = spec.flag("rollback", true);
  result.history = spec.number("historyLimit", kDefaultHistory);
  result.suspend = spec.flag("suspend", false);
  if (result.package.empty()) spec.note("package", "is missing");
  check_names(spec, result);
  MIST_TRY_VOID(spec.done());
  result.lookups = lookups(spec);
  MIST_TRY_VOID(spec.done());
  return result;
}

Result<Spec> spec_of_deletion(const Value& object) {
  const Value* const written = object.find("spec");
  if (written == nullptr || !written->is_object()) return error(ErrorKind::Invalid, "it has no spec");
  Reader spec(*written), lenient(*written);
  Spec result;
  const Key release = release_of(object);
  result.release = release::ReleaseId(release.first, release.second);
  result.account = spec.text("serviceAccountName");
  result.timeout = timeout_of_deletion(*written);
  result.wait = lenient.flag("wait", true);
  result.prune = prune_rules(lenient);
  Reader policy(*written);
  result.on_delete = static_cast<OnDelete>(policy.word("onDelete", {"Uninstall", "Keep"}));
  result.suspend = policy.flag("suspend", false);
  MIST_TRY_VOID(policy.done());
  if (result.suspend || result.on_delete == OnDelete::Keep) return result;
  check_names(spec, result);
  if (Status read = spec.done(); !read)
    return Error(read.error()).with_hint("correct it, or set spec.onDelete to Keep to let the release stay");
  return result;
}

std::string_view crd_text() {
  return R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: releases.mistletoe.dev
spec:
  group: mistletoe.dev
  names:
    kind: Release
    listKind: ReleaseList
    plural: releases
    singular: release
    shortNames: [mrel]
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources:
        status: {}
      additionalPrinterColumns:
        - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
        - {name: Package, type: string, jsonPath: .status.package}
        - {name: Revision, type: integer, jsonPath: .status.revision}
        - {name: Status, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].message'}
        - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
      schema:
        openAPIV3Schema:
          type: object
          description: A release of a package, which mistletoe-operator keeps as it is wanted.
          required: [spec]
          x-kubernetes-validations:
            - rule: >-
                (has(self.spec.releaseName) && self.spec.releaseName != '') ||
                self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')
              message: its name is not the name of a release; spec.releaseName may be
          properties:
            spec:
              type: object
              required: [package]
              x-kubernetes-validations:
                - rule: >-
                    (has(self.releaseName) ? self.releaseName : '') ==
                    (has(oldSelf.releaseName) ? oldSelf.releaseName : '') &&
                    (has(self.targetNamespace) ? self.targetNamespace : '') ==
                    (has(oldSelf.targetNamespace) ? oldSelf.targetNamespace : '')
                  message: releaseName and targetNamespace can't be changed; make another Release
              properties:
                package:
                  type: string
                  minLength: 1
                  maxLength: 2048
                  description: "As mistctl's -p: a package of a configured registry (team/web:1.2.0), oci:// or git+https://."
                engine:
                  type: string
                  maxLength: 63
                  description: The engine that renders a directory, where its files don't say which.
                releaseName:
                  type: string
                  maxLength: 53
                  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$'
                  description: The name of the release; without it that of this object.
                targetNamespace:
                  type: string
                  maxLength: 63
                  pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$'
                  description: The namespace of the release; without it that of this object.
                createNamespace:
                  type: boolean
                  default: false
                  description: The namespace is made if it is missing.
                serviceAccountName:
                  type: string
                  maxLength: 253
                  pattern: '^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*)?$'
                  description: A ServiceAccount of this namespace. Everything is read and written with its rights.
                values:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                  description: Values for the package; they win over those of valuesFrom.
                valuesFrom:
                  type: array
                  maxItems: 64
                  description: ConfigMaps and Secrets with values; later ones win.
                  items:
                    type: object
                    required: [kind, name]
                    properties:
                      kind: {type: string, enum: [ConfigMap, Secret]}
                      name:
                        type: string
                        maxLength: 253
                        pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'
                      key: {type: string, default: values.yaml, maxLength: 253}
                      targetPath:
                        type: string
                        maxLength: 1024
                        description: "The value that the key's text becomes (db.password), over all other values."
                      optional: {type: boolean, default: false}
                dependsOn:
                  type: array
                  maxItems: 64
                  description: Releases that have to be ready first.
                  items:
                    type: object
                    required: [name]
                    properties:
                      name: {type: string, minLength: 1, maxLength: 253}
                      namespace: {type: string, maxLength: 63}
                interval:
                  type: string
                  default: 10m
                  maxLength: 64
                  pattern: '^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$'
                  x-kubernetes-validations:
                    - rule: duration(self) >= duration('10s') && duration(self) <= duration('8784h')
                      message: must be a duration from 10s to 8784h
                  description: The time after which package, values and drift are looked at again; 10s or more.
                timeout:
                  type: string
                  default: 5m
                  maxLength: 64
                  pattern: '^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$'
                  x-kubernetes-validations:
                    - rule: duration(self) >= duration('1s') && duration(self) <= duration('24h')
                      message: must be a duration from 1s to 24h
                  description: The limit of waiting, and of each hook.
                wait:
                  type: boolean
                  default: true
                  description: A revision is deployed when its objects are ready.
                drift:
                  type: string
                  enum: [Warn, Fix, Ignore]
                  default: Warn
                  description: The treatment of fields that somebody else changed.
                onDelete:
                  type: string
                  enum: [Uninstall, Keep]
                  default: Uninstall
                  description: "Keep: the release stays when this object is deleted."
                prune:
                  type: object
                  description: Objects that an upgrade and uninstalling may delete beside ordinary ones.
                  properties:
                    customResourceDefinitions: {type: boolean, default: false}
                    persistentVolumeClaims: {type: boolean, default: false}
                    namespaces: {type: boolean, default: false}
                adopt:
                  type: boolean
                  default: false
                  description: Objects that exist and belong to nobody become the release's.
                replace:
                  type: boolean
                  default: false
                  description: Objects that can't be changed in place are deleted and recreated.
                forceConflicts:
                  type: boolean
                  default: false
                  description: Fields that others set are taken.
                allowLookup:
                  type: array
                  maxItems: 64
                  items:
                    type: string
                    maxLength: 1024
                    pattern: '^([*.]|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(/(\*|[A-Za-z0-9]+(\.[^\x00-\x20\x7f/]+)?)(/[^\x00-\x20\x7f/]+)?)?$'
                    x-kubernetes-validations:
                      - rule: >-
                          !self.matches('^[^/]*/Secret([./]|$)')
                        message: grants no Secrets; spec.allowLookupSecrets does
                  description: Objects of the cluster that the package may read, as with mistctl's --allow-lookup.
                allowLookupSecrets:
                  type: array
                  maxItems: 64
                  items:
                    type: string
                    maxLength: 1024
                    pattern: '^([*.]|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(/[^\x00-\x20\x7f/]+)?$'
                  description: Secrets that the package may read, as with mistctl's --allow-lookup-secrets.
                retries:
                  type: integer
                  minimum: 0
                  maximum: 1000
                  default: 1
                  description: How often an upgrade that failed is tried again. Installs are tried until they succeed.
                rollback:
                  type: boolean
                  default: true
                  description: An upgrade that fails is rolled back.
                historyLimit:
                  type: integer
                  minimum: 0
                  maximum: 1000
                  default: 10
                  description: How many revisions are kept; 0, all.
                suspend:
                  type: boolean
                  default: false
                  description: Nothing is done until it is false again.
            status:
              type: object
              properties:
                observedGeneration: {type: integer, format: int64}
                release: {type: string, description: Namespace and name of the release.}
                package: {type: string, description: The deployed package.}
                digest: {type: string}
                revision: {type: integer, format: int32}
                exports:
                  x-kubernetes-preserve-unknown-fields: true
                  description: The exports of the package to its callers, without those that depend on a secret.
                hiddenExports:
                  type: array
                  description: Paths of exports that are left out because they depend on a secret.
                  items: {type: string}
                appliedGeneration: {type: integer, format: int64}
                owned:
                  type: boolean
                  description: It deployed the release, or took it over.
                handledReconcileAt: {type: string}
                driftDigest:
                  type: string
                  description: Of the drift that the condition Drifted shows; an Event tells when it changes.
                attempt:
                  type: object
                  description: The upgrade that failed last.
                  properties:
                    inputs: {type: string}
                    failures: {type: integer, format: int32}
                    reason: {type: string}
                    message: {type: string}
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status, lastTransitionTime, reason, message]
                    properties:
                      type: {type: string}
                      status: {type: string, enum: ["True", "False", Unknown]}
                      reason: {type: string}
                      message: {type: string}
                      lastTransitionTime: {type: string, format: date-time}
                      observedGeneration: {type: integer, format: int64}
)";
}

}  // namespace mist::releases
