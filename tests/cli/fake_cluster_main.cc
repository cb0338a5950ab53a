// mistctl_on_fake_cluster: as `mistctl` it is mistctl, with a cluster that stands in the file $FAKE_CLUSTER;
// as `cluster` it is everybody else who works on that cluster. tests/cli/README.md has the commands.

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/duration.h"
#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "build_info.h"
#include "cli/commands.h"
#include "cli/host_streams.h"
#include "cli/output/style.h"
#include "cli/run.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "engine_digests.h"
#include "fake_session.h"
#include "kube_types_digests.h"

namespace {

using mist::encoding::Value;
using mist::testing::FakeSession;
using Arguments = std::span<const std::string>;

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int run_mistctl(FakeSession& session, Arguments arguments) {
  mist::cli::HostInput in(0);
  mist::cli::HostOutput out(1, "standard output", mist::cli::Buffering::Blocks);
  mist::cli::HostOutput err(2, "standard error", mist::cli::Buffering::None);
  mist::HostFileSystem files;
  mist::HostProcessRunner processes;
  mist::cli::Machine machine{
      .build = {.version = MIST_VERSION,
                .commit = MIST_COMMIT,
                .platform = MIST_PLATFORM,
                .compiler = MIST_COMPILER,
                .engines = mist::package::kEngineDigests,
                .kube_types = mist::package::kKubeTypesDigests},
      .program = MIST_PROGRAM,  // its engines, and who compiles them
      .in = in,
      .out = out,
      .err = err,
      .files = files,
      .processes = processes,
      .clock = session.clock(),
      .random = session.random(),
      .environment = environment,
      .context = session.context(),
      .connect = [&](const mist::cli::ClusterChoice& choice,
                     mist::cli::Machine&) -> mist::Result<std::unique_ptr<mist::kube::Client>> {
        return session.client(environment("FAKE_USER").value_or("mistctl"),
                              choice.ns.empty() ? "default" : choice.ns);
      },
  };
  const mist::cli::ExitCode code = mist::cli::run(arguments, machine, mist::cli::command_table());
  session.clock().advance(std::chrono::minutes(1));
  return static_cast<int>(code);
}

// "Deployment.apps default/api", "Namespace shop".
mist::apimachinery::ObjectKey key_of(const std::string& kind, const std::string& name) {
  const auto slash = name.find('/');
  if (slash == std::string::npos) return {mist::apimachinery::parse_group_kind(kind), "", name};
  return {mist::apimachinery::parse_group_kind(kind), name.substr(0, slash), name.substr(slash + 1)};
}

// The commands of everybody else. False: it is none of them.
mist::Result<bool> run_others(FakeSession& session, Arguments arguments) {
  if (arguments.empty()) return false;
  const std::string& verb = arguments.front();
  const Arguments rest = arguments.subspan(1);
  mist::HostFileSystem files;
  if (verb == "put" && (rest.size() == 1 || rest.size() == 2)) {
    MIST_TRY(const std::string text, files.read(rest[0]));
    MIST_TRY(Value object, mist::encoding::parse_yaml(text));
    session.cluster().put(std::move(object), rest.size() == 2 ? rest[1] : "kubectl-edit");
  } else if (verb == "edit" && (rest.size() == 3 || rest.size() == 4)) {
    const auto other = session.cluster().client_for(rest.size() == 4 ? rest[3] : "kubectl-edit");
    const auto key = key_of(rest[0], rest[1]);
    MIST_TRY(const Value patch, mist::encoding::parse_yaml(rest[2]));
    MIST_TRY(const auto resource, other->resource_for(key.group_kind, "", session.context()));
    MIST_TRY_VOID(other->merge_patch({resource, key.ns, key.name}, patch, session.context()));
  } else if (verb == "list" && rest.empty()) {
    for (const auto& key : session.cluster().objects()) std::puts(key.display().c_str());
  } else if (verb == "get" && rest.size() == 2) {
    auto object = session.cluster().find(key_of(rest[0], rest[1]));
    if (!object) return mist::error(mist::ErrorKind::NotFound, "{} is not there", rest[1]);
    (*object)["metadata"].erase("managedFields");
    std::fputs(mist::encoding::to_yaml(*object).c_str(), stdout);
  } else if (verb == "delete" && rest.size() == 2) {
    session.cluster().drop(key_of(rest[0], rest[1]));
  } else if (verb == "refuse" && (rest.size() == 4 || rest.size() == 5)) {
    session.add_rule(Value::object({{"what", "refuse"},
                                    {"verb", rest[0]},
                                    {"object", key_of(rest[1], rest[2]).display()},
                                    {"because", rest[3]},
                                    {"field", rest.size() == 5 ? rest[4] : ""}}));
  } else if (verb == "allow" && rest.empty()) {
    session.remove_rules("refuse");
  } else if ((verb == "kill" || verb == "lose") && rest.size() == 3) {
    session.add_rule(
        Value::object({{"what", verb}, {"verb", rest[0]}, {"object", key_of(rest[1], rest[2]).display()}}));
  } else if (verb == "status" && rest.size() == 3) {
    MIST_TRY(Value status, mist::encoding::parse_yaml(rest[2]));
    const auto key = key_of(rest[0], rest[1]);
    session.set_status(key, status);
    session.add_rule(
        Value::object({{"what", "status"}, {"object", key.display()}, {"status", std::move(status)}}));
  } else if (verb == "log" && rest.size() == 3) {
    session.add_log(rest[0], rest[1], rest[2] + "\n");
  } else if (verb == "pass" && rest.size() == 1) {
    MIST_TRY(const mist::Duration time, mist::parse_duration(rest[0]));
    session.clock().advance(time);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto file = environment("FAKE_CLUSTER");
  if (argc < 1 || !file) {
    std::fputs("FAKE_CLUSTER names no file for the cluster\n", stderr);
    return 2;
  }
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  FakeSession session{mist::Path(*file)};
  if (mist::Path(argv[0]).filename() != "cluster") return run_mistctl(session, arguments);
  const auto done = run_others(session, arguments);
  if (done.ok() && *done) return 0;
  const std::string why =
      done.ok() ? "not a command of cluster: tests/cli/README.md has them" : done.error().to_line();
  std::fprintf(stderr, "cluster: %s\n", why.c_str());
  return 2;
}
