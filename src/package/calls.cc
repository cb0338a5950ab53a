#include "package/calls.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "crypto/random_stream.h"
#include "encoding/json.h"
#include "package/input.h"
#include "package/own_stack.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 3> kCallMembers{"op", "package", "input"};
std::string last_part(std::string_view id) { return std::string(id.substr(id.rfind('/') + 1)); }

std::string in_megabytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

// As people and --rotate-secrets name the secrets of a called package: "mariadb/shop-db/root".
std::string secret_prefix(const CalledAs& called) {
  return fmt::format("{}/{}/", last_part(called.id), called.install);
}

// The unnamed randomness of a called package, and of its charts: neither its caller's nor another's.
crypto::Seed seed_of(const crypto::Seed& release, std::string_view id, std::string_view install) {
  return crypto::derived_seed(release, fmt::format("mistletoe/called-package/v1/{}:{},{}:{},", id.size(), id,
                                                   install.size(), install));
}

// The least memory of any guest: a page.
constexpr std::uint64_t kLeastMemory = 64u << 10;

Error out_of_time(const CallTree::Budget& budget) {
  return error(ErrorKind::Trap, "the called packages took more than {} s together",
               std::chrono::duration_cast<std::chrono::seconds>(budget.guest_time).count())
      .with_hint(wasm::raise_hint(budget.flags, "--limit-time"));
}

}  // namespace

struct PackageCalls::Call {
  std::string name;
  std::shared_ptr<const ResolvedPackage> package;
  Value input;
  std::string install;
  std::vector<std::string> path;  // of names, from the release's package to this one

  std::string display() const { return join(path, kPackageArrow); }
};

Duration CallTree::time_left() const {
  const Duration running = counted_ ? thread_time() - *counted_ : Duration::zero();
  return std::max(budget_.guest_time - spent_ - running, Duration::zero());
}

void CallTree::count_time() {
  if (!counted_) return;
  const Duration now = thread_time();
  spent_ += now - *counted_;
  counted_ = now;
}

std::uint64_t CallTree::memory_left() const {
  return budget_.memory_bytes - std::min(memory_, budget_.memory_bytes);
}

CallTree::Attempt::Attempt(CallTree& tree)
    : tree_(tree),
      held_(tree.events()),
      answers_(tree.answered_.size()),
      edges_(tree.edges_.size()),
      calls_(tree.calls_),
      output_(tree.output_),
      asked_(tree.secrets_->asked),
      looked_up_(tree.secrets_->looked_up) {
  tree.events_ = &held_;
}

CallTree::Attempt::~Attempt() {
  tree_.events_ = &held_.next();
  if (kept_) return;
  for (std::size_t i = answers_; i < tree_.answered_.size(); ++i) tree_.answers_.erase(tree_.answered_[i]);
  tree_.answered_.resize(answers_);
  tree_.edges_.resize(edges_);
  tree_.calls_ = calls_;
  tree_.output_ = output_;
  tree_.secrets_->asked.swap(asked_);
  tree_.secrets_->looked_up.swap(looked_up_);
}

void CallTree::Attempt::keep() {
  kept_ = true;
  held_.release();
}

std::vector<CallEdge> calls_of(const Rendered& rendered) {
  return rendered.calls ? rendered.calls->edges() : std::vector<CallEdge>();
}

std::string_view install_name(const RenderRequest& request) {
  return request.called ? request.called->install : request.release_name;
}

SecretScope secret_scope(const Metadata& metadata, const RenderRequest& request) {
  if (!request.called) return {request.seed, metadata.name, request.release_name, request.rotations, {}};
  SecretScope scope{request.called->release_seed,
                    "call/" + request.called->id,
                    request.called->install,
                    {},
                    secret_prefix(*request.called)};
  if (const auto all = request.rotations.find(std::string(kUnnamed)); all != request.rotations.end())
    scope.rotations.insert(*all);
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

namespace {

// Its caller gets the words alone, so they begin with the path and hold the place. Errors that end the caller
// too are reported as they are.
Error at_path(Error failure, const std::string& path) {
  if (failure.where && failure.where->package.empty()) failure.where->package = path;
  const bool place = failure.where && failure.where->line != 0 && failure.kind == ErrorKind::Invalid;
  failure.message =
      place ? fmt::format("{}: {}: {}", path,
                          place_text(failure.where->file, failure.where->line, failure.where->column),
                          failure.message)
            : fmt::format("{}: {}", path, failure.message);
  return failure;
}

}  // namespace

Result<CallAnswer> PackageCalls::answer(const Value& request, std::uint64_t caller_memory) {
  auto read_call = read(request);
  if (!read_call.ok()) {
    Error failure = std::move(read_call).error();
    // Of the release's own package everybody knows where it is.
    return request_.called ? at_path(std::move(failure), join(caller_path(), kPackageArrow)) : failure;
  }
  const Call call = *std::move(read_call);
  Value canonical = call.input;
  canonical.sort_keys();
  const std::string key = fmt::format("{}\n{}\n{}\n{}", call.package->id, call.package->source.digest,
                                      call.install, encoding::to_json(canonical, encoding::JsonStyle::Exact));
  auto known = tree_->answers_.find(key);
  if (known == tree_->answers_.end()) {
    auto answered = this->call(call, caller_memory);
    if (!answered.ok()) return at_path(std::move(answered).error(), call.display());
    known = tree_->answers_.emplace(key, *std::move(answered)).first;
    tree_->answered_.push_back(known);
  }
  note_edge(call, known->second.version);
  return known->second.answer;
}

void PackageCalls::note_edge(const Call& call, const std::string& version) {
  CallEdge edge{.name = call.name, .id = call.package->id, .install = call.install, .version = version};
  if (request_.called) {
    edge.caller_id = request_.called->id;
    edge.caller_install = request_.called->install;
  }
  if (std::ranges::find(tree_->edges_, edge) == tree_->edges_.end()) tree_->edges_.push_back(std::move(edge));
}

std::vector<std::string> PackageCalls::caller_path() const {
  return request_.called ? request_.called->path : std::vector<std::string>{caller_.name};
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
  call.path = caller_path();
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
  const crypto::Seed root = request_.called ? request_.called->release_seed : request_.seed;
  request.called = CalledAs{call.package->id, call.install, call.path, root, tree_};
  request.seed = seed_of(root, call.package->id, call.install);
  // Options of an engine are the user's word on the release's own package; this one holds for charts below it
  // too.
  request.engine_options = Value::object();
  if (const Value* const skip = request_.engine_options.find(kSkipSchemaOption))
    request.engine_options.set(kSkipSchemaOption, *skip);
  return request;
}

Result<Rendered> PackageCalls::render(const Call& call, std::uint64_t caller_memory) {
  if (call.path.size() > CallTree::kMostDepth)
    return error(ErrorKind::Trap, "packages call one another more than {} deep", CallTree::kMostDepth);
  if (++tree_->calls_ > CallTree::kMostCalls)
    return error(ErrorKind::Trap, "one render calls packages more than {} times", CallTree::kMostCalls);
  if (tree_->time_left() == Duration::zero()) return out_of_time(tree_->budget_);
  tree_->memory_ += caller_memory;
  if (tree_->memory_left() < kLeastMemory) {
    tree_->memory_ -= caller_memory;
    return error(ErrorKind::Trap,
                 "the packages that wait for this call use all memory that they have together, {}",
                 in_megabytes(tree_->budget_.memory_bytes))
        .with_hint(wasm::raise_hint(tree_->budget_.flags, "--limit-memory"));
  }
  Result<Rendered> result = render_on_own_stack(call);
  const std::uint64_t waiting = std::exchange(tree_->memory_, tree_->memory_ - caller_memory);
  if (!result.ok() && result.error().kind == ErrorKind::Trap && waiting >= tree_->budget_.memory_bytes / 4) {
    std::string& because = result.error().because;
    because += fmt::format(
        "{}the packages that wait for it hold {} of the {} of memory that all have together",
        because.empty() ? "" : "\n", in_megabytes(waiting), in_megabytes(tree_->budget_.memory_bytes));
  }
  return result;
}

// A guest may use a whole stack, and the caller's guest is on this thread's. The host's work for the called
// package counts too: reading its metadata, checking its input.
Result<Rendered> PackageCalls::render_on_own_stack(const Call& call) {
  const RenderRequest request = request_for(call);
  Result<Rendered> result = error(ErrorKind::Internal, "nothing was rendered");
  // A caller that is called itself leaves less for the next one.
  tree_->count_time();
  const std::optional<Duration> caller = tree_->counted_;
  const Status ran = on_own_stack(tree_->budget_.stack_bytes, [&] {
    tree_->counted_ = thread_time();
    result = render_(call.package->source, request);
    tree_->count_time();
  });
  tree_->counted_ = caller;
  if (!ran.ok()) return ran.error();
  // The caller's guest has the limit that was left when it began.
  if (result.ok() && caller && tree_->time_left() == Duration::zero()) return out_of_time(tree_->budget_);
  return result;
}

Result<CallTree::Answered> PackageCalls::call(const Call& call, std::uint64_t caller_memory) {
  MIST_TRY(Rendered rendered, render(call, caller_memory));
  MIST_TRY_VOID(count_output(call, rendered));
  Value files = Value::object();
  for (auto& [path, text] : rendered.files) files.set(path, std::move(text));
  CallTree::Answered answered;
  answered.path = call.path;
  const std::string& published = call.package->source.version;
  answered.version = published.empty() ? rendered.metadata.version : published;
  answered.origins = std::move(rendered.origins);
  answered.written = rendered.engine.empty() && std::holds_alternative<Files>(call.package->source.content);
  CallAnswer& answer = answered.answer;
  answer.value = Value::object({{"files", std::move(files)},
                                {"exports", std::move(rendered.exports)},
                                {"message", std::move(rendered.message)}});
  answer.secrets = std::move(rendered.secrets);
  answer.asked = std::move(rendered.asked);
  answer.drawn = rendered.drawn;
  return answered;
}

Status PackageCalls::count_output(const Call& call, const Rendered& rendered) {
  for (const auto& [path, text] : rendered.files) tree_->output_ += path.size() + text.size();
  if (!rendered.exports.is_null()) tree_->output_ += encoding::to_json(rendered.exports).size();
  tree_->output_ += rendered.message.size();
  if (tree_->output_ <= tree_->budget_.output_bytes) return {};
  return error(ErrorKind::Trap, "the called packages, {} among them, gave more than {} together",
               call.package->source.reference, in_megabytes(tree_->budget_.output_bytes))
      .with_hint(wasm::raise_hint(tree_->budget_.flags, "--limit-output"));
}

}  // namespace mist::package
