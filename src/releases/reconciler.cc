#include "releases/reconciler.h"

#include <algorithm>
#include <array>
#include <set>

#include "action/cluster_lookup.h"
#include "action/deploy/deploy.h"
#include "action/managing_release.h"
#include "action/query/drift.h"
#include "action/uninstall.h"
#include "apimachinery/conditions.h"
#include "base/diagnosis.h"
#include "base/masked_events.h"
#include "base/process_identity.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "http/public_address.h"
#include "kube/api_failure.h"
#include "kube/client_pool.h"
#include "operator/actors.h"
#include "operator/executor.h"
#include "operator/notices.h"
#include "package/values.h"
#include "registry/git_url.h"
#include "registry/reference.h"
#include "releases/drift_words.h"
#include "releases/release_event_sink.h"
#include "releases/values.h"
#include "render/dependencies.h"
#include "render/deployed_version.h"
#include "render/packages.h"
#include "render/recorded_options.h"
#include "render/release_renderer.h"
#include "render/signers.h"
#include "view/diagnosis_tree.h"

namespace mist::releases {
namespace {

// Of a spec that can't be read as a whole.
constexpr Duration kUnreadInterval = std::chrono::minutes(10);
constexpr std::size_t kMostExports = std::size_t{32} * 1024;
// Of the finalizer.
constexpr std::string_view kFinalizerManager = "mistletoe-operator-releases";

// Those of a run tell what to type next, which is for people at a terminal.
enum class Hints : bool { No, Yes };

// The failure with its reasons, for callers that have nothing but the status.
std::string words_of(const Error& failure, Hints hints) {
  std::string words = escape_controls(failure.to_line());
  if (hints == Hints::Yes && !failure.hint.empty()) words += "; " + escape_controls(failure.hint);
  if (const Diagnosis* const diagnosis = diagnosis_of(failure))
    for (const std::string& line : view::diagnosis_lines(*diagnosis, false)) words += "\n" + line;
  return words;
}

// Of the operator's machine nobody else may read anything.
Status refuse_local(const std::string& reference) {
  MIST_TRY(const registry::PackageRef parsed, registry::PackageRef::parse(reference));
  bool local = std::holds_alternative<registry::LocalRef>(parsed.form());
  if (const auto* const git = std::get_if<registry::GitRef>(&parsed.form())) {
    MIST_TRY(const registry::GitUrl url, registry::GitUrl::parse(git->url, "/"));
    local = url.host().empty() || http::may_be_this_machine(url.host());
  }
  if (const auto* const oci = std::get_if<oci::Reference>(&parsed.form()))
    local = http::may_be_this_machine(oci->repository.host_name());
  if (!local) return {};
  return error(ErrorKind::Invalid, "{} is on the operator's own machine", parsed.display())
      .with_hint("name a package of a registry, oci:// or git+https://");
}

// a → b → a; empty: it doesn't wait for itself.
std::string cycle_of(const Key& from, const Others& others) {
  std::set<Key> seen;
  std::vector<std::pair<Key, std::string>> next{{from, display(from)}};
  while (!next.empty()) {
    const auto [key, path] = std::move(next.back());
    next.pop_back();
    const std::optional<Value> object = others.find(key);
    const auto spec = object ? spec_of(*object) : Result<Spec>(error(ErrorKind::NotFound, "it is gone"));
    if (!spec.ok()) continue;
    for (const Key& on : spec->depends_on) {
      if (on == from) return fmt::format("{} → {}", path, display(on));
      if (seen.insert(on).second) next.emplace_back(on, fmt::format("{} → {}", path, display(on)));
    }
  }
  return {};
}

class Visit {
 public:
  Visit(const Dependencies& dependencies, ReportedDrift& reported_drift, const Value& object,
        const Others& others, const Reconciler::Tell& tell, const Context& context)
      : dependencies_(dependencies),
        reported_drift_(reported_drift),
        object_(object),
        others_(others),
        tell_(tell),
        context_(context),
        key_(object.string_at({"metadata", "namespace"}), object.string_at({"metadata", "name"})),
        events_(dependencies.events, fmt::format("Release {}", display(key_)), fields_of(key_),
                [this](const PlanAnnounced& plan) { begins(plan); }),
        notices_(dependencies.client, dependencies.clock, events_) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() = default;

  Result<Outcome> run() {
    const bool terminating = apimachinery::is_terminating(object_);
    if (terminating) reported_drift_.note(object_, {});
    if (terminating && !has_finalizer(object_)) return Outcome{};
    if (terminating) return take_down();
    auto read = spec_of(object_);
    if (!read.ok()) return gives_up_unread(read.error());
    spec_ = *std::move(read);
    if (spec_.suspend) return says({.suspended = true});
    if (const std::optional<Key> elder = others_.elder(object_)) {
      notice_absence_idly();
      return gives_up(reason::kDuplicate,
                      error(ErrorKind::Conflict, "Release {} keeps the release {} already", display(*elder),
                            spec_.release.display()));
    }
    MIST_TRY(std::optional<Outcome> waits, wait_for_dependencies());
    if (waits) return *std::move(waits);
    auto client = client_of(spec_.account);
    if (!client.ok()) return gives_up(reason::kNoAccount, client.error());
    client_ = *client;
    if (Status ours = claim(); !ours) return fails(reason::kRecord, ours.error());
    return compare();
  }

 private:
  // --- what becomes of a reconciliation

  Outcome says(const Report& report) {
    const Value status = status_of(object_, report, format_time(dependencies_.clock.now()));
    Outcome outcome;
    const Value* const before = object_.find("status");
    // The begin of a run was written over it.
    if (wrote_ || before == nullptr || *before != status) outcome.status = status;
    // There is no interval where the spec can't be read.
    if (!report.suspended && spec_.interval > Duration()) outcome.again = spec_.interval;
    return outcome;
  }

  // Nothing is done until somebody changes something. Whether its release is still there is checked all the
  // same: nothing wakes it when that is uninstalled by hand.
  Outcome idles(const Report& report) {
    Outcome outcome = says(report);
    if (client_ == nullptr || absent_ || !had_it()) outcome.again.reset();
    return outcome;
  }

  Outcome gives_up(std::string_view reason, const Error& failure) {
    const std::string words = words_of(failure, Hints::Yes);
    tell_once(reason, words);
    return idles({.ready = "False", .reason = reason, .message = words, .stalled = words, .absent = absent_});
  }

  // Its deletion needs less, which says where its release is, and as whom to read it.
  Outcome gives_up_unread(const Error& failure) {
    auto read = spec_of_deletion(object_);
    if (read.ok() && !read->suspend && read->on_delete == OnDelete::Uninstall) {
      spec_ = *std::move(read);
      spec_.interval = kUnreadInterval;
      notice_absence_idly();
    }
    return gives_up(reason::kInvalidSpec, failure);
  }

  Result<Outcome> fails(std::string_view reason, const Error& failure) {
    MIST_TRY_VOID(context_.check());
    const std::string words = words_of(masked(failure), Hints::Yes);
    tell_once(reason, words);
    events_.warn(words);
    Outcome outcome = says({.ready = "False", .reason = reason, .message = words, .absent = absent_});
    outcome.failed = true;
    return outcome;
  }

  // Nobody knows what to deploy.
  Result<Outcome> fails_unprepared(std::string_view reason, const Error& failure) {
    notice_absence();
    return fails(reason, failure);
  }

  // That the release was uninstalled meanwhile is noticed whatever keeps it from being deployed: what is made
  // by hand under its name next isn't this Release's own.
  void notice_absence() {
    if (!had_it()) return;
    const action::Environment here = environment();
    const auto state = action::read_release(here, spec_.release, context_, action::LostRevision::Allowed);
    absent_ = state.ok() && !state->anchor && has_no_record(here);
  }

  // Of a reconciliation that needs its account for nothing else.
  void notice_absence_idly() {
    auto client = client_of(spec_.account);
    if (!client.ok()) return;
    client_ = *std::move(client);
    notice_absence();
  }

  // Derived forms of secrets first: part of one may be another secret, unchanged.
  Error masked(const Error& failure) const { return hidden_.masked(mask_.masked(failure)); }
  std::string masked(std::string text) const { return hidden_.masked(mask_.masked(std::move(text))); }

  // As an Event, unless the status says so already.
  void tell_once(std::string_view reason, const std::string& words) {
    const Value* const ready = apimachinery::condition_of(object_, "Ready");
    if (ready != nullptr && ready->string_at("reason") == reason && ready->string_at("message") == words)
      return;
    notices_.tell(object_, true, reason, words, context_);
  }

  void begins(const PlanAnnounced& plan) {
    wrote_ = true;
    // An uninstall makes no revision, and its spec may name no package.
    const std::string what =
        plan.revision < 0 ? fmt::format("{} of release {}", plan.operation, spec_.release.display())
                          : fmt::format("{} of {} as v{}", plan.operation, spec_.package, plan.revision);
    events_.info(what);
    tell_(status_of(object_, {.ready = "Unknown", .reason = reason::kProgressing, .message = what},
                    format_time(dependencies_.clock.now())));
  }

  // --- before anything is read

  Result<std::optional<Outcome>> wait_for_dependencies() {
    for (const Key& on : spec_.depends_on) {
      std::optional<Value> other = others_.find(on);
      if (other && is_ready(*other)) continue;
      others_.wake(on, key_);
      // It may have become ready before that was heard.
      other = others_.find(on);
      if (other && is_ready(*other)) continue;
      notice_absence_idly();
      if (const std::string cycle = cycle_of(key_, others_); !cycle.empty())
        return std::optional(
            gives_up(reason::kDependency, error(ErrorKind::Invalid, "it waits for itself: {}", cycle)));
      // Of another namespace its reader may know no more.
      const std::string why = !other                   ? "there is no such Release"
                              : on.first == key_.first ? ready_words(*other)
                                                       : "it is not ready";
      return std::optional(idles({.ready = "False",
                                  .reason = reason::kDependency,
                                  .message = fmt::format("waits for Release {}: {}", display(on), why),
                                  .absent = absent_}));
    }
    return std::optional<Outcome>();
  }

  Result<std::shared_ptr<kube::Client>> client_of(const std::string& named) const {
    const std::string& account = named.empty() ? dependencies_.default_account : named;
    if (!account.empty()) return dependencies_.client_of(operator_::user_of(key_.first, account));
    if (key_.first == dependencies_.ns) return kube::borrowed(dependencies_.client);
    return error(ErrorKind::Forbidden, "it names no ServiceAccount")
        .with_hint(fmt::format("set spec.serviceAccountName to one of namespace {} with the rights that the "
                               "package needs; only Releases of namespace {} act as the operator itself",
                               key_.first, dependencies_.ns));
  }

  static bool has_finalizer(const Value& object) {
    const Value* const all = object.at_path({"metadata", "finalizers"});
    return all != nullptr && all->is_array() &&
           std::ranges::find(all->as_array(), Value(kFinalizer)) != all->as_array().end();
  }

  kube::ObjectRef own_ref() const {
    return {{{std::string(kGroup), std::string(kVersion), std::string(kKind)}, "releases", true, {}, true},
            key_.first,
            key_.second};
  }

  // Before the first write: what is made is also unmade. Not as the manager that writes the objects of
  // blueprints: a Release may be one of these, and an apply removes what its manager set before.
  Status claim() const {
    if (has_finalizer(object_)) return {};
    Value object = operator_::identity(object_);
    object["metadata"].set("finalizers", Value::array({kFinalizer}));
    MIST_TRY_VOID(dependencies_.client
                      .apply(own_ref(), object,
                             {.field_manager = std::string(kFinalizerManager), .force = true}, context_)
                      .in("while the finalizer was added"));
    return {};
  }

  Status let_go() const {
    auto done = dependencies_.client.apply(own_ref(), operator_::identity(object_),
                                           {.field_manager = std::string(kFinalizerManager), .force = true},
                                           context_);
    // Somebody else set it too, such as an operator of an older version.
    if (done.ok() && has_finalizer(*done)) done = without_finalizer(*done);
    if (done.ok() || done.error().kind == ErrorKind::NotFound) return {};
    return Error(done.error()).with_frame("while the finalizer was removed");
  }

  // A merge patch writes lists as a whole, so it names the version that it was computed from.
  Result<Value> without_finalizer(const Value& live) const {
    Value::Array left = live.at_path({"metadata", "finalizers"})->as_array();
    std::erase(left, Value(kFinalizer));
    Value metadata = Value::object({{"uid", live.string_at({"metadata", "uid"})},
                                    {"resourceVersion", live.string_at({"metadata", "resourceVersion"})},
                                    {"finalizers", Value(std::move(left))}});
    return dependencies_.client.merge_patch(own_ref(), Value::object({{"metadata", std::move(metadata)}}),
                                            context_);
  }

  // --- what is wanted, and what there is

  action::Environment environment() {
    action::Environment environment{*client_, dependencies_.clock, dependencies_.random, masked_,
                                    dependencies_.holder};
    environment.process = own_process();
    environment.life = life_of_process;
    environment.managing_release = display(key_);
    environment.managing_release_uid = object_.string_at({"metadata", "uid"});
    return environment;
  }

  Result<Outcome> compare() {
    auto gathered = gather_values(*client_, key_.first, spec_, context_);
    if (!gathered.ok()) return fails_unprepared(reason::kValues, gathered.error());
    hidden_ = std::move(gathered->hidden);
    mask_ = std::move(gathered->mask);
    // Before the package, of which the record knows what it was.
    const action::Environment here = environment();
    const auto state = action::read_release(here, spec_.release, context_, action::LostRevision::Allowed);
    if (!state.ok()) return fails(reason::kRecord, state.error());
    auto source = fetch(state->deployed ? &state->deployed->package : nullptr);
    if (!source.ok()) return fails_unprepared(reason::kPackage, source.error());
    source_ = std::make_shared<const package::Source>(*std::move(source));
    auto values = render::values_for(*source_, gathered->inputs, masked_);
    if (!values.ok()) return fails_unprepared(reason::kValues, values.error());
    values_ = *std::move(values);
    const std::string inputs =
        crypto::sha256(crypto::as_bytes(fmt::format("{}\n{}\n{}", generation_of(object_), source_->digest,
                                                    gathered->versions)))
            .str();
    return is_deployed(*state) ? look_for_drift(here, *state) : deploy(here, *state, inputs);
  }

  Result<package::Source> fetch(const release::PackageInfo* deployed) {
    MIST_TRY_VOID(refuse_local(spec_.package));
    registry::Registries::Dependencies registries{
        dependencies_.files, dependencies_.processes, events_,
        dependencies_.paths, dependencies_.clock,     dependencies_.oci};
    registries.signers = registry::NewSigners::Remember;
    // A Pod that was restarted remembers nobody.
    const auto named = registry::PackageRef::parse(spec_.package);
    if (deployed != nullptr && named && !render::names_bytes(*named))
      registries.recorded = render::recorded_signers(*deployed);
    render::Packages packages(render::Packages::Dependencies{std::move(registries),
                                                             dependencies_.transport,
                                                             dependencies_.engines,
                                                             formats::RemoteBases::Public,
                                                             false,
                                                             {},
                                                             deployed});
    return packages.fetch(spec_.package, spec_.engine, context_);
  }

  bool is_deployed(const action::ReleaseState& state) const {
    if (!state.deployed || !state.unfinished.empty() || action::is_uninstalling(state)) return false;
    // A release that was there before this Release is taken over, and waited for.
    if (applied_generation(object_) == 0) return false;
    const release::PackageInfo& package = state.deployed->package;
    return package.digest == source_->digest && (spec_.engine.empty() || package.engine == spec_.engine) &&
           package.calls == render::called_packages(*source_) &&
           render::RecordedOptions::from_value(state.deployed->options).lookups == spec_.lookups &&
           package::same_values(state.deployed->user_values, values_);
  }

  Deployed deployed_of(const release::Revision& revision, std::int64_t generation) const {
    return {revision.package.reference, revision.package.digest, revision.number, generation};
  }

  // The status was written after what is deployed was.
  bool knows_exports(const action::ReleaseState& state) const {
    return state.deployed && revision_of(object_) == state.deployed->number;
  }

  static std::string deployed_words(const release::PackageInfo& package, int revision) {
    return fmt::format("{}{} is deployed as v{}", package.name,
                       package.version.empty() ? "" : " " + package.version, revision);
  }

  // --- an upgrade, or an install

  Result<Outcome> deploy(const action::Environment& here, const action::ReleaseState& state,
                         const std::string& inputs) {
    const bool upgrade = state.deployed.has_value();
    Attempt attempt = attempt_of(object_);
    if (attempt.inputs != inputs) attempt = {inputs, 0};
    if (upgrade && attempt.failures > spec_.retries && !is_asked_again(object_))
      return stays_given_up(attempt);
    if (is_asked_again(object_)) attempt.failures = 0;
    const action::Render render = [&](const action::ReleaseState& now) -> Result<render::RenderedRelease> {
      MIST_TRY(render::RenderedRelease rendered, rendered_now(now, values_, masked_));
      MIST_TRY(exports_, exports_of(rendered, now));
      return rendered;
    };
    const action::DeployOptions options{
        .wait = spec_.wait,
        .timeout = spec_.timeout,
        .create_namespace = spec_.create_namespace,
        .allowed = {.prune = spec_.prune,
                    .adopt = spec_.adopt,
                    .replace = spec_.replace,
                    .force_conflicts = spec_.force_conflicts || spec_.on_drift == OnDrift::Fix},
        .rollback_on_failure = upgrade && spec_.rollback,
        .history_max = spec_.history};
    const auto done = action::deploy(here.heard_by(masked_), spec_.release,
                                     action::upgrade_or_install_intent(render), options, context_);
    if (!done.ok()) return failed(here, state, attempt, done.error());
    const std::string words = deployed_words(done->package, done->revision);
    if (done->changed) notices_.tell(object_, false, reason::kDeployed, words, context_);
    events_.info(words);
    return says({.ready = "True",
                 .reason = reason::kDeployed,
                 .message = words,
                 .drifted = Drift{},
                 .deployed = Deployed{done->package.reference, done->package.digest, done->revision,
                                      generation_of(object_), exports_},
                 .attempt = Attempt{}});
  }

  // Another package or other values of the same names are noticed. A fault that came between, as a registry
  // that didn't answer, is over: it says again why it was given up.
  Outcome stays_given_up(const Attempt& attempt) {
    // An operator of an older version kept no words.
    if (attempt.message.empty()) return Outcome{.again = spec_.interval};
    return says({.ready = "False",
                 .reason = attempt.reason,
                 .message = attempt.message,
                 .stalled = given_up_words(attempt.failures)});
  }

  static std::string given_up_words(int failures) {
    return fmt::format(
        "{}; it is tried again when spec, package or values change, or the annotation {} does",
        failures == 1 ? "the upgrade failed" : fmt::format("the upgrade failed {} times", failures),
        kReconcileAnnotation);
  }

  // `events` outlives what is rendered: it can be rendered again.
  Result<render::RenderedRelease> rendered_now(const action::ReleaseState& state, const Value& values,
                                               EventSink& events) {
    const render::ReleaseRenderer renderer(std::make_shared<package::Renderer>(dependencies_.engines, events),
                                           render::LiveCluster{*client_, action::cluster_lookup, &events});
    const render::RenderChoices choices{
        .allow_lookup = spec_.lookups, .revoke_lookup = true, .adopt = spec_.adopt, .exports = true};
    return renderer.render(source_, values, choices, state.facts(), context_);
  }

  // Without what depends on the Secrets of valuesFrom: with other values in their place it is another.
  Result<render::PublicExports> exports_of(const render::RenderedRelease& rendered,
                                           const action::ReleaseState& state) {
    if (hidden_.empty() || rendered.exports.values.is_null()) return shortened(rendered.exports);
    NullEventSink nobody;
    const auto other = rendered_now(state, render::with_other_secrets(values_, hidden_), nobody);
    MIST_TRY_VOID(context_.check());
    if (!other.ok()) return render::hidden_exports();
    render::PublicExports exports =
        render::public_exports(rendered.exports.values, &other->exports.values, hidden_);
    exports.hidden.insert(exports.hidden.begin(), rendered.exports.hidden.begin(),
                          rendered.exports.hidden.end());
    return shortened(std::move(exports));
  }

  render::PublicExports shortened(render::PublicExports exports) {
    if (exports.values.is_null() || encoding::to_json(exports.values).size() <= kMostExports) return exports;
    events_.warn(fmt::format("the package's exports are larger than {} KiB, so they are not in the status",
                             kMostExports / 1024));
    return render::hidden_exports();
  }

  Result<Outcome> failed(const action::Environment& here, const action::ReleaseState& before, Attempt attempt,
                         const Error& failure) {
    MIST_TRY_VOID(context_.check());
    const bool upgrade = before.deployed.has_value();
    const std::string words = words_of(masked(failure), Hints::No);
    // The release as it is now: it may have been rolled back.
    const auto now = action::read_release(here, spec_.release, context_, action::LostRevision::Allowed);
    const bool back = upgrade && wrote_ && now.ok() && now->deployed && now->unfinished.empty();
    const std::string_view reason = back ? reason::kRolledBack : reason::kFailed;
    if (upgrade && wrote_) attempt = {attempt.inputs, attempt.failures + 1, std::string(reason), words};
    const bool over = upgrade && wrote_ && attempt.failures > spec_.retries;
    tell_once(reason, words);
    events_.warn(words);
    Report report{.ready = "False", .reason = reason, .message = words, .attempt = attempt};
    report.absent = !before.anchor && now.ok() && !now->anchor && has_no_record(here);
    if (over) report.stalled = given_up_words(attempt.failures);
    if (now.ok() && now->deployed) {
      report.deployed = deployed_of(*now->deployed, 0);
      // Those of the status are another revision's: an operator died before it wrote the next ones.
      if (!knows_exports(before)) report.deployed->exports = render::PublicExports();
    }
    Outcome outcome = says(report);
    outcome.failed = !over;
    outcome.wrote = wrote_;
    return outcome;
  }

  // Where its anchor isn't there. Revisions that can't be listed may be there, and a record that went with
  // its namespace may have named objects outside of that.
  bool has_no_record(const action::Environment& here) const {
    using enum action::UnlistedRevisions;
    return action::refuse_lost_anchor(here, spec_.release, context_, Refused).ok() &&
           !goes(spec_.release.ns).value_or(true);
  }

  // --- everything is as it was asked for

  Result<Outcome> look_for_drift(const action::Environment& here, const action::ReleaseState& state) {
    if (Status named = action::record_managing_release(here, state, context_);
        !named.ok() && named.error().kind != ErrorKind::Conflict)
      return fails(reason::kRecord, named.error());
    const int revision = state.deployed->number;
    Report report{.ready = "True",
                  .reason = reason::kDeployed,
                  .message = deployed_words(state.deployed->package, revision),
                  .drifted = Drift{},
                  .deployed = deployed_of(*state.deployed, generation_of(object_)),
                  .attempt = Attempt{}};
    if (!knows_exports(state)) {
      const auto rendered = rendered_now(state, values_, masked_);
      if (!rendered.ok()) return fails(reason::kPackage, rendered.error());
      MIST_TRY(report.deployed->exports, exports_of(*rendered, state));
    }
    if (spec_.on_drift == OnDrift::Ignore) return says_drift(report);
    const auto drift = action::drift(here, spec_.release, context_);
    if (!drift.ok()) return fails(reason::kRecord, drift.error());
    report.drifted = {masked(drift_words(*drift)), digest_of(*drift)};
    if (report.drifted->words.empty()) return says_drift(report);
    if (reported_drift_.is_news(object_, report.drifted->digest)) {
      notices_.tell(object_, true, "Drifted", report.drifted->words, context_);
      events_.warn(report.drifted->words);
    }
    if (spec_.on_drift == OnDrift::Warn) return says_drift(report);
    const auto fixed = action::fix_drift(here, spec_.release,
                                         {.adopt = spec_.adopt, .history_max = spec_.history}, context_);
    if (!fixed.ok()) return fails(reason::kFailed, fixed.error());
    report.message = deployed_words(state.deployed->package, fixed->revision);
    report.deployed->revision = fixed->revision;
    const std::string left = masked(drift->hidden.masked(left_words(*drift, *fixed)));
    if (left.empty()) notices_.tell(object_, false, "Fixed", report.drifted->words, context_);
    report.drifted = {left, digest_of(left_of(*drift, *fixed))};
    return says_drift(report);
  }

  // As little can be learned from it as from the words.
  std::string digest_of(const action::DriftReport& drift) const {
    return crypto::sha256(masked(drift.hidden.masked(drift_facts(drift)))).str();
  }

  Outcome says_drift(const Report& report) {
    reported_drift_.note(object_,
                         report.drifted->words.empty() ? std::string_view() : report.drifted->digest);
    return says(report);
  }

  // --- the end

  // The release that a spec deployed is deleted, whatever else is wrong with the spec.
  Result<Outcome> take_down() {
    // A younger Release of the same release never was its own.
    bool keeps = others_.elder(object_).has_value();
    if (!keeps) {
      auto read = spec_of_deletion(object_);
      if (!read.ok()) return fails(reason::kUninstallFailed, read.error());
      spec_ = *std::move(read);
      keeps = spec_.suspend || spec_.on_delete == OnDelete::Keep;
    }
    Result<Ending> ending = keeps ? Ending::Kept : uninstall();
    if (!ending.ok()) {
      if (!goes_with_its_namespace(ending.error())) return fails(reason::kUninstallFailed, ending.error());
      events_.warn(
          fmt::format("its namespace goes, and its account with it; let go: {}", ending.error().to_line()));
      ending = Ending::Lost;
    }
    tell_end(*ending);
    if (Status gone = let_go(); !gone) return fails(reason::kUninstallFailed, gone.error());
    return Outcome{};
  }

  // A Release may fail before its first write, as for a wrong package. A release that was there before it, as
  // one that somebody made by hand, is not its own then: the record names the Release that deployed it or
  // took it over last, and the status shows whether this one ever did.
  Result<bool> is_own(const action::Environment& here, const action::ReleaseState& state) const {
    const release::Anchor& anchor = *state.anchor;
    // A record without a name contradicts no status: it may have been made again, from the objects.
    const bool is_anothers =
        anchor.damage.empty() && !anchor.head.kept_by.empty() && anchor.head.kept_by != here.managing_release;
    if (is_owned(object_) && !is_anothers) return true;
    // Operators of older versions recorded no uid.
    const bool names_it = anchor.head.kept_by == here.managing_release && anchor.head.kept_by_uid.empty();
    if (names_it || action::is_managed_by(anchor.head, here)) return true;
    // Of a damaged record the name may be lost.
    if (anchor.damage.empty() || !anchor.head.kept_by.empty()) return false;
    return error(ErrorKind::Internal,
                 "the record of release {} doesn't tell whether this Release deployed it",
                 spec_.release.display())
        .with_because(anchor.damage.back())
        .with_hint("restore its Secret from a backup; or set spec.onDelete to Keep, and the release stays");
  }

  enum class Ending : std::uint8_t {
    Uninstalled,
    Kept,    // as the spec says, or an elder one's
    NotOwn,  // it isn't this one's to remove
    Lost,    // its record went with its namespace, or the account that could remove it
  };

  void tell_end(Ending ending) {
    const auto stays = [&](std::string_view why) {
      events_.info("let go, the release stays");
      notices_.tell(object_, false, "Kept", why, context_);
    };
    switch (ending) {
      case Ending::Uninstalled:
        return events_.info("uninstalled");
      case Ending::Kept:
        return stays("the release stays, without this Release");
      case Ending::NotOwn:
        return stays("the release stays: this Release neither deployed it nor took it over");
      case Ending::Lost:
        return events_.info("let go");
    }
  }

  Result<Ending> uninstall() {
    MIST_TRY(client_, client_of(spec_.account));
    const action::Environment here = environment();
    MIST_TRY(const action::ReleaseState state,
             action::read_release(here, spec_.release, context_, action::LostRevision::Allowed));
    if (!state.anchor) return end_without_record(here);
    MIST_TRY(const bool owned, is_own(here, state));
    if (!owned) return Ending::NotOwn;
    // Nothing can be made any more in a namespace that goes, so hooks would fail for ever.
    MIST_TRY(const bool going, goes(spec_.release.ns));
    const action::UninstallOptions options{.rules = spec_.prune,
                                           .wait = spec_.wait,
                                           .no_hooks = going,
                                           .timeout = spec_.timeout,
                                           .plan_again = true};
    MIST_TRY(action::UninstallPlan plan, action::plan_uninstall(here, spec_.release, options, context_));
    MIST_TRY_VOID(action::uninstall(here, std::move(plan), options, context_));
    return Ending::Uninstalled;
  }

  // Nothing was ever deployed, or the release is uninstalled already. While reconciling fails, however,
  // Kubernetes deletes what is in a namespace that goes, records too, and then nothing tells what else the
  // release has.
  Result<Ending> end_without_record(const action::Environment& here) {
    Status whole =
        action::refuse_lost_anchor(here, spec_.release, context_, action::UnlistedRevisions::Refused);
    // An account may install without the right to list Secrets, and it needs that right to uninstall.
    const bool blind = !whole.ok() && kube::is_without_right(whole.error());
    if (!was_tried() && (whole.ok() || blind)) return Ending::Uninstalled;
    MIST_TRY(const bool going, goes(spec_.release.ns));
    const bool unknown = !whole.ok() && !blind && whole.error().kind != ErrorKind::NotFound;
    if (!going || unknown) {
      // A first install that failed and wrote something left its anchor, too.
      if (blind && !had_it()) return Ending::Uninstalled;
      MIST_TRY_VOID(std::move(whole));
      return Ending::Uninstalled;
    }
    events_.warn(fmt::format(
        "the record of release {} went with its namespace, and objects outside of that may be left; {}",
        spec_.release.display(), action::gone_namespace_hint(spec_.release)));
    return Ending::Lost;
  }

  // Something was deployed.
  bool had_it() const { return revision_of(object_) >= 0 || is_owned(object_); }

  // Something may have been written, if only by a first install that failed.
  bool was_tried() const {
    if (had_it()) return true;
    const Value* const ready = apimachinery::condition_of(object_, "Ready");
    if (ready == nullptr) return false;
    constexpr std::array kOfTries{reason::kProgressing, reason::kFailed, reason::kRolledBack,
                                  reason::kUninstallFailed};
    return std::ranges::find(kOfTries, ready->string_at("reason")) != kOfTries.end();
  }

  // An account that is gone, or has lost its rights, can't uninstall anything, and Kubernetes removes what is
  // in the namespace. Any other refusal, as of a webhook, may pass; and the release may have objects
  // elsewhere.
  bool goes_with_its_namespace(const Error& failure) const {
    const bool has_no_account = client_ == nullptr && failure.kind == ErrorKind::Forbidden;
    return (has_no_account || kube::is_without_right(failure)) && spec_.release.ns == key_.first &&
           goes(key_.first).value_or(false);
  }

  // Or is gone. An operator that may not read it, as one for its own namespace alone, takes it to stay.
  Result<bool> goes(const std::string& name) const {
    const kube::ObjectRef ref{{{"", "v1", "Namespace"}, "namespaces", false, {}}, {}, name};
    const auto ns = dependencies_.client.get(ref, context_);
    if (ns.ok()) return apimachinery::is_terminating(*ns);
    if (kube::is_absent(ns.error())) return true;
    if (kube::is_without_right(ns.error())) return false;
    return Error(ns.error()).with_frame(fmt::format("while looking whether namespace {} stays", name));
  }

  const Dependencies& dependencies_;
  ReportedDrift& reported_drift_;
  const Value& object_;
  const Others& others_;
  const Reconciler::Tell& tell_;
  const Context& context_;
  const Key key_;
  ReleaseEventSink events_;
  operator_::Notices notices_;
  Spec spec_;
  std::shared_ptr<kube::Client> client_;  // with the rights of the Release
  render::HiddenValues hidden_;
  MessageMask mask_;
  MaskedEvents<render::HiddenValues> without_hidden_{events_, hidden_};
  MaskedEvents<MessageMask> masked_{without_hidden_, mask_};
  std::shared_ptr<const package::Source> source_;
  Value values_;
  render::PublicExports exports_;  // of what was rendered last
  bool wrote_ = false;
  bool absent_ = false;  // there is no such release
};

}  // namespace

Result<Outcome> Reconciler::reconcile(const Value& object, const Others& others, const Tell& tell,
                                      const Context& context) const {
  return Visit(dependencies_, reported_drift_, object, others, tell, context).run();
}

}  // namespace mist::releases
