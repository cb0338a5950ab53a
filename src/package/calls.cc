#include "package/calls.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/schema.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 3> kCallMembers{"op", "package", "input"};
constexpr std::string_view kArrow = " → ";

std::string last_part(std::string_view id) { return std::string(id.substr(id.rfind('/') + 1)); }

std::string in_megabytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

// As people and --rotate-secrets name the secrets of a called package: "mariadb/shop-db/root".
std::string secret_prefix(const CalledAs& called) {
  return fmt::format("{}/{}/", last_part(called.id), called.install);
}

}  // namespace

struct PackageCalls::Call {
  std::string name;
  std::shared_ptr<const ResolvedPackage> package;
  Value input;
  std::string install;
  std::vector<std::string> path;  // of names, from the release's package to this one

  std::string display() const { return join(path, kArrow); }
};

Duration CallTree::guest_time_left() const { return std::max(guest_time_ - spent_, Duration::zero()); }

std::string_view install_name(const RenderRequest& request) {
  return request.called ? request.called->install : request.release_name;
}

SecretScope secret_scope(const Metadata& metadata, const RenderRequest& request) {
  if (!request.called) return {request.seed, metadata.name, request.release_name, request.rotations, {}};
  SecretScope scope{request.seed,
                    "call/" + request.called->id,
                    request.called->install,
                    {},
                    secret_prefix(*request.called)};
  for (const auto& [name, count] : request.rotations)
    if (name.starts_with(scope.prefix)) scope.rotations.emplace(name.substr(scope.prefix.size()), count);
  return scope;
}

Status refuse_unresolved(const Metadata& metadata, const Source& source) {
  for (const Dependency& each : metadata.dependencies) {
    if (!source.dependencies.contains(each.name))
      return error(ErrorKind::Invalid, "{} calls {}, which is not resolved here", source.reference,
                   each.package);
  }
  return {};
}

Result<CallAnswer> PackageCalls::answer(const Value& request) {
  MIST_TRY(const Call call, read(request));
  Value canonical = call.input;
  canonical.sort_keys();
  const std::string key = fmt::format("{}\n{}\n{}\n{}", call.package->id, call.package->source.digest,
                                      call.install, encoding::to_json(canonical, encoding::JsonStyle::Exact));
  if (const auto known = tree_->answers_.find(key); known != tree_->answers_.end()) return known->second;
  auto answer = this->call(call);
  if (!answer.ok()) {
    Error failure = std::move(answer).error();
    failure.message = fmt::format("{}: {}", call.display(), failure.message);
    return failure;
  }
  return tree_->answers_.emplace(key, *std::move(answer)).first->second;
}

Result<PackageCalls::Call> PackageCalls::read(const Value& request) const {
  for (const Value::Member& member : request.as_object()) {
    if (std::ranges::find(kCallMembers, member.key) == kCallMembers.end())
      return error(ErrorKind::Invalid, "package.call: \"{}\" means nothing here",
                   escape_controls(member.key.substr(0, 100)));
  }
  const Value* const name = request.find("package");
  if (name == nullptr || !name->is_string())
    return error(ErrorKind::Invalid,
                 "package.call: it takes \"package\", a name of spec.dependencies, and \"input\", an object");
  Call call;
  call.name = name->as_string();
  if (const Value* const input = request.find("input"); input != nullptr && !input->is_null()) {
    if (!input->is_object())
      return error(ErrorKind::Invalid, "package.call: \"input\" must be an object, the data of {}",
                   escape_controls(call.name));
    call.input = *input;
  } else {
    call.input = Value::object();
  }
  MIST_TRY(call.package, callee(call.name));
  // Its name decides what its objects are called; the caller may choose it.
  call.install = fmt::format("{}-{}", install_name(request_), call.name);
  if (const Value* const chosen = call.input.find("name"); chosen != nullptr) {
    if (!chosen->is_string() || !is_dns1123_label(chosen->as_string()))
      return error(ErrorKind::Invalid,
                   "package.call: the input \"name\" of {} must be a DNS label, as the name of a release is",
                   call.name)
          .with_hint("lower-case letters, digits and '-', at most 63 characters");
    call.install = chosen->as_string();
    call.input.erase("name");
  } else if (!is_dns1123_label(call.install)) {
    return error(ErrorKind::Invalid, "package.call: the install name \"{}\" is no DNS label",
                 escape_controls(call.install))
        .with_hint("give the input \"name\": at most 63 lower-case letters, digits and '-'");
  }
  call.path = request_.called ? request_.called->path : std::vector<std::string>{caller_.name};
  call.path.push_back(call.name);
  return call;
}

Result<std::shared_ptr<const ResolvedPackage>> PackageCalls::callee(const std::string& name) const {
  std::vector<std::string_view> declared;
  for (const Dependency& each : caller_.dependencies) declared.emplace_back(each.name);
  const auto resolved = dependencies_.find(name);
  if (std::ranges::find(declared, name) != declared.end() && resolved != dependencies_.end())
    return resolved->second;
  Error failure = error(ErrorKind::Invalid, "package.call: {} declares no dependency \"{}\"", caller_.name,
                        escape_controls(name.substr(0, 100)));
  if (const auto near = nearest(name.substr(0, 100), declared); !near.empty())
    failure.hint = fmt::format("did you mean {}?", near);
  else
    failure.hint = "add it to spec.dependencies of its metadata";
  return failure;
}

RenderRequest PackageCalls::request_for(const Call& call) const {
  RenderRequest request = request_;
  request.user_values = call.input;
  request.called = CalledAs{call.package->id, call.install, call.path, tree_};
  // Options of an engine are the user's word on the release's own package; this one holds for charts below it
  // too.
  request.engine_options = Value::object();
  if (const Value* const skip = request_.engine_options.find(kSkipSchemaOption))
    request.engine_options.set(kSkipSchemaOption, *skip);
  return request;
}

Result<CallAnswer> PackageCalls::call(const Call& call) {
  if (call.path.size() > CallTree::kMostDepth)
    return error(ErrorKind::Trap, "packages call one another more than {} deep", CallTree::kMostDepth);
  if (tree_->answers_.size() >= CallTree::kMostCalls)
    return error(ErrorKind::Trap, "one render calls packages more than {} times", CallTree::kMostCalls);
  if (tree_->guest_time_left() == Duration::zero())
    return error(ErrorKind::Trap, "the called packages took more than {} s together",
                 std::chrono::duration_cast<std::chrono::seconds>(tree_->guest_time_).count())
        .with_hint("allow more with --limit-time");
  const RenderRequest request = request_for(call);
  Result<Rendered> result = error(ErrorKind::Internal, "nothing was rendered");
  // A guest may use a whole stack, and the caller's guest is on this thread's.
  std::jthread([&] { result = render_(call.package->source, request); }).join();
  MIST_TRY(Rendered rendered, std::move(result));
  MIST_TRY_VOID(count_output(call, rendered));
  if (!rendered.metadata.exports.is_null()) {
    MIST_TRY(const encoding::Schema schema,
             encoding::Schema::compile(rendered.metadata.exports)
                 .in(fmt::format("while reading the schema of the exports of {}", rendered.metadata.name)));
    std::vector<std::string> lines;
    for (const encoding::SchemaIssue& issue : schema.validate(rendered.exports))
      lines.push_back(issue.message);
    if (!lines.empty())
      return without_secrets(
          error(ErrorKind::Invalid, "the exports of {} don't fit its own schema", rendered.metadata.name)
              .with_because(join(lines, "\n")),
          rendered.secrets);
  }
  Value files = Value::object();
  for (auto& [path, text] : rendered.files) files.set(path, std::move(text));
  CallAnswer answer;
  answer.value = Value::object({{"files", std::move(files)},
                                {"exports", std::move(rendered.exports)},
                                {"message", std::move(rendered.message)}});
  answer.secrets = std::move(rendered.secrets);
  answer.asked = std::move(rendered.asked);
  answer.drawn = rendered.drawn;
  return answer;
}

Status PackageCalls::count_output(const Call& call, const Rendered& rendered) {
  for (const auto& [path, text] : rendered.files) tree_->output_ += path.size() + text.size();
  if (tree_->output_ <= tree_->most_output_) return {};
  return error(ErrorKind::Trap, "the called packages, {} among them, gave more than {} together",
               call.package->source.reference, in_megabytes(tree_->most_output_))
      .with_hint("allow more with --limit-output");
}

}  // namespace mist::package
