#include "package/render_job.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "package/called_objects.h"
#include "package/input.h"
#include "package/looked_up.h"
#include "package/pre_install.h"
#include "package/source_facts.h"
#include "wasm/instance.h"

namespace mist::package {
namespace {

// An engine's functions have numbers, which tell nobody anything; the file that it was at does.
Error without_functions(Error failure, const std::string& file) {
  if (failure.kind != ErrorKind::Trap) return failure;
  if (const auto* const without = failure.detail<wasm::WithoutBacktrace>())
    failure.because = without->because;
  if (!file.empty()) failure.frames.push_back(fmt::format("while rendering {}", escape_controls(file)));
  return failure;
}

// The rest that an output depends on: the clock, whom secrets are for, and limits, since another run may not
// end within others.
std::string settings_of(const RenderJob& job, const SecretScope& scope) {
  const wasm::Limits& limits = job.limits;
  std::string text =
      fmt::format("{} {} {} {} {} {}\n", job.request.clock.time_since_epoch().count(), limits.memory_bytes,
                  limits.guest_time.count(), limits.output_bytes, limits.table_elements, limits.requests);
  text += fmt::format("{}\n{}\n", scope.package, scope.install);
  for (const auto& [name, count] : scope.rotations) text += fmt::format("{}={}\n", name, count);
  if (job.request.charts_share_seed) text += "charts share the seed\n";
  return text;
}

// A lookup that wasn't granted fails the render, whatever the guest made of that.
Result<abi::Output> unless_refused(Result<abi::Output> generated, const RenderJob& job, const Host& host) {
  const Error* const refused = host.refused();
  if (refused == nullptr) return generated;
  // An engine says where; what a guest says of it may be anything.
  Error failure = job.engine && !generated.ok() ? std::move(generated).error() : *refused;
  failure.kind = refused->kind;
  failure.hint = refused->hint;
  return failure;
}

// The guest's messages during its work help its author, not its user.
void report_log(const std::string& log, EventSink& audience) {
  std::size_t shown = 0;
  for (const std::string_view line : split(log, '\n')) {
    if (line.empty() || ++shown > 200) continue;
    audience.debug(fmt::format("package: {}", escape_controls(line)));
  }
}

// Takes the parts of the job and of the output that it needs.
Result<Rendered> rendered_of(RenderJob& job, abi::Output& output, Host& host,
                             const std::shared_ptr<CallTree>& tree) {
  Rendered rendered;
  rendered.metadata = std::move(job.metadata);
  rendered.secrets = host.secrets();
  rendered.looked_up = tree->secrets()->looked_up;
  rendered.asked = host.take_exchanges();
  for (abi::OutputFile& file : output.files) {
    if (job.engine && !file.source.empty())
      rendered.origins.emplace(file.path, FileOrigin{.source = std::move(file.source),
                                                     .lines = std::move(file.lines),
                                                     .others = std::move(file.others)});
    if (!rendered.files.emplace(file.path, std::move(file.text)).second)
      return error(ErrorKind::Invalid, "{} gave the file {} twice", job.source.reference,
                   escape_controls(file.path));
  }
  rendered.exports = std::move(output.exports);
  rendered.message = std::move(output.message);
  if (!rendered.looked_up.empty())
    rendered.message = without_secrets(std::move(rendered.message), looked_up_in_texts(rendered.looked_up));
  rendered.drawn = output.drawn + host.drawn();
  rendered.print = std::move(output.print);
  rendered.missing = std::move(output.missing);
  rendered.package = std::move(output.package);
  rendered.unknown = std::move(output.unknown);
  if (!job.request.called && !tree->answers().empty()) {
    rendered.calls = tree;
    // A program knows only its own line that passed an answer on.
    FileOrigins called = origins_of_called(rendered.files, *tree);
    called.merge(rendered.origins);
    rendered.origins = std::move(called);
  }
  return rendered;
}

}  // namespace

JobRunner::JobRunner(const RendererOptions& options, EventSink& events, RenderCalled render_called)
    : options_(options), events_(events), render_called_(std::move(render_called)) {
  if (!options.render_cache.empty() && options.random != nullptr)
    renders_.emplace(options.render_cache, options.render_cache_bytes, *options.random);
}

// The earlier output of the same render. Afterwards `host` has answered its questions again. Without one,
// `tree` is as it was: what an earlier render asked, and called, may be nothing that this one would.
std::optional<abi::Output> JobRunner::known_output(const RenderParts& parts, Host& host,
                                                   CallTree& tree) const {
  if (!renders_) return std::nullopt;
  std::optional<CallTree::Attempt> attempt;
  const auto ask = [&](const Value& request) {
    if (!attempt) attempt.emplace(tree);
    return host.answer(request.string_at("op"), request);
  };
  std::optional<CachedRender> cached = renders_->find(parts, ask, [&] { return host.answers(); });
  if (!cached) return std::nullopt;
  if (attempt) attempt->keep();
  host.show(cached->lines);
  return std::move(cached->output);
}

Result<abi::Output> JobRunner::new_output(const RenderJob& job, const Started& started,
                                          const RenderParts& parts, const SecretScope& scope,
                                          Host& host) const {
  // A called package has a seed of its own for what it draws without a name.
  SecretScope drawing = scope;
  drawing.seed = job.request.seed;
  abi::RunOptions run{{job.request.clock, unnamed_seed(drawing), started.files, host.stream()},
                      job.limits,
                      job.context,
                      &host,
                      job.source.reference,
                      started.image};
  run.limits.guest_time = std::min(run.limits.guest_time, job.request.share.guest_time);
  run.limits.memory_bytes = std::min(run.limits.memory_bytes, job.request.share.memory_bytes);
  CallTree* const tree = job.request.called ? job.request.called->tree.get() : nullptr;
  if (tree != nullptr) {
    run.limits.guest_time = std::min(run.limits.guest_time, tree->time_left());
    run.limits.memory_bytes = std::min(run.limits.memory_bytes, tree->memory_left());
  }
  auto generated = started.guest->generate(job.input, run);
  host.show_held();
  MIST_TRY(abi::Output output, std::move(generated));
  if (job.request.called) {
    Status fit = check_exports(job.metadata, output.exports);
    if (!fit.ok()) return without_secrets(std::move(fit).error(), host.secrets());
  }
  // Input and exports fit their schemas, so nobody checks them again.
  if (renders_ && host.repeatable()) {
    CachedRender render{output, host.lines()};
    render.output.log.clear();
    renders_->store(parts, host.questions(), host.answers(), render);
  }
  return output;
}

// Charts may be called too, so what an engine may use is what the tree may use.
std::shared_ptr<CallTree> JobRunner::new_call_tree(bool quiet) const {
  const wasm::Limits& own = options_.limits;
  const wasm::Limits& engine = options_.engine_limits;
  return std::make_shared<CallTree>(
      CallTree::Budget{.guest_time = std::max(own.guest_time, engine.guest_time),
                       .output_bytes = std::max(own.output_bytes, engine.output_bytes),
                       .memory_bytes = std::max(own.memory_bytes, engine.memory_bytes),
                       .stack_bytes = std::max(options_.stack_bytes, options_.engine_stack_bytes),
                       .flags = engine.flags},
      quiet ? nullptr : &events_);
}

Result<Rendered> JobRunner::run(RenderJob job) {
  const RenderRequest& request = job.request;
  const SecretScope scope = secret_scope(job.metadata, request);
  const std::string settings = settings_of(job, scope);
  RenderParts parts{request.seed, job.code, job.files, job.input, settings};
  const std::shared_ptr<CallTree> tree = request.called ? request.called->tree : new_call_tree(request.quiet);
  EventSink& audience = tree->events();
  report_ignored(job.metadata, job.source.reference, audience);
  tree->secrets()->hide(request.hidden);
  PackageCalls calls(job.metadata, job.source.dependencies, request, tree,
                     [&](const Source& source, const RenderRequest& wanted) {
                       return render_called_(source, wanted, job.context);
                     });
  std::optional<Host> answering;
  const LookupAsker asker{job.source.reference, job.chart, job.metadata.needs_cluster_read};
  const auto new_host = [&] {
    answering.emplace(scope, audience, tree->secrets());
    if (request.engine_options.find(kScriptOption) != nullptr) answering->hold_lines();
    answering->answer_lookup(request.lookup, asker);
    answering->answer_charts(job.charts);
    answering->answer_calls(
        [&](const Value& wanted, std::uint64_t memory_bytes) { return calls.answer(wanted, memory_bytes); });
  };
  new_host();
  std::optional<abi::Output> output = known_output(parts, *answering, *tree);
  std::optional<Started> started;
  if (!output) {
    if (job.check) MIST_TRY_VOID(job.check(job.metadata));
    MIST_TRY(started, job.start());
    // A new host: the questions of the cached renders aren't those of this guest.
    new_host();
    if (const std::string_view version = started->guest->input_version(); version != job.input_version) {
      MIST_TRY(job.input, package_input(version, job.metadata, request));
      parts.input = job.input;
      output = known_output(parts, *answering, *tree);
    }
  }
  if (!output) {
    auto generated = unless_refused(new_output(job, *started, parts, scope, *answering), job, *answering);
    if (!generated.ok()) {
      // The search may have used what this render lacked.
      if (renders_ && generated.error().kind == ErrorKind::Trap) renders_->forget(parts);
      Error failure = without_secrets(std::move(generated).error(), tree->secrets()->values);
      if (job.engine) failure = without_functions(std::move(failure), *answering->stream());
      return std::move(failure).with_frame(fmt::format("while rendering {}", job.source.reference));
    }
    output = *std::move(generated);
  }
  if (!request.quiet) report_log(without_secrets(std::move(output->log), tree->secrets()->values), audience);
  return rendered_of(job, *output, *answering, tree);
}

}  // namespace mist::package
