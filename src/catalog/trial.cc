#include "catalog/trial.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "action/authoring/package_checks.h"
#include "action/authoring/release_trial.h"
#include "action/cluster_lookup.h"
#include "apimachinery/conditions.h"
#include "apply/plan/plan.h"
#include "base/process_identity.h"
#include "base/storage_fault.h"
#include "base/text.h"
#include "base/tree.h"
#include "catalog/step_log.h"
#include "catalog/store.h"
#include "catalog/trial_remains.h"
#include "kpm/k3.h"
#include "package/capabilities.h"
#include "package/installation_fault.h"
#include "package/pre_install.h"
#include "registry/package_blob.h"
#include "release/lock.h"
#include "render/packages.h"
#include "render/wanted_release.h"
#include "view/diagnosis_tree.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::string_view kSimulatedNode = "kwok.x-k8s.io/node";
constexpr std::size_t kMostEvents = 200;
// Of events in a page: a package's own programs may write events, each as large as the server takes.
constexpr int kEventsAtOnce = 20;

constexpr std::string_view kPrevious = "-previous";

// Of an attempt's files.
std::string directory_name(std::int64_t job, int attempt, std::string_view which = {}) {
  return fmt::format("job-{}-{}{}", job, attempt, which);
}

// The reverse; nullopt: it is none.
std::optional<std::pair<std::int64_t, int>> attempt_of(std::string_view name) {
  constexpr std::string_view kFirst = "job-";
  if (!name.starts_with(kFirst)) return std::nullopt;
  name.remove_prefix(kFirst.size());
  if (name.ends_with(kPrevious)) name.remove_suffix(kPrevious.size());
  std::pair<std::int64_t, int> found;
  const char* const begin = name.data();
  const char* const end = begin + name.size();
  const auto job = std::from_chars(begin, end, found.first);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '-') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, found.second);
  if (attempt.ec != std::errc() || attempt.ptr != end) return std::nullopt;
  return found;
}

// A failure of this machine or the cluster, which says nothing about the package.
bool is_ours(const Error& failure) {
  using enum ErrorKind;
  return failure.kind == Cancelled || failure.kind == Retryable || failure.kind == Internal ||
         is_storage_fault(failure) || failure.detail<package::InstallationFault>() != nullptr ||
         failure.detail<ClusterFault>() != nullptr || failure.detail<HeldByAnotherTest>() != nullptr;
}

// Frames, reasons and diagnosis of a failure, for the log.
void tell(StepLog& log, const Error& failure) {
  log.line(fmt::format("error: {}", failure.to_line()));
  if (failure.where) log.block(fmt::format("at {}\n{}", failure.where->text(), failure.where->excerpt));
  for (const Error* cause = failure.cause.get(); cause != nullptr; cause = cause->cause.get())
    log.block(fmt::format("because {}", cause->to_line()));
  if (const Diagnosis* const diagnosis = diagnosis_of(failure))
    for (const std::string& line : view::diagnosis_lines(*diagnosis, false)) log.block(line);
  if (!failure.hint.empty()) log.block(failure.hint);
}

// A package's words may be tens of megabytes, which would be searched for paths (for_everybody). The store
// keeps less.
std::string summary_of(const Error& failure) {
  constexpr std::size_t kMostOfWords = 4 * Store::kLongestSummary;
  const std::string message = clipped(failure.message, kMostOfWords);
  const std::string_view all = failure.because;
  const std::string because = clipped(all.substr(0, all.find('\n')), kMostOfWords);
  return because.empty() ? message : fmt::format("{}: {}", message, because);
}

class Trial {
 public:
  Trial(const TrialDependencies& dependencies, const Job& job, const TrialReport& report,
        const Context& context)
      : dependencies_(dependencies),
        job_(job),
        report_(report),
        context_(context),
        log_(dependencies.clock),
        directory_(dependencies.directory / directory_name(job.id, job.attempt)),
        previous_(dependencies.directory / directory_name(job.id, job.attempt, kPrevious)),
        id_(trial_namespace(dependencies.instance, job, job.attempt), job.package),
        times_{dependencies.timeout, dependencies.longest},
        spent_(dependencies.spent) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    (void)dependencies_.files.remove_all(directory_);
    (void)dependencies_.files.remove_all(previous_);
  }

  Result<bool> run(TrialPart part) {
    switch (part) {
      case TrialPart::All: {
        MIST_TRY(const bool passed, run_offline());
        if (!passed) return false;
        return run_on_cluster();
      }
      case TrialPart::Offline:
        return run_offline();
      case TrialPart::OnCluster: {
        MIST_TRY(const Unpacked unpacked, write_package(job_.digest, directory_, nullptr));
        package_ = unpacked.package;
        return run_on_cluster();
      }
      case TrialPart::Removal:
        MIST_TRY_VOID(look_at_cluster());
        MIST_TRY_VOID(remove_leftovers());
        return true;
    }
    return error(ErrorKind::Internal, "there is no such part of a test");
  }

 private:
  using Work = std::function<Result<std::string>(const Context&)>;

  Result<bool> run_offline() {
    const SteadyTime began = dependencies_.clock.steady_now();
    const Context limited = context_.with_timeout(left());
    MIST_TRY(const bool read, step("unpack", limited, [&](const Context& c) { return unpack(c); }));
    if (!read) return false;
    if (package_ != directory_) {
      MIST_TRY(const bool compiled, step("compile", limited, [&](const Context& c) { return compile(c); }));
      if (!compiled) return false;
    }
    if (has_script()) {
      MIST_TRY(const bool ran, step("pre-install", limited, [&](const Context& c) { return run_script(c); }));
      if (!ran) return false;
    }
    MIST_TRY(const bool valid, check_offline(limited));
    if (!valid) return false;
    MIST_TRY_VOID(note_objects(limited));
    spent_ += dependencies_.clock.steady_now() - began;
    return true;
  }

  Result<bool> run_on_cluster() {
    // Removing what dead tests left takes none of this version's time.
    MIST_TRY_VOID(get_ready());
    return on_cluster(context_.with_timeout(left()));
  }

  Duration left() const { return std::max(Duration::zero(), dependencies_.longest - spent_); }

  // Nothing of this attempt is on the cluster yet, so a failure says nothing of the package; unless what an
  // earlier one left can't be removed because of what it is.
  Status get_ready() {
    using enum ErrorKind;
    Status ready = look_at_cluster();
    bool is_of_package = false;
    if (ready.ok()) {
      // First: a webhook that a dead test left may refuse the rest.
      remains_->remove_abandoned(id_.ns, job_.id, context_);
      ready = remove_leftovers();
      is_of_package = !ready.ok() && (ready.error().kind == Invalid || ready.error().kind == Conflict ||
                                      ready.error().kind == Timeout);
    }
    if (ready.ok()) ready = make_namespace();
    if (ready.ok()) return {};
    MIST_TRY_VOID(context_.check());
    // Another test removes them just now (remove_abandoned), or a worker that lost its lease.
    if (ready.error().detail<release::LockHeld>() != nullptr)
      return std::move(ready).error().with_detail(HeldByAnotherTest());
    if (is_of_package) return ready;
    return std::move(ready).error().with_detail(ClusterFault());
  }

  Status look_at_cluster() {
    auto client = dependencies_.connect(log_);
    if (!client.ok()) return std::move(client).error();
    client_ = *std::move(client);
    const std::string described = client_->describe();
    server_ = described.substr(0, described.find(' '));
    environment_.emplace(
        action::Environment{*client_, dependencies_.clock, dependencies_.random, log_, job_.holder});
    environment_->process = own_process();
    environment_->life = life_of_process;
    remains_.emplace(TrialRemains::Dependencies{*environment_, dependencies_.instance, times_, report_.warn});
    return note_nodes();
  }

  // Runs it, and hands its result on. False: it failed because of the package.
  Result<bool> step(std::string_view name, const Context& context, const Work& work) {
    (void)log_.take();
    if (report_.began) report_.began(name);
    if (!std::exchange(is_isolation_told_, true) && !dependencies_.isolation.empty())
      log_.line("isolation: " + dependencies_.isolation);
    Step done{.name = std::string(name), .began = dependencies_.clock.now()};
    const SteadyTime began = dependencies_.clock.steady_now();
    const Result<std::string> result = work(context);
    // Stopped, or the lease lost: nobody asks for the rest.
    MIST_TRY_VOID(context_.check());
    if (!result.ok()) {
      MIST_TRY_VOID(not_ours(result.error()));
      tell(log_, result.error());
    }
    done.state = result.ok() ? StepState::Passed : StepState::Failed;
    done.summary = for_everybody(result.ok() ? *result : summary_of(result.error()));
    done.elapsed = dependencies_.clock.steady_now() - began;
    done.log = for_everybody(log_.take());
    MIST_TRY_VOID(report_.step(done));
    return result.ok();
  }

  // Ok: it is the package's fault. Else the error, with whose it is.
  Status not_ours(const Error& failure) {
    if (is_ours(failure) && client_ == nullptr) return failure;
    if (client_ != nullptr && !live_namespace(id_.ns).ok()) return Error(failure).with_detail(ClusterFault());
    if (const std::string other = other_test_in(failure); !other.empty()) {
      // An object that outlived its test is nobody's fault who comes later.
      if (is_test_running_in(other)) return Error(failure).with_detail(HeldByAnotherTest());
      return failure;
    }
    if (is_ours(failure)) return failure;
    return {};
  }

  // The namespace of another test whose objects are in the way; empty: there is none.
  std::string other_test_in(const Error& failure) const {
    const auto* const others = failure.detail<apply::OtherOwners>();
    if (others == nullptr) return {};
    const std::string ours = fmt::format("catalog-{}-", dependencies_.instance);
    for (const std::string& release : others->releases) {
      std::string ns = release.substr(0, release.find('/'));
      if (ns.starts_with(ours) && ns != id_.ns) return ns;
    }
    return {};
  }

  // nullopt: there is none. Any error is the cluster's, or of our credentials.
  Result<std::optional<Value>> live_namespace(const std::string& name) {
    MIST_TRY(const kube::ObjectRef ref, namespace_ref(*client_, name, context_));
    auto live = client_->get(ref, context_.with_timeout(kProbe));
    if (live.ok()) return std::optional(*std::move(live));
    if (live.error().kind == ErrorKind::NotFound) return std::optional<Value>();
    return std::move(live).error();
  }

  // A test removes its namespace last. So one that is being deleted, or is older than any test, was left by a
  // test that ended, and nobody may come to remove it.
  bool is_test_running_in(const std::string& ns) {
    const auto live = live_namespace(ns);
    if (!live.ok() || !*live) return false;
    return !apimachinery::is_terminating(**live) && !remains_->is_older_than_any_test(**live);
  }

  // Where the cluster of the tests is, and the files of this machine, concerns nobody else.
  std::string for_everybody(std::string text) const {
    const auto hide = [&](const std::string& piece, std::string_view instead) {
      if (piece.empty()) return;
      for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + instead.size()))
        text.replace(at, piece.size(), instead);
    };
    hide(server_, "the cluster");
    hide(previous_.string(), job_.package + " " + job_.previous_version);
    hide(directory_.string(), job_.package);
    return text;
  }

  struct Unpacked {
    Path package;  // the directory, or the module in it
    std::uint64_t size = 0;
  };
  Result<Unpacked> write_package(const std::string& text, const Path& directory, StepLog* told) {
    MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
    MIST_TRY(std::string bytes, dependencies_.blobs.get(digest));
    MIST_TRY(const registry::PackageContent content, registry::content_of_blob(std::move(bytes)));
    Unpacked unpacked{.package = directory};
    std::shared_ptr<const std::string> module;
    std::vector<TreeFile> files;
    if (const auto* const code = std::get_if<registry::PackageModule>(&content)) {
      MIST_TRY(module, code->bytes());
      files.push_back({registry::kModuleFile, *module});
      unpacked.package /= registry::kModuleFile;
    } else {
      for (const registry::PackageFile& file : std::get<registry::PackageTree>(content).files)
        files.push_back({file.path, file.bytes});
    }
    for (const TreeFile& file : files) {
      unpacked.size += file.bytes.size();
      if (told != nullptr) told->line(fmt::format("{} ({} bytes)", file.path, file.bytes.size()));
    }
    (void)dependencies_.files.remove_all(directory);
    MIST_TRY_VOID(dependencies_.files.make_directories(directory.parent_path(), 0700));
    MIST_TRY_VOID(write_tree(dependencies_.files, directory, files, {.hidden = true, .durable = false}));
    return unpacked;
  }

  // Of attempts whose worker was killed.
  void remove_earlier_files() {
    for (int attempt = 1; attempt < job_.attempt; ++attempt)
      for (const std::string_view which : {std::string_view(), kPrevious})
        (void)dependencies_.files.remove_all(dependencies_.directory /
                                             directory_name(job_.id, attempt, which));
  }

  Result<std::string> unpack(const Context&) {
    remove_earlier_files();
    MIST_TRY(const Unpacked unpacked, write_package(job_.digest, directory_, &log_));
    package_ = unpacked.package;
    return fmt::format("{} bytes", unpacked.size);
  }

  // A module. One that was built from a directory is compiled with its engine, when it is first rendered.
  Result<std::string> compile(const Context& context) {
    MIST_TRY(const package::Source* const package, source(context));
    package::Renderer renderer(dependencies_.engines, log_);
    MIST_TRY(const package::Inspection inspection, renderer.inspect(*package, context));
    return fmt::format("it is a package: {}", inspection.format);
  }

  bool has_script() const {
    return dependencies_.files.exists(directory_ / kpm::kMetadataFile) &&
           dependencies_.files.exists(directory_ / package::kPreInstallScript);
  }

  // As kpm install runs it where nobody can be asked: in the sandbox, and a question takes its default.
  Result<std::string> run_script(const Context& context) {
    MIST_TRY(const package::Source* const package, source(context));
    package::Renderer renderer(dependencies_.engines, log_);
    package::RenderRequest request = default_request(*package);
    request.quiet = false;
    auto ran = action::run_package_script(
        renderer, *package, request, [&](std::string_view text) { log_.line(text); }, context);
    if (!ran.ok()) return for_authors(std::move(ran).error());
    return ran;
  }

  // Hints for a person who installs it are of no use here.
  static Error for_authors(Error failure) {
    if (failure.detail<package::Unanswered>() != nullptr)
      failure.hint = "nobody answers here: give each question a default";
    if (failure.detail<package::NeedsHostPython>() != nullptr)
      failure.hint =
          "the catalog runs scripts in the sandbox only; import nothing but kpm and Python's own modules";
    return failure;
  }

  action::PackageCases cases_of(const package::Source& package) const {
    return {.source = package, .folder = directory_ / package::kTestsFolder};
  }

  // Of its default values, without a cluster.
  package::RenderRequest default_request(const package::Source& package) const {
    package::RenderRequest request =
        action::default_request_for(cases_of(package), package::engine_of(package).value_or(nullptr));
    request.release_name = job_.package;
    return request;
  }

  std::unique_ptr<render::Packages> packages() {
    // No registry that needs credentials, no OCI registry, nothing at private addresses, and nothing of this
    // machine beside the package.
    registry::Registries::Dependencies registries{dependencies_.files, dependencies_.processes, log_,
                                                  dependencies_.paths, dependencies_.clock,     {}};
    registries.is_unpacked = true;
    return std::make_unique<render::Packages>(render::Packages::Dependencies{
        std::move(registries), {}, dependencies_.engines, formats::RemoteBases::None, false, {}});
  }

  Result<const package::Source*> source(const Context& context) {
    if (!source_) {
      MIST_TRY(source_, packages()->fetch(package_.string(), {}, context));
    }
    return &*source_;
  }

  // The rules, and every Kubernetes that this program knows. False: one of them found errors.
  Result<bool> check_offline(const Context& context) {
    bool all = true;
    for (const action::PackageCheck& each : action::package_checks(dependencies_.types)) {
      MIST_TRY(const bool passed, step(each.name, context, [&](const Context& c) { return check(each, c); }));
      all = all && passed;
    }
    return all;
  }

  Result<std::string> check(const action::PackageCheck& which, const Context& context) {
    MIST_TRY(const package::Source* const package, source(context));
    package::Renderer renderer(dependencies_.engines, log_);
    return action::run_package_check(
        dependencies_.files, renderer, cases_of(*package), dependencies_.types, which,
        [&](const package::Finding& each) { log_.line(action::finding_line(each)); }, context);
  }

  // For its page. Where there are none, the steps that follow say why.
  Status note_objects(const Context& context) {
    MIST_TRY(const package::Source* const package, source(context));
    package::Renderer renderer(dependencies_.engines, log_);
    const auto objects = version_objects(renderer, *package, default_request(*package), context);
    MIST_TRY_VOID(context_.check());
    return objects.ok() ? report_.objects(*objects) : Status();
  }

  Status note_nodes() {
    MIST_TRY(const kube::ResourceInfo nodes, client_->resource_for({"", "Node"}, "v1", context_));
    MIST_TRY(const kube::ObjectList list, client_->list(nodes, {.metadata_only = true}, context_));
    const auto simulated = std::ranges::count_if(list.items, [](const Value& node) {
      return node.at_path({"metadata", "annotations", kSimulatedNode}) != nullptr;
    });
    const auto all = static_cast<std::ptrdiff_t>(list.items.size());
    return report_.nodes(all == 0           ? TestNodes::None
                         : simulated == all ? TestNodes::Simulated
                         : simulated == 0   ? TestNodes::Real
                                            : TestNodes::RealAndSimulated);
  }

  // Of attempts whose worker or process died, or was stopped while it removed what it had made.
  Status remove_leftovers() {
    for (int attempt = 1; attempt <= job_.attempt; ++attempt)
      MIST_TRY_VOID(remains_->remove_attempt(
          {trial_namespace(dependencies_.instance, job_, attempt), job_.package}, context_));
    return {};
  }

  Result<bool> on_cluster(const Context& limited) {
    Result<bool> worked = install_and_test(limited);
    // The removal is a step of its own, and has its own time: also where something before it failed, or took
    // too long. A stopped worker removes what it made, too.
    const Context removing = Context()
                                 .with_timeout(times_.removal())
                                 .with_stop(context_.check().ok() ? context_.stop() : std::stop_token());
    if (!worked.ok()) {
      (void)remove_all(removing);
      return worked;
    }
    MIST_TRY(const bool removed,
             step("uninstall", removing, [&](const Context& c) { return remove_all(c); }));
    return *worked && removed;
  }

  Status make_namespace() {
    MIST_TRY(const kube::ObjectRef ref, namespace_ref(*client_, id_.ns, context_));
    const std::string until = format_time(dependencies_.clock.now() + times_.longest_life());
    auto made = client_->create(
        ref.resource, {},
        Value::object(
            {{"apiVersion", Value("v1")},
             {"kind", Value("Namespace")},
             {"metadata",
              Value::object({{"name", Value(id_.ns)},
                             {"labels", Value::object({{kInstanceLabel, Value(dependencies_.instance)}})},
                             {"annotations", Value::object({{kUntilAnnotation, Value(until)},
                                                            {kPackageAnnotation, Value(job_.package)}})}})}}),
        context_);
    // The answer of an earlier try was lost.
    if (!made.ok() && made.error().kind == ErrorKind::Conflict) made = client_->get(ref, context_);
    MIST_TRY(const Value live, std::move(made));
    uid_ = live.string_at({"metadata", "uid"});
    return {};
  }

  Result<bool> install_and_test(const Context& limited) {
    MIST_TRY(const bool checked, step("dry run", limited, [&](const Context& c) {
               return trial().dry_run(render_of(package_, c), c);
             }));
    if (!checked) return false;
    MIST_TRY(const bool installed, step("install", limited, [&](const Context& c) {
               Result<std::string> done = trial().install(render_of(package_, c), c);
               tell_events(c);
               return done;
             }));
    if (!installed) return false;
    MIST_TRY(const bool tested, step("tests", limited, [&](const Context& c) { return test(c); }));
    if (!tested || job_.previous_digest.empty()) return tested;
    return step("upgrade", limited, [&](const Context& c) { return upgrade(c); });
  }

  // From the version that its users have now.
  Result<std::string> upgrade(const Context& context) {
    const auto unpacked = write_package(job_.previous_digest, previous_, nullptr);
    if (!unpacked.ok() && is_lost(unpacked.error())) {
      // Its words name files of this machine.
      report_.warn(fmt::format("{} {} can't be read: {}", job_.package, job_.previous_version,
                               unpacked.error().to_line()));
      return fmt::format("not tried, because {} can't be read now", job_.previous_version);
    }
    if (!unpacked.ok()) return unpacked.error();
    const action::ReleaseTrial::Version before{job_.previous_version, render_of(unpacked->package, context)};
    const action::ReleaseTrial::Version now{job_.version, render_of(package_, context)};
    Result<std::string> done = trial().upgrade(before, now, context);
    const bool is_of_previous = !done.ok() && done.error().detail<action::PreviousNotInstalled>() != nullptr;
    if (!is_of_previous) {
      tell_events(context);
      return done;
    }
    MIST_TRY_VOID(context_.check());
    // It passed once; that it doesn't now isn't the new version's fault.
    MIST_TRY_VOID(not_ours(done.error()));
    tell(log_, done.error());
    return fmt::format("not tried, because {} can't be installed any more", job_.previous_version);
  }

  action::ReleaseTrial trial() {
    return action::ReleaseTrial(*environment_, id_,
                                {.timeout = dependencies_.timeout,
                                 .deletes_namespaces = true,
                                 .say = [this](std::string_view text) { log_.line(text); }});
  }

  Result<render::WantedRelease> prepared(const Path& package, const Context& context) {
    render::Wanted wanted{.package = package.string(), .values = std::vector<package::ValuesInput>()};
    const render::LiveCluster live{*client_, action::cluster_lookup, &log_};
    render::WantedRelease release(packages(),
                                  {std::make_shared<package::Renderer>(dependencies_.engines, log_), live},
                                  std::move(wanted), log_);
    MIST_TRY_VOID(release.prepare(context));
    return release;
  }

  // Fetches the package when it is rendered: one that can't be read fails like one that can't be installed.
  action::Render render_of(Path package, const Context& context) {
    return [this, package = std::move(package),
            &context](const action::ReleaseState& state) -> Result<action::RenderedRelease> {
      MIST_TRY(render::WantedRelease wanted, prepared(package, context));
      return wanted.render(state.facts(), context);
    };
  }

  Result<std::string> test(const Context& context) {
    const auto tell_result = [&](const action::TestResult& result) {
      log_.line(fmt::format("{}: {}{}", result.key.display(), action::to_string(result.outcome),
                            result.message.empty() ? "" : ": " + result.message));
      for (const apply::ContainerLog& each : result.logs) {
        log_.block(fmt::format("{} {}:", each.pod, each.container));
        log_.block(each.text);
      }
    };
    return trial().test(tell_result, context);
  }

  // The events that the cluster reported in the namespace meanwhile.
  void tell_events(const Context& context) {
    const auto resource = client_->resource_for({"", "Event"}, "v1", context);
    if (!resource.ok()) return;
    const auto list = client_->list(
        *resource,
        {.ns = id_.ns, .page_size = kEventsAtOnce, .largest_page = kEventsAtOnce, .most = kMostEvents},
        context);
    if (!list.ok()) return;
    log_.line("events of the cluster:");
    for (const Value& event : list->items)
      log_.block(fmt::format("{} {} {}/{}: {}", event.string_at("type"), event.string_at("reason"),
                             event.string_at({"involvedObject", "kind"}),
                             event.string_at({"involvedObject", "name"}), event.string_at("message")));
  }

  // Nothing is there; what there is, fails. It goes all the same.
  Result<std::string> remove_all(const Context& context) {
    Status uninstalled = trial().uninstall(context.with_timeout(times_.uninstall()));
    Status cleared = remains_->clear_up(id_, uid_, context);
    MIST_TRY_VOID(std::move(uninstalled));
    MIST_TRY_VOID(std::move(cleared));
    return "nothing stays";
  }

  const TrialDependencies& dependencies_;
  const Job& job_;
  const TrialReport& report_;
  const Context& context_;
  StepLog log_;
  const Path directory_;
  const Path previous_;  // the version before
  Path package_;         // in directory_, once it is unpacked
  const release::ReleaseId id_;
  const TrialTimes times_;
  Duration spent_;  // of times_.longest
  bool is_isolation_told_ = false;
  std::optional<package::Source> source_;
  std::unique_ptr<kube::Client> client_;  // hears through log_
  std::optional<action::Environment> environment_;
  std::optional<TrialRemains> remains_;
  std::string server_;  // its address
  std::string uid_;     // of the namespace
};

}  // namespace

Status check_ready(const TrialDependencies& dependencies) {
  return package::check_installation(dependencies.files, dependencies.types, dependencies.engines.engines);
}

void remove_left_files(const TrialDependencies& dependencies,
                       const std::function<Result<bool>(std::int64_t job, int attempt)>& is_tested) {
  const auto entries = dependencies.files.list(dependencies.directory);
  if (!entries.ok()) return;
  for (const DirectoryEntry& each : *entries) {
    const auto of = attempt_of(each.name);
    if (!of) continue;
    const auto tested = is_tested(of->first, of->second);
    if (tested.ok() && !*tested) (void)dependencies.files.remove_all(dependencies.directory / each.name);
  }
}

std::string trial_namespace(const std::string& instance, const Job& job, int attempt) {
  return fmt::format("catalog-{}-{}-{}", instance, job.id, attempt);
}

Result<bool> run_trial(const TrialDependencies& dependencies, const Job& job, const TrialReport& report,
                       const Context& context, TrialPart part) {
  return Trial(dependencies, job, report, context).run(part);
}

Duration longest_removal(const TrialDependencies& dependencies) {
  return TrialTimes{dependencies.timeout, dependencies.longest}.removal();
}

Path trial_directory(const TrialDependencies& dependencies, const Job& job) {
  return dependencies.directory / directory_name(job.id, job.attempt);
}

bool is_lost(const Error& failure) {
  using enum ErrorKind;
  return is_storage_fault(failure) && failure.kind != Retryable && failure.kind != Timeout &&
         failure.kind != Cancelled;
}

}  // namespace mist::catalog
