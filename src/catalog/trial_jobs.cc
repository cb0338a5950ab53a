#include "catalog/trial_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "apimachinery/conditions.h"
#include "apimachinery/object.h"
#include "base/storage_fault.h"
#include "base/text.h"
#include "catalog/task_client.h"
#include "catalog/token.h"
#include "catalog/trial_messages.h"
#include "catalog/trial_remains.h"
#include "catalog/web_answers.h"
#include "encoding/json.h"
#include "kube/deletion.h"
#include "kube/kubeconfig.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::string_view kJobManager = "mistletoe-catalog";
constexpr const char* kSecretVolume = "task";
constexpr const char* kProgramCheck = "program";
constexpr std::int64_t kPodUser = 65532;
// Long enough for somebody to look at the log of a Pod that failed in the last attempt; one of an earlier
// attempt goes when the next one begins.
constexpr std::int64_t kSecondsAfterEnd = 3600;
constexpr int kLooksBetweenPods = 15;
constexpr std::size_t kMostPodWords = 2000;

std::int64_t seconds_of(Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

std::string uid_of_job(const Value& object) { return std::string(object.string_at({"metadata", "uid"})); }

/// The condition that says that a Job is over; null: it isn't.
const Value* end_of(const Value& job) {
  const Value* const failed = apimachinery::true_condition(job, "Failed");
  return failed != nullptr ? failed : apimachinery::true_condition(job, "Complete");
}

bool pod_has_ended(const Value& pod) {
  const std::string_view phase = pod.string_at({"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

// A server that can't be reached for a moment; what it refuses it refuses for all Jobs.
bool may_pass(const Error& failure) {
  return failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Timeout;
}
Error of_jobs_cluster(Error failure) {
  failure.frames.emplace_back("while running the test as a Job");
  return std::move(failure).with_detail(ClusterFault());
}

Value labels_of(const std::string& instance, std::int64_t job) {
  return Value::object({{kInstanceLabel, Value(instance)},
                        {kTaskLabel, Value(std::to_string(job))},
                        {"app.kubernetes.io/managed-by", Value(kJobManager)}});
}

Value list_of(std::vector<Value> items) {
  Value list = Value::array();
  for (Value& each : items) list.push_back(std::move(each));
  return list;
}

// Of all containers.
Value restricted() {
  return Value::object({{"allowPrivilegeEscalation", Value(false)},
                        {"readOnlyRootFilesystem", Value(true)},
                        {"capabilities", Value::object({{"drop", list_of({Value("ALL")})}})}});
}

// Ends before the Pod has anything that a stranger wrote, so its exit code can be believed.
Value program_check_of(const TrialJobSpec& spec) {
  return Value::object(
      {{"name", Value(kProgramCheck)},
       {"image", Value(spec.image)},
       {"command", list_of({Value("mistletoe-catalog"), Value(kIsProgramVerb), Value(spec.program)})},
       {"terminationMessagePolicy", Value("FallbackToLogsOnError")},
       {"resources",
        Value::object({{"requests", Value::object({{"cpu", Value("100m")}, {"memory", Value("64Mi")}})},
                       {"limits", Value::object({{"cpu", Value("1")}, {"memory", Value("256Mi")}})}})},
       {"securityContext", restricted()}});
}

Value container_of(const TrialJobSpec& spec) {
  const std::string memory = std::to_string(spec.limits.memory_bytes);
  const std::string files = std::to_string(2 * spec.limits.file_bytes);
  const auto mount = [](std::string_view name, std::string_view path, bool read_only) {
    return Value::object({{"name", Value(name)}, {"mountPath", Value(path)}, {"readOnly", Value(read_only)}});
  };
  return Value::object(
      {{"name", Value("test")},
       {"image", Value(spec.image)},
       {"command", list_of({Value("mistletoe-catalog"), Value("worker"), Value("--task"),
                            Value(kTaskSecretDirectory), Value("--data"), Value(kTaskWorkDirectory)})},
       {"terminationMessagePolicy", Value("FallbackToLogsOnError")},
       {"resources",
        Value::object({{"requests", Value::object({{"cpu", Value("500m")},
                                                   {"memory", Value("1Gi")},
                                                   {"ephemeral-storage", Value("1Gi")}})},
                       {"limits", Value::object({{"cpu", Value(std::to_string(spec.limits.processors))},
                                                 {"memory", Value(memory)},
                                                 {"ephemeral-storage", Value(files)}})}})},
       {"securityContext", restricted()},
       {"volumeMounts", list_of({mount(kSecretVolume, kTaskSecretDirectory, true),
                                 mount("work", kTaskWorkDirectory, false), mount("tmp", "/tmp", false)})}});
}

Value pod_spec_of(const TrialJobSpec& spec) {
  const Value files = Value::object({{"sizeLimit", Value(std::to_string(spec.limits.file_bytes))}});
  return Value::object(
      {{"restartPolicy", Value("Never")},
       {"automountServiceAccountToken", Value(false)},
       {"enableServiceLinks", Value(false)},
       {"terminationGracePeriodSeconds", Value(seconds_of(spec.farewell))},
       {"securityContext",
        Value::object({{"runAsNonRoot", Value(true)},
                       {"runAsUser", Value(kPodUser)},
                       {"runAsGroup", Value(kPodUser)},
                       {"fsGroup", Value(kPodUser)},
                       {"seccompProfile", Value::object({{"type", Value("RuntimeDefault")}})}})},
       {"initContainers", list_of({program_check_of(spec)})},
       {"containers", list_of({container_of(spec)})},
       {"volumes", list_of({Value::object({{"name", Value(kSecretVolume)},
                                           {"secret", Value::object({{"secretName", Value(spec.name)},
                                                                     {"defaultMode", Value(0440)}})}}),
                            Value::object({{"name", Value("work")}, {"emptyDir", files}}),
                            Value::object({{"name", Value("tmp")}, {"emptyDir", files}})})}});
}

// Whether the check of its program found another one; one from before this verb refuses it as wrong usage.
// Other codes are of the node: it had no memory for it, or was told to end.
bool has_another_program(const Value& pod) {
  constexpr int kUsage = 2;
  const Value* const status = pod.find("status");
  const Value* const checks = status == nullptr ? nullptr : status->find("initContainerStatuses");
  if (checks == nullptr || !checks->is_array()) return false;
  return std::ranges::any_of(checks->as_array(), [](const Value& each) {
    const Value* const state = each.find("state");
    const std::int64_t code = state == nullptr ? 0 : state->int_at({"terminated", "exitCode"});
    return each.string_at("name") == kProgramCheck && (code == kAnotherProgram || code == kUsage);
  });
}

// Why it doesn't run, or how it ended, in the words of the cluster.
std::string words_of_pod(const Value& pod) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) words.emplace_back(text);
  };
  const Value* const status = pod.find("status");
  if (status == nullptr) return {};
  add(status->string_at("reason"));
  add(status->string_at("message"));
  if (const Value* const unscheduled = apimachinery::condition_of(pod, "PodScheduled");
      unscheduled != nullptr && unscheduled->string_at("status") == "False")
    add(unscheduled->string_at("message"));
  const Value* const containers = status->find("containerStatuses");
  if (containers != nullptr && containers->is_array())
    for (const Value& each : containers->as_array()) {
      const Value* const state = each.find("state");
      if (state == nullptr) continue;
      for (const char* const kind : {"waiting", "terminated"}) {
        add(state->string_at({kind, "reason"}));
        add(state->string_at({kind, "message"}));
      }
      if (const std::int64_t code = state->int_at({"terminated", "exitCode"}); code != 0)
        words.push_back(fmt::format("exit code {}", code));
    }
  return escape_controls(clipped(join(words, ": "), kMostPodWords), true);
}

}  // namespace

struct TrialJobs::Refs {
  kube::ObjectRef job;
  kube::ResourceInfo pods, secrets;
  std::string selector;  // of its Pods
};

struct TrialJobs::Followed {
  std::string token;  // its digest
  std::string uid;    // empty: the Job is gone, and has said everything
};

Value trial_job_object(const TrialJobSpec& spec) {
  const Value labels = labels_of(spec.instance, spec.job);
  return Value::object(
      {{"apiVersion", Value("batch/v1")},
       {"kind", Value("Job")},
       {"metadata",
        Value::object({{"name", Value(spec.name)},
                       {"namespace", Value(spec.ns)},
                       {"labels", labels},
                       {"annotations",
                        Value::object({{kTaskTokenAnnotation, Value(spec.token_digest)},
                                       {kPackageAnnotation, Value(spec.package)},
                                       {"mistletoe.dev/catalog-version-of-test", Value(spec.version)}})}})},
       {"spec", Value::object({{"suspend", Value(true)},
                               {"backoffLimit", Value(0)},
                               {"completions", Value(1)},
                               {"parallelism", Value(1)},
                               {"activeDeadlineSeconds", Value(seconds_of(spec.deadline))},
                               {"ttlSecondsAfterFinished", Value(kSecondsAfterEnd)},
                               {"template", Value::object({{"metadata", Value::object({{"labels", labels}})},
                                                           {"spec", pod_spec_of(spec)}})}})}});
}

Result<SecretString> self_contained_kubeconfig(const FileSystem& files, const TrialCluster& cluster) {
  MIST_TRY(const kube::Kubeconfig config,
           kube::Kubeconfig::load({.paths = {cluster.kubeconfig}, .must_exist = true}, files));
  MIST_TRY(const kube::ResolvedContext context, config.resolve(cluster.context));
  const kube::ClusterEntry& server = context.cluster;
  const kube::UserEntry& user = context.user;
  if (user.exec)
    return error(ErrorKind::Usage, "the user {} of {} gets its credentials from {}, which Pods don't have",
                 user.name, cluster.kubeconfig, user.exec->command)
        .with_hint("a kubeconfig with a token, or a client's certificate");
  const auto text_of = [&](const std::string& given, const Path& path) -> Result<std::string> {
    if (!given.empty() || path.empty()) return given;
    return files.read(path);
  };
  MIST_TRY(const std::string ca, text_of(server.ca_pem, server.certificate_authority));
  MIST_TRY(const std::string certificate, text_of(user.client_certificate_pem, user.client_certificate));
  MIST_TRY(const std::string key, text_of(user.client_key_pem.reveal(), user.client_key));
  MIST_TRY(const std::string token,
           text_of(user.token_file.empty() ? user.token.reveal() : std::string(), user.token_file));
  Value entry = Value::object({{"server", Value(server.server)}});
  const auto set = [](Value& object, std::string_view name, const std::string& text) {
    if (!text.empty()) object.set(name, Value(text));
  };
  const auto encoded = [](const std::string& bytes) { return base64_encode(bytes); };
  set(entry, "certificate-authority-data", encoded(ca));
  set(entry, "tls-server-name", server.tls_server_name);
  set(entry, "proxy-url", server.proxy_url);
  if (server.insecure_skip_tls_verify) entry.set("insecure-skip-tls-verify", Value(true));
  Value who = Value::object({});
  set(who, "client-certificate-data", encoded(certificate));
  set(who, "client-key-data", encoded(key));
  set(who, "token", std::string(trim(token)));
  set(who, "username", user.username);
  set(who, "password", user.password.reveal());
  const auto named = [](std::string_view member, Value value) {
    return list_of({Value::object({{"name", Value("tests")}, {member, std::move(value)}})});
  };
  const Value made = Value::object(
      {{"apiVersion", Value("v1")},
       {"kind", Value("Config")},
       {"current-context", Value("tests")},
       {"contexts", named("context", Value::object({{"cluster", Value("tests")}, {"user", Value("tests")}}))},
       {"clusters", named("cluster", std::move(entry))},
       {"users", named("user", std::move(who))}});
  return SecretString(encoding::to_json(made) + "\n");
}

std::string TrialJobs::isolation() const {
  return fmt::format(
      "a Pod of a Kubernetes Job, of the image {}: not root, without capabilities; {} MiB of "
      "memory, {} processors, {} MiB of files",
      options_.image, options_.limits.memory_bytes >> 20, options_.limits.processors,
      options_.limits.file_bytes >> 20);
}

Duration TrialJobs::deadline() const {
  return options_.start_time + dependencies_.longest + 4 * longest_removal(dependencies_);
}

Result<TrialJobs::Refs> TrialJobs::refs_of(std::int64_t job, const Context& context) {
  Refs refs;
  MIST_TRY(refs.job.resource, client_.resource_for({"batch", "Job"}, "v1", context));
  MIST_TRY(refs.pods, client_.resource_for({"", "Pod"}, "v1", context));
  MIST_TRY(refs.secrets, client_.resource_for({"", "Secret"}, "v1", context));
  refs.job.ns = options_.ns;
  refs.job.name = fmt::format("catalog-{}-{}", dependencies_.instance, job);
  refs.selector = fmt::format("{}={},{}={}", kInstanceLabel, dependencies_.instance, kTaskLabel, job);
  return refs;
}

// Null: there is none.
Result<Value> TrialJobs::live_job(const Refs& refs, const Context& context) {
  auto live = client_.get(refs.job, context);
  if (!live.ok() && live.error().kind == ErrorKind::NotFound) return Value();
  return live;
}

// A Job that nobody follows, and all Pods of earlier ones.
Status TrialJobs::remove_earlier(const Refs& refs, const Value& live, const Context& context) {
  if (!live.is_null()) {
    const auto removed = kube::delete_object(
        client_, refs.job, {.uid = uid_of_job(live), .propagation = kube::Propagation::Foreground}, context);
    if (!removed.ok()) return removed.error();
  }
  const Context patient = context.with_timeout(options_.removal_time);
  for (;;) {
    MIST_TRY(const Value left, live_job(refs, context));
    MIST_TRY(const kube::ObjectList pods,
             client_.list(refs.pods, {.ns = options_.ns, .label_selector = refs.selector}, context));
    if (left.is_null() && std::ranges::all_of(pods.items, pod_has_ended)) return {};
    if (patient.pause(options_.pause).ok()) continue;
    MIST_TRY_VOID(context.check());
    return error(ErrorKind::Retryable, "the Job {}/{} of an earlier attempt is still ending", refs.job.ns,
                 refs.job.name)
        .with_detail(HeldByAnotherTest());
  }
}

Result<TrialJobs::Followed> TrialJobs::start(const Refs& refs, const Job& job, const Context& context) {
  auto kubeconfig = options_.kubeconfig();
  if (!kubeconfig.ok()) return std::move(kubeconfig).error().with_detail(ClusterFault());
  const SecretString token = new_token(dependencies_.random);
  Followed made{.token = token_digest(token.reveal()), .uid = {}};
  const std::string request = TrialRequest{.program = options_.version,
                                           .part = TrialPart::All,
                                           .job = job,
                                           .instance = dependencies_.instance,
                                           .timeout = dependencies_.timeout,
                                           .longest = dependencies_.longest,
                                           .spent = Duration::zero(),
                                           .isolation = isolation(),
                                           .kubeconfig = {},
                                           .context = {},
                                           .git_through_proxy = options_.git_through_proxy}
                                  .to_line();
  MIST_TRY_VOID(tasks_.put(job, made.token, request));
  const Value object = trial_job_object({.name = refs.job.name,
                                         .ns = options_.ns,
                                         .image = options_.image,
                                         .program = options_.version,
                                         .instance = dependencies_.instance,
                                         .job = job.id,
                                         .package = job.package,
                                         .version = job.version,
                                         .token_digest = made.token,
                                         .limits = options_.limits,
                                         .deadline = deadline(),
                                         .farewell = longest_removal(dependencies_)});
  auto created = client_.create(refs.job.resource, options_.ns, object, context);
  if (!created.ok()) {
    if (created.error().kind == ErrorKind::Conflict)
      return std::move(created).error().with_detail(HeldByAnotherTest());
    return of_jobs_cluster(std::move(created).error());
  }
  made.uid = uid_of_job(*created);
  const Value owner = Value::object({{"apiVersion", Value("batch/v1")},
                                     {"kind", Value("Job")},
                                     {"name", Value(refs.job.name)},
                                     {"uid", Value(made.uid)}});
  const Value secret =
      Value::object({{"apiVersion", Value("v1")},
                     {"kind", Value("Secret")},
                     {"metadata", Value::object({{"name", Value(refs.job.name)},
                                                 {"namespace", Value(options_.ns)},
                                                 {"labels", labels_of(dependencies_.instance, job.id)},
                                                 {"ownerReferences", list_of({owner})}})},
                     {"immutable", Value(true)},
                     {"stringData", Value::object({{kTaskUrlFile, Value(options_.url)},
                                                   {kTaskTokenFile, Value(token.reveal())},
                                                   {kTaskKubeconfigFile, Value(kubeconfig->reveal())}})}});
  const auto kept = client_.create(refs.secrets, options_.ns, secret, context);
  // That of an earlier Job, which the cluster hasn't removed yet: it has another token, and can't be changed.
  if (!kept.ok()) {
    remove_job(refs, made.uid, context);
    if (kept.error().kind == ErrorKind::Conflict) return Error(kept.error()).with_detail(HeldByAnotherTest());
    return of_jobs_cluster(kept.error());
  }
  const Value resumed = Value::object({{"metadata", Value::object({{"uid", Value(made.uid)}})},
                                       {"spec", Value::object({{"suspend", Value(false)}})}});
  const auto begun = client_.merge_patch(refs.job, resumed, context);
  if (!begun.ok()) return of_jobs_cluster(begun.error());
  events_.info(
      fmt::format("{} {}: the Job {}/{} tests it", job.package, job.version, refs.job.ns, refs.job.name));
  return made;
}

// Best effort: it removes itself some time after its end.
void TrialJobs::remove_job(const Refs& refs, const std::string& uid, const Context& context) {
  if (uid.empty()) return;
  const auto removed = kube::delete_object(client_, refs.job, {.uid = uid}, context.with_timeout(kProbe));
  if (!removed.ok())
    events_.warn(fmt::format("the Job {}/{} stays for now: {}", refs.job.ns, refs.job.name,
                             removed.error().to_line()));
}

Result<std::string> TrialJobs::state_of_pod(const Refs& refs, const Context& context) {
  MIST_TRY(const kube::ObjectList pods,
           client_.list(refs.pods, {.ns = options_.ns, .label_selector = refs.selector}, context));
  for (const Value& each : pods.items)
    if (std::string words = words_of_pod(each); !words.empty()) return words;
  return std::string();
}

// Why nothing more will be said; nothing: the Job goes on, as far as anybody knows.
Result<std::optional<Error>> TrialJobs::look(const Refs& refs, const Followed& followed,
                                             const Context& context) {
  const auto live = live_job(refs, context);
  if (!live.ok()) {
    if (may_pass(live.error())) return std::optional<Error>();
    return of_jobs_cluster(live.error());
  }
  const std::string name = fmt::format("the Job {}/{}", refs.job.ns, refs.job.name);
  if (live->is_null() || uid_of_job(*live) != followed.uid)
    return std::optional(error(ErrorKind::Retryable, "{} was deleted before the test ended", name));
  const Value* const end = end_of(*live);
  if (end == nullptr) return std::optional<Error>();
  const auto pods = client_.list(refs.pods, {.ns = options_.ns, .label_selector = refs.selector}, context);
  if (pods.ok() && std::ranges::any_of(pods->items, has_another_program))
    return std::optional(error(ErrorKind::Invalid,
                               "the image {} of the Jobs has another version of this program", options_.image)
                             .with_hint("start the worker with an image of its own version as --jobs-image")
                             .with_detail(package::InstallationFault()));
  const std::string words = state_of_pod(refs, context).value_or("");
  return std::optional(
      error(ErrorKind::Retryable, "{} ended before the test did", name)
          .with_because(fmt::format("{}{}{}", end->string_at("reason"), words.empty() ? "" : ": ", words)));
}

Result<bool> TrialJobs::follow(const Refs& refs, const Followed& followed, const Job& job,
                               const TrialReport& report, const Context& context) {
  TrialListener listener(options_.version, TrialPart::All, report);
  std::int64_t heard = 0;
  std::optional<Error> over;
  std::string known_state;
  const SteadyTime latest_start =
      context.now() + std::chrono::duration_cast<SteadyTime::duration>(options_.start_time);
  for (int looks = 1;; ++looks) {
    const auto pieces = tasks_.pieces(followed.token, heard);
    MIST_TRY_VOID(context.check());
    if (!pieces.ok() && pieces.error().kind != ErrorKind::Retryable) return pieces.error();
    if (pieces.ok()) {
      for (const std::string& each : *pieces) {
        Status understood = listener.hear(each);
        ++heard;
        if (understood.ok()) continue;
        if (understood.error().detail<SaidByPod>() != nullptr)
          MIST_TRY_VOID(tasks_.remove(job.id, followed.token));
        if (understood.error().detail<NotATrial>() == nullptr) {
          if (understood.error().detail<SaidByPod>() != nullptr) remove_job(refs, followed.uid, context);
          return std::move(understood).error();
        }
        remove_job(refs, followed.uid, context);
        MIST_TRY_VOID(report.step({.name = listener.step().empty() ? "worker" : listener.step(),
                                   .state = StepState::Failed,
                                   .summary = understood.error().message,
                                   .log = "isolation: " + isolation(),
                                   .began = dependencies_.clock.now()}));
        return false;
      }
      if (const auto& end = listener.end()) {
        // Another attempt has to be a new one. Its words are kept until the result is.
        if (!end->ok()) MIST_TRY_VOID(tasks_.remove(job.id, followed.token));
        remove_job(refs, followed.uid, context);
        if (!end->ok() && end->error().kind == ErrorKind::Cancelled)
          return error(ErrorKind::Retryable, "the Pod of the Job {}/{} was told to end before the test did",
                       refs.job.ns, refs.job.name);
        return *end;
      }
      if (over) return *over;
    }
    if (!over) {
      MIST_TRY(over, look(refs, followed, context));
      if (over) continue;  // it may have said more just before
    }
    if (!listener.began() && looks % kLooksBetweenPods == 0) {
      const auto state = state_of_pod(refs, context);
      if (state.ok() && !state->empty() && *state != known_state)
        events_.warn(fmt::format("{} {}: its Pod doesn't run yet: {}", job.package, job.version, *state));
      if (state.ok()) known_state = *state;
    }
    if (!listener.began() && context.now() >= latest_start) {
      const std::string state = state_of_pod(refs, context).value_or("");
      remove_job(refs, followed.uid, context);
      return of_jobs_cluster(error(ErrorKind::Retryable, "the Pod of the Job {}/{} didn't begin in time",
                                   refs.job.ns, refs.job.name)
                                 .with_because(state));
    }
    MIST_TRY_VOID(context.pause(options_.pause));
  }
}

// An error belongs to the attempt that it ended.
Result<bool> TrialJobs::ended_with_result(const Task& task) {
  MIST_TRY(const std::vector<std::string> pieces, tasks_.pieces(task.token, 0));
  const TrialReport nobody{.step = [](const Step&) { return Status(); },
                           .nodes = [](TestNodes) { return Status(); },
                           .objects = [](const VersionObjects&) { return Status(); },
                           .warn = [](const std::string&) {}};
  TrialListener listener(options_.version, TrialPart::All, nobody);
  for (const std::string& each : pieces)
    if (!listener.hear(each).ok()) return false;
  return listener.end() && listener.end()->ok();
}

Result<bool> TrialJobs::run(const Job& job, const TrialReport& report, const Context& context) {
  (void)tasks_.remove_over();
  auto refs = refs_of(job.id, context);
  if (!refs.ok()) return of_jobs_cluster(std::move(refs).error());
  MIST_TRY(const std::optional<Task> task, tasks_.of_job(job.id));
  auto live = live_job(*refs, context);
  if (!live.ok()) return of_jobs_cluster(std::move(live).error());
  const bool is_of_task =
      task && live->string_at({"metadata", "annotations", kTaskTokenAnnotation}) == task->token;
  const bool runs = is_of_task && !task->has_ended && !live->is_true_at({"spec", "suspend"}) &&
                    !apimachinery::is_terminating(*live) && end_of(*live) == nullptr;
  bool has_result = false;
  if (task && task->has_ended) {
    MIST_TRY(has_result, ended_with_result(*task));
  }
  if (task && (runs || has_result)) {
    events_.info(fmt::format("{} {}: goes on with the Job {}/{} of an earlier worker", job.package,
                             job.version, refs->job.ns, refs->job.name));
    const Followed followed{.token = task->token, .uid = is_of_task ? uid_of_job(*live) : std::string()};
    return follow(*refs, followed, job, report, context);
  }
  if (Status removed = remove_earlier(*refs, *live, context); !removed.ok()) {
    if (removed.error().detail<HeldByAnotherTest>() != nullptr || !context.check().ok())
      return std::move(removed).error();
    return of_jobs_cluster(std::move(removed).error());
  }
  MIST_TRY(const Followed made, start(*refs, job, context));
  return follow(*refs, made, job, report, context);
}

void TrialJobs::remove_left_again_and_again(const Context& context) {
  bool is_first = true;
  bool is_away = false;
  while (context.check().ok()) {
    const auto left = remove_left(context);
    if (!context.check().ok()) return;
    if (left.ok() && std::exchange(is_first, false) && *left > 0)
      events_.info(fmt::format("{} of an earlier worker; their tests go on when their leases have ended",
                               plural(static_cast<std::size_t>(*left), "Job")));
    if (!left.ok() && !is_away)
      events_.warn(
          fmt::format("Jobs that nobody waits for stay until this works: {}", left.error().to_line()));
    is_away = !left.ok();
    if (!context.pause(is_away ? options_.pause_away : options_.between_removals).ok()) return;
  }
}

Result<int> TrialJobs::remove_left(const Context& context) {
  MIST_TRY_VOID(tasks_.remove_over());
  MIST_TRY(const Refs refs, refs_of(0, context));
  MIST_TRY(const kube::ObjectList jobs,
           client_.list(refs.job.resource,
                        {.ns = options_.ns,
                         .label_selector = fmt::format("{}={}", kInstanceLabel, dependencies_.instance)},
                        context));
  int kept = 0;
  for (const Value& each : jobs.items) {
    const std::string_view number = each.string_at({"metadata", "labels", kTaskLabel});
    MIST_TRY(const std::optional<Task> task, tasks_.of_job(id_of(number)));
    if (task) {
      ++kept;
      continue;
    }
    // It has its time to be looked at, and removes itself.
    if (end_of(each) != nullptr) continue;
    Refs its = refs;
    its.job.name = std::string(each.string_at({"metadata", "name"}));
    remove_job(its, uid_of_job(each), context);
  }
  return kept;
}

}  // namespace mist::catalog
